"""Studies in shards, and all that they say."""

from pathlib import Path

from skilljuror.base.files import StudyFolder
from skilljuror.judge.study import judge_study
from skilljuror.logs.discovery import LogFilter
from skilljuror.store.connect import open_read
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import catalog, run

TABLES = """
SELECT table_name FROM duckdb_tables() WHERE comment IS NOT NULL
UNION SELECT view_name FROM duckdb_views() WHERE comment IS NOT NULL ORDER BY ALL
"""


def ingested(study: Path, paths: list[Path], count: int) -> Path:
    """All shards of some logs, each ingested and judged on its own; one database for a count of 0."""
    for number in range(1, count + 1):
        place = StudyFolder(study).shard(number, count)
        ingest_logs(place, paths, wanted=LogFilter(shard=(number, count)))
        judge_study(place)
    if not count:
        ingest_logs(study, paths)
        judge_study(study)
    return study


def rounded(value):
    """A value whose floats have 9 digits: sums of floats depend on their order."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [*map(rounded, value)] if isinstance(value, list | tuple) else value


def tables(study: Path) -> dict[str, list[str]]:
    """The rows of every table and view."""
    with open_read(StudyFolder(study).readable(partial=False)) as reader:
        return {
            name: sorted(repr(rounded(row)) for row in run(reader, f"SELECT * FROM {name}").rows)
            for (name,) in run(reader, TABLES).rows
        }


def everything(study: Path) -> dict[str, list[str]]:
    """The rows of every table and view, and every answer in its order."""
    rows = tables(study)
    with open_read(StudyFolder(study).readable(partial=False)) as reader:
        answers = {
            f"question {one.name}": [repr(rounded(row)) for row in run(reader, one.name).rows]
            for one in catalog()
        }
    return rows | answers
