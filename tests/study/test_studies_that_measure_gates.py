"""A study that asks for it has the gates measured on its builds."""

import shutil

import pytest

from skilljuror.base.build import AssayReport
from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.base.study import BuildChoice, StudyConfig
from skilljuror.layouts.build.assay import AssaySettings, keep_assays
from skilljuror.layouts.build.build import build_source, load_build
from skilljuror.report.lookup import report_study
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.bundle_corpus import write
from tests.support.studies import edit_study, make_study

ARMS = {"a": None, "b": "baseline"}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    base = tmp_path_factory.mktemp("original")
    told = []
    skills = write("report", base / "skills").relative_to(base)
    tasks = [{"path": "tea", "skills": str(skills)}]
    study = make_study(base, variants=ARMS, trials=1, build={"assay": 1}, tasks=tasks)
    run_study(study, base / "out", progress=lambda sign: told.append(sign.stage))
    return base, told


def page(out):
    ingest_trials(out)
    return report_study(out).path.read_text(encoding="utf-8")


def test_the_builds_are_measured_before_the_trials_run_and_the_report_says_so(original):
    base, told = original
    assert told.index("assay") < told.index("run")
    record = load_build(StudyFolder(base / "out").build("tea"))
    assert AssayReport.model_validate(record.assay).sites == 1
    assert "origin" not in {one.variant for one in record.variants}
    said = (
        "Under policy strict, which judged these variants, this audit would have caught 100.0 % of "
    )
    assert said in page(base / "out")


def test_a_second_run_measures_nothing_again(original, tmp_path):
    shutil.copytree(original[0], tmp_path / "copy")
    told = []
    study, out = tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"
    run_study(study, out, progress=lambda sign: told.append(sign.stage))
    assert "assay" not in told
    edit_study(study, build={"assay": 2})
    with pytest.raises(StudyError, match=r"a different plan; changed fields: build\.assay"):
        run_study(study, out)


def test_a_build_that_was_measured_beforehand_keeps_its_assay(tmp_path):
    study, out = make_study(tmp_path, variants=ARMS, trials=1, build={"assay": 1}), tmp_path / "out"
    build = StudyFolder(out).build("tea")
    build_source(tmp_path / "brew", build, variants=["baseline"])
    (record,) = keep_assays({build: None}, AssaySettings(sites=3)).values()
    run_study(study, out)
    assert load_build(build) == record


def test_variants_that_say_nothing_to_change_are_said_to_measure_nothing(tmp_path):
    """The baseline of a one-file skill is its source; there is nothing to plant a change into."""
    study, out = make_study(tmp_path, variants=ARMS, trials=1, build={"assay": 1}), tmp_path / "out"
    run_study(study, out)
    assert "this audit was not tested: no drift could be planted" in page(out)


def test_a_study_that_does_not_ask_says_how_to_measure(tmp_path):
    study, out = make_study(tmp_path, variants=ARMS, trials=1), tmp_path / "out"
    run_study(study, out)
    assert load_build(StudyFolder(out).build("tea")).assay is None
    said = page(out)
    assert "has not been measured" in said
    assert "<code>skilljuror assay STUDY --keep</code>" in said


def test_an_unasked_assay_leaves_the_plan_of_earlier_versions_as_it_was():
    fields = {"name": "s", "tasks": [{"path": "t"}], "conditions": [{"name": "c"}]}
    assert StudyConfig.model_validate(fields).model_dump()["build"] == {}
    asked = StudyConfig.model_validate(fields | {"build": {"assay": 2, "mine": [1]}})
    assert asked.model_dump()["build"] == {"assay": 2, "mine": [1]}
    assert StudyConfig.model_validate_json(asked.model_dump_json()) == asked
    assert asked.build.options == {"mine": [1]}
    assert BuildChoice.model_validate({"assay": True}).assay == 1


def test_a_misspelt_field_is_guessed(tmp_path):
    study = make_study(tmp_path, variants=ARMS, build={"asay": 1})
    with pytest.raises(StudyError, match=r"build\.asay: unknown option; did you mean 'assay'\?"):
        run_study(study, tmp_path / "out")
