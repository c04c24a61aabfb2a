"""Commands that read a study: show, report."""

from pathlib import Path
from typing import Annotated

import typer

from skilljuror.cli.options import Debug, Json, Study
from skilljuror.cli.output import emit, progress, table


def show(
    study: Study,
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="Trial or trajectory.")],
    full: Annotated[bool, typer.Option("--full", help="Do not shorten texts.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """One trajectory in the terminal: steps, skill resources, uptake."""
    from skilljuror.cli.timeline import print_timeline
    from skilljuror.pipeline.lookup import look_up

    details = look_up(study, trial)
    emit(details, json, lambda: print_timeline(details, full))


def report(
    study: Study,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Default: STUDY/report.")
    ] = None,
    no_quotes: Annotated[
        bool, typer.Option("--no-quotes", help="Leave quotes from logs out.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Tables, figures and one self-contained report.html."""
    from skilljuror.pipeline.lookup import report_study

    with progress(json) as listener:
        summary = report_study(study, out, quotes=not no_quotes, progress=listener)

    def human() -> None:
        if summary.headline:
            table(summary.columns, summary.headline, title=summary.title)
        if summary.meaning:
            print(f"pp = percentage points: {summary.meaning}")
        print(f"report: {summary.path}")

    emit(summary, json, human)
