"""The stable API for notebooks: `skilljuror.open_study(path)`."""

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skilljuror.errors import QueryError
from skilljuror.metrics.catalog import CATALOG
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.lookup import database_of, look_up
from skilljuror.queries.run import frame
from skilljuror.stats.paired import PairedDelta, paired_delta

if TYPE_CHECKING:
    import pandas as pd

_VALUES = """
SELECT p.task, p.condition, m.value
FROM planned_trials AS p
LEFT JOIN measures AS m ON m.trial = p.trial AND m.metric = $metric AND m.key = $key
WHERE p.condition IN ($a, $b)
"""


class StudyReader:
    """An ingested study, read-only. Frames are pandas DataFrames; a null stays a null."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Folder of the study."""
        self._database = database_of(path)

    def query(self, question: str, **params: Any) -> "pd.DataFrame":
        """The answer to a named question, or to SQL with $params. Raises QueryError."""
        return frame(self._database, question, **params)

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
        rows = self.query(_VALUES, a=a, b=b, metric=metric, key=key)
        arms: dict[str, dict[str, list[float]]] = {a: defaultdict(list), b: defaultdict(list)}
        for task, condition, value in rows.dropna().itertuples(index=False):
            arms[condition][task].append(float(value))
        if not arms[a] or not arms[b]:
            raise QueryError(f"no values of {metric!r} (key {key!r}) for {a!r} and {b!r}")
        unit = CATALOG[metric].unit if metric in CATALOG else ""
        return paired_delta(arms[b], arms[a], unit="pp" if unit == "flag" else unit)


def open_study(path: str | Path) -> StudyReader:
    """Open an ingested study. Raises StudyError when it has no database yet."""
    return StudyReader(Path(path))
