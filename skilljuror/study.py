"""The stable API for notebooks: `skilljuror.open_study(path)`."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from skilljuror.errors import QueryError
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.lookup import database_of, look_up
from skilljuror.queries.run import catalog, frame, parquet, run
from skilljuror.stats.agreement import Agreement, agreement
from skilljuror.stats.intervals import Bootstrap, percentile_bootstrap
from skilljuror.stats.paired import Arm, PairedDelta, paired_delta
from skilljuror.stats.power import (
    DetectableEffect,
    Equivalence,
    detectable_effect,
    equivalence,
    holm,
)
from skilljuror.stats.signs import sign_flip
from skilljuror.stats.survival import Survival, survival

if TYPE_CHECKING:
    import pandas as pd

CONTRAST_COLUMNS = ["metric", "difference", "low", "high", "unit", "tasks", "p", "p_holm"]
_VALUES = """
SELECT p.condition, p.task, m.value
FROM planned_trials AS p
JOIN measures AS m ON m.trial = p.trial AND m.metric = $metric AND m.key = $key
WHERE p.condition IN ($a, $b) AND m.value IS NOT NULL
"""
_TABLES = """
SELECT table_name AS "table", 'table' AS kind, comment FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal
ORDER BY kind, "table"
"""
_COUNT = "SELECT count(*) FROM query_table($name)"
_ALL_ROWS = "SELECT * FROM query_table($name)"
_UNIT = "SELECT unit FROM metrics WHERE metric = $metric"
_TIMES = """
SELECT coalesce(m.value, e.value * $scale) AS time, m.value IS NOT NULL AS happened
FROM runs AS r
JOIN measures AS m ON m.trial = r.run AND m.metric = $metric AND m.key = ''
JOIN measures AS e ON e.trial = r.run AND e.metric = $end AND e.key = ''
WHERE r.condition = $condition AND (m.value IS NOT NULL OR m.reason = 'never')
    AND coalesce(m.value, e.value) IS NOT NULL
"""
_ENDS = {
    "first_skill_step": ("agent_steps", 1.0),
    "invocation_step": ("agent_steps", 1.0),
    "first_exposure_step": ("agent_steps", 1.0),
    "invocation_seconds": ("log_minutes", 60.0),
    "first_exposure_seconds": ("log_minutes", 60.0),
}
"""Time to a first event -> the measure of the run's end, and what it is multiplied with."""


class StudyReader:
    """An ingested study, read-only. Frames are pandas DataFrames; a null stays a null."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Folder of the study."""
        self._database = database_of(path)

    def __repr__(self) -> str:
        held = {name: value for name, value in self._overview().items() if value not in (None, 0)}
        facts = ", ".join(f"{name} {value}" for name, value in held.items() if name != "study")
        return f"<study {self.path.name!r}: {facts}>"

    def _repr_html_(self) -> str:
        """What a notebook shows for the study: what it holds, and its outcomes when trials ran."""
        answers = [self.query("overview").T.rename(columns={0: self.path.name}).dropna()]
        if self._overview()["planned"]:
            answers.append(self.query("outcomes"))
        return "".join(answer.to_html() for answer in answers)

    def _overview(self) -> dict[str, Any]:
        return run(self._database, "overview").records()[0]

    def query(self, question: str, **params: Any) -> "pd.DataFrame":
        """The answer to a named question, or to SQL with $params. Raises QueryError."""
        return frame(self._database, question, **params)

    def questions(self) -> "pd.DataFrame":
        """One row per named question: what it asks, where it belongs, what one row of its answer is."""
        import pandas as pd

        rows = [(each.name, each.section, each.question, each.grain) for each in catalog()]
        return pd.DataFrame(rows, columns=["name", "section", "question", "grain"])

    def metrics(self) -> "pd.DataFrame":
        """One row per measure: its definition, unit and source, and of how many runs it is known."""
        return self.query("metrics")

    def tables(self) -> "pd.DataFrame":
        """One row per table and view of the database: how many rows it has, and what one row is."""
        answer = self.query(_TABLES)
        counts = [run(self._database, _COUNT, name=name).rows[0][0] for name in answer["table"]]
        answer.insert(2, "rows", counts)
        return answer

    def export(self, folder: str | Path) -> list[Path]:
        """Write every table as a Parquet file into `folder`, with the database's own types; views are
        left out, for they can be computed. Returns the files; those that are there are replaced."""
        target = Path(folder)
        names = [name for name, kind, _ in run(self._database, _TABLES).rows if kind == "table"]
        files = {name: target / f"{name}.parquet" for name in names}
        for name, path in files.items():
            parquet(self._database, _ALL_ROWS, path, name=name)
        return list(files.values())

    def trials(self) -> "pd.DataFrame":
        """One row per planned trial, whatever its end."""
        return self.query("trials")

    def events(self) -> "pd.DataFrame":
        """One row per resource event."""
        return self.query("SELECT * FROM events ORDER BY trajectory, ordinal")

    def trajectory(self, trial: str) -> Trajectory | None:
        """One run with its texts, read from the raw log; None when it left none."""
        return look_up(self.path, trial).trajectory

    def contrast(self, a: str, b: str, metric: str, key: str = "") -> PairedDelta:
        """Condition `a` minus condition `b` in one measure, paired by task (measures §1.8).

        Null values are left out of their task's mean; a task without values in either arm is
        dropped from both and listed. Raises QueryError for a measure that has no values.
        """
        arms = self._arms(a, b, metric, key)
        unit = next((unit for (unit,) in run(self._database, _UNIT, metric=metric).rows), "")
        return paired_delta(arms[b], arms[a], unit="pp" if unit == "flag" else unit)

    def contrasts(self, a: str, b: str, metrics: Sequence[str]) -> "pd.DataFrame":
        """`contrast` of several measures, one row each: the difference, its t interval over tasks
        (null for a single task), p by sign flips over tasks, and p_holm, the same adjusted by Holm's
        method for the number of measures.

        Declare the family before you look. Raises QueryError for a measure that has no values.
        """
        import pandas as pd

        deltas = [self.contrast(a, b, metric) for metric in metrics]
        p_values = [sign_flip([value for _, value in delta.by_task]).p for delta in deltas]
        ends = [(delta.t.low, delta.t.high) if delta.t else (None, None) for delta in deltas]
        rows = [
            (metric, delta.delta, *interval, delta.unit, delta.tasks, p, p_holm)
            for metric, delta, interval, p, p_holm in zip(
                metrics, deltas, ends, p_values, holm(p_values), strict=True
            )
        ]
        return pd.DataFrame(rows, columns=CONTRAST_COLUMNS)

    def equivalence(
        self, a: str, b: str, metric: str, *, margin: float, alpha: float = 0.05
    ) -> Equivalence:
        """Whether `a` and `b` are the same within a margin that was declared before looking, in the
        unit of `contrast` (percentage points for flags). Raises QueryError."""
        return equivalence(self.contrast(a, b, metric), margin, alpha=alpha)

    def power(
        self, a: str, b: str, metric: str, *, tasks: int | None = None, power: float = 0.8
    ) -> DetectableEffect:
        """Smallest true difference that `tasks` tasks (default: this study's) would show with the
        given power, if they vary as this study's do. Raises QueryError, also for a single task."""
        delta = self.contrast(a, b, metric)
        if delta.sd is None:
            raise QueryError(f"one task says nothing of how {metric!r} varies between tasks")
        return detectable_effect(delta.sd, tasks or delta.tasks, power=power)

    def rate(self, condition: str, metric: str = "strict_pass", key: str = "") -> Bootstrap | None:
        """Mean over tasks of a measure in one condition, with a percentile bootstrap interval over
        tasks (measures §1.10); None for fewer than two tasks. Raises QueryError."""
        arm = self._arms(condition, condition, metric, key)[condition]
        return percentile_bootstrap([fmean(arm[task]) for task in sorted(arm)])

    def survival(
        self, condition: str, metric: str = "invocation_step", horizon: float | None = None
    ) -> Survival:
        """Time to a first event (`invocation_…`, `first_exposure_…`, `first_skill_step`): runs that
        never had it count as censored at their end, not as late.

        Times are in the unit of the measure; a run whose end is not known is left out. The
        restricted mean ends at `horizon`, by default the longest time. Raises QueryError for another measure.
        """
        if metric not in _ENDS:
            raise QueryError(f"{metric!r} is no time to an event; choose one of {', '.join(_ENDS)}")
        end, scale = _ENDS[metric]
        times = run(
            self._database, _TIMES, condition=condition, metric=metric, end=end, scale=scale
        ).rows
        longest = max((time for time, _ in times), default=0.0)
        return survival([(time, happened) for time, happened in times], horizon or longest)

    def agreement(self, first: str, second: str) -> Agreement:
        """How far two raters, judges or people, agree on the uses that both labelled, tasks resampled;
        between judges without verdicts that a cascade took over. Raises QueryError for none."""
        rows = [
            row
            for row in run(self._database, "label_pairs").records()
            if {row["first"], row["second"]} == {first, second}
        ]
        if not rows:
            raise QueryError(f"no event was labelled by both {first!r} and {second!r}")
        return agreement(
            [row["first_label"] for row in rows], [row["second_label"] for row in rows],
            [row["task"] for row in rows], [row["weight"] for row in rows],
        )  # fmt: skip

    def _arms(self, a: str, b: str, metric: str, key: str) -> dict[str, Arm]:
        """Condition -> task -> values of a measure that are known."""
        arms: dict[str, dict[str, list[float]]] = {a: defaultdict(list), b: defaultdict(list)}
        for condition, task, value in run(
            self._database, _VALUES, a=a, b=b, metric=metric, key=key
        ).rows:
            arms[condition][task].append(value)
        if not arms[a] or not arms[b]:
            raise QueryError(f"no values of {metric!r} (key {key!r}) for {a!r} and {b!r}")
        return dict(arms)


def open_study(path: str | Path) -> StudyReader:
    """Open an ingested study. Raises StudyError when it has no database yet."""
    return StudyReader(Path(path))
