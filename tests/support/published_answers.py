"""A fabricated frame with the counts of a published study: 82 tasks, 5 trials, 3 conditions.

The per-trial values are invented so that the published totals come out; only the totals are
facts (SkillJuror, Tables 3 to 6, 13, 14 and 16). The per-task differences are one multiset that fits
everything that was printed: 23 tasks won, 44 tied, 15 lost, +17 passes, half-width 6.0.
"""

from collections.abc import Iterator
from pathlib import Path

from skilljuror.base.results import Ingested, Verdict
from skilljuror.base.study import TrialRecord
from skilljuror.base.trajectory import ResourceEvent
from skilljuror.store import open_write
from tests.support import fabricated_records as fake

TASKS = [f"task-{number:02}" for number in range(82)]
TRIALS = 5
CONDITIONS = ("no-skill", "baseline", "pd")
DELTAS = [1] * 10 + [2] * 10 + [3, 4, 5] + [-1] * 9 + [-2] * 4 + [-3, -5] + [0] * 44
PASSES = {"no-skill": 119, "baseline": 172, "pd": 189}
MINUTES = {"no-skill": 8.64, "baseline": 8.42, "pd": 8.19}
COST = {"no-skill": 0.595, "baseline": 0.537, "pd": 0.604}
TOKENS = {"no-skill": 98_700, "baseline": 92_300, "pd": 96_800}
STRATA = ("code tests", "numeric tolerance", "exact artifact", "threshold")

YES = {"baseline": (332, 95, 11, 545), "pd": (386, 335, 118, 1609)}
"""Trajectories with at least 1, 2 and 5 yes events, and yes events in all."""
NO_AND_UNKNOWN = {"baseline": (172, 0), "pd": (292, 1)}


def study(folder: Path) -> Path:
    """The whole frame in a database."""
    path = folder / "study.duckdb"
    attributes = {
        task: {"validation_type": STRATA[place % 4], "workflow_type": f"w{place % 3}"}
        for place, task in enumerate(TASKS)
    }
    with open_write(path) as store:
        store.put_plan(fake.plan(attributes, CONDITIONS, TRIALS))
        for condition in CONDITIONS:
            trials = list(_trials(condition))
            runs = list(_runs(condition, trials))
            store.put("trials", trials)
            fake.put(store, runs)
            fake.put_verdicts(store, list(_verdicts(condition, runs)))
    return path


def passes_of(condition: str) -> list[int]:
    """Strict passes per task; pd minus baseline is DELTAS."""
    if condition == "no-skill":
        return [2] * 37 + [1] * 45
    base = [max(0, -delta) for delta in DELTAS]
    left = PASSES["baseline"] - sum(base)
    for place, delta in enumerate(DELTAS):
        room = min(5 - max(0, delta) - base[place], left, 4 if delta == 0 else 1)
        base[place] += room
        left -= room
    return base if condition == "baseline" else [b + d for b, d in zip(base, DELTAS, strict=True)]


def _trials(condition: str) -> Iterator[TrialRecord]:
    for task, passes in zip(TASKS, passes_of(condition), strict=True):
        for number in range(1, TRIALS + 1):
            reward = float(number <= passes)
            yield fake.trial(task, condition, number, reward=reward)


def _runs(condition: str, trials: list[TrialRecord]) -> Iterator[Ingested]:
    counts = _events_per_run(condition)
    for place, trial in enumerate(trials):
        key = f"log-{trial.trial}"
        events = [_event(key, number) for number in range(counts[place])]
        values = {
            "agent_minutes": MINUTES[condition],
            "display_tokens": float(TOKENS[condition]),
            "cost_usd": COST[condition],
            "skill_step_share": {"no-skill": 0.0, "baseline": 0.054, "pd": 0.108}[condition],
            "support_read": float(place < {"no-skill": 0, "baseline": 66, "pd": 364}[condition]),
            "script_exec": float(place < {"no-skill": 0, "baseline": 31, "pd": 101}[condition]),
            "helper_use": float(place < {"no-skill": 0, "baseline": 3, "pd": 118}[condition]),
            "fanout": float(min(counts[place], 4)),
            **_bins(condition, counts[place]),
        }
        run = fake.run(key, trial=trial.trial, steps=20, events=events, values=values)
        yield fake.replaced(run, offered=()) if condition == "no-skill" else run


def _bins(condition: str, count: int) -> dict[str, float | str | None]:
    spread = 3 if condition == "pd" else 1
    hit = {min(19, 1 + number * spread) for number in range(count)}
    thirds = [sum(place * 3 // 20 == third for place in hit) for third in range(3)]
    return {
        **{f"skill_steps_in_bin {place:02}": float(place in hit) for place in range(20)},
        **{f"skill_steps_in_third {third}": float(n) for third, n in enumerate(thirds)},
    }


def _event(key: str, number: int) -> ResourceEvent:
    if number == 0:
        return fake.event(key, 0)
    name = f"references/{number % 3}.md"
    return fake.event(key, number, step=1 + number, resource=name, resource_class="support")


def yes_per_run(condition: str) -> list[int]:
    """Yes events per trajectory with the published incidence and total."""
    if condition == "no-skill":
        return [0] * 410
    one, two, five, total = YES[condition]
    counts = [5] * five + [2] * (two - five) + [1] * (one - two) + [0] * (410 - one)
    place, left = five, total - sum(counts)
    while left:
        more = min(2, left) if five <= place < two else 0
        counts[place] += more
        left -= more
        place += 1
        if place == two:
            counts[0] += left
            left = 0
    return counts


def _events_per_run(condition: str) -> list[int]:
    counts = yes_per_run(condition)
    extra = sum(NO_AND_UNKNOWN.get(condition, (0, 0)))
    return [count + (place < extra) for place, count in enumerate(counts)]


def _verdicts(condition: str, runs: list[Ingested]) -> Iterator[Verdict]:
    """The first events of a run are its yes events; the one beyond them is a no, the last unknown."""
    unknown = NO_AND_UNKNOWN.get(condition, (0, 0))[1]
    yes = yes_per_run(condition)
    for place, run in enumerate(runs):
        for number, event in enumerate(run.events):
            label = "yes" if number < yes[place] else "unknown" if place < unknown else "no"
            yield fake.verdict(event, label)
