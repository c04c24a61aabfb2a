"""Tables that need an estimator on top of SQL: contrasts of measures, paired by task."""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from skilljuror.queries.catalog import Query
from skilljuror.queries.run import Result, query
from skilljuror.stats.paired import Arm, geometric_ratio, paired_delta

Answers = Callable[..., Result]
"""Asks a named question, with its parameters, and gives its answer."""

COSTS = {"agent_minutes": "minutes", "display_tokens": "tokens", "cost_usd": "USD"}
"""Measures that are compared as ratios, with their units."""

PROCESS = {
    "agent_steps": "steps",
    "skill_steps": "steps",
    "skill_step_share": "share",
    "fanout": "resources",
    "fanout_support": "resources",
    "resource_events": "uses",
    "return_visits": "resources",
    "unit_exposure_share": "share",
    "skill_bytes_shown": "bytes",
    "skill_tokens_shown": "tokens",
    "tokens_per_exposed_unit": "tokens",
}
"""Measures that are compared as differences, with their units."""

SOURCE = "measure_values"
"""The question whose answer they start from."""

_BY_TASK = {
    "tasks": "tasks with a value in both arms; the others are dropped from both",
    "treatment_trials": "trials with a value; a null is not known and left out, never zero",
    "low": "lower end of the 95 % interval over tasks, Student's t",
    "high": "upper end of the same",
}


class Computed(NamedTuple):
    """A table made from the answer of a question by an estimator."""

    question: str
    """What a person wants to know."""
    columns: tuple[str, ...]
    """Names of its columns."""
    read: str
    """How to read the numbers."""
    definitions: dict[str, str]
    """What single columns are."""
    make: Callable[[Answers], Result]
    """Its rows."""

    def about(self, name: str) -> Query:
        """Its documentation; the SQL is that of the question it starts from."""
        return query(SOURCE)._replace(
            name=name,
            question=self.question,
            grain="one row is one measure",
            columns=self.columns,
            read=self.read,
            definitions=self.definitions,
        )


def ratios(ask: Answers) -> Result:
    """Treatment / control in time, tokens and cost, as ratios of geometric means over tasks."""
    rows = []
    for metric, unit in COSTS.items():
        treatment, control = arms(ask, metric)
        found = geometric_ratio(control, treatment)
        ends = (found.interval.low, found.interval.high) if found.interval else (None, None)
        counts = (_trials(treatment), _trials(control), found.tasks)
        rows.append((metric, unit, *counts, found.ratio, *ends))
    return Result(RATIOS, [row for row in rows if row[2] or row[3]])


def contrasts(ask: Answers) -> Result:
    """Treatment minus control in how agents worked, as paired means over tasks."""
    rows = []
    for metric, unit in PROCESS.items():
        treatment, control = arms(ask, metric)
        found = paired_delta(control, treatment, unit=unit)
        ends = (found.t.low, found.t.high) if found.t else (None, None)
        counts = (_trials(treatment), _trials(control), found.tasks)
        rows.append((metric, unit, *counts, found.delta, *ends))
    return Result(CONTRASTS, [row for row in rows if row[2] or row[3]])


def arms(ask: Answers, metric: str) -> tuple[Arm, Arm]:
    """Values per task of treatment and control; nulls are left out."""
    found: dict[bool, dict[str, list[float]]] = {True: defaultdict(list), False: defaultdict(list)}
    for row in ask(SOURCE, metrics=metric).records():
        if row["value"] is not None:
            found[row["treated"]][row["task"]].append(row["value"])
    return found[True], found[False]


def _trials(arm: Arm) -> int:
    return sum(map(len, arm.values()))


RATIOS = (
    "measure", "unit", "treatment_trials", "control_trials", "tasks", "ratio", "low", "high",
)  # fmt: skip
CONTRASTS = (
    "measure", "unit", "treatment_trials", "control_trials", "tasks", "difference", "low", "high",
)  # fmt: skip


COMPUTED = {
    "ratios": Computed(
        "How much more time, tokens and money does the treatment take?",
        RATIOS,
        "A ratio of 1 means no difference, 1.20 a fifth more. Every task weighs the same, so one long "
        "task does not decide. Where the interval holds 1, nothing is shown.",
        {"ratio": "exp of the mean over tasks of log(treatment mean / control mean)", **_BY_TASK},
        ratios,
    ),
    "contrasts": Computed(
        "By how much does the way of working differ, task by task?",
        CONTRASTS,
        "Where the interval holds 0, nothing is shown. Eleven measures are compared, so one of them may "
        "leave 0 out by chance in two studies of five.",
        {
            "difference": "mean over tasks of (treatment mean - control mean), in the row's unit",
            **_BY_TASK,
        },
        contrasts,
    ),
}
"""Computed tables by name."""
