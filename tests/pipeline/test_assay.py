import pytest

from skilljuror.bundles import write_bundle
from skilljuror.errors import StudyError
from skilljuror.gates.mutations import MUTATIONS
from skilljuror.models.gate import AssayReport
from skilljuror.pipeline.assay import assay, keep_assay, pooled, power
from skilljuror.pipeline.build import build_source, load_build, verify_build
from tests.gates.pairs import SOURCE


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assay")
    write_bundle(SOURCE.files, folder / "forms")
    build_source(folder / "forms" / "forms", folder / "build")
    return assay(folder / "build", sites=2)


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


def test_a_layout_that_repeats_another_is_judged_once(report):
    (none,) = [row for row in report.rows if row.mutation == "none"]
    assert none.mutants == 2


def test_pooling_adds_the_counts(report):
    both = pooled([report, report])
    assert [row.mutants for row in both.rows] == [2 * row.mutants for row in report.rows]
    assert both.name == "2 sources"


def test_pooling_nothing_is_an_error():
    with pytest.raises(StudyError, match="run assay on a build first"):
        pooled([])


def test_a_folder_without_a_build_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"holds no build\.json"):
        assay(tmp_path)


def test_a_build_without_its_source_says_what_it_has(tmp_path):
    write_bundle(SOURCE.files, tmp_path / "forms")
    build_source(tmp_path / "forms" / "forms", tmp_path / "build", variants=["baseline"])
    with pytest.raises(StudyError, match="no variant 'origin', only baseline"):
        assay(tmp_path / "build")


def test_a_kept_assay_stands_in_the_record_and_is_told_in_one_sentence(tmp_path):
    write_bundle(SOURCE.files, tmp_path / "forms")
    build_source(tmp_path / "forms" / "forms", tmp_path / "build")
    record = keep_assay(tmp_path / "build", sites=1)
    assert record == load_build(tmp_path / "build")
    report = AssayReport.model_validate(record.assay)
    assert power(report).startswith("this audit caught ")
    assert verify_build(tmp_path / "build") == ()
