"""Questions about the variants and their gates, answered by hand."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.base.review import JudgedBuild, RubricVerdict
from skilljuror.measures.rates import MIN_TASKS, share
from skilljuror.store import open_write
from skilljuror.store.questions import run
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
    found = rows(study, "rubric_counts", "variant", "item", "items", "code_yes", "accepted")
    assert [row[1:] for row in found if row[0] == "pd"][:3] == [
        ("PD-1", 2, 2, None),
        ("PD-2", 2, 2, None),
        ("PD-3", 2, 2, None),
    ]


def test_a_gate_that_compared_nothing_has_no_pass_rate(tmp_path):
    """Two builds; the gate of the second kind found nothing to compare in either."""
    builds = []
    for name in ("alpha", "beta"):
        record, results, *_ = fake.build(name)
        idle = [
            result.model_copy(update={"checked": {}})
            for result in results
            if result.gate == "layout"
        ]
        others = [result for result in results if result.gate != "layout"]
        builds.append(JudgedBuild(record, [*idle, *others]))
    path = held(tmp_path, *builds)
    columns = ("gate", "variant", "passed", "compared", "pass_rate", "pass_rate_reason")
    found = {row[:2]: row[2:] for row in rows(path, "gates", *columns)}
    assert found["layout", "pd"] == (2, 0, None, "compared nothing")
    assert found["knowledge", "pd"] == (2, 14, 1.0, None)


ADJUDICATED = {"adjudication": "packaging_artifact", "adjudicated_by": "Ann"}


def items(build, *answers):
    """The build with a model's answers to its first items; `None` leaves one unasked."""
    states = []
    for state, one in zip(build.items, [*answers, *[None] * len(build.items)], strict=False):
        answer, fields = one if isinstance(one, tuple) else (one, {})
        verdict = answer and RubricVerdict(
            variant=state.variant, item=state.item.id, answer=answer, model="m", prompt_sha256="",
            rubric_digest="", source_digest="", variant_digest="",
        )  # fmt: skip
        states.append(state.model_copy(update={"verdict": verdict, **fields}))
    return build._replace(items=tuple(states))


def test_what_people_let_stand_is_accepted_and_no_yes(tmp_path):
    """Baseline, SD-1 to SD-4: yes, a no that stands, a no that is rejected, an unknown that waits; pd:
    code says yes to PD-1 and the model no, PD-2 yes, the rest was never asked."""
    build = items(
        fake.build("alpha"),
        "yes", ("no", ADJUDICATED), ("no", ADJUDICATED | {"adjudication": "reject"}), "unknown",
        "no", "yes",
    )  # fmt: skip
    path = held(tmp_path, build)
    columns = (
        "items", "judged", "yes", "negative", "disagreements", "overridden", "rejected",
        "unresolved", "unanswered", "accepted", "accepted_rate",
    )  # fmt: skip
    found = {row[:2]: row[2:] for row in rows(path, "rubric_counts", "variant", "item", *columns)}
    assert found["baseline", "all"] == (4, 4, 1, 3, 0, 1, 1, 1, 0, 2, 0.5)
    assert found["pd", "all"] == (7, 2, 1, 1, 1, 0, 0, 1, 5, 1, 1 / 7)
    assert found["pd", "PD-1"] == (1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0.0)
    assert found["pd", "PD-3"] == (1, 0, 0, 0, 0, 0, 0, 0, 1, None, None)
    assert found["all", "all"] == (11, 6, 2, 4, 1, 1, 1, 2, 5, 3, 3 / 11)
    asked = rows(path, "rubric_items", "item", "answer", outcome="rejected")
    assert asked == [("SD-3", "no")]


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
        fake.assayed("a", {"swap": (10, 9)}, policy="rewritten"),
        fake.assayed("b", {"swap": (10, 10)}),
    )
    columns = ("policy", "own_policy", "planted", "flagged", "assayed")
    assert rows(path, "gate_power", *columns) == [
        ("strict", True, 10, 10, 2),
        ("rewritten", False, 10, 9, 2),
    ]


def test_a_change_without_a_place_has_no_rate(tmp_path):
    path = held(tmp_path, fake.assayed("a", {"swap": (0, 0)}))
    columns = ("planted", "flagged_rate", "flagged_rate_reason", "rate_low", "rate_high")
    assert rows(path, "assay", *columns) == [(0, None, "not applicable to these texts", None, None)]
    assert rows(path, "gate_power", *columns) == [
        (0, None, "not applicable to these texts", None, None)
    ]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), min_size=1, max_size=12))
def test_the_interval_is_a_jackknife_over_sources(sources):
    """SQL and the estimator, written apart, agree."""
    counts = [(planted, int(planted * p)) for planted, p in sources]
    builds = [
        fake.assayed(f"b{n}", {"swap": count}, source=f"s{n}") for n, count in enumerate(counts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = held(Path(folder), *builds)
        found = [run(path, name).records()[0] for name in ("gate_power", "assay")]
    known = {f"s{n}": (float(f), float(p)) for n, (p, f) in enumerate(counts) if p}
    expected = share(known).interval if len(known) >= MIN_TASKS else None
    for row in found:
        ends = (row["rate_low"], row["rate_high"])
        assert row["sources"] == len(known)
        assert (row["rate_low_reason"] is None) is (expected is not None or not known)
        if expected is None:
            assert ends == (None, None)
        else:
            assert ends == pytest.approx((expected.low, expected.high), abs=1e-4)
