"""The report of several studies: one table over the tasks that all of them have, and what is the same in them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import UsageError
from skilljuror.base.files import write_atomic
from skilljuror.measures.paired import verdict
from skilljuror.report.audit import escaped
from skilljuror.report.computed import Answers, documentation, outcome_contrast
from skilljuror.report.render import render
from skilljuror.report.tables import (
    DASH,
    SCRIPTED,
    Cell,
    Column,
    TableView,
    format_count,
    format_value,
    heading_of,
    in_words,
    is_number,
    markdown,
)
from skilljuror.store.connect import QueryResult, open_read
from skilljuror.store.questions import NOT_USABLE, csv_text

Row = dict[str, Any]
MATRIX = ("study", "condition", "model", "task", "trials", "usable", "strict_rate", NOT_USABLE)
"""Columns of the matrix of tasks: one row is one cell."""
_USE = {
    "tokens_per_pass": "display tokens", "minutes_per_pass": "time", "usd_per_pass": "cost",
}  # fmt: skip
"""Column -> resource of `efficiency`."""
_ESTIMATES = ("strict_rate", *_USE, "eru_rate", "delta_rate")
"""Columns with a reason for a null and the ends of an interval, or of a range."""
_SHARED = ("agent", "model", "answered_by", "effort")
"""Columns that the line above the table names where all rows have the same."""


class SeveralReport(Struct, frozen=True):
    """The table, and what is needed to read it."""

    studies: tuple[str, ...]
    """Names of the studies."""
    matched: str
    """What is the same in all studies and what differs."""
    scripted: bool
    """Whether a scripted policy ran in any trial."""
    found: QueryResult
    """One row per study and condition."""
    matrix: QueryResult
    """One row per study, condition and common task."""


def several_report(databases: Mapping[str, Path]) -> SeveralReport:
    """Compare several studies over the tasks that all of them have; nothing from a log is quoted.

    Raises UsageError for logs without a plan and without a common task, and StoreError.
    """
    with ExitStack() as stack:
        readers = {name: stack.enter_context(open_read(path)) for name, path in databases.items()}
        whole = {name: Answers(reader, quotes=False) for name, reader in readers.items()}
        tasks, matched = matching(whole)
        rows = [
            {"study": name, **row}
            for name, reader in readers.items()
            for row in _arms(Answers(reader, quotes=False, tasks=tasks))
        ]
        cells = [
            {"study": name, **row}
            for name, answers in whole.items()
            for condition in answers("outcomes").records()
            for row in answers("cells").records()
            if row["condition"] == condition["condition"] and row["task"] in tasks
        ]
        scripted = any(answers.single("overview")["scripted"] for answers in whole.values())
    table, matrix = (
        QueryResult(columns, [tuple(row.get(name) for name in columns) for row in every])
        for columns, every in ((documentation("studies").columns, rows), (MATRIX, cells))
    )
    return SeveralReport(tuple(databases), matched, scripted, table, matrix)


def _arms(answers: Answers) -> Iterator[Row]:
    """Yield a row of each condition of a study."""
    setup = answers.single("setup")
    estimated = {(row["condition"], row["measure"]): row for row in answers("yields").records()}
    efficiency = answers("efficiency").records()
    reasons = {(row["condition"], row["resource"]): row["yield_reason"] for row in efficiency}
    settings = {row["condition"]: row for row in answers("cells").records()}
    none = dict.fromkeys(("value", "value_reason", "low", "low_reason", "high"))
    for arm in answers("outcomes").records():
        name = arm["condition"]
        unverified = none | {"value_reason": "no task has a verifier"}
        rate = estimated.get((name, "strict pass rate"), unverified)
        row = {
            "condition": name, "tasks": arm["tasks"], "trials": arm["planned"],
            **{setting: settings[name][setting] for setting in _SHARED}, NOT_USABLE: arm[NOT_USABLE],
            **_estimate("strict_rate", rate["value"], rate["value_reason"] or rate["low_reason"], rate["low"], rate["high"], 100),
        }  # fmt: skip
        for column, resource in _USE.items():
            use = estimated.get((name, f"{resource} per pass"), none)
            reason = reasons[name, resource] or use["low_reason"]
            row |= _estimate(column, use["value"], reason, use["low"], use["high"])
        row |= _uptake(answers, name)
        outcome, control = setup["primary_outcome"], setup["control"]
        if name == setup["treatment"] and (delta := outcome_contrast(answers, outcome, name, control)):  # fmt: skip
            value = None if delta.refusal else delta.delta
            held = delta.t if value is not None else None
            low, high = (held.low, held.high) if held else (None, None)
            reason = delta.refusal or delta.no_interval or None
            row |= _estimate("delta_rate", value, reason, low, high, 100)
            row["verdict"] = str(verdict(delta, setup["margin"]))
        yield row


def arms_of(answers: Answers) -> QueryResult:
    """Return the rates and the use per pass of the conditions of one study, as rows of `studies`."""
    columns = documentation("studies").columns
    shown = ("condition", NOT_USABLE, *(f"{one}{end}" for one in ("strict_rate", *_USE) for end in ("", "_reason", "_low", "_high")))  # fmt: skip
    rows = [tuple(row.get(name) if name in shown else None for name in columns) for row in _arms(answers)]  # fmt: skip
    return QueryResult(columns, rows)


def _estimate(
    name: str, value: Any, reason: str | None, low: Any = None, high: Any = None, whole: int = 1
) -> Row:
    """The four columns of an estimate in parts of `whole`."""
    values = {"": value, "_low": low, "_high": high}
    parts = {f"{name}{end}": part if part is None else part / whole for end, part in values.items()}
    return {**parts, f"{name}_reason": reason}


def _uptake(answers: Answers, condition: str) -> Row:
    """The ERU rate by the only judge of all uses."""
    rows = [
        row
        for row in answers("uptake").records()
        if row["condition"] == condition and not str(row["judge"]).startswith("model/")
    ]
    if len(rows) != 1:
        reason = f"{len(rows)} judges, see uptake" if rows else "no readable log"
        return _estimate("eru_rate", None, reason)
    (row,) = rows
    if row["judge"] is not None and row["judged"] < row["events"]:
        return _estimate("eru_rate", None, f"{row['judged']} of {row['events']} uses judged")
    ends = (row["eru_low"], row["eru_high"]) if row["open"] else (None, None)
    return _estimate("eru_rate", row["eru_rate"], row["eru_rate_reason"], *ends)


def write_several(report: SeveralReport, target: Path) -> Path:
    """Write `target`/report.html and its table as CSV; return the page."""
    write_atomic(target / "tables" / "studies.csv", csv_text(report.found))
    write_atomic(target / "tables" / "matrix.csv", csv_text(report.matrix))
    page = render(
        "studies.html.j2", studies=report.studies, matched=report.matched,
        scripted=SCRIPTED if report.scripted else "",
        tables=(table_of(report.found), matrix_of(report.matrix)),
    )  # fmt: skip
    write_atomic(target / "report.html", page)
    return target / "report.html"


def several_markdown(report: SeveralReport) -> str:
    """Return the tables as Markdown, under what is matched."""
    parts = [escaped(report.matched), *([f"> {SCRIPTED}"] if report.scripted else [])]
    views = table_of(report.found, notes=False), matrix_of(report.matrix, notes=False)
    return "\n\n".join([*parts, *map(markdown, views)]) + "\n"


def table_of(found: QueryResult, *, notes: bool = True) -> TableView:
    """Return the table for a page. Intervals and reasons are notes, or else part of the text."""
    rows, about = found.records(), documentation("studies")

    def is_shown(name: str) -> bool:
        if name in _SHARED:
            return len({row[name] for row in rows}) > 1
        ends = (name, f"{name}_low") if name in _ESTIMATES else (name,)
        part = name.endswith(("_reason", "_low", "_high"))
        return not part and any(row[end] is not None for row in rows for end in ends)

    def cell(name: str, row: Row) -> Cell:
        if name in {"delta_rate", "verdict"} and row["verdict"] is None:
            return Cell("", name == "delta_rate")  # not the row of the treatment
        text, note = format_value(name, row[name]), ""
        if name in _ESTIMATES:
            ends = row[f"{name}_low"], row[f"{name}_high"]
            between = "" if ends[0] is None else " to ".join(format_value(name, end) for end in ends)  # fmt: skip
            reason = in_words(row[f"{name}_reason"] or "")
            note = between or (
                "" if row[f"{name}_reason"] == row.get(NOT_USABLE) else reason
            )  # a column of its own says it
            text, note = (between, "") if text == DASH and between else (text, note)
        elif name == "verdict":
            text, _, note = text.partition(": ")
        return _noted(text, note, is_number(row[name]) or name in _ESTIMATES, notes=notes)

    shown = [name for name in about.columns if is_shown(name)]
    numbers = {"tasks", "trials", *_ESTIMATES}
    return TableView(
        name="studies", question=about.question, read=about.read, grain=about.grain, source="trials",
        columns=tuple(
            Column(name, heading_of(name), about.definitions.get(name, ""), name in numbers)
            for name in shown
        ),
        rows=tuple(tuple(cell(name, row) for name in shown) for row in rows),
        total=len(rows),
        definitions=tuple(about.definitions.items()),
    )  # fmt: skip


def _noted(text: str, note: str, number: bool, *, notes: bool) -> Cell:
    return Cell(text, number, note) if notes or not note else Cell(f"{text} ({note})", number)


def matrix_of(found: QueryResult, *, notes: bool = True) -> TableView:
    """Return the pass rate of each task, with a column per study and condition; a cell without a rate says why."""
    rows = found.records()
    models = len({row["model"] for row in rows}) > 1
    arms = {
        (row["study"], row["condition"]): f" ({row['model'] or 'no model'})" if models else ""
        for row in rows
    }
    cells = {(row["task"], row["study"], row["condition"]): row for row in rows}

    def cell(row: Row | None) -> Cell:
        if row is None:
            return Cell("", number=True, note="not planned" if notes else "")
        rate = row["strict_rate"]
        note = row[NOT_USABLE] or ("no verifier" if rate is None else f"of {row['trials']}")
        return _noted(format_value("strict_rate", rate), note, True, notes=notes)

    columns = [
        Column(f"arm-{n}", f"{study} · {condition}{arms[study, condition]}", "", number=True)
        for n, (study, condition) in enumerate(arms, 1)
    ]
    tasks = dict.fromkeys(row["task"] for row in rows)
    return TableView(
        name="matrix",
        question="How often does each task pass?",
        read="Strict passes / planned trials. A task with few trials has no error bar: look for tasks on which "
        "columns differ most, and ask for more trials of these.",
        grain="one row is one study, condition and task",
        columns=(Column("task", "task", "", number=False), *columns),
        rows=tuple(
            (Cell(task, number=False), *(cell(cells.get((task, *arm))) for arm in arms))
            for task in tasks
        ),
        total=len(tasks),
        source="cells",
    )


def matching(studies: Mapping[str, Answers]) -> tuple[tuple[str, ...], str]:
    """Return the tasks that all studies have, with equal contents where these are known, and in a line what is the
    same, what differs, and what no log tells. Raises UsageError for logs without a plan, and without a common task."""
    cells = {name: answers("cells").records() for name, answers in studies.items()}
    for name, rows in cells.items():
        if not rows:
            raise UsageError(
                f"{name!r} has logs and no planned trials; compare such logs with"
                f" `skilljuror query {' '.join(studies)} skills_opened`"
            )
    tasks, words = _tasks(cells)
    if not tasks:
        raise UsageError(f"no task is the same in {' and '.join(map(repr, studies))}: {words}")
    cells = {name: [row for row in rows if row["task"] in tasks] for name, rows in cells.items()}
    parts: dict[str, list[str]] = {"Same in all": [words], "Different": [], "Not known": []}
    for label, values in _settings(studies, cells).items():
        if len({*values.values()}) == 1:
            (value,) = {*values.values()}
            parts["Same in all"] += [f"{label} {value}"] if value else []
        else:
            unnamed = label == "answered by" and "" in values.values()
            each = "; ".join(f"{name}: {value or 'none'}" for name, value in values.items())
            parts["Not known" if unnamed else "Different"].append(f"{label} ({each})")
    _compare_texts(cells, parts)
    said = (f"{part}: {', '.join(words)}." for part, words in parts.items() if words)
    return tasks, " ".join(said)


def _compare_texts(cells: Mapping[str, list[Row]], parts: dict[str, list[str]]) -> None:
    """Say of the variants of conditions that several studies have whether their texts are equal."""
    offered: dict[tuple[str, str], set[tuple[Any, Any]]] = defaultdict(set)
    for rows in cells.values():
        for row in rows:
            offered[row["condition"], row["task"]].add((row["variant"], row["tree_digest"]))
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for (condition, _), variants in offered.items():
        digests = {digest for variant, digest in variants if variant is not None}
        if len(digests - {None}) > 1 or len({variant is None for variant, _ in variants}) > 1:
            counts["Different", condition] += 1
        elif None in digests:
            counts["Not known", condition] += 1
    for (part, name), count in counts.items():
        parts[part].append(f"text of {name} in {format_count(count, 'task')}")
    if not counts:
        parts["Same in all"].append("the text of every variant")


def _tasks(cells: Mapping[str, list[Row]]) -> tuple[tuple[str, ...], str]:
    """The common tasks in order of the first study, and what was left out."""
    digests: dict[str, dict[str, str | None]] = defaultdict(dict)
    for name, rows in cells.items():
        for row in rows:
            digests[row["task"]][name] = row["substrate_digest"]
    everywhere = [task for task, of_study in digests.items() if len(of_study) == len(cells)]
    common = [task for task in everywhere if len({*digests[task].values()} - {None}) < 2]
    left_out = []
    if lacking := len(digests) - len(everywhere):
        left_out.append(f"{format_count(lacking, 'task')} that not every study has")
    if changed := len(everywhere) - len(common):
        differ = "whose instruction, environment or verifier differs"
        left_out.append(f"{format_count(changed, 'task')} {differ}")
    unknown = sum(None in digests[task].values() for task in common)
    words = format_count(len(common), "task")
    words += f" ({unknown} by name alone, their contents are not known)" if unknown else ""
    words += f" (left out: {' and '.join(left_out)})" if left_out else ""
    return tuple(common), words


def _settings(
    studies: Mapping[str, Answers], cells: Mapping[str, list[Row]]
) -> dict[str, dict[str, str]]:
    """Setting -> study -> its value as text."""

    def text(value: Any) -> str:
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    settings: dict[str, dict[str, str]] = defaultdict(dict)
    for name, answers in studies.items():
        setup, rows = answers.single("setup"), cells[name]
        counts = sorted({row["trials"] for row in rows})
        versions = {row["agent_version"] for row in answers("provenance").records()}
        values = {
            "conditions": ", ".join(dict.fromkeys(row["condition"] for row in rows)),
            "trials per cell": " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]]))),
            **{
                label.replace("_", " "): text(setup[label])
                for label in ("harness", "agent", "disclosure", "primary_outcome", "margin")
            },
            "agent version": ", ".join(sorted(filter(None, versions))),
            **{
                label.replace("_", " "): ", ".join(sorted({text(row[label]) for row in rows}))
                for label in ("model", "answered_by", "effort")
            },
            "contrast": f"{setup['treatment']} minus {setup['control']}" if setup["treatment"] else "",
            "judge": text(answers.single("overview")["judges"]),
        }  # fmt: skip
        for label, value in values.items():
            settings[label][name] = value
    return settings
