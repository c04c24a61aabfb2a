"""Run the packaged example study offline, from build to report."""

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import require
from skilljuror.base.files import StudyFolder, data_dir
from skilljuror.base.workers import Listener, silent
from skilljuror.judge.study import judge_study
from skilljuror.report import report_study
from skilljuror.store.rows import MeasureOptions
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study


class DemoSummary(Struct, frozen=True):
    """Result of the demo."""

    study: str
    """Folder of the study."""
    report: str
    """The report's HTML file."""
    trials: int
    """Number of finished trials."""
    seconds: float
    """Wall clock of the whole chain."""
    title: str
    """The verdict in one sentence."""
    number: str
    """The difference with its interval."""
    meaning: str
    """Meaning of the number, in one sentence."""
    columns: tuple[str, ...]
    """Columns of the headline table."""
    headline: tuple[tuple[Any, ...], ...]
    """Rows of the headline table."""
    example_trial: str
    """A trial to look at."""
    real_study: str
    """Study file of the same study with a real agent."""
    notes: tuple[str, ...] = ()
    """Remarks on the run, such as a missing sandbox."""
    scripted: bool = True
    """True: no language model ran, the figures say nothing about real agents."""


def run_demo(folder: Path, jobs: int = 2, progress: Listener = silent) -> DemoSummary:
    """Build, gate, run, ingest, judge and report the packaged study into `folder`.

    Raises KeyboardInterrupt after Ctrl-C; call it again to resume.
    """
    require("report", "'demo'")
    started = time.monotonic()
    study_file = data_dir("examples") / "study.yaml"
    run = run_study(study_file, folder, jobs=jobs, progress=progress)
    if run.interrupted:
        raise KeyboardInterrupt
    options = MeasureOptions(count_tokens=True)
    ingest_trials(folder, options=options, jobs=jobs, progress=progress)
    judge_study(folder, "tracing", jobs=jobs, progress=progress)
    report = report_study(folder, progress=progress)
    return DemoSummary(
        study=str(folder),
        report=str(report.path),
        trials=run.finished,
        seconds=time.monotonic() - started,
        title=report.title,
        number=report.number,
        meaning=report.meaning,
        columns=tuple(report.columns),
        headline=tuple(tuple(row) for row in report.headline),
        example_trial=_example_trial(folder),
        real_study=str(data_dir("examples") / "codex.yaml"),
        notes=run.notes,
    )


def _example_trial(folder: Path) -> str:
    finished = StudyFolder(folder).finished_trials()
    return next((name for name in finished if "__pd__" in name), finished[0])
