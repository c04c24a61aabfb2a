"""Reports: the doors to what loads large libraries, numpy and that of the extra `report`, when a door opens."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skilljuror.base.errors import require
from skilljuror.base.files import StudyFolder, write_atomic
from skilljuror.base.workers import Listener, Progress, silent

if TYPE_CHECKING:
    from skilljuror.report.heat import Heat
    from skilljuror.report.page import ReportSummary
    from skilljuror.report.several import SeveralReport


def report_study(
    study: Path, target: Path | None = None, *, quotes: bool = True, progress: Listener = silent
) -> "ReportSummary":
    """Write report.html with tables and, with matplotlib, figures; the default folder is STUDY/report."""
    from skilljuror.report.page import build_report

    progress(Progress("report", 0, 1))
    database = StudyFolder.existing(study).readable()
    summary = build_report(database, target or StudyFolder(study).report, quotes=quotes)
    progress(Progress("report", 1, 1))
    return summary


def report_head(study: Path) -> str:
    """Return the head of the report as Markdown."""
    from skilljuror.report.page import report_markdown

    return report_markdown(StudyFolder.existing(study).readable())


def report_paper(study: Path, target: Path | None = None) -> tuple[list[str], list[str]]:
    """Write the tables of the paper, to STUDY/report/paper by default; return the names of those with
    rows, and of those without."""
    from skilljuror.report.page import write_paper

    database = StudyFolder.existing(study).readable()
    return write_paper(database, (target or StudyFolder(study).report) / "paper")


def report_several(studies: Sequence[Path]) -> "SeveralReport":
    """Return the table of several studies."""
    from skilljuror.report.several import several_report
    from skilljuror.store.questions import study_names

    return several_report({
        name: StudyFolder.existing(study).readable() for name, study in study_names(studies).items()
    })


def heat_figure(heat: "Heat", target: Path) -> None:
    """Write the coverage of a Skill as SVG."""
    require("report", "a figure", "matplotlib")
    from skilljuror.report.figures import coverage

    write_atomic(target, coverage(heat).svg)
