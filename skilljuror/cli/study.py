"""Commands that make a study's data: demo, run, ingest, judge."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Formats, Jobs, Json, Study
from skilljuror.cli.output import command_line, emit, print_legend, progress, table
from skilljuror.errors import NeedsDecision, UsageError


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder of the study.")] = Path("out/demo"),
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a whole study offline on the packaged example: build, gate, run, ingest, judge, report."""
    from skilljuror.pipeline.demo import run_demo

    with progress(json) as listener:
        summary = run_demo(out, jobs, listener)

    def human() -> None:
        table(summary.columns, summary.headline, title=summary.title)
        print(f"pp = percentage points: {summary.meaning}")
        print("A scripted policy ran, no language model: figures say nothing about real agents.")
        print(f"{summary.trials} trials in {summary.seconds:.1f} s")
        print(f"report: {summary.report}")
        print(f"next:   {command_line('show', out, summary.example_trial)}")

    emit(summary, json, human)


def run(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study file.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the study; default: out/<name>.")
    ] = None,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Plan and run matched trials; run again to go on where it stopped."""
    from skilljuror.pipeline.execution.run import run_study
    from skilljuror.studies import load_study

    folder = out or Path("out") / load_study(study_file).name
    with progress(json) as listener:
        summary = run_study(study_file, folder, jobs=jobs, progress=listener)

    def human() -> None:
        print(
            f"{summary.finished} of {summary.planned} trials finished in {folder}"
            f" ({summary.ran} run, {summary.finished - summary.ran} were there already)"
        )
        for status, count in sorted(summary.statuses.items()):
            print(f"  {status}: {count}")
        for note in (*_isolation_note(summary.isolation), *summary.notes):
            print(f"note: {note}")
        if summary.interrupted:
            print(f"stopped; go on with: {command_line('run', study_file, '--out', folder)}")
        else:
            print(f"next: {command_line('ingest', '--study', folder)}")

    emit(summary, json, human)
    if summary.interrupted:
        raise typer.Exit(130)


def _isolation_note(isolation: str) -> list[str]:
    if isolation != "none":
        return []
    return [
        "isolation none: agents and verifiers ran as plain processes of this user, and every trial"
        " says so (skilljuror doctor tells what a sandbox needs)"
    ]


def ingest(
    study: Annotated[Path, typer.Option("--study", metavar="DIR", help="Folder of the study.")],
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Logs: files or folders.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="WHEN", help="Only files changed since: a date, or 7d ago."
        ),
    ] = None,
    formats: Formats = None,
    yes: Annotated[bool, typer.Option("--yes", help="Read the usual folders unasked.")] = False,
    count_tokens: Annotated[
        bool, typer.Option("--count-tokens", help="Count the tokens of every step exactly: slow.")
    ] = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Measure by this as well: a metric of yours, package.module:attribute; repeatable.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Read unchanged files as well.")] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Compare files by their content, not by size and time alone."
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Forget files that are gone, and runs that shorter files no longer give.",
        ),
    ] = False,
    no_quotes: Annotated[
        bool,
        typer.Option(
            "--no-quotes",
            help="Keep no previews and quotes of logs, from now on: query, show, judge.",
        ),
    ] = False,
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Parse trajectories into the study's DuckDB: its own trials, or anybody's agent logs."""
    from skilljuror.files import StudyFolder
    from skilljuror.pipeline.ingestion.analysis import MeasureOptions

    options = MeasureOptions(count_tokens, tuple(metrics or ()), quotes=not no_quotes)
    moment = _timestamp(since)
    own = not paths and StudyFolder(study).planned
    of_logs = {
        "since": since, "format": formats, "again": again, "verify": verify, "prune": prune,
    }  # fmt: skip
    for option, given in of_logs.items():
        if own and given:
            problem = f"--{option} is for logs; of a study's own trials all are read"
            raise UsageError(problem, field=option)
    chosen = [] if own else paths or _usual_folders(yes, ask=not json)
    with progress(json) as listener:
        if own:
            from skilljuror.pipeline.ingestion.trials import ingest_trials

            summary = ingest_trials(study, options=options, jobs=jobs, progress=listener)
        else:
            from skilljuror.parsers.discovery.find_logs import LogFilter
            from skilljuror.pipeline.ingestion.changes import ReadPolicy
            from skilljuror.pipeline.ingestion.ingest import ingest_logs

            summary = ingest_logs(
                study, chosen, wanted=LogFilter(moment, formats or ()), options=options,
                policy=ReadPolicy(again, verify, prune), jobs=jobs, progress=listener,
            )  # fmt: skip
    emit(summary, json, lambda: _print_ingest(summary, study))
    if summary.errors:
        raise typer.Exit(1)


def _print_ingest(summary: Any, study: Path) -> None:
    if not summary.trials:
        gone = f"; {summary.gone} gone, whose runs stay until --prune" if summary.gone else ""
        print(
            f"{summary.new} files new, {summary.changed} changed, {summary.unchanged} unchanged{gone}"
        )
    print(
        f"{summary.parsed} files read, {summary.duplicates} duplicates,"
        f" {summary.skipped} skipped, {summary.errors} errors"
    )
    print(
        f"{summary.trajectories} trajectories, {summary.steps} steps,"
        f" {summary.skills} skills touched, {summary.events} resource events"
    )
    if summary.kept:
        print(
            f"{summary.kept} runs are kept as they were, though files of theirs became shorter or are"
            " gone (table kept_runs); --prune takes what the files hold now"
        )
    if summary.unlogged:
        print(
            f"trials whose result stands without a log: {summary.unlogged}"
            f" ({command_line('query', study, 'observed_trials')})"
        )
    if summary.unread:
        table(("what was not read, and why", "files"), summary.unread)
    for source, reason in summary.failures:
        print(f"  error: {source}: {reason}")
    print(f"database: {study / 'study.duckdb'}")
    if summary.remade:
        print(
            "it was of another version and was made again from all its sources; the old one is kept"
            f" as study.duckdb.old. Verdicts are not in the new one: {command_line('judge', study)}"
        )
    if not summary.trajectories:
        listing = command_line("query", study, "sources")
        print(f"no run of an agent was found; what became of each file: {listing}")
        return
    question = "outcomes" if summary.trials else "skills_opened"
    print(f"next: {command_line('judge', study)}   or: {command_line('query', study, question)}")


def _usual_folders(yes: bool, *, ask: bool) -> list[Path]:
    from skilljuror.pipeline.ingestion.ingest import usual_folders

    found: list[Path] = usual_folders()
    if not found:
        raise UsageError(
            "no logs named, and none of the folders where agents usually keep theirs exists;"
            " name one: skilljuror ingest PATH --study DIR"
        )
    listing = ", ".join(str(folder) for folder in found)
    if yes:
        return found
    if not ask or not sys.stdin.isatty():
        raise NeedsDecision(f"found {listing}; name the ones to read, or pass --yes for all")
    print(f"found {listing}")
    if not typer.confirm("Read them into this study? They stay on this machine."):
        raise NeedsDecision("nothing was read")
    return found


def _timestamp(since: str | None) -> float | None:
    from skilljuror.moments import moment

    if since is None:
        return None
    try:
        return moment(since).timestamp()
    except ValueError as error:
        raise UsageError(f"--since {error}", field="since") from error


def judge(
    study: Study,
    name: Annotated[str, typer.Option("--judge", help="Which judge.")] = "tracing",
    again: Annotated[
        bool, typer.Option("--again", help="Judge again what it has judged as it is.")
    ] = False,
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Label resource events: did an opened resource become visible work?"""
    from skilljuror.pipeline.judging import judge_study

    with progress(json) as listener:
        summary = judge_study(study, name, again=again, jobs=jobs, progress=listener)

    def human() -> None:
        print(f"{summary.events} events of {summary.trajectories} trajectories by {summary.judge}")
        print(
            f"yes {summary.yes}, no {summary.no}, unknown {summary.unknown}"
            f" ({summary.not_seen_again} of them not seen again); ERU rate {_uptake_rate(summary)}"
        )
        print_legend(["ERU rate"])
        for trajectory, reason in summary.unread:
            print(f"  not judged: {trajectory}: {reason}")
        print(f"next: {command_line('report', study)}")

    emit(summary, json, human)
    if summary.unread:
        raise typer.Exit(1)


def _uptake_rate(summary: Any) -> str:
    """One number, or its two ends where uses were not seen again."""
    if summary.rate_low is None:
        return "–"
    low, high = f"{100 * summary.rate_low:.1f} %", f"{100 * summary.rate_high:.1f} %"
    return low if not summary.not_seen_again else f"between {low} and {high}"
