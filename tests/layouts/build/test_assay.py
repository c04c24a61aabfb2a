import shutil

import pytest

from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.base.build import AssayReport, GateResult
from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, read_rows, write_jsonl
from skilljuror.layouts.build.assay import (
    AssaySettings,
    assay,
    assay_many,
    keep_assays,
    pooled,
    power_sentence,
)
from skilljuror.layouts.build.build import build_source, load_build
from skilljuror.layouts.verify import verify_build
from skilljuror.skill.bundles import write_bundle
from skilljuror.store import open_write
from skilljuror.store.questions import run
from skilljuror.store.study_files import read_builds, refresh
from tests.support.bundle_corpus import write
from tests.support.gate_pairs import SOURCE

PAPER = ["origin", "origin-flat", "baseline", "pd"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assay")
    write_bundle(SOURCE.files, folder / "forms")
    build_source(folder / "forms" / "forms", folder / "build", variants=PAPER)
    return assay(folder / "build", AssaySettings("rewritten", sites=2))


REWORDED = {"synonym", "paraphrase"}
"""Harmless to an agent, and still not what the plan engine may do: it moves text and changes none."""


def test_every_mutation_has_its_row(report):
    assert [row.mutation for row in report.rows] == list(MUTATIONS)
    assert report.name == "forms"


def test_all_drift_is_caught_and_nothing_harmless_is_flagged(report):
    assert report.slips == ()
    for row in report.rows:
        assert row.flagged == (row.mutants if row.drift else 0)


def test_a_rate_has_its_interval_and_nothing_measured_is_none(report):
    for row in report.rows:
        if row.mutants:
            assert row.low <= row.rate <= row.high
        else:
            assert (row.rate, row.low, row.high) == (None, None, None)


def test_a_build_is_measured_under_the_policy_that_judged_it(report, tmp_path):
    """Moved text was judged strictly: a reworded sentence fails there, and passes under `rewritten`."""
    build_source(written(tmp_path), tmp_path / "build")
    found = assay(tmp_path / "build", AssaySettings(sites=2))
    assert (found.policy, report.policy) == ("strict", "rewritten")
    for row in found.rows:
        wanted = row.mutants if row.drift or row.mutation in REWORDED else 0
        assert (row.mutation, row.flagged, row.failed) == (row.mutation, wanted, wanted)


def test_each_variant_is_measured_under_its_own_policy(tmp_path):
    """As in a build in which a model wrote one variant and the engine moved text for the others."""
    build_source(written(tmp_path), tmp_path / "build", variants=["origin", "baseline", "pd"])
    path = tmp_path / "build" / "gates.jsonl"
    results = list(read_rows(GateResult, path))
    update = {"policy": "rewritten"}
    write_jsonl(path, [r.model_copy(update=update) if r.variant == "pd" else r for r in results])
    found = assay(tmp_path / "build", AssaySettings(sites=1))
    assert found.policy == "rewritten, strict"
    synonym = next(row for row in found.rows if row.mutation == "synonym")
    assert (synonym.mutants, synonym.flagged) == (1, 1)
    assert pooled([found, found]).policy == "rewritten, strict"


def test_a_build_that_does_not_say_how_it_was_judged_asks_for_a_policy(tmp_path):
    build_source(written(tmp_path), tmp_path / "build", variants=["origin", "baseline"])
    (tmp_path / "build" / "gates.jsonl").write_text("")
    with pytest.raises(
        StudyError, match=r"no policy for variant '(origin|baseline)'; .* --policy strict"
    ):
        assay(tmp_path / "build")
    assert assay(tmp_path / "build", AssaySettings("rewritten", sites=1)).policy == "rewritten"


def test_a_layout_that_repeats_another_is_judged_once(report):
    (none,) = [row for row in report.rows if row.mutation == "none"]
    assert none.mutants == 1  # origin-flat, baseline and pd have the files of the source


def test_pooling_adds_the_counts(report):
    both = pooled([report, report])
    assert [row.mutants for row in both.rows] == [2 * row.mutants for row in report.rows]
    assert both.name == "2 sources"


def test_a_folder_without_a_build_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"build\.json is missing"):
        assay(tmp_path)


def test_without_the_origin_the_source_is_put_together_from_a_plan(tmp_path):
    source = written(tmp_path)
    build_source(source, tmp_path / "build", variants=["baseline", "pd"])
    found = assay(tmp_path / "build", AssaySettings(sites=1))
    assert {slip.mutation for slip in found.slips} == REWORDED
    assert found == assay(tmp_path / "build", AssaySettings(sites=1), source=source)


def written(folder):
    """The source on disk."""
    write_bundle(SOURCE.files, folder / "forms")
    return folder / "forms" / "forms"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A study of three tasks, two of them with the same source, without an assay: its folder."""
    folder = tmp_path_factory.mktemp("kept")
    other = write("report", folder / "other")
    for task, source in (
        ("one", written(folder)),
        ("two", folder / "forms/forms"),
        ("three", other),
    ):
        build_source(source, folder / "study/variants" / task, variants=["baseline"])
    with open_write(StudyFolder(folder / "study").database) as store:
        store.put_builds(read_builds(folder / "study/variants", ["one", "two", "three"]))
    return folder / "study"


@pytest.mark.slow
def test_a_study_is_measured_each_source_once_and_nothing_is_kept_unasked(kept):
    before = (kept / "variants/one/build.json").read_bytes()
    found = assay_many([kept], AssaySettings(sites=1), jobs=2)
    assert found.name == "2 sources"
    one, three = (
        assay(kept / "variants" / name, AssaySettings(sites=1)) for name in ("one", "three")
    )
    assert found.rows == pooled([one, three]).rows
    assert (kept / "variants/one/build.json").read_bytes() == before
    assert run(StudyFolder(kept).database, "gate_power").rows == []


def test_what_is_kept_stands_in_the_records_and_in_the_database_at_once(kept, tmp_path):
    study = tmp_path / "study"
    shutil.copytree(kept, study)
    found = assay_many([study], AssaySettings(sites=1), keep=True)
    refresh(study)
    for name in ("one", "two", "three"):
        told = AssayReport.model_validate(load_build(study / "variants" / name).assay)
        assert (told.sites, told.slips, told.policy) == (1, (), "strict")
        assert verify_build(study / "variants" / name).proved
    drift, harmless = run(StudyFolder(study).database, "gate_power").records()
    assert (drift["assayed"], drift["builds"], drift["pooled"]) == (3, 3, 2)
    assert drift["planted"] == sum(row.mutants for row in found.rows if row.drift)
    share = f"{drift['flagged']} of {drift['planted']} planted drifts"
    assert power_sentence(found).startswith(f"under policy strict this audit caught {share}: ")
    assert (drift["policy"], drift["own_policy"]) == ("strict", True)

    edits = f"flagged {harmless['flagged']} of {harmless['planted']} harmless edits"
    failed = f"{harmless['failed']} failed, {harmless['flagged'] - harmless['failed']} sent"
    assert power_sentence(found).endswith(f"{edits}: {failed} to review")


def test_a_build_that_its_database_does_not_hold_is_not_put_into_it(tmp_path):
    build_source(written(tmp_path), tmp_path / "many" / "mine", variants=["baseline"])
    with open_write(StudyFolder(tmp_path / "many").database):
        pass
    refresh(tmp_path / "many")
    assert run(StudyFolder(tmp_path / "many").database, "builds").rows == []


def test_kept_assays_are_told_in_one_sentence(tmp_path):
    build_source(written(tmp_path), tmp_path / "build", variants=["baseline"])
    (record,) = keep_assays({tmp_path / "build": None}).values()
    assert record == load_build(tmp_path / "build")
    report = AssayReport.model_validate(record.assay)
    assert power_sentence(report).startswith("under policy strict this audit caught ")
    assert verify_build(tmp_path / "build").proved
