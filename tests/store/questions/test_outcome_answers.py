"""Answers about outcomes worked out by hand on the small fabricated study (tests/support/fabricated_studies.py)."""

import random
from itertools import product
from statistics import fmean
from typing import Any

import pytest

from skilljuror.base.build import FileDigest
from skilljuror.base.results import CheckResult
from skilljuror.base.review import Acceptance
from skilljuror.report.computed import Answers
from skilljuror.report.headline import headline
from skilljuror.store import open_read, open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import ALPHA, rows


def test_outcomes_divide_by_the_planned_frame(whole):
    """0.9999 is no pass; the unscored and the missing trial count in the denominator."""
    columns = ("condition", "planned", "final", "strict_passes", "strict_rate", "broad_passes")
    assert rows(whole, "outcomes", *columns) == [
        ("no-skill", 4, 4, 1, 0.25, 2),
        ("baseline", 4, 4, 2, 0.5, 3),
        ("pd", 4, 4, 3, 0.75, 3),
    ]


def test_mean_reward_is_a_mean_over_tasks_with_missing_as_nothing(whole):
    """no-skill: alpha (0+1)/2, beta (0.5+0)/2; pd: alpha 1, beta (1+0)/2."""
    means = dict(rows(whole, "outcomes", "condition", "mean_reward"))
    assert means["no-skill"] == pytest.approx((0.5 + 0.25) / 2)
    assert means["pd"] == pytest.approx((1.0 + 0.5) / 2)


def test_coverage_names_every_end(study):
    columns = ("scored", "timeout", "unscored", "error", "missing", "coverage", "readable")
    assert rows(study, "coverage", *columns) == [
        (3, 1, 0, 0, 0, 1.0, 3),
        (3, 0, 1, 0, 0, 0.75, 4),
        (3, 0, 0, 0, 1, 0.75, 3),
    ]


def test_attempts_and_accepted_trials_are_counted(tmp_path):
    """alpha/baseline was run twice and accepted without a reward; alpha/pd waits to be run again."""
    path = tmp_path / "study.duckdb"
    first: dict[str, Any] = {"reward": None, "status": "error", "exception": "OSError"}
    with open_write(path) as store:
        store.put_plan(fake.plan([ALPHA], ("baseline", "pd")))
        store.put("trials", [fake.trial(ALPHA, "baseline", reward=None, status="unscored")])
        attempts = [(1, fake.trial(ALPHA, arm, **first)) for arm in ("baseline", "pd")]
        name, at = fake.name_of(ALPHA, "baseline"), "2026-01-02T03:04:05+00:00"
        accepted = Acceptance(trial=name, reason="no test", by="Ann", at=at)
        store.put_attempts(attempts, [accepted])
    counts = ("attempts", "rerun", "accepted", "final", "missing")
    assert rows(path, "coverage", *counts) == [(2, 1, 1, 1, 0), (1, 0, 0, 0, 1)]
    columns = ("trial", "attempt", "last", "status", "exception", "accepted_by", "reason")
    assert rows(path, "attempts", *columns) == [
        (name, 1, False, "error", "OSError", None, None),
        (name, 2, True, "unscored", None, "Ann", "no test"),
        (fake.name_of(ALPHA, "pd"), 1, False, "error", "OSError", None, None),
    ]
    with open_write(path) as store:
        store.put("trials", [fake.trial(ALPHA, "pd")])
    with open_read(path) as reader:
        told = headline(Answers(reader))
    assert told.quotable
    assert ("Accepted as final", "baseline 1, pd 0") in told.facts
    assert ("Trials run more than once", "baseline 1, pd 1") in told.facts


def test_efficiency_views(whole):
    """baseline: 1+2+1+2 minutes over four trials and two passes, both of one minute."""
    columns = ("condition", "resource", "attempt", "success", "yield", "yield_reason")
    found = {row[:2]: row[2:] for row in rows(whole, "efficiency", *columns)}
    assert found["baseline", "time"] == (1.5, 1.0, 3.0, None)
    assert found["pd", "time"] == (
        pytest.approx(4 / 3),
        pytest.approx(4 / 3),
        None,
        "missing in 1 of 4",
    )
    assert found["baseline", "cost"] == (None, None, None, "no_price")


def test_a_condition_without_a_pass_has_no_yield(tmp_path):
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        store.put_plan(fake.plan(["a"], ("baseline", "pd")))
        store.put("trials", [fake.trial("a", name, reward=0.0) for name in ("baseline", "pd")])
        fake.put(store, [fake.unread("a__pd__1", {"agent_minutes": 3.0})])
    columns = ("condition", "resource", "attempt", "success_reason", "yield", "yield_reason")
    found = {row[:2]: row[2:] for row in rows(path, "efficiency", *columns)}
    assert found["pd", "time"] == (3.0, "zero_passes", None, "zero_passes")


def test_task_deltas_compare_counts(whole):
    columns = ("task", "treatment_passes", "control_passes", "delta_rate", "result")
    assert rows(whole, "task_deltas", *columns) == [
        ("alpha", 2, 1, 0.5, "win"),
        ("beta", 1, 1, 0.0, "tie"),
    ]


def test_win_tie_loss_names_the_tasks(whole):
    assert rows(whole, "win_tie_loss", "wins", "ties", "losses", "won", "lost") == [
        (1, 1, 0, "alpha", None)
    ]


def unequal_arms(folder, control, treatment):
    """A study whose arms planned unequal numbers of trials: task -> rewards."""
    path = folder / "study.duckdb"
    arms = {"baseline": control, "pd": treatment}
    whole = fake.plan(list(control), ("baseline", "pd"), trials=6)
    planned = tuple(
        trial for trial in whole.trials if trial.number <= len(arms[trial.condition][trial.task])
    )
    with open_write(path) as store:
        store.put_plan(whole.model_copy(update={"trials": planned}))
        store.put(
            "trials",
            [
                fake.trial(trial.task, trial.condition, trial.number, reward=reward)
                for trial in planned
                for reward in [arms[trial.condition][trial.task][trial.number - 1]]
            ],
        )
    return path


def test_unequal_arms_are_compared_as_exact_fractions(tmp_path):
    """a: 1/3 against 2/6, b: 1/2 against 2/3, c: 1/1 against 5/6."""
    control = {"a": [1, 0, 0], "b": [1, 0], "c": [1]}
    treatment = {"a": [1, 1, 0, 0, 0, 0], "b": [1, 1, 0], "c": [1, 1, 1, 1, 1, 0]}
    path = unequal_arms(tmp_path, control, treatment)
    columns = ("wins", "ties", "losses", "won", "lost")
    assert rows(path, "win_tie_loss", *columns) == [(1, 1, 1, "b", "c")]
    swapped = rows(path, "win_tie_loss", *columns, treatment="baseline", control="pd")
    assert swapped == [(1, 1, 1, "c", "b")]


def test_pass_at_k_is_a_mean_over_tasks_of_enough_trials(tmp_path):
    """Two of three trials: a has 1 - 1/3, b always; c has one trial and is left out."""
    arm = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [0]}
    path = unequal_arms(tmp_path, arm, arm)
    columns = ("condition", "k", "tasks", "short_tasks", "pass_at_k")
    assert rows(path, "pass_at_k", *columns, k="2")[0] == (
        "baseline", 2, 2, 1, pytest.approx((2 / 3 + 1) / 2),
    )  # fmt: skip


def test_gain_and_its_price_are_those_of_means_over_tasks(tmp_path):
    """Strict 0.25 and 0.75; tokens 100 and 150 on the one task that has them in both arms."""
    path = unequal_arms(tmp_path, {"a": [0, 0], "b": [1, 0]}, {"a": [1, 1], "b": [1, 0.5]})
    totals = {"a__baseline__1": 100.0, "a__pd__1": 140.0, "a__pd__2": 160.0, "b__pd__1": 999.0}
    with open_write(path) as store:
        fake.put(store, [fake.unread(name, {"total_tokens": n}) for name, n in totals.items()])
    (found,) = run(path, "gain").records()
    assert found["rate_gain"] == pytest.approx((0.75 - 0.25) / 0.75)
    assert found["reward_gain"] == pytest.approx((0.875 - 0.25) / 0.75)
    assert (found["token_tasks"], found["tokens_treatment"]) == (1, 150.0)
    assert (found["token_overhead"], found["cost_efficiency"]) == (0.5, 1.0)
    assert found["quadrant"] == "better, dearer"


@pytest.fixture
def checked(tmp_path):
    """Tasks a and b have one source Skill, c and d one each: checks passed of four, in baseline and pd, of one trial.

    Of d, one trial has no check results.
    """
    passed = {"a": (1, 3), "b": (2, 4), "c": (2, 2), "d": (4, None)}
    path = unequal_arms(
        tmp_path, *({task: [float(n[arm] == 4)] for task, n in passed.items()} for arm in (0, 1))
    )
    cells = [
        (fake.name_of(task, arm), n)
        for task, pair in passed.items() for arm, n in zip(("baseline", "pd"), pair, strict=True)
    ]  # fmt: skip
    with open_write(path) as store:
        plan = fake.plan(list(passed), ("baseline", "pd"))
        sources = {"a": "1", "b": "1", "c": "2", "d": ""}
        store.put_plan(plan.model_copy(update={"tasks": tuple(
            task.model_copy(update={"source_digest": sources[task.name]}) for task in plan.tasks
        )}))  # fmt: skip
        store.put_checks([], [
            CheckResult(trial, "ctrf.json", f"test_{k}", outcome := "passed" if k < n else "failed", award=float(outcome == "passed"))
            for trial, n in cells if n is not None for k in range(4)
        ])  # fmt: skip
        fake.put(store, [
            fake.unread(trial, {"total_tokens": 100.0 + 50 * ("__pd__" in trial)}) for trial, _ in cells
        ])  # fmt: skip
    return path


def test_gain_by_skill_is_over_its_tasks(checked):
    """Shares: (3/4 + 4/4) / 2 - (1/4 + 2/4) / 2 is a half; overhead a half. Strictly, b alone gains: a half too."""
    columns = ("skill", "tasks", "runs_treatment", "delta_rate", "delta_rate_reason", "class", "cost_efficiency",
               "cost_efficiency_reason", "quadrant")  # fmt: skip
    unknown = "1 of 2 trials without a share of points"
    assert rows(checked, "gain", *columns, by="skill", level="check") == [
        ("skills/a", 2, 2, 0.5, None, "better", 1.0, None, "better, dearer"),
        ("skills/c", 1, 1, 0.0, None, "same", None, "no difference", "equal, dearer"),
        ("skills/d", 1, 1, None, unknown, None, None, unknown, None),
    ]
    strict = rows(checked, "gain", "skill", "delta_rate", "class", by="skill")
    assert strict == [
        ("skills/a", 0.5, "better"),
        ("skills/c", 0.0, "same"),
        ("skills/d", -1.0, "worse"),
    ]
    assert rows(checked, "gain", "skill", "delta_rate", level="check") == [(None, None)]
    assert rows(checked, "gain", "delta_rate", level="check", tasks="a b c") == [
        (pytest.approx(1 / 3),)
    ]


def test_sensitivity_counts_by_other_rules(study):
    """Beta has one unsettled trial in each arm; alpha has none."""
    columns = ("rule", "tasks", "treatment_passes", "treatment_trials", "delta")
    assert rows(study, "sensitivity", *columns) == [
        ("planned frame", 2, 3, 4, 0.25),
        ("final trials only", 2, 3, 3, 0.25),
        ("trials that are not final count as passes", 2, 4, 4, 0.25),
        (
            "worst case: trials that are not final fail in the treatment, pass in the control",
            2,
            3,
            4,
            0.0,
        ),
        (
            "worst case: trials that are not final pass in the treatment, fail in the control",
            2,
            4,
            4,
            0.5,
        ),
        ("final trials without an exception", 1, 2, 2, 0.5),
        ("tasks whose trials are all final", 1, 2, 2, 0.5),
        ("contaminated trials left out", 2, 3, 4, 0.25),
    ]


@pytest.mark.parametrize(("slots", "counted"), [(2, "46"), (3, "146"), (4, "1246"), (9, "123456")])
def test_healthy_trials_fill_the_slots_first_then_time_outs_then_the_rest(tmp_path, slots, counted):
    """1 timed out, 2 is contaminated and passed, 3 is unscored, 4 failed, 5 is missing, 6 passed."""
    path = tmp_path / "study.duckdb"
    plan = fake.plan(["a"], ("baseline",), trials=6)
    rules = plan.config.model_copy(update={"healthy_first": slots})
    fields: dict[int, Any] = {
        1: {"status": "timeout", "reward": None},
        2: {"substrate_digest": "another"},
        3: {"status": "unscored", "reward": None},
        4: {"reward": 0.0},
        6: {},
    }
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": rules}))
        store.put("trials", [fake.trial("a", "baseline", n, **some) for n, some in fields.items()])
    found = run(path, "SELECT run FROM arm_runs ORDER BY run").rows
    assert "".join(name[-1] for (name,) in found) == counted
    assert rows(path, "coverage", "planned")[0] == (len(counted),)


def test_a_rule_that_leaves_no_task_keeps_its_row(tmp_path):
    """Both trials of pd ran on another task substrate; those of baseline ended with an exception."""
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        store.put_plan(fake.plan(["a", "b"], ("baseline", "pd")))
        store.put("trials", [fake.trial(task, "baseline", exception="Boom") for task in "ab"])
        store.put("trials", [fake.trial(task, "pd", substrate_digest="another") for task in "ab"])
    columns = ("rule", "tasks", "treatment_passes", "delta", "delta_reason", "wins")
    found = {row[0]: row[1:] for row in rows(path, "sensitivity", *columns)}
    assert len(found) == 8
    nothing = (0, None, None, "no task keeps trials in both arms", None)
    assert found["contaminated trials left out"] == nothing
    assert found["final trials without an exception"] == nothing
    assert found["planned frame"] == (2, 2, 0.0, None, 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_cases_hold_every_end_of_the_unsettled_trials(tmp_path, seed):
    """Unequal numbers of open trials in both arms, and every way in which they may end."""
    draw = random.Random(seed)
    names = [(task, arm, n) for task in "ab" for arm in ("baseline", "pd") for n in (1, 2, 3)]
    open_trials = draw.sample(names, 4)
    ends = {name: draw.choice([0.0, 1.0]) for name in names if name not in open_trials}

    def delta(found):
        arms = {
            arm: [found[task, arm, n] for task in "ab" for n in (1, 2, 3)]
            for arm in ("baseline", "pd")
        }
        return fmean(arms["pd"]) - fmean(arms["baseline"])

    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        store.put_plan(fake.plan(["a", "b"], ("baseline", "pd"), 3))
        store.put("trials", [fake.trial(*name, reward=end) for name, end in ends.items()])
    found = dict(rows(path, "sensitivity", "rule", "delta"))
    worst = [end for rule, end in found.items() if rule.startswith("worst case")]
    possible = [
        delta(ends | dict(zip(open_trials, chosen, strict=True)))
        for chosen in product([0.0, 1.0], repeat=4)
    ]
    assert worst == [pytest.approx(min(possible)), pytest.approx(max(possible))]


def test_buckets_of_skills_are_those_of_skillsbench(tmp_path):
    """87 sizes without ties give its counts, 22, 22, 38, 5; the cuts are those of the study's tasks."""
    counts = [1] * 23 + [2, 3] * 21 + [3] + [4, 7, 9] * 7
    tasks = [f"t{number}" for number in range(87)]
    with open_write(tmp_path / "study.duckdb") as store:
        store.put_plan(fake.plan(tasks, ("baseline", "pd")))
        store.put_builds([
            sized(task, 1000 + 7 * number**2, counts[number]) for number, task in enumerate(tasks)
        ])
        store.put("trials", [fake.trial(task, arm) for task in tasks for arm in ("baseline", "pd")])
    path = tmp_path / "study.duckdb"
    found = run(path, "strata", attributes="skills skill_size").records()
    assert {(row["attribute"], row["value"]): row["tasks"] for row in found} == {
        ("skills", "1"): 23, ("skills", "2-3"): 43, ("skills", "4 and more"): 21,
        ("skill_size", "compact"): 22, ("skill_size", "standard"): 22,
        ("skill_size", "detailed"): 38, ("skill_size", "comprehensive"): 5,
    }  # fmt: skip
    cuts = run(path, "SELECT DISTINCT cuts FROM skill_buckets").rows
    assert cuts[0][0] == pytest.approx([4237.5, 13943.0, 47725.7])


def sized(task, size, skills):
    """A build whose source has so many Skills, with so many bytes of SKILL.md together."""
    made = fake.build(task)
    sizes = [size - skills + 1, *[1] * (skills - 1)]
    files = tuple(
        FileDigest(path=f"s{n}/SKILL.md", sha256=fake.DIGEST, size=one, resource_class="root")
        for n, one in enumerate(sizes)
    )
    source = {"skills": tuple(f"s{n}" for n in range(skills)), "files": files}
    record = made.record.model_copy(update={"source": made.record.source.model_copy(update=source)})
    return made._replace(record=record)
