"""Questions about the variants and their gates, answered by hand."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.cli.output import command_line
from skilljuror.queries.run import query, run
from skilljuror.stats.intervals import wilson_interval
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import rows, small_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return small_study(tmp_path_factory.mktemp("small"))


def held(folder, *builds):
    """A database of nothing but builds."""
    path = folder / "study.duckdb"
    with open_write(path) as store:
        store.put_builds(builds)
    return path


def test_gates_and_layout_items(study):
    columns = ("gate", "variant", "builds", "passed", "review", "compared")
    assert rows(study, "gates", *columns)[1] == ("knowledge", "pd", 2, 1, 1, 14)
    assert rows(study, "pd_item_counts", "item", "passed") == [
        ("PD-1", 2),
        ("PD-2", 2),
        ("PD-3", 2),
    ]


def test_a_gate_that_compared_nothing_has_no_pass_rate(tmp_path):
    """Two builds; the gate of the second kind found nothing to compare in either."""
    builds = []
    for name in ("alpha", "beta"):
        record, results = fake.build(name)
        idle = [
            result.model_copy(update={"checked": {}})
            for result in results
            if result.gate == "layout"
        ]
        builds.append((record, [*idle, *(result for result in results if result.gate != "layout")]))
    path = held(tmp_path, *builds)
    columns = ("gate", "variant", "passed", "compared", "pass_rate", "pass_rate_reason")
    found = {row[:2]: row[2:] for row in rows(path, "gates", *columns)}
    assert found["layout", "pd"] == (2, 0, None, "compared nothing")
    assert found["knowledge", "pd"] == (2, 14, 1.0, None)


def test_a_layout_item_without_a_gate_is_unanswered(tmp_path):
    path = tmp_path / "study.duckdb"
    record, _ = fake.build("alpha")
    with open_write(path) as store:
        store.put_builds([(record, [])])
    assert rows(path, "pd_items", "item", "passed") == [
        ("PD-1", True), ("PD-2", True), ("PD-3", None),
    ]  # fmt: skip


def test_a_long_root_fails_the_first_item(study):
    assert rows(study, "pd_item_counts", "failed", max_root_lines="9")[0] == (2,)


def test_sizes_compare_with_the_source(study):
    columns = ("variant", "builds", "tokens_of_source", "root_share", "passed")
    assert rows(study, "variant_sizes", *columns) == [
        ("source", 2, 1.0, 0.5, None),
        ("baseline", 2, 0.5, 1.0, 2),
        ("pd", 2, 1.0, 0.5, 1),
    ]


COUNTS = ("kind", "assayed", "builds", "pooled", "planted", "equivalent", "flagged", "failed")


def test_assays_are_pooled_drift_and_harmless_apart(tmp_path):
    """drift: 10 + 4 of 10 + 5 planted; harmless: 1 of 3; one equivalent of each kind and build."""
    path = held(
        tmp_path,
        fake.assayed("a", {"swap": (10, 10), "rewrap": (3, 1)}, source="a", harmless=["rewrap"]),
        fake.assayed("b", {"swap": (5, 4)}, source="b"),
        fake.build("c"),
    )
    assert rows(path, "gate_power", *COUNTS) == [
        ("drift", 2, 3, 2, 15, 2, 14, 7),
        ("harmless", 2, 3, 2, 3, 1, 1, 0),
    ]
    assert rows(path, "assay", "kind", "mutation", "planted", "flagged", "flagged_rate") == [
        ("drift", "swap", 15, 14, 14 / 15),
        ("harmless", "rewrap", 3, 1, 1 / 3),
    ]


def test_builds_of_one_source_with_the_same_variants_count_once(tmp_path):
    """What was planted in the second is what was planted in the first; the more places, the better."""
    path = held(
        tmp_path,
        fake.assayed("a", {"swap": (10, 9)}),
        fake.assayed("b", {"swap": (20, 19)}, sites=4),
        fake.build("c"),
        fake.assayed("d", {"swap": (7, 7)}, source="other"),
    )
    assert rows(path, "gate_power", *COUNTS) == [("drift", 4, 4, 2, 27, 2, 26, 12)]


def test_policies_are_not_mixed(tmp_path):
    path = held(
        tmp_path,
        fake.assayed("a", {"swap": (10, 9)}, policy="llm"),
        fake.assayed("b", {"swap": (10, 10)}),
    )
    columns = ("policy", "own_policy", "planted", "flagged", "assayed")
    assert rows(path, "gate_power", *columns) == [
        ("strict", True, 10, 10, 2),
        ("llm", False, 10, 9, 2),
    ]


def test_a_variant_judged_again_as_it_is_is_no_harmless_edit(tmp_path):
    counts = {"none": (6, 1), "rewrap": (4, 0)}
    path = held(tmp_path, fake.assayed("a", counts, harmless=list(counts)))
    assert rows(path, "gate_power", "kind", "planted", "flagged") == [("harmless", 4, 0)]
    assert rows(path, "assay", "mutation", "planted") == [("none", 6), ("rewrap", 4)]


def test_a_change_without_a_place_has_no_rate(tmp_path):
    path = held(tmp_path, fake.assayed("a", {"swap": (0, 0)}))
    columns = ("planted", "flagged_rate", "flagged_rate_reason", "rate_low", "rate_high")
    assert rows(path, "assay", *columns) == [(0, None, "no place for it", None, None)]
    assert rows(path, "gate_power", *columns) == [(0, None, "no place for any", None, None)]


def test_without_an_assay_there_is_no_row_and_a_word_on_how_to_get_one(study):
    for question in ("assay", "gate_power"):
        assert run(study, question).rows == []
        assert f"`{command_line('assay', 'STUDY', '--keep')}`" in query(question).empty


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3000), st.floats(0, 1)), min_size=1, max_size=4))
def test_the_interval_is_wilsons(pairs):
    """SQL and the estimator, written apart, agree."""
    counts = {f"m{n}": (planted, int(planted * p)) for n, (planted, p) in enumerate(pairs)}
    with tempfile.TemporaryDirectory() as folder:
        found = run(held(Path(folder), fake.assayed("a", counts)), "assay").records()
    for row in found:
        planted, flagged = counts[row["mutation"]]
        if planted:
            expected = wilson_interval(flagged, planted)
            assert expected is not None
            ends = (expected.low, expected.high)
            assert (row["rate_low"], row["rate_high"]) == pytest.approx(ends, abs=1e-12)
