"""A small study of golden logs whose events people may label."""

from pathlib import Path

from skilljuror.pipeline.ingestion.ingest import ingest_logs
from skilljuror.pipeline.judging import judge_study
from tests.support.ingested import CALL, READ


def judged_logs(study: Path) -> Path:
    """Two golden logs, ingested and judged by tracing."""
    ingest_logs(study, [READ, CALL])
    judge_study(study)
    return study
