"""Mapping of records to rows: the table, its key, and the value of each column."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from skilljuror.store.values import epoch_microseconds, iso_microseconds, line_ranges, map_value

Getter = Callable[[Any], Any]
Row = dict[str, Any]
"""A row without a record type."""
Columns = dict[str, list[Any]]
"""The same rows as one list of values per column."""


class Table(NamedTuple):
    """Mapping of records to the rows of one table."""

    name: str
    """Name of the table."""
    key: tuple[str, ...]
    """Key columns: a new batch replaces old rows with the same key."""
    rules: Mapping[str, Getter] = {}
    """Columns whose value is not the field of the same name."""
    take: Callable[[str], Getter] = attrgetter
    """Getter of other columns: attributes, or keys of a dict."""

    def values(self, columns: Sequence[str], records: Sequence[Any]) -> Columns:
        """Return one list of values per column."""
        getters = {name: self.rules.get(name) or self.take(name) for name in columns}
        return {name: list(map(getter, records)) for name, getter in getters.items()}


def _trajectory_field(name: str) -> Getter:
    return attrgetter(f"trajectory.{name}")


def _sampled_field(name: str) -> Getter:
    return lambda numbered: getattr(numbered[1], name)


def _timestamp(take: Getter) -> Getter:
    return lambda record: epoch_microseconds(take(record))


STUDY = Table("study", (), take=itemgetter)
TASKS = Table("tasks", (), take=itemgetter)
TASK_ATTRIBUTES = Table("task_attributes", (), take=itemgetter)
CONDITIONS = Table("conditions", (), take=itemgetter)
PLANNED_TRIALS = Table("planned_trials", (), {"position": attrgetter("order")})
EXCLUDED_TASKS = Table("excluded_tasks", (), {"task": attrgetter("name")})
"""Tables of the plan have no key: a plan replaces them completely."""

TRIALS = Table(
    "trials",
    ("trial",),
    {
        "rewards": lambda record: map_value(record.rewards),
        "started_at": lambda record: iso_microseconds(record.started_at),
        "finished_at": lambda record: iso_microseconds(record.finished_at),
    },
)

ATTEMPTS = Table(
    "attempts",
    (),
    {
        "attempt": itemgetter(0),
        "started_at": lambda one: iso_microseconds(one[1].started_at),
        "finished_at": lambda one: iso_microseconds(one[1].finished_at),
    },
    take=lambda name: lambda one: getattr(one[1], name),
)
"""For pairs (number of an attempt, its record)."""
ACCEPTANCES = Table(
    "acceptances",
    (),
    {
        "accepted_by": attrgetter("by"),
        "accepted_at": lambda record: iso_microseconds(record.at),
    },
)

CHECK_RESULTS = Table("check_results", ("trial", "source"))

BUILDS = Table("builds", ("build",), take=itemgetter)
VARIANTS = Table("variants", ("build",), take=itemgetter)
VARIANT_FILES = Table("variant_files", ("build",), take=itemgetter)
UNITS = Table("units", (), take=itemgetter)
UNIT_PLACES = Table("unit_places", (), take=itemgetter)
GATE_RESULTS = Table("gate_results", ("build",), take=itemgetter)
FINDINGS = Table("findings", ("build",), take=itemgetter)
GIVEN_SKILLS = Table("given_skills", ())
GENERATIONS = Table("generations", (), {"generated_by": attrgetter("by")})
SKILL_LEAKS = Table("skill_leaks", ())
WAIVERS = Table("waivers", ("build",), take=itemgetter)
RUBRIC_ITEMS = Table("rubric_items", ("build",), take=itemgetter)
DECISIONS = Table("decisions", ("build",), take=itemgetter)
TRIAL_CODES = Table(
    "trial_codes",
    (),
    {
        "list": lambda row: row.item.partition(":")[0],
        "trial": lambda row: row.item.partition(":")[2],
        "code": attrgetter("answer"),
        "reviewer": attrgetter("by"),
    },
)
LABELS = Table(
    "labels",
    (),
    {
        "event": lambda one: one.item.partition(":")[2],
        "reviewer": attrgetter("by"),
        "label": attrgetter("answer"),
        "labelled_at": lambda one: iso_microseconds(one.at),
    },
)
"""For decisions about events; a study's reviews replace them completely."""

SOURCES = Table("sources", ("path",))
TRAJECTORIES = Table(
    "trajectories",
    ("trajectory",),
    {
        "started_at": _timestamp(_trajectory_field("started_at")),
        "finished_at": _timestamp(_trajectory_field("finished_at")),
        "offered_known": lambda run: run.offered is not None,
        "units": lambda run: run.exposure.units if run.exposure else None,
        "shown_bytes": lambda run: run.exposure.shown_bytes if run.exposure else None,
    },
    take=_trajectory_field,
)
UNLOGGED_TRIALS = Table(
    "unlogged_trials",
    ("trial",),
    {
        "started_at": _timestamp(attrgetter("started_at")),
        "finished_at": _timestamp(attrgetter("finished_at")),
    },
)
STEPS = Table("steps", ("trajectory",), {"timestamp": _timestamp(attrgetter("timestamp"))})
OFFERED = Table("offered", ("trajectory",))
EVENTS = Table(
    "events",
    ("trajectory",),
    {"counted": attrgetter("counts"), "lines": lambda event: line_ranges(event.lines)},
)
COMPACTIONS = Table("compactions", ("trajectory",))
UNKNOWN_TOOLS = Table("unknown_tools", ("trajectory",))
LEAK_SEARCHES = Table("leak_searches", ("trajectory",))
EXPOSURE = Table("exposure", ("trajectory",), take=itemgetter)
EXPOSURE_TOTALS = Table("exposure_totals", ("trajectory",), take=itemgetter)
METRICS = Table("metrics", ("metric",), {"definition": itemgetter("line")}, take=itemgetter)
MEASURES = Table("measures", ("trial",))
VERDICTS = Table("verdicts", ("event", "judge"))
UNIT_USES = Table("unit_uses", ("trial", "judge"))
LABEL_SAMPLE = Table("label_sample", (), {"position": itemgetter(0)}, take=_sampled_field)
KEPT_RUNS = Table("kept_runs", ("trajectory",), take=itemgetter)
SEEN = Table("seen", ("path",))
GROUPS = Table("groups", ("digest",), take=itemgetter)
JUDGED = Table("judged", ("trial", "judge"), take=itemgetter)
JUDGE_CALLS = Table("judge_calls", ("trial", "judge"))
