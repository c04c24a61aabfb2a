"""Tables for people: rounded values, headings and notes, as a page, Markdown or LaTeX shows them."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from skilljuror.report.audit import escaped
from skilljuror.report.computed import COMPUTED, Answers, data, documentation, names
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import NOT_USABLE, remarks_on

DASH = "–"
LONGEST = 240
"""Characters of a text that a cell shows; the CSV has them all."""
WIDE = 8
"""Columns that any panel has room for."""
NO_ROWS = "Nothing to show: the database has no rows for this."
SCRIPTED = "Scripted policy: no language model ran; these figures say nothing about real agents."
_SHARES = (
    "_rate", "_rate_all", "_share", "share", "_share_pooled", "coverage", "strict_given_runtime",
    "_share_low", "_share_high", "rate_low", "rate_high", "eru_low", "eru_high",
    "without_navigation_low", "without_navigation_high",
)  # fmt: skip
_POINTS = (
    "delta", "delta_rate", "delta_pass", "delta_runtime", "delta_detectable", "delta_low", "delta_high",
    "runtime_low", "runtime_high", "delta_given", "given_low", "given_high",
    *(f"delta_{how}{end}" for how in ("judge", "corrected") for end in ("", "_low", "_high")),
)  # fmt: skip
_COUNTED = ("root_lines", "median_step", "first_step", "median_steps_back")
"""Medians of whole numbers: shown without needless decimals."""
_LABELS = {
    "cost_usd": "cost, USD", "usd_per_pass": "USD per pass", "p_holm": "p, Holm", "q": "q, FDR", "f": "F",
    "eru_rate": "ERU rate",
}  # fmt: skip
_ENDS = {
    "eru": "ERU rate", "without_navigation": "without navigation", "uptake": "uptake", "mean_yes": "mean yes",
    "delta_yes": "delta yes", **{f"ge{k}_yes": f"≥ {k} yes" for k in (1, 2, 5)},
}  # fmt: skip
"""Start of the name of the two ends of a range -> its heading."""


def heading_of(column: str) -> str:
    """A column's name as a heading."""
    stem, _, end = column.rpartition("_")
    if end in {"low", "high"} and stem in _ENDS:
        return f"{_ENDS[stem]}, {'from' if end == 'low' else 'to'}"
    return _LABELS.get(column, column.replace("_", " "))


def format_value(column: str, value: Any) -> str:
    """One value of a column as text; a null is a dash, never a zero."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(column, value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    text = str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _number(column: str, value: float) -> str:
    if column in _POINTS:
        return format_points(100 * value)
    if column.endswith(_SHARES):
        return _signed(f"{round(100 * value, 1) + 0.0:.1f} %")
    sign = "+" if column.startswith(("delta_", "difference")) and value > 0 else ""
    if isinstance(value, int):
        text = f"{value:,}"
    elif column in _COUNTED:
        text = f"{value:.6g}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    elif value and abs(value) < 0.1:
        text = f"{value:.2g}"
    else:
        text = f"{value + 0.0:.2f}"
    return sign + _signed(text)


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def format_points(value: float | None) -> str:
    """A difference in percentage points with its sign; a dash for None."""
    if value is None:
        return DASH
    tenths = round(value, 1)
    return _signed(f"{tenths:+.1f} pp") if tenths else "0.0 pp"


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun: "1 run", "2 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_number(value: Any) -> bool:
    """Whether a value is set flush right."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Cell(Struct, frozen=True):
    """One value as printed, whether it is set flush right, and why there is no value."""

    text: str
    number: bool
    note: str = ""


class Column(Struct, frozen=True):
    """One heading: name in the query, as printed, its definition, and whether it is set flush right."""

    name: str
    label: str
    definition: str
    number: bool


class TableView(Struct, frozen=True, kw_only=True):
    """One table with all that a reader needs to check it."""

    name: str
    """Name of the question."""
    question: str
    """Its heading."""
    read: str
    """How to read it."""
    grain: str
    """What one row is."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """Rows on the page."""
    total: int
    """Rows of the CSV."""
    cut: bool = False
    """Whether there are more."""
    source: str
    """Name of the question to ask for the numbers, or for those a computed table starts from."""
    empty: str = ""
    """What to say where it has no rows."""
    notes: tuple[str, ...] = ()
    """What is missing in its columns, and how to get it."""
    blank: tuple[str, ...] = ()
    """Headings of a wide table's columns without any value, which are not on the page."""
    alike: str = ""
    """What all rows say; "" if they differ."""
    definitions: tuple[tuple[str, str], ...] = ()
    """Definitions of all columns that have one, those off the page too."""
    sql: str = ""
    """The SQL that gives the numbers, without the comments at its head."""


def table_view(
    answers: Answers, name: str, columns: str = "", *, limit: int = 100, same: str = ""
) -> TableView:
    """A question, or a computed table, with its answer: some of its columns (all if empty) and of its rows. Rows
    that agree in the columns `same` (all numbers if empty) are said to be alike."""
    answer, about = answers(name), documentation(name)
    rows = answer.records()
    wanted = [column for column in names(columns) or answer.columns if column != NOT_USABLE]
    wanted += [NOT_USABLE] if any(row.get(NOT_USABLE) for row in rows) else []
    shown = [
        column  # a column x_reason is shown inside the cells of column x
        for column in wanted
        if column in answer.columns
        and not (column.endswith("_reason") and column.removesuffix("_reason") in wanted)
    ]
    blank = [column for column in shown if _is_blank(column, rows)] if len(shown) > WIDE else []
    notes: tuple[str, ...] = ()
    if name not in COMPUTED and rows:
        places = [answer.columns.index(column) for column in shown]
        part = [tuple(row[place] for place in places) for row in answer.rows]
        notes = tuple(remarks_on(name, QueryResult(tuple(shown), part)))
    shown = [column for column in shown if column not in blank]
    numeric = {
        column: all(row[column] is None or is_number(row[column]) for row in rows)
        for column in shown
    }
    lines = about.sql.splitlines()
    first = next((n for n, line in enumerate(lines) if not line.startswith("--")), 0)
    return TableView(
        name=name,
        question=about.question,
        read=about.read,
        empty=about.empty or NO_ROWS,
        notes=notes,
        grain=about.grain,
        columns=tuple(
            Column(column, heading_of(column), about.definitions.get(column, ""), numeric[column])
            for column in shown
        ),
        blank=tuple(map(heading_of, blank)),
        rows=tuple(
            tuple(_cell(column, row, numeric[column], about.whole) for column in shown)
            for row in rows[:limit]
        ),
        total=len(rows),
        cut=name in answers.cut,
        alike=_alike(names(same) or [column for column in shown if numeric[column]], rows),
        definitions=tuple(about.definitions.items()),
        source=data("computed")[name]["source"] if name in COMPUTED else "",
        sql="\n".join(lines[first:]),
    )


def _alike(columns: Iterable[str], rows: list[dict[str, Any]]) -> str:
    values = {column: {format_value(column, row[column]) for row in rows} for column in columns}
    if len(rows) < 2 or any(len(of_column) > 1 for of_column in values.values()):
        return ""
    return ", ".join(f"{heading_of(column)} {value}" for column, (value,) in values.items())


def _is_blank(column: str, rows: list[dict[str, Any]]) -> bool:
    """Whether there are rows, and none has a value of the column or a reason for its lack."""
    cells = (row.get(name) for row in rows for name in (column, f"{column}_reason"))
    return bool(rows) and all(cell is None for cell in cells)


def in_words(reason: str) -> str:
    """Return the code of a reason (`zero_passes`) as people read it."""
    return reason.replace("_", " ")


def _cell(column: str, row: dict[str, Any], number: bool, whole: tuple[str, ...]) -> Cell:
    value, reason, lacking = row[column], row.get(f"{column}_reason"), row.get(NOT_USABLE)
    if value is None and (reason or (lacking and column in whole)):
        said = reason is None or reason == lacking  # in a column of its own
        return Cell(DASH, number, "" if said else in_words(str(reason)))
    return Cell(format_value(column, value), number)


def markdown(view: TableView) -> str:
    """Return a table under its question in Markdown; numbers are set flush right."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [line(escaped(" ".join(cell.text.split())) for cell in row) for row in view.rows]
    more = ["", f"{len(rows)} of {view.total} rows"] if view.total > len(rows) else []
    return "\n".join([
        f"### {escaped(view.question)}",
        "",
        line(column.label for column in view.columns),
        line("---:" if column.number else "---" for column in view.columns),
        *rows,
        *more,
    ])


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\N{MINUS SIGN}": "$-$",
    "[": "{[}", "*": "{*}", "–": "--", "≥": r"$\geq$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
"""Characters that LaTeX gives a meaning, or has no letter for; others beyond Latin-1 are a question mark."""


def _letter(sign: str) -> str:
    return _LATEX.get(sign) or (sign if sign < "\u0100" and sign.isprintable() else "?")


def latex(view: TableView, title: str, label: str, *, scripted: bool = False) -> str:
    """Return a table with booktabs; numbers are set flush right."""

    def line(cells: Iterable[str]) -> str:
        texts = (" ".join(cell.split()) for cell in cells)
        return " & ".join("".join(map(_letter, text)) for text in texts)

    def lines() -> Iterator[str]:
        if scripted:
            yield f"% {SCRIPTED}"
        yield r"\begin{table}\centering"
        mark = " " + line([SCRIPTED]) if scripted else ""
        yield rf"\caption{{{line([title])}.{mark}}}\label{{tab:{label}}}"
        sides = "".join("r" if column.number else "l" for column in view.columns)
        yield rf"\resizebox{{\ifdim\width>\textwidth\textwidth\else\width\fi}}{{!}}{{\begin{{tabular}}{{{sides}}}"
        yield r"\toprule"
        yield line(column.label for column in view.columns) + r" \\"
        yield r"\midrule"
        yield from (line(cell.text for cell in row) + r" \\" for row in view.rows)
        yield from (r"\bottomrule", r"\end{tabular}}", r"\end{table}")

    return "\n".join(lines()) + "\n"


def document(stems: Iterable[str]) -> str:
    """Return a LaTeX document with the packages that the tables of these files need."""
    packages = (r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs,graphicx,textcomp}")
    inputs = (rf"\input{{{stem}.tex}}\clearpage" for stem in stems)
    return "\n".join([
        r"\documentclass{article}",
        *packages,
        r"\begin{document}",
        *inputs,
        r"\end{document}",
        "",
    ])
