"""The measures of §3, §5 and §7 and the questions over them agree with a second computation.

Asked of logs of every format and of made-up runs with everything odd in them.
"""

from collections import Counter, defaultdict
from itertools import pairwise
from math import inf
from statistics import mean, median
from types import SimpleNamespace
from typing import Any

import pytest

from skilljuror.base.results import TrialContext
from skilljuror.base.trajectory import Step
from skilljuror.measures import run_measures
from skilljuror.store.questions import run
from tests.support.fabricated_studies import ingested
from tests.support.metric_contexts import event, trajectory
from tests.support.recomputed_measures import NOT_TOLD, UNITS, expected, made_up, ratio


def table(path, name, order):
    return [
        SimpleNamespace(**row)
        for row in run(path, f"SELECT * FROM {name} ORDER BY {order}").records()
    ]


def runs_of(path):
    """Name -> run with its steps, events and offers."""
    rows: dict[str, Any] = {name: defaultdict(list) for name in ("steps", "events", "offered")}
    for name, order in (("steps", "agent, step"), ("events", "ordinal"), ("offered", "skill")):
        for row in table(path, name, order):
            rows[name][row.trajectory].append(row)
    found = {}
    for one in table(path, "trajectories", "trajectory"):
        vars(one).update({name: by_run[one.trajectory] for name, by_run in rows.items()})
        found[one.trial or one.trajectory] = one
    return found


@pytest.fixture(
    scope="module", params=["made-up", "goldens", pytest.param("corpus", marks=pytest.mark.shared)]
)
def database(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recomputed")
    if request.param == "made-up":
        return made_up(folder)
    return ingested(folder, request.param)


def arms_of(path):
    """Condition -> (run or None, reward, measures) of every run of the frame; a trial whose outcome is open or
    that is contaminated has no run."""
    runs, arms = runs_of(path), defaultdict(list)
    contaminated = {row.trial for row in table(path, "contaminations", "trial")}
    for row in table(path, "runs", "run"):
        usable = row.status == "observed" or (row.final and row.run not in contaminated)
        one = runs.get(row.run) if usable else None
        arms[row.condition].append((one, row.reward, expected(one)[0] if one else {}))
    return arms


def answers(path, question, *keys):
    return {tuple(row[key] for key in keys): row for row in run(path, question).records()}


def alike(row, wanted):
    """A row of an answer holds these numbers."""
    assert {name: row[name] for name in wanted} == {
        name: value if value is None else pytest.approx(value, abs=1e-5)
        for name, value in wanted.items()
    }


@pytest.mark.slow
def test_every_row_of_the_measures(database):
    stored = {(row.trial, row.metric, row.key): row for row in table(database, "measures", "trial")}
    for name, one in runs_of(database).items():
        for (metric, key), value in expected(one)[0].items():
            if value is NOT_TOLD:
                continue
            row = stored[name, metric, key]
            close = value if value is None else pytest.approx(float(value), abs=1e-5)
            assert row.value == close, (name, metric, key, row.reason)
            assert (row.value is None) == (row.reason is not None)


@pytest.mark.slow
def test_process(database):
    for condition, found in arms_of(database).items():
        rows = [measures for one, _, measures in found if one]
        values = {name: [row[name, ""] for row in rows] for name, key in rows[0] if not key}
        known = {name: [x for x in every if x is not None] for name, every in values.items()}
        alike(answers(database, "process", "condition")[condition,], {
            "trials": len(found),
            "readable": len(rows),
            "skill_step_share": mean(known["skill_step_share"]),
            "skill_step_share_pooled": sum(values["skill_steps"]) / sum(values["agent_steps"]),
            "skill_text_share": mean(known["skill_text_share"]),
            "support_read_trials": sum(values["support_read"]),
            "script_trials": sum(values["script_exec"]),
            "helper_trials": sum(values["helper_use"]),
            "fanout": mean(values["fanout"]),
            "fanout_support": mean(values["fanout_support"]),
        })  # fmt: skip


@pytest.mark.slow
def test_timing(database):
    for condition, found in arms_of(database).items():
        rows = [measures for one, _, measures in found if one]
        thirds = [sum(row["skill_steps_in_third", str(n)] for row in rows) for n in range(3)]
        exposed = sum(row["exposed", ""] for row in rows)
        distributed = sum(row["distributed", ""] or 0 for row in rows)
        alike(answers(database, "timing", "condition")[condition,], {
            "skill_steps": sum(thirds),
            "early_share": ratio(thirds[0], sum(thirds)),
            "middle_share": ratio(thirds[1], sum(thirds)),
            "late_share": ratio(thirds[2], sum(thirds)),
            "exposed_trials": exposed,
            "distributed_trials": distributed,
            "distributed_rate": ratio(distributed, exposed),
            "distributed_rate_all": distributed / len(rows),
        })  # fmt: skip
        bins = answers(database, "timing_bins", "condition", "bin")
        for n in range(20):
            steps = sum(row["skill_steps_in_bin", f"{n:02}"] for row in rows)
            alike(bins[condition, n], {"skill_steps": steps, "per_trial": steps / len(rows)})


@pytest.mark.slow
def test_invocation_counts_a_sub_agent_as_part_of_the_run(database):
    for condition, found in arms_of(database).items():
        runs = [(measures, reward) for one, reward, measures in found if one]
        taken = [row["skill_invoked", ""] or row["skill_invoked", "sub"] for row, _ in runs]
        rewards = {
            said: [
                r
                for (_, r), took in zip(runs, taken, strict=True)
                if took is said and r is not None
            ]
            for said in (True, False)
        }
        first = [
            inf if row["invocation_step", ""] is None else row["invocation_step", ""]
            for row, _ in runs
        ]
        timed = [
            inf if step == inf else row["invocation_seconds", ""]
            for step, (row, _) in zip(first, runs, strict=True)
        ]
        seconds = inf if None in timed or not timed else median(timed)
        alike(answers(database, "invocation", "condition")[condition,], {
            "readable": len(runs),
            "invoked": sum(taken),
            "invocation_rate": sum(taken) / len(runs),
            "reward_invoked": mean(rewards[True]) if rewards[True] else None,
            "reward_not_invoked": mean(rewards[False]) if rewards[False] else None,
            "never": first.count(inf),
            "median_step": None if not first or median(first) == inf else median(first),
            "median_seconds": None if seconds == inf else seconds,
        })  # fmt: skip


@pytest.mark.slow
def test_the_exposure_curve(database):
    shares = []
    for one in (one for rows in arms_of(database).values() for one, *_ in rows if one):
        arrived, steps = expected(one)[1], sum(step.agent == "main" for step in one.steps)
        if arrived is not None and steps:
            first = list(arrived.values())
            shares.append([
                sum(s == 0 or (s - 0.5) / steps <= k / 20 for s in first) for k in range(21)
            ])
    rows = answers(database, "exposure_curve", "position")
    assert len(rows) == (21 if shares else 0)
    for (position,), row in rows.items():
        at = [share[round(position * 20)] / (UNITS) for share in shares]
        alike(row, {"trajectories": len(shares), "units_share": mean(at)})
    curve = [row["units_share"] for row in rows.values()]
    assert all(a <= b for a, b in pairwise(curve))


@pytest.mark.slow
def test_what_a_skill_does_not_have_is_no_script_of_it(database):
    scripts = Counter(
        use.skill
        for one in runs_of(database).values()
        for use in one.events
        if use.kind == "exec" and not use.phantom
    )
    rows = answers(database, "skills_opened", "skill")
    assert {skill: row["scripts_run"] for (skill,), row in rows.items()} == {
        skill: scripts[skill] for (skill,) in rows
    }


def test_a_resource_opened_before_and_in_the_only_step_was_returned_to():
    events = (event(0, "activate", via="injected"), event(1))
    context = TrialContext("t", trajectory=trajectory([Step("main", 1, 1)]), events=events)
    rows = {row.metric: row.value for row in run_measures.invocation(context)}
    assert rows["return_visits"] == 1


@pytest.mark.slow
def test_exposure(database):
    """A run to which no unit came is later than every other."""
    for condition, found in arms_of(database).items():
        rows = [row for one, _, row in found if one and row.get(("units_offered", "")) is not None]
        told = answers(database, "exposure", "condition").get((condition,))
        assert (told is None) == (not rows)
        if told is None:
            continue
        values = {name: [row[name, ""] for row in rows] for name, key in rows[0] if not key}
        steps = [inf if step is None else step for step in values["first_exposure_step"]]
        per_unit = [x for x in values["tokens_per_exposed_unit"] if x is not None]
        alike(told, {
            "trials": len(rows),
            "units_share": mean(values["unit_exposure_share"]),
            "repeats": mean(values["unit_repeats"]),
            "tokens": mean(values["skill_tokens_shown"]),
            "tokens_per_unit": mean(per_unit),
            "never": steps.count(inf),
            "median_step": None if median(steps) == inf else median(steps),
        })  # fmt: skip
