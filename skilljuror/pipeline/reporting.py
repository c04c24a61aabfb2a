"""The report of a study."""

from pathlib import Path

from skilljuror.files import StudyFolder
from skilljuror.pipeline.lookup import database_of
from skilljuror.pipeline.workers import Listener, Progress, silent
from skilljuror.reports.build import ReportSummary, build_report


def report_study(
    study: Path, target: Path | None = None, *, quotes: bool = True, progress: Listener = silent
) -> ReportSummary:
    """Write report.html and its tables and figures; the default place is STUDY/report."""
    progress(Progress("report", 0, 1))
    summary = build_report(database_of(study), target or StudyFolder(study).report, quotes=quotes)
    progress(Progress("report", 1, 1))
    return summary
