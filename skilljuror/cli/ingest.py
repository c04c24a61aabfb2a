"""Commands that read logs: ingest, events."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import NeedsDecision, UsageError
from skilljuror.cli.options import Debug, Formats, Jobs, Json, Logs
from skilljuror.cli.output import command_line, emit, print_lines, progress, table
from skilljuror.cli.terminal import json_text

EVENT_FIELDS = (
    "trajectory", "source", "file", "line", "call_id", "agent", "step", "skill", "resource",
    "class", "kind", "via", "ok", "content_exposed", "lines", "witness", "phantom", "bundled",
    "note",
)  # fmt: skip
"""Fields of a printed event; `line` counts in `file`, or in `source` (the raw log) without one."""


def events(
    paths: Logs,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", metavar="DIR", help="Folder of the offered Skills, if known."),
    ] = None,
    formats: Formats = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """List which Skill resources agents accessed, as JSON lines."""
    from skilljuror.layouts.build.manifests import offered_manifest
    from skilljuror.store.logs import events_of

    manifest = offered_manifest(bundle, None, None) if bundle else None
    failed = False
    for run in events_of(paths, manifest, formats or ()):
        for event in run.events:
            print(json_text(_row(run.source, event)))
        if run.problem is not None:
            failed = True
            _print_problem(run.source, run.problem, json)
        sys.stdout.flush()
    if failed:
        raise typer.Exit(1)


def _row(source: str, event: Any) -> dict[str, Any]:
    known = {"source": source, "class": event.resource_class}
    return {name: known[name] if name in known else getattr(event, name) for name in EVENT_FIELDS}


def _print_problem(source: str, problem: str, as_json: bool) -> None:
    if as_json:
        error = {"kind": "TrajectoryError", "message": problem, "file": source, "field": None}
        print(json_text({"error": {**error, "exit_code": 1}}))
    else:
        message = problem if source in problem else f"{source!r}: {problem}"
        print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)


def ingest(
    study: Annotated[Path, typer.Option("--study", metavar="DIR", help="Study folder.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Log files or folders; default: the study's trials."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="Only files changed since a date, or 7d."),
    ] = None,
    formats: Formats = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Read agents' usual folders without asking.")
    ] = False,
    count_tokens: Annotated[
        bool, typer.Option("--count-tokens", help="Count the tokens of every step exactly (slow).")
    ] = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Extra metric, package.module:attribute; repeatable.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Read unchanged files too.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare files by content, not by size and time.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove runs whose files are gone or shorter.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 if any log could not be read.")
    ] = False,
    no_quotes: Annotated[
        bool, typer.Option("--no-quotes", help="Store no quotes of logs from now on.")
    ] = False,
    projects: Annotated[
        bool,
        typer.Option("--projects", help="Store the name of each run's folder and home."),
    ] = False,
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Read a study's trials, or any agent logs, into a database.

    A log in a folder that cannot be read is listed and skipped.
    """
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.rows import MeasureOptions

    options = MeasureOptions(
        count_tokens, tuple(metrics or ()), quotes=not no_quotes, projects=projects
    )
    moment = _timestamp(since)
    own = not paths and StudyFolder(study).planned
    of_logs = {
        "since": since, "format": formats, "again": again, "verify": verify, "prune": prune,
        "projects": projects,
    }  # fmt: skip
    for option, given in of_logs.items():
        if own and given:
            problem = f"--{option} applies to logs only; a study's own trials are always all read"
            raise UsageError(problem, field=option)
    chosen = [] if own else paths or _usual_folders(yes, ask=not json)
    with progress(json) as listener:
        if own:
            from skilljuror.store.trials import ingest_trials

            summary = ingest_trials(study, options=options, jobs=jobs, progress=listener)
        else:
            from skilljuror.logs.discovery import LogFilter
            from skilljuror.store.logs import ReadPolicy, ingest_logs

            summary = ingest_logs(
                study, chosen, wanted=LogFilter(moment, formats or ()), options=options,
                policy=ReadPolicy(again, verify, prune), jobs=jobs, progress=listener,
            )  # fmt: skip
    emit(summary, json, lambda: _print_ingest(summary, study, prune))
    named = {str(path.resolve()) for path in chosen if path.is_file()}
    unread = any(path in named for path, _ in summary.failures)
    if summary.errors and (own or strict or unread or not summary.trajectories):
        raise typer.Exit(1)


def _print_ingest(summary: Any, study: Path, prune: bool) -> None:
    from skilljuror.base.results import unknown_tools_note

    if not summary.trials:
        fate = "pruned" if prune else "their runs are kept without --prune"
        gone = f"; {summary.gone} missing, {fate}" if summary.gone else ""
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
    if summary.unknown_tools:
        listing = command_line("query", study, "unknown_tools")
        print(f"{unknown_tools_note(summary.unknown_tools)} ({listing})")
    if summary.kept:
        print(
            f"{summary.kept} runs are kept although their files are shorter or missing (table kept_runs);"
            " use --prune to update them"
        )
    if summary.unlogged:
        print(
            f"trials with a result but no log: {summary.unlogged}"
            f" ({command_line('query', study, 'observed_trials')})"
        )
    if summary.unread:
        table(("not read, and why", "files"), summary.unread)
    print_lines("  error", (f"{source}: {reason}" for source, reason in summary.failures))
    print(f"database: {study / 'study.duckdb'}")
    if summary.remade:
        print(
            "it had another version and was rebuilt from all sources; the old one is study.duckdb.old."
            f" Verdicts are not copied; judge again: {command_line('judge', study)}"
        )
    if not summary.trajectories:
        listing = command_line("query", study, "sources")
        print(f"no agent run found; status of each file: {listing}")
        return
    question = "outcomes" if summary.trials else "skills_opened"
    print(f"next: {command_line('judge', study)}   or: {command_line('query', study, question)}")


def _usual_folders(yes: bool, *, ask: bool) -> list[Path]:
    from skilljuror.store.logs import usual_folders

    found: list[Path] = usual_folders()
    if not found:
        raise UsageError(
            "no log path given, and no usual log folder of an agent exists;"
            " use: skilljuror ingest PATH --study DIR"
        )
    listing = ", ".join(str(folder) for folder in found)
    if yes:
        return found
    if not ask or not sys.stdin.isatty():
        raise NeedsDecision(f"found {listing}; name the folders to read, or use --yes for all")
    print(f"found {listing}")
    if not typer.confirm("Read them into this study? They stay on this machine."):
        raise NeedsDecision("nothing was read")
    return found


def _timestamp(since: str | None) -> float | None:
    from skilljuror.base.files import parse_time

    if since is None:
        return None
    try:
        return parse_time(since).timestamp()
    except ValueError as error:
        raise UsageError(f"--since {error}", field="since") from error
