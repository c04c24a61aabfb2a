"""Tables, figures and sections, prepared for the template."""

from dataclasses import dataclass
from typing import Any

from skilljuror.report.answers import Answers
from skilljuror.report.canvas import Drawing
from skilljuror.report.computed import COMPUTED, answer, documentation
from skilljuror.report.formatting import DASH, format_value, heading_of, is_number
from skilljuror.report.remarks import REMARKS, Remark
from skilljuror.report.sections import Panel, Section
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import NOT_USABLE, remarks_on

WIDE = 8
"""Columns that any panel has room for."""
LONG = 20
"""Rows that are shown at once; longer tables are folded away, with their count."""
NO_ROWS = "Nothing to show: the database has no rows for this."


@dataclass(frozen=True)
class Cell:
    """One value."""

    text: str
    """As printed."""
    number: bool
    """Set flush right."""
    note: str = ""
    """Why there is no value."""


@dataclass(frozen=True)
class Column:
    """One heading."""

    name: str
    """Name in the query."""
    label: str
    """As printed."""
    definition: str
    """What it is; "" where the name says it."""
    number: bool
    """Set flush right."""


@dataclass(frozen=True)
class TableView:
    """One table with all that a reader needs to check it."""

    name: str
    """Name of the question."""
    question: str
    """Its heading."""
    read: str
    """How to read it."""
    empty: str
    """What to say where it has no rows."""
    notes: tuple[str, ...]
    """What is missing in its columns, and how to get it."""
    grain: str
    """What one row is."""
    columns: tuple[Column, ...]
    """Headings."""
    blank: tuple[str, ...]
    """Headings of a wide table's columns without any value, which are not on the page."""
    rows: tuple[tuple[Cell, ...], ...]
    """Rows on the page."""
    total: int
    """Rows in all."""
    folded: bool
    """Folded away at first."""
    definitions: tuple[tuple[str, str], ...]
    """Definitions of all columns that have one, those off the page too."""
    source: str
    """Name of the question to ask for the numbers, or for those a computed table starts from."""
    sql: str
    """The SQL that gives the numbers, without the comments at its head."""


@dataclass(frozen=True)
class SectionView:
    """One section."""

    anchor: str
    """Id."""
    title: str
    """Heading."""
    lead: str
    """First sentences."""
    remarks: tuple[Remark, ...]
    """What the numbers come to."""
    tables: tuple[TableView, ...]
    """Its tables."""
    figures: tuple[Drawing, ...]
    """Its figures."""


def section_view(answers: Answers, section: Section, figures: list[Drawing]) -> SectionView:
    """A section with its answers filled in; tables without rows say so, or are left out."""
    panels = [one for one in section.panels if not one.needs or _has(answers, one)]
    tables = tuple(table_view(answers, panel) for panel in panels)
    remarks = tuple(remark for name in section.remarks for remark in REMARKS[name](answers))
    return SectionView(section.anchor, section.title, section.lead, remarks, tables, tuple(figures))


def _has(answers: Answers, panel: Panel) -> bool:
    """Whether the answer has a value in the column that the panel needs."""
    return any(row[panel.needs] is not None for row in answer(answers, panel.query).records())


def table_view(answers: Answers, panel: Panel) -> TableView:
    """One question with its answer."""
    found, about = answer(answers, panel.query), documentation(panel.query)
    wanted = panel.columns or found.columns
    partial = any(row.get(NOT_USABLE) for row in found.records())
    wanted = (*(one for one in wanted if one != NOT_USABLE), *([NOT_USABLE] if partial else []))
    names = [name for name in wanted if name in found.columns and not _is_reason(name, wanted)]
    rows = found.records()
    blank = [name for name in names if _is_blank(name, rows)] if len(names) > WIDE else []
    names = [name for name in names if name not in blank]
    numeric = {name: all(_flush_right(row[name]) for row in rows) for name in names}
    return TableView(
        name=panel.query,
        question=about.question,
        read=about.read,
        empty=about.empty or NO_ROWS,
        notes=_notes(panel.query, found, [*names, *blank]),
        grain=about.grain,
        columns=tuple(
            Column(name, heading_of(name), about.definitions.get(name, ""), numeric[name])
            for name in names
        ),
        blank=tuple(map(heading_of, blank)),
        rows=tuple(
            tuple(_cell(name, row, numeric[name], about.whole) for name in names)
            for row in rows[: panel.limit]
        ),
        total=len(rows),
        folded=panel.folded or len(rows) > LONG,
        definitions=tuple(about.definitions.items()),
        source=COMPUTED[panel.query].source if panel.query in COMPUTED else "",
        sql=_body(about.sql),
    )


def _notes(question: str, found: QueryResult, shown: list[str]) -> tuple[str, ...]:
    """What is missing in columns that are shown, and how to get it."""
    if question in COMPUTED or not found.rows:
        return ()
    places = [found.columns.index(name) for name in shown]
    part = QueryResult(tuple(shown), [tuple(row[place] for place in places) for row in found.rows])
    return tuple(remarks_on(question, part))


def _body(sql: str) -> str:
    lines = sql.splitlines()
    first = next((n for n, line in enumerate(lines) if not line.startswith("--")), 0)
    return "\n".join(lines[first:])


def _is_blank(name: str, rows: list[dict[str, Any]]) -> bool:
    """Whether there are rows, and none has a value of the column or a reason for its lack."""
    cells = (row.get(one) for row in rows for one in (name, f"{name}_reason"))
    return bool(rows) and all(cell is None for cell in cells)


def _flush_right(value: Any) -> bool:
    return value is None or is_number(value)


def _is_reason(name: str, columns: tuple[str, ...]) -> bool:
    """A column `x_reason` is shown inside the cells of column `x`."""
    return name.endswith("_reason") and name.removesuffix("_reason") in columns


def _cell(name: str, row: dict[str, Any], number: bool, whole: tuple[str, ...]) -> Cell:
    value = row[name]
    reason = row.get(f"{name}_reason") or (row[NOT_USABLE] if name in whole else None)
    if value is None and reason:
        return Cell(DASH, number, str(reason))
    return Cell(format_value(name, value), number)
