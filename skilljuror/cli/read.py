"""Commands that read a study: show, report, query."""

import csv
import io
import json as json_module
import shlex
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Json, Study
from skilljuror.cli.output import emit, progress, table
from skilljuror.errors import UsageError


class Format(StrEnum):
    """How `query` prints."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


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


def query(
    study: Study,
    question: Annotated[
        str | None, typer.Argument(metavar="NAME|SQL", help="Without it: the questions.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    out: Annotated[Path | None, typer.Option("--out", help="Write to a file.")] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="For the question.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """A named question or free SQL, read-only."""
    from skilljuror.queries.run import catalog

    if question is None:
        questions = [(entry.name, entry.question) for entry in catalog()]
        payload = [{"name": name, "question": text} for name, text in questions]
        emit(payload, json, lambda: table(("name", "question"), questions))
        return
    bound = _params(param or [])
    if form is Format.parquet:
        _parquet(study, question, bound, out)
    else:
        found = _ask(study, question, bound)
        _print(found, Format.json if json else form, out)
        if not found.rows:
            _print_meaning_of_no_rows(study, question)


def _ask(study: Path, question: str, params: dict[str, str]) -> Any:
    from skilljuror.pipeline.lookup import database_of
    from skilljuror.queries.run import run

    return run(database_of(study), question, **params)


def _print_meaning_of_no_rows(study: Path, question: str) -> None:
    """What it means that there is no row, where the question knows."""
    from skilljuror.queries.run import meaning_of_no_rows

    if meaning := meaning_of_no_rows(question):
        print(meaning.replace("STUDY", shlex.quote(str(study))), file=sys.stderr)


def _params(pairs: list[str]) -> dict[str, str]:
    parsed = dict(pair.partition("=")[::2] for pair in pairs)
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise UsageError(f"--param {wrong[0]!r} is not NAME=VALUE", field="param")
    return parsed


def _parquet(study: Path, question: str, params: dict[str, str], out: Path | None) -> None:
    from skilljuror.pipeline.lookup import database_of
    from skilljuror.queries.run import parquet

    if out is not None:
        parquet(database_of(study), question, out, **params)
        return
    if sys.stdout.isatty():
        raise UsageError("parquet is binary: add --out FILE or pipe it", field="format")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        parquet(database_of(study), question, path, **params)
        sys.stdout.buffer.write(path.read_bytes())


def _print(result: Any, form: Format, out: Path | None) -> None:
    if form is Format.table and out is None:
        table(result.columns, result.rows)
        return
    text = _as_json(result) if form is Format.json else _as_csv(result)
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")


def _as_csv(result: Any) -> str:
    """Header and rows; a null is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(["" if value is None else value for value in row] for row in result.rows)
    return text.getvalue()


def _as_json(result: Any) -> str:
    """A list of objects; a null stays null."""
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    return json_module.dumps(rows, ensure_ascii=False, default=str) + "\n"
