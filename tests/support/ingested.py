"""Two golden logs, and what a database holds after they were ingested."""

from skilljuror.queries.run import run
from tests.support.places import GOLDENS

READ = GOLDENS / "codex-rollout" / "skill-read" / "raw.jsonl"
CALL = GOLDENS / "claude-session" / "skill-call" / "raw.jsonl"


def tables(study):
    """Every row of the database, by table."""
    database = study / "study.duckdb"
    names = run(database, "SELECT table_name FROM duckdb_tables() ORDER BY 1").rows
    return {
        name: sorted(map(repr, run(database, f"SELECT * FROM {name}").rows)) for (name,) in names
    }
