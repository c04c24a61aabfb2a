"""Time to a strict pass: what failed never passes, what ran out of time is censored."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from skilljuror.queries.run import QueryResult
from skilljuror.reports.answers import Answers
from skilljuror.reports.rates import ends, few_ends
from skilljuror.reports.usable import contrast_mark
from skilljuror.stats.paired import paired_delta
from skilljuror.stats.survival import restricted_mean
from skilljuror.stats.yields import MIN_TASKS_OF_TIMES, per_pass

TIMES = (
    "condition", "tasks", "trials", "passes", "timeouts", "limit_minutes", "minutes", "minutes_reason", "low",
    "low_reason", "high", "difference", "difference_reason", "difference_low", "difference_low_reason",
    "difference_high",
)  # fmt: skip
Rows = Sequence[dict[str, Any]]


def time_to_pass(answers: Answers) -> QueryResult:
    """Mean minutes without a strict pass up to the longest trial of each task, by condition, with intervals
    over tasks, and the difference of treatment and control."""
    setup = answers.single("setup")
    trials = [row for row in answers("trials").records() if row["strict"] is not None]
    limits = _limits(trials)
    arms = {
        row["condition"]: _Arm(
            [one for one in trials if one["condition"] == row["condition"]], limits
        )
        for row in answers("outcomes").records()
        if row["strict_passes"] is not None
    }
    control, why, rows = arms.get(setup.get("control")), contrast_mark(answers), []
    for name, arm in arms.items():
        compared: tuple[Any, ...] = (None,) * 5
        if name == setup.get("treatment") and control is not None:
            compared = _difference(control, arm, why)
        rows.append((name, *arm.row(), *compared))
    return QueryResult(TIMES, rows if limits else [])


def _limits(trials: Rows) -> dict[str, float]:
    """Task -> minutes of its longest usable trial in any condition."""
    found: dict[str, float] = defaultdict(float)
    for row in trials:
        if row["minutes"] is not None and row["unusable"] is None:
            found[row["task"]] = max(found[row["task"]], row["minutes"])
    return dict(found)


def _ran_out(trial: dict[str, Any]) -> bool:
    """Whether a trial ran out of time without a pass."""
    return trial["status"] == "timeout" and not trial["strict"]


class _Arm:
    """Trials of one condition, with the mean time of each task."""

    def __init__(self, trials: Rows, limits: dict[str, float]) -> None:
        self.trials = trials
        self.timeouts = [*filter(_ran_out, trials)]
        self.reason = self._reason(limits)
        self.means = {} if self.reason else self._means(limits)
        self.limit = sum(limits.get(task, 0.0) for task in self.means)

    def _reason(self, limits: dict[str, float]) -> str:
        if any(row["unusable"] for row in self.trials):
            return "not whole"
        unknown = sum(
            row["minutes"] is None if row["strict"] or _ran_out(row) else row["task"] not in limits
            for row in self.trials
        )
        return f"time unknown in {unknown} of {len(self.trials)} trials" if unknown else ""

    def _means(self, limits: dict[str, float]) -> dict[str, float]:
        cells: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.trials:
            cells[row["task"]].append(row)
        means = {}
        for task, own in cells.items():
            passed = [row["minutes"] for row in own if row["strict"]]
            cut = [row["minutes"] for row in own if _ran_out(row)]
            never = len(own) - len(passed) - len(cut)
            means[task] = restricted_mean(passed, cut, never, limits[task])
        return means

    def row(self) -> tuple[Any, ...]:
        """Columns from `tasks` to `high`."""
        tasks = len({row["task"] for row in self.trials})
        counts = (len(self.trials), sum(row["strict"] for row in self.trials), len(self.timeouts))
        if self.reason:
            return (tasks, *counts, None, None, self.reason, None, None, None)
        made = per_pass({task: (mean, 1.0) for task, mean in self.means.items()})
        return (
            tasks,
            *counts,
            self.limit / tasks,
            made.value,
            None,
            *few_ends(made, MIN_TASKS_OF_TIMES),
        )


def _difference(control: _Arm, treatment: _Arm, why: str) -> tuple[Any, ...]:
    """Columns from `difference` on: the mean over the tasks of both of the difference of their mean times."""
    if reason := why or control.reason or treatment.reason:
        return None, reason, None, None, None
    arms = [{task: [mean] for task, mean in arm.means.items()} for arm in (control, treatment)]
    paired = paired_delta(*arms, unit="minutes")
    return paired.delta, None, *ends(paired.t, paired.tasks)
