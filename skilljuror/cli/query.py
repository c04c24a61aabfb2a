"""`skilljuror query`: a question to a study's database, and the answer in the form that was asked for."""

import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Json, Study
from skilljuror.cli.output import emit, table
from skilljuror.cli.terminal import json_text
from skilljuror.errors import UsageError


class Format(StrEnum):
    """What an answer is printed or written as."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


FORMAT_OF_SUFFIX = {f".{form}": form for form in (Format.csv, Format.json, Format.parquet)}
UNIT = {"MB": 1 << 20, "GB": 1 << 30}
TABLE_ROWS = 10_000
"""Rows that a table for people shows unless --limit says otherwise."""
MEMORY_FACTOR = 4
"""Times --memory that the whole process may take: the database, its rows, and what is written."""
PROGRAM_MEMORY = 512 << 20
"""Bytes beyond that for the program itself."""


def query(
    study: Study,
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|SQL|FILE.sql|-",
            help="A named question, SQL, a file of SQL, or - for standard input; without it: the"
            " named questions.",
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: what --out is called, else a table."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a .csv, .json or .parquet.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="For the question.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, metavar="N", help="The first N rows alone.")
    ] = None,
    records: Annotated[
        bool, typer.Option("-x", "--records", help="Each row as lines of column and value.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Time for the answer.")
    ] = 300.0,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Memory for the answer, in MB or GB.")
    ] = "2GB",
    json: Json = False,
    debug: Debug = False,
) -> None:
    """A named question or free SQL, read-only.

    A row that is too wide for the terminal is printed as a record; COLUMNS says how wide a pipe is.
    Text in a CSV that a spreadsheet would run as a formula begins with an apostrophe.
    """
    from skilljuror.queries.run import catalog
    from skilljuror.store.limits import Limits

    chosen = _form(form, out, as_json=json)
    if question is None:
        questions = [(entry.name, entry.question) for entry in catalog()]
        payload = [{"name": name, "question": text} for name, text in questions]
        emit(payload, json, lambda: table(("name", "question"), questions))
        return
    if chosen is Format.parquet and limit is not None:
        raise UsageError("--limit does not shorten parquet: write LIMIT in SQL", field="limit")
    asked, bound = _sql(question), _params(param or [])
    limits = Limits(timeout, _size(memory))
    try:
        with _memory_bounded(limits.memory or 0):
            if chosen is Format.parquet:
                _parquet(study, asked, bound, limits, out)
                return
            found = _ask(study, asked, bound, limits)
            rows = len(found.rows)
            if limit is None and chosen is Format.table:
                limit = TABLE_ROWS
            found = found._replace(rows=found.rows[:limit])
            _print(found, chosen, out, records=records)
    except MemoryError as error:
        raise limits.too_big() from error
    if limit is not None and rows > limit:
        print(f"the first {limit} of {rows} rows; --limit N shows more", file=sys.stderr)
    _print_remarks(study, asked, found)


def _form(form: Format | None, out: Path | None, *, as_json: bool) -> Format:
    """What was asked for, by --json, --format or the name of --out; they must not contradict."""
    named = FORMAT_OF_SUFFIX.get(out.suffix.lower()) if out else None
    asked = {
        option: one
        for option, one in (
            ("--json", Format.json if as_json else None),
            (f"--format {form}", form),
            (f"--out {str(out)!r}", named),
        )
        if one is not None
    }
    if len(set(asked.values())) > 1:
        raise UsageError(f"{' and '.join(asked)} contradict each other: leave one out")
    chosen = next(iter(asked.values()), None)
    if out is not None and chosen in {None, Format.table}:
        raise UsageError(
            f"--out {str(out)!r} does not say as what: name it .csv, .json or .parquet, or add"
            " --format with one of these",
            field="out",
        )
    return chosen or Format.table


def _sql(question: str) -> str:
    """The question itself, or what the file or standard input holds that it names."""
    if question != "-" and not question.lower().endswith(".sql"):
        return question
    raw = sys.stdin.buffer.read() if question == "-" else Path(question).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = "standard input" if question == "-" else repr(question)
        raise UsageError(f"{where} is no text in UTF-8; write the SQL as UTF-8") from error


def _size(text: str) -> int:
    """Bytes of a size such as 500MB."""
    found = re.fullmatch(r"([1-9]\d{0,6})\s*(MB|GB)", text.strip().upper())
    if found is None:
        raise UsageError(f"--memory {text!r} is no size; write it as 500MB or 4GB", field="memory")
    return int(found[1]) * UNIT[found[2]]


@contextmanager
def _memory_bounded(limit: int) -> Iterator[None]:
    """No more memory for this process than that: DuckDB does not count a text that one function
    makes. Without effect where the system does not say what is held."""
    import resource

    from skilljuror.store.limits import held_memory

    before = resource.getrlimit(resource.RLIMIT_DATA)
    if not held_memory():
        yield
        return
    wanted = held_memory() + limit * MEMORY_FACTOR + PROGRAM_MEMORY
    most = min(one for one in (wanted, *before) if one != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _ask(study: Path, question: str, params: dict[str, str], limits: Any) -> Any:
    from skilljuror.pipeline.lookup import database_of
    from skilljuror.queries.run import open_read, run

    with open_read(database_of(study), limits) as reader:
        return run(reader, question, **params)


def _print_remarks(study: Path, question: str, found: Any) -> None:
    """What is missing in the answer and how to get it, where the question knows."""
    from skilljuror.queries.run import remarks_on

    for words in remarks_on(question, found):
        print(words.replace("STUDY", shlex.quote(str(study))), file=sys.stderr)


def _params(pairs: list[str]) -> dict[str, str]:
    parsed = dict(pair.partition("=")[::2] for pair in pairs)
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise UsageError(f"--param {wrong[0]!r} is not NAME=VALUE", field="param")
    return parsed


def _parquet(
    study: Path, question: str, params: dict[str, str], limits: Any, out: Path | None
) -> None:
    from skilljuror.pipeline.lookup import database_of
    from skilljuror.queries.run import open_read, parquet

    if out is None and sys.stdout.isatty():
        raise UsageError("parquet is binary: add --out FILE or pipe it", field="format")
    with tempfile.TemporaryDirectory() as folder:
        path = out.resolve() if out else Path(folder, "rows.parquet")
        with open_read(database_of(study), limits) as reader:
            parquet(reader, question, path, **params)
        if out is None:
            sys.stdout.buffer.write(path.read_bytes())


def _print(found: Any, form: Format, out: Path | None, *, records: bool) -> None:
    from skilljuror.files import replacement
    from skilljuror.queries.csv_text import csv_text

    if form is Format.table:
        table(found.columns, found.rows, records=records)
        return
    of_json = form is Format.json
    text = f"{json_text(found.records(), default=str)}\n" if of_json else csv_text(found)
    if out is None:
        print(text, end="")
        return
    with replacement(out.resolve()) as path:
        path.write_text(text, encoding="utf-8")
