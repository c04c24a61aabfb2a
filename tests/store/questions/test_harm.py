"""What of a Skill failing runs used, and which of its values failed checks found, on a study made up by hand."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from skilljuror.base.results import CheckResult, UnitUse
from skilljuror.measures.power import holm
from skilljuror.store import open_write
from skilljuror.store.connect import open_read
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake

JUDGE = "tracing/4"
UNITS = {
    "scale": "Multiply every reading by 1000 and report it in 'kPa'.",
    "api": "Write apiVersion: keda.sh/v1beta1 and 15.6 of them.",
    "title": "Give the table a title.",
}
UNIT = "assert 'kPa' == 'Pa'"


@pytest.fixture
def path(tmp_path):
    """Six passing and six failing runs of pd, three of baseline; a thirteenth of pd is not judged."""
    path = tmp_path / "study.duckdb"
    plan = fake.plan(["mix"], ("baseline", "pd"), trials=13)
    kept = tuple(one for one in plan.trials if one.condition == "pd" or one.number < 4)
    used = {
        ("pd", "scale"): {1, *range(7, 13)},
        ("pd", "title"): {*range(1, 13)},
        ("pd", "api"): {9, 10},
    }
    used["baseline", "scale"] = {3}
    names = {(one.condition, one.number): one.trial for one in kept}
    events = {name: fake.event(name) for name in names.values()}
    judged = {key: name for key, name in names.items() if key != ("pd", 13)}
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"trials": kept}))
        store.put_builds([fake.build("mix")])
        store.put_units([
            {"build": "mix", "unit": unit, "kind": "statement", "text": text, "tokens": 9}
            for unit, text in UNITS.items()
        ], [])  # fmt: skip
        store.put("trials", [
            fake.trial("mix", arm, number, reward=float(number < (7 if arm == "pd" else 3)))
            for arm, number in names
        ])  # fmt: skip
        fake.put(
            store, [fake.run(name, trial=name, events=[events[name]]) for name in names.values()]
        )
        uses = [
            UnitUse(judged[arm, number], JUDGE, events[names[arm, number]].event, unit, 2)
            for (arm, unit), numbers in used.items() for number in numbers
        ]  # fmt: skip
        verdicts = [fake.verdict(events[name], judge=JUDGE) for name in judged.values()]
        store.put_judged(JUDGE, dict.fromkeys(judged.values()), verdicts, uses)
        checks = [
            row for (arm, number), name in names.items() if arm == "pd" for row in _checks(name, number)
        ]  # fmt: skip
        store.put_checks([*names.values()], checks)
    return path


def _checks(trial, number):
    """test_unit fails in runs 7 to 10 by the Skill's kPa, in 11 by another unit; two more say no value."""
    said = {**dict.fromkeys(range(7, 11), UNIT), 11: "assert 'bar' == 'Pa'"}.get(number)
    yield _row(trial, "test_unit", said)
    yield _row(trial, "test_key", "KeyError: 'kPa'" if number == 8 else None)
    yield _row(trial, "test_api", "bad\nassert 15.6 == 15.60 + 1" if number == 9 else None)
    yield _row(trial, "test_api_2", "assert 'v1beta1' == 'v1beta1 '" if number == 9 else None)


def _row(trial, name, said):
    failed = said is not None
    return CheckResult(
        trial,
        "ctrf.json",
        name,
        "failed" if failed else "passed",
        award=float(not failed),
        said=said,
    )


def asked(path, level):
    rows = run(path, "harm").records()
    return [row for row in rows if row["level"] == level]


def test_units_are_tested_within_a_task(path):
    """pd: scale in 6 of 6 failing and 1 of 6 passing runs, api in 2 and 0; title, in all, has no row and counts."""
    found = [row for row in asked(path, "unit") if row["condition"] == "pd"]
    assert [(row["unit"], row["failing_with"], row["passing_with"]) for row in found] == [
        ("scale", 6, 1), ("api", 2, 0),
    ]  # fmt: skip
    assert {(row["runs"], row["passing"], row["failing"]) for row in found} == {(12, 6, 6)}
    expected = [
        fisher_exact(np.array(table)).pvalue
        for table in ([[6, 0], [1, 5]], [[2, 4], [0, 6]], [[6, 0], [6, 0]])
    ]
    assert [row["p"] for row in found] == pytest.approx(expected[:2])
    assert [row["p_holm"] for row in found] == pytest.approx(holm(expected)[:2])
    assert [row["text"] for row in found] == [UNITS["scale"], UNITS["api"]]


def test_few_runs_have_counts_and_no_p(path):
    (row,) = (row for row in asked(path, "unit") if row["condition"] == "baseline")
    assert (row["passing"], row["failing"], row["failing_with"]) == (2, 1, 1)
    assert (row["p"], row["p_holm"]) == (None, None)
    assert row["p_reason"] == "fewer than 5 passing or 5 failing runs"


def test_a_value_counts_where_the_actual_side_has_it(path):
    """test_unit failed in five runs, by the unit's kPa in four; test_key does not tell the sides apart.

    Of test_api, the two sides are not told apart; of test_api_2, both have the value.
    """
    columns = (
        "unit",
        "value",
        "check",
        "passing",
        "failing",
        "runs_used",
        "passing_with",
        "failing_with",
        "p_reason",
    )
    found = [tuple(row[name] for name in columns) for row in asked(path, "value")]
    assert found == [
        ("scale", "kPa", "test_unit", 7, 5, 7, 2, 4, "a value is counted, not tested"),
        ("api", "15.6", "test_api", 11, 1, 2, 1, None, "side unknown"),
        ("scale", "kPa", "test_key", 11, 1, 7, 6, None, "side unknown"),
    ]
    assert {row["said"] for row in asked(path, "value") if row["failing_with"]} == {UNIT}


@pytest.mark.parametrize(
    ("said", "sides"),
    [
        ("wrong unit\nassert 15.6 <= 1.0", ("15.6", "1.0")),
        ("assert {'n': 3} == {'n': 2}", ("{'n': 3}", "{'n': 2}")),
        ("assert (1000.0 - 15.6) < 1e-06", (None, None)),
        ("assert 'a...c' == 'b'", (None, None)),
        ("assert 'kPa' in ['Pa']", (None, None)),
        ("assert " + "1" * 290 + " == 2", (None, None)),
        ("KeyError: 'kPa'", (None, None)),
    ],
)
def test_sides_of_a_comparison(path, said, sides):
    with open_read(path) as reader:
        found = reader.rows("SELECT side_in($said, 1), side_in($said, 2)", {"said": said}).rows
    assert found == [sides]


def test_an_item_of_a_rubric_shows_the_value_that_stands_in_its_place(path):
    """Where no verifier judges, no run fails as a whole; what another item finds right is no value."""
    plan = fake.plan(["mix"], ("baseline", "pd"), trials=13)
    tasks = tuple(task.model_copy(update={"judged_by": "rubric"}) for task in plan.tasks)
    found = "mix__pd__9"
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"tasks": tasks}))
        store.put_checks([trial.trial for trial in plan.trials], [])
        store.put("items", [
            CheckResult(found, "evals", "unit", "passed", award=1.0, said="in kPa: 1000", judge="code", item_group="goal"),
            CheckResult(
                found, "evals", "api", "failed", award=0.0, said="apiVersion: keda.sh/v1beta1 1000", judge="code", item_group="goal"
            ),
        ])  # fmt: skip
    assert asked(path, "unit") == []
    values = [
        (row["unit"], row["value"], row["check"], row["failing_with"])
        for row in asked(path, "value")
    ]
    assert values == [("api", "v1beta1", "api", 1)]
