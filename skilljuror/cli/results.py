"""Commands that read a study's results: query, show, report."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import QueryError, UsageError
from skilljuror.cli.options import Debug, Json, Study
from skilljuror.cli.output import emit, print_headline, progress, record_table, table
from skilljuror.cli.terminal import json_text


class Format(StrEnum):
    """Output formats."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


FORMAT_OF_SUFFIX = {f".{form}": form for form in (Format.csv, Format.json, Format.parquet)}
TABLE_ROWS = 10_000
"""Default --limit of a printed table."""


def query(
    study: Study,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY...] NAME|SQL|FILE.sql|-",
            help="Studies, then question, SQL, file or -; default: list.",
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Output format; default: as --out, else a table."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File: .csv, .json or .parquet; without a question, a new folder.",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", help="Parameter of the question; repeatable."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, metavar="N", help="Maximum number of rows.")
    ] = None,
    records: Annotated[
        bool, typer.Option("-x", "--records", help="Print rows as lines of column and value.")
    ] = False,
    fail_on_rows: Annotated[
        bool, typer.Option("--fail-on-rows", help="Exit with 1 if there is a row.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Answer a named question, or run read-only SQL.

    The answers of several studies are one table, its first column the name of the folder. A table too
    wide for the terminal is printed as records; set COLUMNS for the width of a pipe. CSV text that a spreadsheet would run as a formula starts with an apostrophe.
    Without a question, --out DIR gets every table as Parquet, and a data dictionary (dictionary.csv).
    """
    from skilljuror.store.questions import catalog, side_by_side, study_names

    if out is not None and not words:
        _all_tables(study, out, json)
        return
    chosen = _form(form, out, as_json=json)
    if not words:
        questions = [{"name": one.name, "question": one.question} for one in catalog()]
        emit(questions, json, lambda: record_table(questions, "name", "question"))
        return
    studies = study_names([study, *map(Path, words[:-1])])
    asked, bound = _sql(words[-1]), _params(param or [])
    if chosen is Format.parquet:
        _check_parquet(len(studies), limit)
        rows = _parquet(study, asked, bound, out)
    else:
        answers = _answers(studies, asked, bound)
        found = side_by_side(answers)
        rows = len(found.rows)
        if limit is None and chosen is Format.table:
            limit = TABLE_ROWS
        _print(found._replace(rows=found.rows[:limit]), chosen, out, records=records)
        if limit is not None and rows > limit:
            print(f"the first {limit} of {rows} rows; --limit N shows more", file=sys.stderr)
        _print_remarks(studies, answers, asked)
    if fail_on_rows and rows:
        raise typer.Exit(1)


def _all_tables(study: Path, out: Path, json: bool) -> None:
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.questions import export

    counts = export(StudyFolder.existing(study).existing_database, out)
    emit(
        {"folder": str(out), "rows": counts},
        json,
        lambda: print(f"{len(counts)} tables, {sum(counts.values()):,} rows: {out}"),
    )


def _form(form: Format | None, out: Path | None, *, as_json: bool) -> Format:
    """The format chosen by --json, --format or the suffix of --out, which must agree."""
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
        raise UsageError(f"{' and '.join(asked)} contradict each other; use one of them")
    chosen = next(iter(asked.values()), None)
    if out is not None and chosen in {None, Format.table}:
        raise UsageError(
            f"--out {str(out)!r} has no known suffix; use .csv, .json or .parquet, or add --format",
            field="out",
        )
    return chosen or Format.table


def _sql(question: str) -> str:
    """The question, or the text of the file or standard input that it names."""
    if question != "-" and not question.lower().endswith(".sql"):
        if _is_study(question):
            raise UsageError(f"{question!r} is a study; put a question after the studies")
        return question
    raw = sys.stdin.buffer.read() if question == "-" else Path(question).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = "standard input" if question == "-" else repr(question)
        raise UsageError(f"{where} is not UTF-8 text; save the SQL as UTF-8") from error


def _is_study(word: str) -> bool:
    try:
        return Path(word, "study.duckdb").is_file()
    except OSError:  # SQL may be too long for a path
        return False


def _check_parquet(studies: int, limit: int | None) -> None:
    if limit is not None:
        raise UsageError("--limit does not apply to parquet; use LIMIT in the SQL", field="limit")
    if studies > 1:
        raise UsageError("parquet takes one study; use --format csv or json", field="format")


def _answers(studies: dict[str, Path], question: str, params: dict[str, str]) -> dict[str, Any]:
    """The answer of each study. With several, an error of the question names the study."""
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.connect import open_read
    from skilljuror.store.questions import run

    answers = {}
    for name, folder in studies.items():
        try:
            with open_read(StudyFolder.existing(folder).existing_database) as reader:
                answers[name] = run(reader, question, **params)
        except QueryError as error:
            if len(studies) == 1:
                raise
            raise QueryError(f"in {name!r}: {error.message}", field=error.field) from error
    return answers


def _print_remarks(studies: dict[str, Path], answers: dict[str, Any], question: str) -> None:
    """Print the question's remarks on what is missing in the answers and how to get it."""
    from skilljuror.store.questions import remarks_on

    for name, found in answers.items():
        for words in remarks_on(question, found):
            said = words.replace("STUDY", shlex.quote(str(studies[name])))
            print(f"{name}: {said}" if len(answers) > 1 else said, file=sys.stderr)


def _params(pairs: list[str]) -> dict[str, str]:
    parsed = dict(pair.partition("=")[::2] for pair in pairs)
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise UsageError(f"--param {wrong[0]!r} must be NAME=VALUE", field="param")
    return parsed


def _parquet(study: Path, question: str, params: dict[str, str], out: Path | None) -> int:
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.questions import parquet

    if out is None and sys.stdout.isatty():
        raise UsageError("parquet is binary: add --out FILE or pipe it", field="format")
    return parquet(
        StudyFolder.existing(study).existing_database,
        question,
        out or sys.stdout.buffer,
        **params,
    )


def _print(found: Any, form: Format, out: Path | None, *, records: bool) -> None:
    from skilljuror.base.files import replacement
    from skilljuror.store.questions import csv_text

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


def show(
    study: Study,
    trials: Annotated[
        list[str],
        typer.Argument(
            metavar="TRIAL...", help="Trial or trajectory, or its unique prefix; or a task."
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page; several trials side by side."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten texts.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show a trajectory: steps, Skill resources and uptake. A task with --html shows a trial of each arm of
    the contrast, ended as most did."""
    from skilljuror.cli.timeline import print_timeline
    from skilljuror.report.trajectory import look_up, look_up_case

    case = look_up_case(study, trials[0]) if html and len(trials) == 1 else None
    found = case.runs if case else [look_up(study, trial) for trial in trials]

    def human() -> None:
        if html is None:
            print_timeline(found[0], full)
        else:
            print(f"page: {html}")

    if html is not None:
        from skilljuror.report.trajectory import write_trajectories

        write_trajectories(found, html, trials[0] if case else "", case.chosen if case else ())
    elif len(found) > 1 and not json:
        raise UsageError("several trials need a page: add --html FILE", field="html")
    emit(found[0] if len(found) == 1 else found, json, human)


class ReportFormat(StrEnum):
    """Output formats of `report`."""

    html = "html"
    markdown = "markdown"


def report(
    studies: Annotated[
        list[Path],
        typer.Argument(
            metavar="STUDY...",
            help="Study folder; several become one table.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Report folder; default for one study: STUDY/report."
        ),
    ] = None,
    no_quotes: Annotated[
        bool, typer.Option("--no-quotes", help="Leave out quotes from logs.")
    ] = False,
    form: Annotated[
        ReportFormat, typer.Option("--format", help="markdown: print the head of it.")
    ] = ReportFormat.html,
    paper: Annotated[
        bool, typer.Option("--paper", help="Write the paper's tables too: Markdown, LaTeX, CSV.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write tables, figures and a self-contained report.html; of several studies, one table over the tasks
    that all of them have, and what else is matched."""
    from skilljuror.report import report_head, report_paper, report_study

    if form == ReportFormat.markdown and (out is not None or json or paper):
        raise UsageError(
            "--format markdown prints to standard output; leave out --out, --paper and --json",
            field="format",
        )
    (study, *others) = studies
    if others:
        _report_several(studies, out, form, paper=paper, json=json)
        return
    if form == ReportFormat.markdown:
        print(report_head(study), end="")
        return
    with progress(json) as listener:
        summary = report_study(study, out, quotes=not no_quotes, progress=listener)
    made, empty = report_paper(study, out) if paper else ([], [])

    def human() -> None:
        print_headline(summary)
        print(f"report: {summary.path}")
        if paper:
            told = f"; no data for {', '.join(empty)}" if empty else ""
            print(f"paper: {summary.path.parent / 'paper' / 'tables.md'}, {len(made)} tables{told}")

    emit(summary, json, human)


def _report_several(
    studies: list[Path], out: Path | None, form: ReportFormat, *, paper: bool, json: bool
) -> None:
    from skilljuror.report import report_several

    if paper:
        raise UsageError("--paper takes one study; name one", field="paper")
    if out is None and form == ReportFormat.html:
        raise UsageError("several studies have no folder in common; add --out DIR", field="out")
    found = report_several(studies)
    from skilljuror.report.several import several_markdown, table_of, write_several

    if out is None:
        print(several_markdown(found), end="")
        return
    path = write_several(found, out)

    def human() -> None:
        view = table_of(found.found, notes=False)
        table([column.label for column in view.columns],
              [[cell.text for cell in row] for row in view.rows])  # fmt: skip
        print(f"{found.matched}\nreport: {path}")

    emit(
        {
            "path": str(path), "matched": found.matched, "rows": found.found.records(),
            "matrix": found.matrix.records(),
        },
        json, human,
    )  # fmt: skip
