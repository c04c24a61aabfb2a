"""The report of a study: one self-contained page with a CSV for every table and figure; its head as Markdown; and the
tables of the paper."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import installed
from skilljuror.base.files import write_atomic
from skilljuror.report.audit import escaped
from skilljuror.report.computed import COMPUTED, Answers, data, names
from skilljuror.report.figures import Drawing, drawings, interval
from skilljuror.report.headline import METHOD_COLUMNS, Headline, headline, remarks
from skilljuror.report.render import render
from skilljuror.report.several import arms_of, table_of
from skilljuror.report.tables import (
    SCRIPTED,
    document,
    latex,
    markdown,
    table_view,
)
from skilljuror.store.connect import QueryResult, open_read
from skilljuror.store.questions import catalog, csv_text

if TYPE_CHECKING:
    from markupsafe import Markup

Section = dict[str, Any]
"""A section of sections.yaml with its tables, figures and remarks filled in."""
CONDITION_COLUMNS = (
    "condition", "planned", "coverage", "strict_passes", "strict_rate", "mean_reward", "not_usable",
)  # fmt: skip
UNVERIFIED_COLUMNS = ("condition", "planned", "coverage", "points_share", "not_usable")
"""Without a verifier there is no reward."""
SKILL_COLUMNS = ("skill", "offered", "opened", "resources", "uses")
MOST_SKILLS = 12
"""Skills in the headline table of a pile of logs; the report has them all."""
NO_FIGURES = "the report has no figures, which need matplotlib: pip install 'skilljuror[report]'"
PAPER_ROWS = 1000
"""Rows of a table of the paper in Markdown and LaTeX; the CSV has them all."""


class ReportSummary(Struct, frozen=True):
    """The report's path and its headline."""

    path: Path
    """The HTML file."""
    title: str
    """The verdict in one sentence."""
    number: str
    """The difference with its interval; "" where none may be quoted."""
    meaning: str
    """What the number is, in one sentence; "" where none may be quoted."""
    columns: tuple[str, ...]
    """Columns of the headline table."""
    headline: tuple[tuple[Any, ...], ...]
    """Rows of the headline table: conditions, or skills where only logs were read."""
    observed: bool
    """True when the database holds logs only and no trials of a study."""
    scripted: bool
    """True when a scripted policy ran in any trial: no figure says anything about real agents."""
    lacks: tuple[str, ...] = ()
    """What the report lacks, and what to install for it."""


def build_report(database: Path, target: Path, *, quotes: bool = True) -> ReportSummary:
    """Write `target`/report.html, its tables and its figures; the same database gives the same
    bytes. With `quotes` false, no quote, preview or path from a log is written anywhere. Files of an earlier
    report that this one does not write are removed, other files are left alone.

    Raises StoreError when the database cannot be read.
    """
    with open_read(database) as reader:
        answers = Answers(reader, quotes=quotes)
        first = headline(answers)
        filled = [*filter(None, (_filled(answers, section, first) for section in _sections(first)))]
        _clean(target)
        for section in filled:
            for table in (*section["tables"], *section["without"]):
                write_atomic(target / "tables" / f"{table.name}.csv", csv_text(answers(table.name)))
            for figure in section["figures"]:
                path = target / "figures" / figure.name
                write_atomic(path.with_suffix(".svg"), figure.svg)
                write_atomic(path.with_suffix(".csv"), csv_text(answers(figure.name)))
        if first.methods:
            methods = QueryResult(METHOD_COLUMNS, list(first.methods))
            write_atomic(target / "tables" / "headline.csv", csv_text(methods))
        bars = () if first.observed else _bars(answers, first)
        page = render(
            "report.html.j2", first=first, sections=filled, quotes=quotes, interval=interval(first),
            bars=bars, scripted=SCRIPTED if first.scripted else "", drawn=_drawn,
            doubts=() if first.observed else remarks("validity", answers),
        )  # fmt: skip
        write_atomic(target / "report.html", page)
        if first.observed:
            columns: tuple[str, ...] = SKILL_COLUMNS
            rows = [row for row in answers("skills_opened").records() if row["opened"]]
            rows = rows[:MOST_SKILLS]
        else:
            rows = answers("outcomes").records()
            verified = any(row["strict_passes"] is not None for row in rows)
            columns = CONDITION_COLUMNS if verified else UNVERIFIED_COLUMNS
    return ReportSummary(
        target / "report.html", first.title, first.number, first.meaning, columns,
        tuple(tuple(row[name] for name in columns) for row in rows), first.observed, first.scripted,
        () if installed("matplotlib") else (NO_FIGURES,),
    )  # fmt: skip


def _sections(first: Headline) -> list[Section]:
    sections: list[Section] = data("sections")["observed" if first.observed else "study"]
    return sections


def _filled(answers: Answers, section: Section, first: Headline) -> Section | None:
    """A section with its answers, the tables without rows apart; None without any answer."""
    tables = []
    for panel in section["tables"]:
        about = {"table": panel} if isinstance(panel, str) else dict(panel)
        name, needs = about.pop("table"), about.pop("needs", "")
        if name == "yields" and answers(name).rows:
            tables.append(replace(table_of(arms_of(answers)), name=name, read=""))
        elif not needs or any(row[needs] is not None for row in answers(name).records()):
            tables.append(table_view(answers, name, **about))
    figures = drawings(answers, names(section.get("figures", "")), scripted=first.scripted)
    said = [remark for name in names(section.get("remarks", "")) for remark in remarks(name, answers)]  # fmt: skip
    full, without = ([one for one in tables if bool(one.rows) == some] for some in (True, False))
    if not (full or figures):
        return None
    return (
        {"lead": "", "open": False}
        | section
        | {"tables": full, "without": without, "figures": figures, "remarks": said}
    )


def _bars(answers: Answers, first: Headline) -> list[dict[str, Any]]:
    """Strict passes of each condition that has passes to count, in the order of the study file: its count of
    planned trials, rate (0 to 100), role, and why the arm is not whole."""
    roles = {first.overview["treatment"]: "treatment", first.overview["control"]: "control"}
    return [
        {
            "condition": row["condition"],
            "count": f"{row['strict_passes']} of {row['planned']}",
            "rate": 100 * row["strict_passes"] / row["planned"],
            "role": roles.get(row["condition"], ""),
            "lacking": row["not_usable"] or "",
        }
        for row in answers("outcomes").records()
        if row["strict_passes"] is not None
    ]


def _clean(target: Path) -> None:
    """An earlier report may hold quotes that this one must not."""
    for name in ("headline", *COMPUTED, *(entry.name for entry in catalog())):
        for path in (f"tables/{name}.csv", f"figures/{name}.csv", f"figures/{name}.svg"):
            (target / path).unlink(missing_ok=True)


def _drawn(figure: Drawing) -> "Markup":
    """matplotlib has escaped every name in the picture."""
    from markupsafe import Markup

    return Markup(figure.inline())


def report_markdown(database: Path) -> str:
    """Return the head of the report for a pull request: verdict, remarks and the first tables, without any quote
    of a log. Raises StoreError."""
    with open_read(database) as reader:
        answers = Answers(reader, quotes=False)
        first = headline(answers)
        parts = [f"**{escaped(first.title)}**"]
        parts += [escaped(text) for text in (first.number, first.advice) if text]
        parts += [f"> {SCRIPTED}"] if first.scripted else []
        if not first.observed:
            parts += [f"> {escaped(words)}" for words, _ in remarks("validity", answers)]
        wanted = ("skills_opened",) if first.observed else ("outcomes", "effect", "root_shown")
        panels = {
            panel if isinstance(panel, str) else panel["table"]: {} if isinstance(panel, str) else panel
            for section in _sections(first)
            for panel in section["tables"]
        }  # fmt: skip
        for name in wanted:
            columns, limit = (panels[name].get(key, default) for key, default in (("columns", ""), ("limit", 100)))  # fmt: skip
            view = table_view(answers, name, columns, limit=limit)
            parts += [markdown(view)] if view.rows else []
    return "\n\n".join(parts) + "\n"


def write_paper(database: Path, target: Path) -> tuple[list[str], list[str]]:
    """Write the tables of the SkillJuror paper (arXiv 2606.11543) by its names: `target`/tables.md, a CSV and
    a LaTeX file for each, and tables.tex, which holds them all with their preamble; nothing from a log is quoted.

    Returns the names of the tables with rows, and of those without. Raises StoreError.
    """
    with open_read(database) as reader:
        answers = Answers(reader, quotes=False)
        scripted = headline(answers).scripted
        parts = ["# Tables of the paper", *([f"> {SCRIPTED}"] if scripted else [])]
        made, empty, stems = [], [], []
        for table in data("paper"):
            name, title, question = table["name"], table["title"], table.get("question")
            parts += [f"## {name} · {title}", *([table["note"]] if "note" in table else [])]
            if not question:
                empty.append(name)
                continue
            view = table_view(answers, question, table.get("columns", ""), limit=PAPER_ROWS)
            if not view.rows:
                parts.append(f"No data. {view.empty}")
                empty.append(name)
                continue
            made.append(name)
            parts.append(markdown(view))
            stem = re.sub(r"\W+", "-", name).strip("-")
            stems.append(stem)
            write_atomic(target / f"{stem}.csv", csv_text(answers(question)))
            write_atomic(target / f"{stem}.tex", latex(view, title, stem, scripted=scripted))
        write_atomic(target / "tables.md", "\n\n".join(parts) + "\n")
        write_atomic(target / "tables.tex", document(stems))
    return made, empty
