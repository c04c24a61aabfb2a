"""Printed tables of SkillsBench, SWE-Skills-Bench and SkillGenBench, from studies made up of their counts.

A printed figure stands for the interval of half a unit in its last place. A figure that the others of its table
do not give is asserted as one that does not recompute.
"""

import json

import pytest

from skilljuror.base.results import CheckResult
from skilljuror.base.study import Contrast
from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.places import SHARED
from tests.support.published_figures import ends, within

PUBLISHED = SHARED / "published"
ARMS = ("baseline", "pd")
"""Stand for: without the Skill, and with it."""

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not PUBLISHED.is_dir(), reason="../shared/published is not at hand"),
]


def paper(name):
    tables = json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))["tables"]
    return {table["table"]: table for table in tables}


def overlap(one, other):
    return max(one[0], other[0]) <= min(one[1], other[1])


def pairs(store, rows, arms=ARMS, tasks=("t",), **fields):
    """A study with these check results, in one trial per task and arm: (task, arm) -> rows of a report."""
    plan = fake.plan([*tasks], arms)
    contrast = Contrast(treatment=arms[-1], control=arms[0])
    config = plan.config.model_copy(update={"contrast": contrast})
    named = tuple(
        task.model_copy(update={"source_digest": f"{n:064x}"}) for n, task in enumerate(plan.tasks)
    )
    store.put_plan(plan.model_copy(update={"config": config, "tasks": named}))
    store.put(
        "trials", [fake.trial(task, arm, **fields.get(task, {})) for task in tasks for arm in arms]
    )
    store.put_checks([], [
        CheckResult(fake.name_of(*cell), "ctrf.json", f"test_{n}", outcome, award=float(outcome == "passed"), label=label)
        for cell, of_cell in rows.items() for n, (outcome, label) in enumerate(of_cell)
    ])  # fmt: skip


# SWE-Skills-Bench, Table 2: a row is one Skill with one task, whose "tasks" are test cases.


@pytest.fixture(scope="module")
def swe(tmp_path_factory):
    """The table, and the answer by Skill of a study with its counts."""
    table = paper("swe_skills_bench")["2"]
    path = tmp_path_factory.mktemp("swe") / "study.duckdb"
    named = {row["skill"]: row for row in table["rows"]}
    counts = {
        (skill, arm): (row["n_tasks"], row[f"passes_{side}_derived"])
        for skill, row in named.items() for arm, side in zip(ARMS, ("without", "with"), strict=True)
    }  # fmt: skip
    with open_write(path) as store:
        pairs(
            store,
            {
                cell: [("passed", None)] * passes + [("failed", None)] * (tests - passes)
                for cell, (tests, passes) in counts.items()
            },
            tasks=tuple(named),
        )
        fake.put(store, [
            fake.unread(fake.name_of(skill, arm), {"total_tokens": row[f"tokens_{side}"]})
            for skill, row in named.items() for arm, side in zip(ARMS, ("without", "with"), strict=True)
        ])  # fmt: skip
    answer = run(path, "gain", by="skill", level="check").records()
    return table, {row["skill"].removeprefix("skills/"): row for row in answer}


def test_swe_table_2_by_skill(swe):
    """The difference of each row, and its overhead and efficiency by the intervals of rounded tokens."""
    table, found = swe
    assert len(found) == 49
    for printed in table["rows"]:
        row, name = found[printed["skill"]], printed["skill"]
        assert within(100 * row["delta_rate"], str(printed["delta_pp"])), name
        (high, low), (before_low, before_high) = (
            _thousands(printed, "with")[::-1],
            _thousands(printed, "without"),
        )
        overhead = 100 * (low / before_high - 1), 100 * (high / before_low - 1)
        assert overlap(overhead, ends(str(printed["rho_pct"]))), name
        assert overhead[0] <= 100 * row["token_overhead"] <= overhead[1]
        if printed["ce"] is None:
            assert (row["cost_efficiency"], row["cost_efficiency_reason"]) == (
                None,
                "no difference",
            ), name
        else:
            reach = sorted(100 * row["delta_rate"] / rho for rho in overhead)
            assert overlap(reach, ends(str(printed["ce"]))), name
            assert row["cost_efficiency"] == pytest.approx(printed["ce"], rel=0.04, abs=0.005)


def _thousands(printed, side):
    """The interval that a printed number of tokens stands for."""
    text = printed[f"tokens_{side}_printed"]
    factor = {"K": 1e3, "M": 1e6}[text[-1]]
    return tuple(factor * end for end in ends(text[:-1]))


def test_swe_classes_and_quadrants(swe):
    """39 Skills without a difference have no efficiency: 24 perfect, 15 not; the table is not ranked by it."""
    _, found = swe
    rows = [*found.values()]
    assert counted(rows, "class") == {"perfect": 24, "same": 15, "better": 7, "worse": 3}
    assert counted([row for row in rows if row["cost_efficiency"] is not None], "quadrant") == {
        "better, cheaper": 4, "better, dearer": 3, "worse, cheaper": 1, "worse, dearer": 2,
    }  # fmt: skip
    assert [row["delta_rate"] for row in rows] == sorted(
        (row["delta_rate"] for row in rows), reverse=True
    )
    assert rows[0]["skill"].endswith("risk-metrics-calculation")
    assert {(row["runs_treatment"], row["runs_control"]) for row in rows} == {(1, 1)}


def counted(rows, column):
    return {
        value: sum(row[column] == value for row in rows) for value in {row[column] for row in rows}
    }


# SkillsBench, Tables 11, 16 and 17.


@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    """T16 of both conditions as 1,000 trials each: shares of the unsolved, by mode; errors as timeouts (T17)."""
    path = tmp_path_factory.mktemp("sb") / "study.duckdb"
    plan = fake.plan(["t"], ARMS, trials=1000)
    with open_write(path) as store:
        store.put_plan(plan)
        for arm, row in zip(ARMS, paper("skillsbench")["16"]["rows"], strict=False):
            solved, partial, broken = (
                round(10 * row[f"{name}_pct"]) for name in ("solved", "partial", "runtime_err")
            )
            rewards = [1.0] * solved + [0.5] * partial + [None] * broken
            rewards += [0.0] * (1000 - len(rewards))
            store.put("trials", [
                fake.trial("t", arm, n, reward=reward, status="timeout" if reward is None else "scored")
                for n, reward in enumerate(rewards, 1)
            ])  # fmt: skip
    found = {
        (row["condition"], row["mode"]): row["unsolved_share"]
        for row in run(path, "outcome_modes").records()
    }
    return {key: 100 * share for key, share in found.items() if share is not None}


@pytest.mark.parametrize(("arm", "row"), [("baseline", 0), ("pd", 1)])
def test_skillsbench_modes_follow_from_outcomes(modes, arm, row):
    """Coherence is the partial share of the unsolved; the rest is timeout and verification."""
    printed, outcomes = (paper("skillsbench")[name]["rows"][row] for name in ("11", "16"))
    reach = _share(outcomes["partial_pct"], outcomes["solved_pct"])
    assert reach[0] <= modes[arm, "coherence"] <= reach[1]
    assert overlap(reach, ends(str(printed["coherence_pct"])))
    rest = printed["timeout_pct"] + printed["verification_pct"]
    assert modes[arm, "timeout"] + modes[arm, "verification"] == pytest.approx(rest, abs=0.25)
    assert (arm, "execution") not in modes
    assert printed["execution_pct"] == 0


def _share(part, solved):
    """The interval of part / unsolved, %, from printed shares."""
    (low, high), (least, most) = ends(str(part)), ends(str(solved))
    return 100 * low / (100 - least), 100 * high / (100 - most)


def test_skillsbench_errors_add_up():
    *classes, total = paper("skillsbench")["17"]["rows"]
    assert [row["count"] for row in (*classes, total)] == [72, 0, 5, 0, 1, 78]
    assert sum(row["count"] for row in classes) == total["count"]
    overall = paper("skillsbench")["16"]["rows"][-1]
    assert within(100 * total["count"] / overall["n"], str(overall["runtime_err_pct"]))


# SkillGenBench, Figure 6 and Table 4.

LABELS = {
    "runtime_dependency": "runtime", "interface_schema": "interface", "asset_artifact": "asset", "state_rule": "rule",
    "numeric_formula": "numeric",
}  # fmt: skip


def test_skillgenbench_failures_by_source(tmp_path):
    """The totals are not printed: two of three sources need some unclassified failures for their shares."""
    sources = paper("skillgenbench")["failure_taxonomy"]["rows"]
    arms = ("no-skill", "baseline", "pd")
    cells = {}
    for arm, source in zip(arms, sources, strict=True):
        labels = [
            LABELS[name] for name, one in source["categories"].items() for _ in range(one["n"])
        ]
        other = source["feasible_totals_derived"][0] - source["listed_sum_derived"]
        cells["t", arm] = [("failed", label) for label in (*labels, *[None] * other)]
    with open_write(tmp_path / "study.duckdb") as store:
        pairs(store, cells, arms)
    found = {
        (row["condition"], row["label"]): row
        for row in run(tmp_path / "study.duckdb", "failures").records()
    }
    for arm, source in zip(arms, sources, strict=True):
        for name, one in source["categories"].items():
            row = found[arm, LABELS[name]]
            assert row["checks"] == one["n"]
            assert within(100 * row["failure_share"], str(one["pct"])), (arm, name)
    assert {arm for arm, label in found if label == "unclassified"} == {"baseline", "pd"}
    alone = [sum(one["n"] for one in source["categories"].values()) for source in sources]
    assert alone == [2346, 511, 804]
    assert not within(
        100 * 450 / 511, "85"
    )  # the listed failures alone do not give the printed share
