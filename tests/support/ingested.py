"""Two golden logs, and what a database holds after they were ingested."""

from pathlib import Path

from skilljuror.judge.study import judge_study
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support.places import GOLDENS

READ = GOLDENS / "codex-rollout" / "skill-read" / "raw.jsonl"
CALL = GOLDENS / "claude-session" / "skill-call" / "raw.jsonl"


def judged_logs(study: Path) -> Path:
    """A study of both, judged by tracing, whose events people may label."""
    ingest_logs(study, [READ, CALL])
    judge_study(study)
    return study


REMEMBERED = {"files", "readings"}
"""What tells which files have to be read again; times and inodes are in it."""


def tables(study, without=REMEMBERED):
    """Every row of the database, by table."""
    database = study / "study.duckdb"
    names = {name for (name,) in run(database, "SELECT table_name FROM duckdb_tables()").rows}
    return {
        name: sorted(map(repr, run(database, f"SELECT * FROM {name}").rows))
        for name in sorted(names - set(without))
    }
