"""Commands that need no study: events and coverage of raw logs, doctor."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Formats, Json
from skilljuror.cli.output import emit, table
from skilljuror.cli.terminal import json_text

FIELDS = (
    "trajectory", "source", "file", "line", "call_id", "agent", "step", "skill", "resource",
    "class", "kind", "via", "ok", "content_exposed", "lines", "witness", "phantom", "bundled",
    "note",
)  # fmt: skip
"""Fields of an event as printed; `source` is the raw log that `line` counts in unless `file` is."""


def events(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Logs: files or folders.")],
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", metavar="DIR", help="The skills that were offered, if known."),
    ] = None,
    formats: Formats = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Which Skill resources the agents touched: one JSON object per event and line, as read."""
    from skilljuror.pipeline.construction.manifests import offered_manifest
    from skilljuror.pipeline.ingestion.logs import events_of

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
    return {name: known[name] if name in known else getattr(event, name) for name in FIELDS}


def _print_problem(source: str, problem: str, as_json: bool) -> None:
    if as_json:
        error = {"kind": "TrajectoryError", "message": problem, "file": source, "field": None}
        print(json_text({"error": {**error, "exit_code": 1}}))
    else:
        message = problem if source in problem else f"{source!r}: {problem}"
        print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)


def coverage(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Logs: files or folders.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Format to read them with, or a parser of yours: package.module:Class.",
        ),
    ],
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="How long to go on trying fields.")
    ] = 30.0,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Which fields of logs a parser reads: changes each in a copy and looks whether it shows."""
    from skilljuror.parsers.field_coverage.survey import coverage as survey

    report = survey(paths, form, seconds)
    emit(report, json, lambda: _print_coverage(report))


def _print_coverage(found: Any) -> None:
    from skilljuror.parsers.field_coverage.survey import READINGS

    rows = [
        (
            " ".join(part for part in (one.file, one.record) if part), one.field,
            one.reading, one.occurrences, " or ".join(one.shapes),
        )
        for one in found.fields
    ]  # fmt: skip
    table(("record", "field", "reading", "times", "type"), rows)
    counts = ", ".join(f"{found.count(reading)} {reading}" for reading in READINGS)
    print(f"{found.format}: {len(found.fields)} fields in {found.logs} logs: {counts}")
    untried = found.count("untried")
    if untried or found.left:
        print(
            f"{untried} fields with values could not be tried and {found.left} logs were"
            " left out: too little time, or too big; give more with --seconds"
        )


def doctor(json: Json = False, debug: Debug = False) -> None:
    """What is installed, what is missing, and what each missing thing would enable."""
    from skilljuror.pipeline.doctor import inspect_machine

    checks = inspect_machine()

    def human() -> None:
        rows = [
            (check.name, "yes" if check.found else "no", check.detail, check.enables)
            for check in checks
        ]
        table(("part", "found", "detail", "enables"), rows)
        missing = [check for check in checks if check.needed and not check.found]
        print("everything needed is here" if not missing else "a needed part is missing")

    emit({"checks": checks}, json, human)
    if any(check.needed and not check.found for check in checks):
        raise typer.Exit(1)
