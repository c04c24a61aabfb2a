"""Answers about single checks, worked out by hand on fabricated trials."""

from typing import Any

import pytest

from skilljuror.base.results import CheckResult
from skilljuror.base.study import Condition
from skilljuror.report.computed import Answers
from skilljuror.report.headline import Headline, headline
from skilljuror.store import open_read, open_write
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import rows

ARMS = ("baseline", "pd")


def check(trial: str, name: str, award: float | None = 1.0, **fields: Any) -> CheckResult:
    """A test that passed, failed (0), or was skipped (None), unless told otherwise."""
    outcome: Any = "skipped" if award is None else "passed" if award else "failed"
    row = {"source": "ctrf.json", "outcome": outcome, "award": award}
    return CheckResult(trial=trial, name=name, **(row | fields))


def item(trial: str, name: str, award: float | None, **fields: Any) -> CheckResult:
    """An item of a rubric, unjudged without an award."""
    row = {"source": "style", "item_group": "goal", "points": 10.0, "judge": "code"}
    outcome = {"outcome": "unjudged"} if award is None else {}
    return check(trial, name, award, **(row | outcome | fields))


def study(path, ends, checks, *, tasks=("a",), primary="strict_pass", trials=3, control="baseline"):
    """Planned trials of baseline and pd; ends: trial -> other fields of its record, or None for no record."""
    plan = fake.plan(list(tasks), ARMS, trials)
    arms = tuple(Condition(name=arm, variant=arm if arm == "pd" else control) for arm in ARMS)
    config = plan.config.model_copy(update={"primary_outcome": primary, "conditions": arms})
    records = [
        fake.trial(task, arm, number, variant=arms[arm == "pd"].variant,
                   **(ends.get(fake.name_of(task, arm, number)) or {}))
        for task in tasks for arm in ARMS for number in range(1, trials + 1)
        if ends.get(fake.name_of(task, arm, number), {}) is not None
    ]  # fmt: skip
    tests = [one for one in checks if one.item_group is None]
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put("trials", records)
        store.put_checks([record.trial for record in records], tests)
        store.put("items", [one for one in checks if one.item_group])
    return path


def test_the_mode_of_an_end_is_the_first_that_fits(tmp_path):
    """pd: a pass, a timeout with a reward, a crash; baseline: half a reward, none, and one that is missing."""
    path = study(tmp_path / "study.duckdb", {
        "a__pd__2": {"reward": 0.5, "exception": "AgentTimeoutError"},
        "a__pd__3": {"reward": 0.0, "exception": "NonZeroAgentExitCodeError"},
        "a__baseline__1": {"reward": 0.5},
        "a__baseline__2": {"reward": 0.0},
        "a__baseline__3": None,
    }, [])  # fmt: skip
    found = rows(
        path, "outcome_modes", "condition", "mode", "trials", "trial_share", "unsolved_share"
    )
    assert found == [
        ("baseline", "coherence", 1, None, None),
        ("baseline", "verification", 1, None, None),
        ("pd", "solved", 1, pytest.approx(1 / 3), None),
        ("pd", "timeout", 1, pytest.approx(1 / 3), 0.5),
        ("pd", "execution", 1, pytest.approx(1 / 3), 0.5),
    ]
    marks = dict(rows(path, "outcome_modes", "condition", "not_usable"))
    assert marks == {"baseline": "2 of 3 trials of baseline usable (1 missing)", "pd": None}


def test_failures_are_counted_by_label_and_without_unusable_trials(tmp_path):
    failed = {"label": "numeric"}
    path = study(tmp_path / "study.duckdb", {"a__pd__3": {"reward": None, "status": "error"}}, [
        check("a__pd__1", "x", 0.0, **failed),
        check("a__pd__1", "y", 0.0, **failed),
        check("a__pd__2", "y", 0.0),
        check("a__pd__2", "z", 0.0, outcome="error", label="runtime"),
        check("a__pd__2", "w", None),
        check("a__pd__3", "x", 0.0, **failed),
        item("a__pd__1", "tone", 0.0),
    ])  # fmt: skip
    columns = ("condition", "label", "checks", "errors", "trials", "failure_share")
    assert rows(path, "failures", *columns) == [
        ("pd", "numeric", 2, 0, 1, 0.5),
        ("pd", "runtime", 1, 1, 1, 0.25),
        ("pd", "unclassified", 1, 0, 1, 0.25),
    ]
    assert rows(path, "failures", "not_usable")[0] == ("2 of 3 trials of pd usable (1 error)",)


def three(task, arm, name, awards, make=check, **fields):
    return [
        make(fake.name_of(task, arm, number), name, award, **fields)
        for number, award in enumerate(awards, 1)
    ]


def both(name, control, treatment, **fields):
    arms = zip(ARMS, (control, treatment), strict=True)
    return [one for arm, awards in arms for one in three("a", arm, name, awards, **fields)]


def test_checks_have_a_class_from_three_runs_in_both_arms(tmp_path):
    scale = {"make": item, "points": 4.0}
    path = study(tmp_path / "study.duckdb", {}, [
        *both("induced", (0, 0, 0), (1, 1, 1), criterion="AC-2"),
        *both("redundant", (1, 1, 1), (1, 1, 1)),
        *both("unmoved", (0, 0, 0), (0, 0, 0)),
        *both("harmed", (1, 1, 1), (0, 0, 0)),
        *both("mixed", (1, 0, 0), (1, 1, 1)),
        *both("skipped once", (0, 0, None), (1, 1, 1)),
        *both("tone", (0, 2, 0), (4, 4, 4), unit="u7", **scale),
        *both("unsure", (0, 0, 0), (4, 4, None), **scale),
    ])  # fmt: skip
    columns = ("check", "treatment_runs", "control_runs", "delta_rate", "class", "class_reason")
    few = "fewer than 3 runs in an arm"
    assert rows(path, "checks", *columns) == [
        ("harmed", 3, 3, -1, "harmed", None),
        ("induced", 3, 3, 1, "induced", None),
        ("skipped once", 3, 2, 1, None, few),
        ("unsure", 2, 3, 1, None, few),
        ("tone", 3, 3, pytest.approx(5 / 6), "mixed", None),
        ("mixed", 3, 3, pytest.approx(2 / 3), "mixed", None),
        ("redundant", 3, 3, 0, "redundant", None),
        ("unmoved", 3, 3, 0, "unmoved", None),
    ]
    of_item = ("report", "points", "group", "criterion", "unit", "judge")
    found = {row[0]: row[1:] for row in rows(path, "checks", "check", *of_item)}
    assert found["tone"] == ("style", 4, "goal", None, "u7", "code")
    assert found["induced"] == ("ctrf.json", 1, None, "AC-2", None, None)


def shares(path):
    return {trial: (share, reason) for trial, share, reason in rows(
        path, "SELECT trial, share, reason FROM check_shares", "trial", "share", "reason",
    )}  # fmt: skip


def test_a_share_is_of_tests_or_of_whole_rubrics_and_never_of_both(tmp_path):
    """Task a has tests (and a rubric that does not count), task b a rubric of two items alone."""
    path = study(tmp_path / "study.duckdb", {}, [
        check("a__pd__1", "x"), check("a__pd__1", "y", 0.0, points=3.0), check("a__pd__1", "z", None),
        item("a__pd__1", "tone", 10.0),
        check("a__pd__1", "y #2", 0.0, outcome="error"),
        check("a__pd__2", "x", None),
        check("a__baseline__1", "x", None), check("a__baseline__1", "y", None),
        check("a__baseline__1", "z", None),
        check("a__baseline__2", "x"), check("a__baseline__2", "y"), check("a__baseline__2", "z"),
        item("a__pd__3", "tone", 10.0),
        item("b__pd__1", "tone", 10.0), item("b__pd__1", "form", 0.0, points=30.0),
        item("b__pd__2", "tone", 10.0), item("b__pd__2", "form", None, points=30.0),
        item("b__pd__3", "tone", 10.0),
    ], tasks=("a", "b"))  # fmt: skip
    found = shares(path)
    assert {trial: found[trial] for trial in found if "__pd__" in trial} == {
        "a__pd__1": (0.2, None),
        "a__pd__2": (None, "2 of 3 tests not reported"),
        "a__pd__3": (None, "no check results"),
        "b__pd__1": (0.25, None),
        "b__pd__2": (None, "1 of 2 items unjudged"),
        "b__pd__3": (None, "1 of 2 items unjudged"),
    }
    assert found["a__baseline__1"] == (None, "no check has points")
    assert found["a__baseline__2"] == (1.0, None)
    assert found["b__baseline__1"] == (None, "no check results")


def first(path) -> Headline:
    with open_read(path) as reader:
        return headline(Answers(reader))


def leading(path, tasks=("a", "b", "c"), without=(), **more):
    """pd earns 2 of 4 points of every task, but of c 1; baseline earns 1."""
    awards = {"baseline": 1, "pd": 2}
    checks = [
        check(fake.name_of(task, arm), f"t{number}", float(number < (1 if task == "c" else earned)))
        for task in tasks for arm, earned in awards.items() for number in range(4)
        if fake.name_of(task, arm) not in without
    ]  # fmt: skip
    ends = {fake.name_of(task, arm): {"reward": 0.0} for task in tasks for arm in ARMS}
    return study(path, ends, checks, tasks=tasks, primary="checks", trials=1, **more)


def test_checks_may_lead(tmp_path):
    """(25 + 25 + 0) / 3 points, although no trial passes."""
    found = first(leading(tmp_path / "study.duckdb"))
    assert found.number.startswith("pd minus baseline: +16.7 pp in share of awarded points (95 %")
    assert found.meaning.startswith("mean over 3 tasks of the share of awarded points with pd")


def test_a_trial_without_checks_stops_the_headline_and_is_no_zero(tmp_path):
    path = leading(tmp_path / "study.duckdb", without=("a__baseline__1",))
    found = first(path)
    assert not found.quotable
    assert "1 of 6 planned trials has no final outcome (baseline 1)" in found.title
    assert "contrast_trials gives the reason of each" in found.advice
    reasons = rows(path, "contrast_trials", "trial", "final", "share", "share_reason")
    assert ("a__baseline__1", True, None, "no check results") in reasons
