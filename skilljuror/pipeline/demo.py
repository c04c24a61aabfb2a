"""The whole chain on the packaged example, offline."""

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror import tokens
from skilljuror.files import StudyFolder, data_dir
from skilljuror.pipeline.execution.run import run_study
from skilljuror.pipeline.ingestion.analysis import MeasureOptions
from skilljuror.pipeline.ingestion.trials import ingest_trials
from skilljuror.pipeline.judging import judge_study
from skilljuror.pipeline.lookup import report_study
from skilljuror.pipeline.workers import Listener, silent


class DemoSummary(Struct, frozen=True):
    """What the demo made."""

    study: str
    """Folder of the study."""
    report: str
    """The report's HTML file."""
    trials: int
    """Finished trials."""
    seconds: float
    """Wall clock of the whole chain."""
    title: str
    """The headline in words."""
    meaning: str
    """What its number is, in one sentence."""
    columns: tuple[str, ...]
    """Columns of the headline table."""
    headline: tuple[tuple[Any, ...], ...]
    """Rows of the headline table."""
    example_trial: str
    """A trial worth looking at."""
    real_study: str
    """The same study with a real agent, as a study file."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know of the run, such as that no sandbox was at hand."""
    scripted: bool = True
    """A scripted policy ran: the figures say nothing about real agents."""


def run_demo(folder: Path, jobs: int = 2, progress: Listener = silent) -> DemoSummary:
    """Build, gate, run, ingest, judge and report the packaged study into `folder`.

    A Ctrl-C ends it as a KeyboardInterrupt; the same call goes on from the finished trials.
    """
    started = time.monotonic()
    study_file = data_dir("examples") / "study.yaml"
    run = run_study(study_file, folder, jobs=jobs, progress=progress)
    if run.interrupted:
        raise KeyboardInterrupt
    options = MeasureOptions(count_tokens=tokens.available())
    ingest_trials(folder, options=options, jobs=jobs, progress=progress)
    judge_study(folder, "tracing", jobs=jobs, progress=progress)
    report = report_study(folder, progress=progress)
    return DemoSummary(
        study=str(folder),
        report=str(report.path),
        trials=run.finished,
        seconds=time.monotonic() - started,
        title=report.title,
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
