"""The report of several studies: one table over the tasks that all of them have, and what is the same in them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import UsageError
from skilljuror.base.files import write_atomic
from skilljuror.base.texts import model_date, plain_model
from skilljuror.measures.paired import verdict
from skilljuror.report.audit import escaped
from skilljuror.report.computed import Answers, outcome_contrast
from skilljuror.report.page import render
from skilljuror.report.tables import (
    DASH,
    SCRIPTED,
    Cell,
    Column,
    TableView,
    format_count,
    format_value,
    heading_of,
    is_number,
    markdown,
)
from skilljuror.store.connect import QueryResult, open_read
from skilljuror.store.questions import NOT_USABLE, csv_text, meaning_of_mark

Row = dict[str, Any]
NAME = "studies"
"""Name of the table."""
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
COLUMNS = (
    "study", *_SHARED, "condition", "tasks", "trials",
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_reason", "_low", "_high")), "verdict",
    NOT_USABLE,
)  # fmt: skip
DEFINITIONS = {
    "answered_by": "models that answered the main agent, by the logs",
    "tasks": "tasks of the condition that all studies have",
    "trials": "planned trials",
    "strict_rate": "mean over tasks of the strict passes / planned trials; interval over tasks, Student's t",
    "tokens_per_pass": "display tokens of all attempts / strict passes; interval by a jackknife over tasks",
    "minutes_per_pass": "the same for the wall clock of the agent",
    "usd_per_pass": "the same for the cost",
    "eru_rate": "share of uses with uptake; a range where uses are open, which is no interval",
    "delta_rate": "of the study's own contrast: mean over tasks of the treatment's primary outcome minus the "
    "control's; interval over tasks, Student's t",
    "verdict": "on this difference, by the declared margin",
    NOT_USABLE: meaning_of_mark(("strict_rate", *_USE)),
}


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
        for columns, every in ((COLUMNS, rows), (MATRIX, cells))
    )
    return SeveralReport(tuple(databases), matched, scripted, table, matrix)


def _arms(answers: Answers) -> Iterator[Row]:
    """Yield a row of each condition of a study."""
    setup = answers.single("setup")
    estimated = {(row["condition"], row["measure"]): row for row in answers("yields").records()}
    reasons = {
        (row["condition"], row["resource"]): row["yield_reason"]
        for row in answers("efficiency").records()
    }
    settings = {row["condition"]: row for row in answers("cells").records()}
    none = dict.fromkeys(("value", "value_reason", "low", "low_reason", "high"))
    for arm in answers("outcomes").records():
        name = arm["condition"]
        rate = estimated.get((name, "strict pass rate"))
        rate = rate or none | {"value_reason": "no task has a verifier"}
        row = {
            "condition": name, "tasks": arm["tasks"], "trials": arm["planned"],
            **{setting: settings[name][setting] for setting in _SHARED}, NOT_USABLE: arm[NOT_USABLE],
            **_estimate("strict_rate", rate["value"], rate["value_reason"] or rate["low_reason"], rate["low"], rate["high"], 100),
        }  # fmt: skip
        for column, resource in _USE.items():
            use = estimated.get((name, f"{resource} per pass"), none)
            reason = reasons[name, resource] or use["low_reason"]
            row |= _estimate(column, use["value"], reason, use["low"], use["high"])
        yield row | _uptake(answers, name) | _difference(answers, setup, name)


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
    if not rows:
        return _estimate("eru_rate", None, "no readable log")
    (row, *others) = rows
    if others:
        return _estimate("eru_rate", None, f"{len(rows)} judges, see uptake")
    if row["judge"] is not None and row["judged"] < row["events"]:
        return _estimate("eru_rate", None, f"{row['judged']} of {row['events']} uses judged")
    ends = (row["eru_low"], row["eru_high"]) if row["open"] else (None, None)
    return _estimate("eru_rate", row["eru_rate"], row["eru_rate_reason"], *ends)


def _difference(answers: Answers, setup: Row, condition: str) -> Row:
    """The study's contrast, in the row of its treatment."""
    if condition != setup["treatment"]:
        return {}
    delta = outcome_contrast(answers, setup["primary_outcome"], condition, setup["control"])
    if delta is None:
        return {}
    words = {"verdict": str(verdict(delta, setup["margin"]))}
    if delta.refusal or delta.delta is None:
        return words | _estimate("delta_rate", None, delta.refusal or delta.no_interval)
    low, high = (delta.t.low, delta.t.high) if delta.t else (None, None)
    return words | _estimate("delta_rate", delta.delta, delta.no_interval or None, low, high, 100)


def write_several(report: SeveralReport, target: Path) -> Path:
    """Write `target`/report.html and its table as CSV; return the page."""
    write_atomic(target / "tables" / f"{NAME}.csv", csv_text(report.found))
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
    rows = found.records()
    shown = [name for name in COLUMNS if _is_shown(name, rows)]
    numbers = {"tasks", "trials", *_ESTIMATES}
    return TableView(
        name=NAME,
        question="How often does each condition pass, and what does a pass cost?",
        read="Intervals are for other tasks like these. Two intervals that overlap do not show that two "
        "conditions are alike, and two studies are not paired here: only the difference inside a study has a "
        "verdict.",
        grain="one row is one study and condition",
        columns=tuple(
            Column(name, heading_of(name), DEFINITIONS.get(name, ""), name in numbers)
            for name in shown
        ),
        rows=tuple(tuple(_cell(name, row, notes=notes) for name in shown) for row in rows),
        total=len(rows),
        definitions=tuple(DEFINITIONS.items()),
        source="trials",
    )


def _is_shown(name: str, rows: list[Row]) -> bool:
    if name.endswith(("_reason", "_low", "_high")):
        return False
    if name in _SHARED:
        return len({row[name] for row in rows}) > 1
    ends = (name, f"{name}_low") if name in _ESTIMATES else (name,)
    return any(row[end] is not None for row in rows for end in ends)


def _cell(name: str, row: Row, *, notes: bool) -> Cell:
    if name in {"delta_rate", "verdict"} and row["verdict"] is None:
        return Cell("", name == "delta_rate")  # not the row of the treatment
    text, note = format_value(name, row[name]), ""
    if name in _ESTIMATES:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        between = "" if low is None else f"{format_value(name, low)} to {format_value(name, high)}"
        note = between or row[f"{name}_reason"] or ""
        if text == DASH and between:
            text, note = between, ""
    elif name == "verdict":
        text, _, note = text.partition(": ")
    return _noted(text, note, is_number(row[name]) or name in _ESTIMATES, notes=notes)


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


# What is the same in several studies

_SETUP = ("harness", "agent", "disclosure", "primary_outcome", "margin")
"""Settings of a study that are compared."""
_ARMS = ("model", "answered_by", "effort")
"""Settings of its conditions that are compared."""


def matching(studies: Mapping[str, Answers]) -> tuple[tuple[str, ...], str]:
    """Return the tasks that all studies have, with equal contents where these are known, and in a line what is the
    same and what differs. Raises UsageError for logs without a plan, and without a common task."""
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
    common = {name: [row for row in rows if row["task"] in tasks] for name, rows in cells.items()}
    same, differs, unknown = [words], list[str](), list[str]()
    for label, values in _settings(studies, common).items():
        if len({*values.values()}) == 1:
            (value,) = {*values.values()}
            same += [f"{label} {value}"] if value else []
        else:
            each = "; ".join(f"{name}: {value or 'none'}" for name, value in values.items())
            part = unknown if label == "answered by" and _may_be_same(values) else differs
            part.append(f"{label} ({each})")
    _compare_variants(common, same, differs, unknown)
    parts = (("Same in all", same), ("Different", differs), ("Not known", unknown))
    return tasks, " ".join(f"{name}: {', '.join(words)}." for name, words in parts if words)


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
        settings["conditions"][name] = ", ".join(dict.fromkeys(row["condition"] for row in rows))
        counts = sorted({row["trials"] for row in rows})
        few_to_most = dict.fromkeys([counts[0], counts[-1]])
        settings["trials per cell"][name] = " to ".join(map(str, few_to_most))
        for label in _SETUP:
            settings[label.replace("_", " ")][name] = text(setup[label])
        versions = {row["agent_version"] for row in answers("provenance").records()}
        settings["agent version"][name] = ", ".join(sorted(filter(None, versions)))
        for label in _ARMS:
            values = sorted({text(row[label]) for row in rows})
            settings[label.replace("_", " ")][name] = ", ".join(values)
        contrast = f"{setup['treatment']} minus {setup['control']}"
        settings["contrast"][name] = contrast if setup["treatment"] else ""
        settings["judge"][name] = text(answers.single("overview")["judges"])
    return settings


def _may_be_same(models: Mapping[str, str]) -> bool:
    """Whether a log names no model, or the names differ in provider, punctuation or a missing date alone."""
    names = [{*value.split(", ")} for value in models.values()]
    plain = {tuple(sorted({*map(plain_model, of_study)})) for of_study in names}
    dates = {date for of_study in names for name in of_study if (date := model_date(name))}
    return any("" in of_study for of_study in names) or (len(plain) == 1 and len(dates) < 2)


def _compare_variants(
    cells: Mapping[str, list[Row]], same: list[str], differs: list[str], unknown: list[str]
) -> None:
    """Say of the variants of conditions that several studies have whether their texts are equal."""
    offered: dict[tuple[str, str], set[tuple[Any, Any]]] = defaultdict(set)
    for rows in cells.values():
        for row in rows:
            offered[row["condition"], row["task"]].add((row["variant"], row["tree_digest"]))
    counts: dict[str, dict[str, int]] = {"differs": defaultdict(int), "unknown": defaultdict(int)}
    for (condition, _), variants in offered.items():
        digests = {digest for variant, digest in variants if variant is not None}
        if len(digests - {None}) > 1 or len({variant is None for variant, _ in variants}) > 1:
            counts["differs"][condition] += 1
        elif None in digests:
            counts["unknown"][condition] += 1
    for part, of_part in ((differs, counts["differs"]), (unknown, counts["unknown"])):
        part += [f"text of {name} in {format_count(count, 'task')}" for name, count in of_part.items()]  # fmt: skip
    if not any(counts.values()):
        same.append("the text of every variant")
