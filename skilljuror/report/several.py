"""The report of several studies: one table over the tasks that all of them have."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from skilljuror.base.files import write_atomic
from skilljuror.measures.stats.verdicts import verdict
from skilljuror.report.answers import Answers
from skilljuror.report.audit import escaped
from skilljuror.report.canvas import SCRIPTED
from skilljuror.report.computed import answer
from skilljuror.report.formatting import DASH, format_value, heading_of, is_number
from skilljuror.report.headline import outcome_contrast
from skilljuror.report.markdown import table_lines
from skilljuror.report.matching import matching
from skilljuror.report.page import TEMPLATES, templates
from skilljuror.report.views import Cell, Column, TableView
from skilljuror.store.connect import QueryResult, open_read
from skilljuror.store.questions import NOT_USABLE, csv_text, meaning_of_mark

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
_TOLD = ("agent", "model", "answered_by", "effort")
"""Columns that the line above the table tells where all rows have the same."""
COLUMNS = (
    "study", *_TOLD, "condition", "tasks", "trials",
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


class SeveralReport(NamedTuple):
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
    with _opened(databases) as readers:
        whole = {name: Answers(reader, quotes=False) for name, reader in readers.items()}
        matched = matching(whole)
        rows = [
            {"study": name, **row}
            for name, reader in readers.items()
            for row in _arms(Answers(reader, quotes=False, tasks=matched.tasks))
        ]
        cells = [
            {"study": name, **row}
            for name, answers in whole.items()
            for condition in answers("outcomes").records()
            for row in answers("cells").records()
            if row["condition"] == condition["condition"] and row["task"] in matched.tasks
        ]
        scripted = any(answers.single("overview")["scripted"] for answers in whole.values())
    found, matrix = (
        QueryResult(columns, [tuple(row.get(name) for name in columns) for row in every])
        for columns, every in ((COLUMNS, rows), (MATRIX, cells))
    )
    return SeveralReport(tuple(databases), matched.words, scripted, found, matrix)


@contextmanager
def _opened(databases: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(open_read(path)) for name, path in databases.items()}


_UNVERIFIED = {"value": None, "value_reason": "no task has a verifier", "low": None, "high": None}


def _arms(answers: Answers) -> Iterator[dict[str, Any]]:
    """Yield a row of each condition of a study."""
    setup = answers.single("setup")
    estimated = {
        (row["condition"], row["measure"]): row for row in answer(answers, "yields").records()
    }
    reasons = {
        (row["condition"], row["resource"]): row["yield_reason"]
        for row in answers("efficiency").records()
    }
    settings = {row["condition"]: row for row in answers("cells").records()}
    for arm in answers("outcomes").records():
        name = arm["condition"]
        rate = estimated.get((name, "strict pass rate"), _UNVERIFIED)
        row = {
            "condition": name, "tasks": arm["tasks"], "trials": arm["planned"],
            **{one: settings[name][one] for one in _TOLD}, NOT_USABLE: arm[NOT_USABLE],
            **_estimate("strict_rate", rate["value"], rate["value_reason"] or rate["low_reason"], rate["low"], rate["high"], 100),
        }  # fmt: skip
        for column, resource in _USE.items():
            use = estimated.get((name, f"{resource} per pass"), {})
            ends = use.get("low"), use.get("high")
            row |= _estimate(
                column, use.get("value"), reasons[name, resource] or use.get("low_reason"), *ends
            )
        yield row | _uptake(answers, name) | _difference(answers, setup, name)


def _estimate(
    name: str, value: Any, reason: str | None, low: Any, high: Any, whole: int = 1
) -> dict[str, Any]:
    """The four columns of an estimate in parts of `whole`."""
    values = {"": value, "_low": low, "_high": high}
    parts = {f"{name}{end}": one if one is None else one / whole for end, one in values.items()}
    return {**parts, f"{name}_reason": reason}


def _uptake(answers: Answers, condition: str) -> dict[str, Any]:
    """The ERU rate by the only judge of all uses."""
    rows = [
        row
        for row in answers("uptake").records()
        if row["condition"] == condition and not str(row["judge"]).startswith("model/")
    ]
    if not rows:
        return _estimate("eru_rate", None, "no readable log", None, None)
    (row, *others) = rows
    if others:
        return _estimate("eru_rate", None, f"{len(rows)} judges, see uptake", None, None)
    if row["judge"] is not None and row["judged"] < row["events"]:
        reason = f"{row['judged']} of {row['events']} uses judged"
        return _estimate("eru_rate", None, reason, None, None)
    ends = (row["eru_low"], row["eru_high"]) if row["open"] else (None, None)
    return _estimate("eru_rate", row["eru_rate"], row["eru_rate_reason"], *ends)


def _difference(answers: Answers, setup: Mapping[str, Any], condition: str) -> dict[str, Any]:
    """The study's contrast, in the row of its treatment."""
    if condition != setup["treatment"]:
        return {}
    delta = outcome_contrast(answers, setup["primary_outcome"], condition, setup["control"])
    if delta is None:
        return {}
    found = verdict(delta, setup["margin"])
    told = {"verdict": str(found)}
    if delta.refusal or delta.delta is None:
        reason = delta.refusal or delta.no_interval
        return told | _estimate("delta_rate", None, reason, None, None)
    low, high = (delta.t.low, delta.t.high) if delta.t else (None, None)
    return told | _estimate("delta_rate", delta.delta, delta.no_interval or None, low, high, 100)


def write_several(report: SeveralReport, target: Path) -> Path:
    """Write `target`/report.html and its table as CSV; return the page."""
    page = (
        templates()
        .get_template("studies.html.j2")
        .render(
            studies=report.studies,
            matched=report.matched,
            scripted=SCRIPTED if report.scripted else "",
            tables=(table_of(report.found), matrix_of(report.matrix)),
            style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
            version=metadata.version("skilljuror"),
        )
    )
    write_atomic(target / "tables" / f"{NAME}.csv", csv_text(report.found))
    write_atomic(target / "tables" / "matrix.csv", csv_text(report.matrix))
    write_atomic(target / "report.html", page)
    return target / "report.html"


def several_markdown(report: SeveralReport) -> str:
    """Return the tables as Markdown, under what is matched."""
    parts = [escaped(report.matched)]
    parts += [f"> {SCRIPTED}"] if report.scripted else []
    views = table_of(report.found, notes=False), matrix_of(report.matrix, notes=False)
    parts += ["\n".join(table_lines(view)) for view in views]
    return "\n\n".join(parts) + "\n"


def table_of(found: QueryResult, *, notes: bool = True) -> TableView:
    """Return the table for a page. Intervals and reasons are notes, or else part of the text."""
    rows = found.records()
    shown = [name for name in COLUMNS if _is_shown(name, rows)]
    return TableView(
        name=NAME,
        question="How often does each condition pass, and what does a pass cost?",
        read="Intervals are for other tasks like these. Two intervals that overlap do not show that two "
        "conditions are alike, and two studies are not paired here: only the difference inside a study has a "
        "verdict.",
        empty="",
        notes=(),
        blank=(),
        grain="one row is one study and condition",
        columns=tuple(
            Column(
                name, heading_of(name), DEFINITIONS.get(name, ""), name in {"tasks", "trials", *_ESTIMATES}
            )
            for name in shown
        ),
        rows=tuple(tuple(_cell(name, row, notes=notes) for name in shown) for row in rows),
        total=len(rows),
        folded=False,
        definitions=tuple(DEFINITIONS.items()),
        source="trials",
        sql="",
    )  # fmt: skip


def matrix_of(found: QueryResult, *, notes: bool = True) -> TableView:
    """Return the pass rate of each task, with a column per study and condition; a cell without a rate says why."""
    rows = found.records()
    models = len({row["model"] for row in rows}) > 1
    arms = {
        (row["study"], row["condition"]): f" ({row['model'] or 'no model'})" if models else ""
        for row in rows
    }
    cells = {(row["task"], row["study"], row["condition"]): row for row in rows}
    columns = [
        Column(f"arm-{n}", f"{study} · {condition}{arms[study, condition]}", "", number=True)
        for n, (study, condition) in enumerate(arms, 1)
    ]
    return TableView(
        name="matrix",
        question="How often does each task pass?",
        read="Strict passes / planned trials. A task with few trials has no error bar: look for tasks on which "
        "columns differ most, and ask for more trials of these.",
        empty="",
        notes=(),
        blank=(),
        grain="one row is one study, condition and task",
        columns=(Column("task", "task", "", number=False), *columns),
        rows=tuple(
            (Cell(task, number=False), *(_rate(cells.get((task, *arm)), notes=notes) for arm in arms))
            for task in dict.fromkeys(row["task"] for row in rows)
        ),
        total=len({row["task"] for row in rows}),
        folded=False,
        definitions=(),
        source="cells",
        sql="",
    )  # fmt: skip


def _rate(row: dict[str, Any] | None, *, notes: bool) -> Cell:
    if row is None:
        return Cell("", number=True, note="not planned" if notes else "")
    rate = row["strict_rate"]
    text = format_value("strict_rate", rate)
    note = row[NOT_USABLE] or ("no verifier" if rate is None else f"of {row['trials']}")
    return Cell(text, number=True, note=note) if notes else Cell(f"{text} ({note})", number=True)


def _is_shown(name: str, rows: list[dict[str, Any]]) -> bool:
    if name.endswith(("_reason", "_low", "_high")):
        return False
    if name in _TOLD:
        return len({row[name] for row in rows}) > 1
    ends = (name, f"{name}_low") if name in _ESTIMATES else (name,)
    return any(row[one] is not None for row in rows for one in ends)


def _cell(name: str, row: dict[str, Any], *, notes: bool) -> Cell:
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
    number = is_number(row[name]) or name in _ESTIMATES
    if note and not notes:
        return Cell(f"{text} ({note})", number)
    return Cell(text, number, note)
