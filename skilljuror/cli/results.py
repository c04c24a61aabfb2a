"""Commands that read a study's results: query, show, report, heat."""

import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skilljuror.base.errors import QueryError, UsageError
from skilljuror.cli.output import (
    WRITTEN,
    Answer,
    Block,
    Indented,
    Study,
    Table,
    command_line,
    counted,
    headline,
    labelled,
    legend_blocks,
    progress,
    records,
    wants_json,
    working,
)
from skilljuror.cli.study import usual_log_folders
from skilljuror.cli.terminal import json_text

if TYPE_CHECKING:
    from skilljuror.base.trajectory import ResourceEvent
    from skilljuror.report.trajectory import RunDetails
    from skilljuror.store.connect import QueryResult

SHORT = 200
"""Most characters of a text of a log without --full."""
VERIFIER_LINES = 20
"""Last lines of the verifier's output shown without --full."""
MOST = 1000
"""Most rows fetched for a table without --all, of SQL or of a list without sums."""
PERIOD = ("period_start", "period_end")
"""Columns of `usage` that are the same in each row."""
Format = Literal["table", "csv", "json", "parquet"]
"""Output formats of `query`."""


def query(
    study: Study, words: list[str] | None = None, form: Format | None = None,
    out: Path | None = None, param: list[str] | None = None, fail_on_rows: bool = False,
    whole: bool = False, listing: bool = False, partial: bool = False,
) -> Answer | None:  # fmt: skip
    """Answer a named question, or run read-only SQL.

    The answers of several studies are one table, its first column the name of the folder; a folder of shards is one
    study. A table has 20 rows and the columns that fit (COLUMNS, 400 in a pipe); --all, CSV, JSON and Parquet are
    whole. CSV text that a spreadsheet would run as a formula starts with an apostrophe.
    Without a question, --out DIR gets every table as Parquet, and a data dictionary (dictionary.csv).
    """
    from skilljuror.base.files import StudyFolder
    from skilljuror.store import questions

    if not words and out:
        counts = questions.export(StudyFolder.existing(study).readable(partial=partial), out)
        line = f"{len(counts)} tables, {sum(counts.values()):,} rows: {out}"
        return Answer({"folder": str(out), "rows": counts}, [line])
    if not words:
        every = listing or wants_json()
        names = [
            {"name": one.name, "question": one.question}
            for one in questions.catalog(asked=not every)
        ]
        more = [] if every else ["all questions: --list; their columns: docs/measures.md"]
        return Answer(names, [records(names, "name, question")._replace(cut=False), *more])
    chosen = _form(form, out)
    studies = questions.study_names([study, *map(Path, words[:-1])])
    question = _sql(words[-1])
    wrong = [pair for pair in param or [] if "=" not in pair]
    if wrong:
        raise UsageError(f"--param {wrong[0]!r} must be NAME=VALUE", field="param")
    params: dict[str, Any] = dict(pair.partition("=")[::2] for pair in param or [])
    if chosen == "parquet":
        if len(studies) > 1:
            raise UsageError("parquet takes one study; use --format csv or json", field="format")
        if out is None and sys.stdout.isatty():
            raise UsageError("parquet is binary: add --out FILE or pipe it", field="format")
        database = StudyFolder.existing(study).readable(partial=partial)
        questions.parquet(database, question, out or sys.stdout.buffer, **params)
        return None
    if streamed := chosen != "table" and len(studies) == 1:
        database = StudyFolder.existing(study).readable(partial=partial)
        parts = questions.parts(database, question, **params)
        answers = {name: _write(parts, chosen == "json", out) for name in studies}
    else:
        most = None if whole or len(studies) > 1 else MOST + 1
        answers = _answers(studies, question, params, most, partial)
    result = questions.side_by_side(answers)
    status = int(fail_on_rows and bool(result.rows))
    remarks = [
        f"{name}: {remark}" if len(answers) > 1 else remark
        for name, answer in answers.items()
        for remark in _remarks(studies[name], question, answer)
    ]
    if chosen == "table":
        columns, rows, total = questions.for_people(question, result)
        limited = len(answers) == 1 and not whole and len(rows) > MOST and not total
        table = Table(columns, rows, None, True, total, "--format csv", limited)
        return Answer(WRITTEN, [table], status, remarks)
    if not streamed:
        _write([result], chosen == "json", out)
    return Answer(WRITTEN, (), status, remarks)


def _write(parts: "Iterable[QueryResult]", of_json: bool, out: Path | None) -> "QueryResult":
    """Write an answer part by part; return `write_parts`."""
    from skilljuror.base.files import replacement
    from skilljuror.store.questions import csv_text, write_parts

    text = (lambda part: json_text(part.records(), default=str)) if of_json else csv_text
    if out is None:
        return write_parts(parts, sys.stdout, text)
    with replacement(out.resolve()) as path, path.open("w", encoding="utf-8") as file:
        return write_parts(parts, file, text)


def usage(
    study: Path | None = None,
    by: Literal["skill", "project", "version", "person", "model"] = "skill", since: str | None = None,
    rows: Literal["all", "changed", "unknown", "unused"] | None = None, fail_on_rows: bool = False,
    form: Format | None = None, whole: bool = False, partial: bool = False,
) -> Answer | None:  # fmt: skip
    """Show which Skills your agents were offered, opened and used, at what cost, and what changed.

    Without STUDY it reads what is new in the usual log folders of this machine into
    ~/.local/share/skilljuror/usage (or under XDG_DATA_HOME); delete that folder to forget it. Nothing leaves
    the machine. The period before is as long; a change is shown with its 95 % interval.
    """
    blocks: list[Block]
    remarks: list[str] = []
    if study is None:
        study, remarks = own_usage(quiet=fail_on_rows)
    chosen = rows or ("changed" if fail_on_rows else "all")
    question = "usage_by_version" if by == "version" else "usage"
    given = {"rows": chosen, "since": since, "by": None if by == "version" else by}
    asked = [f"{name}={value}" for name, value in given.items() if value is not None]
    answer = query(study, [question], form, None, asked, fail_on_rows, whole, partial=partial)
    if answer is None:
        return None
    table = next(iter(answer.blocks), None)
    if isinstance(table, Table) and not table.rows and chosen != "all":
        blocks = [] if fail_on_rows else [f"no row is {chosen}"]
        return Answer(WRITTEN, blocks, 0, [*_missing(study), *remarks])
    remarks = [*answer.remarks, *remarks]
    if not isinstance(table, Table) or not table.rows or by == "version":
        return answer._replace(remarks=remarks)
    found = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    start, end = (f"{found[0][name]:%Y-%m-%d %H:%M}" for name in PERIOD)
    remarks += _unused(found) if chosen == "all" else []
    if by in {"project", "person"} and not any(row[by] for row in found):
        stored = f"skilljuror ingest PATH --projects --study {study}"
        remarks.append(f"no run has the name of its {by}; `{stored}` stores them")
    if chosen == "changed":
        blocks = [_change(row) for row in found]
    else:  # of unused ones, columns of zeros alone say nothing more
        names = [name for name in table.columns if name not in PERIOD]
        names = [one for one in names if chosen != "unused" or any(row[one] for row in found)]
        cells = [[row[name] for name in names] for row in found]
        blocks = [table._replace(columns=names, rows=cells)]
    return answer._replace(blocks=[f"{start} to {end} UTC", *blocks], remarks=remarks)


def _change(row: dict[str, Any]) -> str:
    """A changed share as a sentence."""
    names = [row[name] for name in ("skill", "project", "person", "model") if row[name]]
    now, before = (
        f"{row[f'opened_offered{at}']} of {row[f'offered{at}'] - row[f'unknown{at}']} runs ({row[f'open_rate{at}']:.0%})"
        for at in ("", "_before")
    )
    change, low, high = (
        f"{100 * row[name]:+.0f}" for name in ("change", "change_low", "change_high")
    )
    return f"{', '.join(names)}: opened in {now} that were offered it, before in {before}: {change} points, 95 % interval {low} to {high}"


def own_usage(*, quiet: bool) -> tuple[Path, list[str]]:
    """Read the user's own logs into their folder; return it, with remarks."""
    from skilljuror.base.workers import silent
    from skilljuror.store.logs import ingest_logs
    from skilljuror.store.records import MeasureOptions

    folders = usual_log_folders()
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    home = given if given.is_absolute() else Path.home() / ".local" / "share"
    study, options = home / "skilljuror" / "usage", MeasureOptions(projects=True)
    with nullcontext(silent) if quiet else progress() as listener:
        summary = ingest_logs(study, folders, options=options, jobs=2, progress=listener)
    remarks = []
    if summary.new or summary.changed:
        read = f"{summary.new} new and {summary.changed} changed files of {', '.join(map(str, folders))}"
        remarks.append(f"read {read} into {study}; delete that folder to forget them")
    if summary.errors:
        see = command_line("query", study, "sources", "--param", "status=error")
        files = counted(summary.errors, "file")
        if not summary.trajectories:  # an alarm that reads nothing must not be silent
            raise UsageError(f"no log could be read ({files}): {see}")
        remarks.append(f"{files} could not be read: {see}")
    return study, [] if quiet else remarks


def _unused(rows: list[dict[str, Any]]) -> list[str]:
    """How many Skills were offered and not touched, and what their listing costs."""
    costs = [
        row["listing_month_usd"]
        for row in rows
        if row["offered"] and not row["uses"] and not row["unknown"]
    ]
    if not costs:
        return []
    known = [float(str(cost).removeprefix("≥ ")) for cost in costs if cost is not None]
    least = "" if all(isinstance(cost, float) for cost in costs) else "at least "
    listing = f"; listing them costs {least}${sum(known):.2f} a month" if known else ""
    return [f"{len(costs)} were offered and never used{listing}: --rows unused"]


def _form(form: Format | None, out: Path | None) -> Format:
    """The format chosen by --json, --format or the suffix of --out, which must agree."""
    suffixes: dict[str, Format] = {".csv": "csv", ".json": "json", ".parquet": "parquet"}
    options: dict[str, Format | None] = {
        "--json": "json" if wants_json() else None,
        f"--format {form}": form,
        f"--out {str(out)!r}": suffixes.get(out.suffix.lower()) if out else None,
    }
    asked = {option: kind for option, kind in options.items() if kind is not None}
    if len(set(asked.values())) > 1:
        raise UsageError(f"{' and '.join(asked)} contradict each other; use one of them")
    chosen: Format = next(iter(asked.values()), "table")
    if out is not None and chosen == "table":
        raise UsageError(
            f"--out {str(out)!r} has no known suffix; use .csv, .json or .parquet, or add --format",
            field="out",
        )
    return chosen


def _sql(question: str) -> str:
    """The question, or the text of the file or standard input that it names."""
    if question != "-" and not question.lower().endswith(".sql"):
        if len(question) < 200 and Path(question, "study.duckdb").is_file():
            raise UsageError(f"{question!r} is a study; put a question after the studies")
        return question
    raw = sys.stdin.buffer.read() if question == "-" else Path(question).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = "standard input" if question == "-" else repr(question)
        raise UsageError(f"{where} is not UTF-8 text; save the SQL as UTF-8") from error


def _answers(
    studies: dict[str, Path], question: str, params: dict[str, str], most: int | None, partial: bool
) -> dict[str, Any]:
    """The answer of each study. With several, an error of the question names the study."""
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.connect import open_read
    from skilljuror.store.questions import run

    answers = {}
    for name, folder in studies.items():
        try:
            with open_read(StudyFolder.existing(folder).readable(partial=partial)) as reader:
                answers[name] = run(reader, question, most=most, **params)
        except QueryError as error:
            if len(studies) == 1:
                raise
            raise QueryError(f"in {name!r}: {error.message}", field=error.field) from error
    return answers


def _remarks(study: Path, question: str, answer: Any) -> Iterator[str]:
    """The question's remarks on what is missing in the answer and how to get it."""
    from skilljuror.base.object_store import address
    from skilljuror.store.questions import remarks_on

    yield from _missing(study)
    for words in remarks_on(question, answer):
        yield words.replace("STUDY", shlex.quote(address(study) or str(study)))


def _missing(study: Path) -> list[str]:
    """What --partial left out."""
    from skilljuror.base.files import StudyFolder

    missing = StudyFolder(study).missing_shards
    return [f"{missing}; not counted"] if missing else []


def show(study: Study, trials: list[str], html: Path | None = None, full: bool = False) -> Answer:
    """Show a trajectory: steps, Skill resources and uptake. A task with --html shows a trial of each arm of
    the contrast, ended as most did."""
    from skilljuror.report.trajectory import look_up, look_up_case, write_trajectories

    case = look_up_case(study, trials[0]) if html and len(trials) == 1 else None
    runs = case.runs if case else [look_up(study, trial) for trial in trials]
    if html is not None:
        write_trajectories(runs, html, trials[0] if case else "", case.chosen if case else ())
    elif len(runs) > 1 and not wants_json():
        raise UsageError("several trials need a page: add --html FILE", field="html")
    blocks = [f"page: {html}"] if html else _timeline(runs[0], full)
    return Answer(runs[0] if len(runs) == 1 else runs, blocks)


def _timeline(details: "RunDetails", full: bool) -> Iterator[Block]:
    """Steps in order with their calls, the skill resources they touched and the uptake."""
    from skilljuror.harness.artifacts import last_lines

    yield details.name
    record, log = details.record, details.trajectory
    if record is not None:
        reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
        skill = record.variant or "no skill"
        yield f"{record.task} · {skill} · {record.status} · {reward} · {record.isolation}"
        if record.scripted:
            yield "scripted policy: no language model ran; says nothing about real agents"
        if record.message:
            yield f"note: {record.message}"
    if log is None:
        yield "this trial has no readable log"
    else:
        agent = " ".join(part for part in (log.agent, log.agent_version, log.model) if part)
        yield f"{log.format} · {agent or 'agent unknown'} · {len(log.steps)} steps"
        yield from _step_blocks(details, log, full)
    if details.verifier:
        text = details.verifier if full else last_lines(details.verifier, VERIFIER_LINES)
        yield Indented(text, "\n[verifier] ", "   ")
    if details.verdicts:
        yield ""
        yield from legend_blocks(verdict.category for verdict in details.verdicts)


def _step_blocks(details: "RunDetails", log: Any, full: bool) -> Iterator[Block]:
    from skilljuror.report.trajectory import Bridges

    bridges = Bridges(details.verdicts)
    events: dict[tuple[str, int], list[ResourceEvent]] = defaultdict(list)
    for event in details.events:
        events[event.agent, event.step].append(event)
    for message in log.messages:
        if message.step == 0 and message.kind == "prompt":
            yield Indented(_cut(message.text, full), "\n[prompt] ", "   ")
    yield from _event_blocks(events.pop(("main", 0), []), bridges)
    for step in log.steps:
        who = "" if step.agent == "main" else f" ({step.agent})"
        yield Indented(_cut(step.text, full), f"\n{step.index}{who}. ", "   ")
        for call in step.calls:
            prompt = "$" if call.action == "shell" else call.name
            yield Indented(_cut(call.asked, full), f"   {prompt} ", "     ")
            text = _cut(call.result.text, full) if call.result else ""
            text += " [failed]" if call.result and call.result.ok is False else ""
            if text:
                yield Indented(text, "     ", "     ")
        yield from _event_blocks(events.pop((step.agent, step.index), []), bridges)
    for rest in events.values():
        yield from _event_blocks(rest, bridges)


def _event_blocks(events: "Sequence[ResourceEvent]", bridges: Any) -> Iterator[Block]:
    from skilljuror.report.trajectory import place_of

    for event in events:
        failed = "" if event.ok is not False else ", failed"
        line = f"{event.kind} {place_of(event)} ({event.content_exposed}{failed})"
        if uptake := bridges.uptake(event):
            line += f" → {_cut(uptake, False)}"
        yield Indented(line, "   ● ", "     ")
        for name, words in bridges.links(event):
            yield Indented(f"{name}: {_cut(words, False)}", "     ", "       ")


def _cut(text: str, full: bool) -> str:
    if full:
        return text
    folded = " ".join(text[: 4 * SHORT].split())
    return folded if len(folded) <= SHORT else folded[: SHORT - 1] + "…"


def report(
    studies: list[Path], out: Path | None = None, no_quotes: bool = False,
    form: Literal["html", "markdown"] = "html", paper: bool = False,
) -> Answer | None:  # fmt: skip
    """Write tables, figures and a self-contained report.html; of several studies, one table.

    That table is over the tasks that all of them have, and says what else is matched."""
    from skilljuror.report import report_head, report_paper, report_study

    if form == "markdown" and (out is not None or wants_json() or paper):
        raise UsageError(
            "--format markdown prints to standard output; leave out --out, --paper and --json",
            field="format",
        )
    if len(studies) > 1:
        return _report_several(studies, out, form, paper)
    (study,) = studies
    if form == "markdown":
        with working("report"):
            head = report_head(study)
        print(head, end="")
        return None
    with progress() as listener:
        summary = report_study(study, out, quotes=not no_quotes, progress=listener)
    blocks = [*headline(summary), f"report: {summary.path}", *labelled("note", summary.lacks)]
    if paper:
        written, empty = report_paper(study, out)
        missing = f"; no data for {', '.join(empty)}" if empty else ""
        tables = summary.path.parent / "paper" / "tables.md"
        blocks.append(f"paper: {tables}, {len(written)} tables{missing}")
    return Answer(summary, blocks)


def _report_several(studies: list[Path], out: Path | None, form: str, paper: bool) -> Answer | None:
    from skilljuror.report import report_several
    from skilljuror.report.several import several_markdown, table_of, write_several

    if paper:
        raise UsageError("--paper takes one study; name one", field="paper")
    if out is None and form == "html":
        raise UsageError("several studies have no folder in common; add --out DIR", field="out")
    with working("report"):
        several = report_several(studies)
    if out is None:
        print(several_markdown(several), end="")
        return None
    path = write_several(several, out)
    view = table_of(several.found, notes=False)
    cells = [[cell.text for cell in row] for row in view.rows]
    return Answer(
        {
            "path": str(path), "matched": several.matched, "rows": several.found.records(),
            "matrix": several.matrix.records(),
        },
        [
            Table([column.label for column in view.columns], cells),
            f"{several.matched}\nreport: {path}",
        ],
    )  # fmt: skip


def heat(
    study: Study, condition: str | None = None, by: Literal["file", "unit"] = "file",
    form: Literal["table", "lcov"] = "table", figure: Path | None = None, whole: bool = False,
) -> Answer:  # fmt: skip
    """Show which parts of a Skill its runs were shown and used, by file or unit."""
    from skilljuror.report import heat as reports

    with working("heat"):
        coverage = reports.heat(study, condition)
    remarks = []
    if figure:
        from skilljuror.report import heat_figure

        heat_figure(coverage, figure)
        remarks.append(f"figure: {figure}")
    if form == "lcov":
        print(*reports.lcov(coverage), sep="\n")
        return Answer(WRITTEN, (), 0, remarks)
    rows: Any = coverage.units if by == "unit" else [*reports.by_file(coverage.units)]
    payload = {
        "name": coverage.name, "units_seen": coverage.seen, "units_used": coverage.used, "rows": rows,
    }  # fmt: skip
    columns = "file, mean_share, seen, used, units, tokens_per_run, ran, runs, task"
    if by == "unit":
        columns = "file, start: line, seen, used_low, used_high, tokens_per_run, text, ran, runs, at_most, remark, task"
    known = "" if coverage.used is None else f", {coverage.used:.1%} used with proof"
    line = f"{coverage.name}: {coverage.seen:.1%} of {len(coverage.units)} units were shown to a run{known}"
    return Answer(payload, [records(rows, columns)._replace(cut=True), line], 0, remarks)
