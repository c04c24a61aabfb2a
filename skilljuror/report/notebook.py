"""The stable API for notebooks: `skilljuror.open_study(path)`.

Tables are pandas DataFrames if pandas is installed, else lists of dicts; `rows` is always
a list of dicts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from skilljuror.base.errors import QueryError, installed
from skilljuror.base.files import StudyFolder
from skilljuror.base.trajectory import Trajectory
from skilljuror.measures.agreement import Agreement
from skilljuror.measures.paired import (
    ArmRate,
    Equivalence,
    PairedDelta,
    TrialValue,
    arm_rate,
    contrast,
    equivalence,
)
from skilljuror.measures.power import DetectableEffect, detectable_effect, holm, sign_flip
from skilljuror.report.computed import agreement_of
from skilljuror.store.questions import catalog, export, frame, run

Rows: TypeAlias = list[dict[str, Any]]
Table: TypeAlias = Any
"""A pandas DataFrame, or `Rows` without pandas."""

CONTRAST_COLUMNS = (
    "metric", "difference", "low", "high", "unit", "tasks", "p", "p_holm", "planned", "final", "contaminated",
    "refusal",
)  # fmt: skip
_VALUES = """
SELECT trial, value FROM measures WHERE metric = $metric AND key = $key AND value IS NOT NULL
"""
_TABLES = """
SELECT table_name AS "table", 'table' AS kind, comment FROM duckdb_tables() WHERE comment IS NOT NULL
UNION
SELECT view_name, 'view', comment FROM duckdb_views() WHERE comment IS NOT NULL
ORDER BY kind, "table"
"""
_COUNT = "SELECT count(*) FROM query_table($name)"
_UNIT = "SELECT unit FROM metrics WHERE metric = $metric"


class StudyReader:
    """An ingested study, read-only. A null stays a null."""

    def __init__(self, path: Path, *, partial: bool = False) -> None:
        self.path = path
        """Folder of the study."""
        self._database = StudyFolder.existing(path).readable(partial=partial)

    def __repr__(self) -> str:
        known = {name: value for name, value in self._overview().items() if value not in (None, 0)}
        facts = ", ".join(f"{name} {value}" for name, value in known.items() if name != "study")
        return f"<study {self.path.name!r}: {facts}>"

    def _repr_html_(self) -> str | None:
        """Overview and, for planned trials, outcomes as HTML; None without pandas, to show the repr."""
        if not installed("pandas"):
            return None
        answers = [self.query("overview").T.rename(columns={0: self.path.name}).dropna()]
        if self._overview()["planned"]:
            answers.append(self.query("outcomes"))
        return "".join(answer.to_html() for answer in answers)

    def _overview(self) -> dict[str, Any]:
        return run(self._database, "overview").records()[0]

    def query(self, question: str, **params: Any) -> Table:
        """Return the answer to a named question, or to SQL with $params. Raises QueryError."""
        if installed("pandas"):
            return frame(self._database, question, **params)
        return self.rows(question, **params)

    def rows(self, question: str, **params: Any) -> Rows:
        """Return the same answer as a list of dicts. Raises QueryError."""
        return run(self._database, question, **params).records()

    def questions(self) -> Table:
        """One row per named question: its section, question and grain (meaning of one row)."""
        columns = ("name", "section", "question", "grain")
        return _table(
            columns, [tuple(getattr(each, name) for name in columns) for each in catalog()]
        )

    def metrics(self) -> Table:
        """One row per measure: its definition, unit, source and number of values."""
        return self.query("metrics")

    def tables(self) -> Table:
        """One row per table and view of the database: its number of rows, and the meaning of one row."""
        rows = [
            (name, kind, run(self._database, _COUNT, name=name).rows[0][0], comment)
            for name, kind, comment in run(self._database, _TABLES).rows
        ]
        return _table(("table", "kind", "rows", "comment"), rows)

    def export(self, folder: str | Path) -> list[Path]:
        """Write every table and view as a Parquet file with the database's types, and dictionary.csv, into
        `folder`, in place of an earlier export; return the files. Raises UsageError for a folder with
        other content."""
        target = Path(folder)
        return [target / f"{name}.parquet" for name in export(self._database, target)]

    def trials(self) -> Table:
        """One row per planned trial."""
        return self.query("trials")

    def events(self) -> Table:
        """One row per resource event."""
        return self.query("SELECT * FROM events ORDER BY trajectory, ordinal")

    def trajectory(self, trial: str) -> Trajectory | None:
        """Return one run with its texts from the raw log; None without a log."""

        from skilljuror.report.trajectory import look_up  # reaches layouts and audit

        return look_up(self.path, trial).trajectory

    def contrast(self, a: str, b: str, metric: str, key: str = "") -> PairedDelta:
        """Condition `a` minus condition `b` in one measure, paired by task (measures §1.8).

        Null values are left out of their task's mean; a task without values in either arm is
        dropped from both and listed. The result has the coverage of its trials and, in `refusal`, the
        reason not to quote it. Raises QueryError for a measure without values.
        """
        trials = self._trials(a, b, metric, key)
        unit = next((unit for (unit,) in run(self._database, _UNIT, metric=metric).rows), "")
        return contrast(trials, a, b, unit="pp" if unit == "flag" else unit)

    def contrasts(self, a: str, b: str, metrics: Sequence[str]) -> Table:
        """`contrast` of several measures, one row each: the difference, its t interval over tasks (null
        for a single task and if all tasks have the same difference), p by sign flips over tasks (the larger of
        with and without contaminated trials), and p_holm, adjusted by Holm's method for the number of
        measures. `refusal` is the reason not to quote a row, or "".

        Declare the family in advance. Raises QueryError for a measure without values.
        """
        rows: list[tuple[Any, ...]] = []
        for metric in metrics:
            delta = self.contrast(a, b, metric)
            versions = (delta, delta.clean or delta)
            p = max(sign_flip([value for _, value in one.by_task]).p for one in versions)
            ends = (delta.t.low, delta.t.high) if delta.t else (None, None)
            of = delta.coverage
            rows.append((
                metric, delta.delta, *ends, delta.unit, delta.tasks, p, None,
                of.planned, of.final, of.contaminated, delta.refusal,
            ))  # fmt: skip
        adjusted = holm([row[6] for row in rows])
        rows = [(*row[:7], p, *row[8:]) for row, p in zip(rows, adjusted, strict=True)]
        return _table(CONTRAST_COLUMNS, rows)

    def equivalence(
        self, a: str, b: str, metric: str, *, margin: float, alpha: float = 0.05
    ) -> Equivalence:
        """Test whether `a` and `b` are equal within a margin declared in advance, in the unit of
        `contrast` (percentage points for flags); undetermined if `contrast` must not be quoted or has
        no interval. Raises QueryError."""
        return equivalence(self.contrast(a, b, metric), margin, alpha=alpha)

    def power(
        self, a: str, b: str, metric: str, *, tasks: int | None = None, power: float = 0.8
    ) -> DetectableEffect:
        """Return the smallest true difference that `tasks` tasks (default: this study's) can detect with
        this power, if they vary like this study's. Raises QueryError, also if the contrast must not
        be quoted or has no interval."""
        whole = self.contrast(a, b, metric)
        delta = whole.clean or whole
        if delta.sd is None or whole.refusal or delta.no_interval:
            reason = whole.refusal or delta.no_interval
            raise QueryError(f"the power of {metric!r} is undetermined: {reason}")
        return detectable_effect(delta.sd, tasks or delta.tasks, power=power)

    def rate(self, condition: str, metric: str = "strict_pass", key: str = "") -> ArmRate:
        """Mean over tasks of a measure in one condition, with Student's interval over tasks
        (measures §8) and the coverage of its trials. Raises QueryError."""
        return arm_rate(self._trials(condition, condition, metric, key), condition)

    def agreement(self, first: str, second: str) -> Agreement:
        """Return the agreement of two raters, judges or people, on the uses that both labelled, with
        tasks resampled. Between judges, verdicts that a cascade copied are ignored. Raises QueryError
        without common labels."""
        rows = [
            row
            for row in run(self._database, "label_pairs").records()
            if {row["first"], row["second"]} == {first, second}
        ]
        if not rows:
            raise QueryError(f"no event was labelled by both {first!r} and {second!r}")
        return agreement_of(rows)

    def _trials(self, a: str, b: str, metric: str, key: str) -> list[TrialValue]:
        """Return the planned trials of two conditions with their values of a measure. Raises QueryError
        for a condition without values."""
        values = dict(run(self._database, _VALUES, metric=metric, key=key).rows)
        planned = run(self._database, "contrast_trials", treatment=a, control=b).records()
        trials = [
            TrialValue(
                row["task"],
                row["condition"],
                values.get(row["trial"]),
                *(row[name] for name in ("final", "contaminated", "flags", "suppressed")),
            )
            for row in planned
        ]
        if {a, b} - {trial.condition for trial in trials if trial.value is not None}:
            raise QueryError(f"no values of {metric!r} (key {key!r}) for {a!r} and {b!r}")
        return trials


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    if not installed("pandas"):
        return [dict(zip(columns, row, strict=True)) for row in rows]
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))


def open_study(path: str | Path, *, partial: bool = False) -> StudyReader:
    """Open an ingested study; of shards, with `partial` also if some are missing. Raises StudyError without a
    database."""
    return StudyReader(Path(path), partial=partial)
