"""HTML pages: the report with its CSV and SVG files, and the diff of units."""

import re
from importlib import metadata
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from skilljuror.base.files import write_atomic
from skilljuror.report.answers import Answers
from skilljuror.report.canvas import SCRIPTED, Drawing
from skilljuror.report.computed import COMPUTED, answer
from skilljuror.report.figures import drawings
from skilljuror.report.formatting import format_points
from skilljuror.report.headline import METHOD_COLUMNS, Headline, format_count
from skilljuror.report.headline_pictures import condition_bars, interval_picture
from skilljuror.report.sections import OBSERVED, STUDY
from skilljuror.report.views import SectionView, section_view
from skilljuror.store.questions.csv_text import csv_text
from skilljuror.store.questions.run import QueryResult, catalog

LONG_NAME = 16
"""Characters from which a text may be broken inside of its words."""
TEMPLATES = Path(__file__).parent / "templates"


def write_page(answers: Answers, first: Headline, target: Path) -> Path:
    """Write everything into `target` and return the page's path; files of an earlier report
    that this one does not write are removed, other files are left alone."""
    sections = OBSERVED if first.observed else STUDY
    views = []
    for section in sections:
        figures = drawings(answers, section.figures, scripted=first.scripted)
        views.append(section_view(answers, section, figures))
    _clean(target)
    _write_tables(answers, views, target)
    if first.methods:
        methods = QueryResult(METHOD_COLUMNS, list(first.methods))
        write_atomic(target / "tables" / "headline.csv", csv_text(methods))
    page = target / "report.html"
    write_atomic(page, _render(answers, first, views))
    return page


def _clean(target: Path) -> None:
    """An earlier report may hold quotes that this one must not."""
    for name in ("headline", *COMPUTED, *(entry.name for entry in catalog())):
        for path in (f"tables/{name}.csv", f"figures/{name}.csv", f"figures/{name}.svg"):
            (target / path).unlink(missing_ok=True)


def _write_tables(answers: Answers, views: list[SectionView], target: Path) -> None:
    for view in views:
        for table in view.tables:
            path = target / "tables" / f"{table.name}.csv"
            write_atomic(path, csv_text(answer(answers, table.name)))
        for figure in view.figures:
            _write_figure(answers, figure, target / "figures")


def _write_figure(answers: Answers, figure: Drawing, folder: Path) -> None:
    write_atomic(folder / f"{figure.name}.svg", figure.svg)
    write_atomic(folder / f"{figure.name}.csv", csv_text(answers(figure.name)))


def _render(answers: Answers, first: Headline, views: list[SectionView]) -> str:
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            first=first,
            sections=views,
            scripted=SCRIPTED if first.scripted else "",
            quotes=answers.quotes,
            interval=Markup(interval_picture(first)),
            bars=condition_bars(answers, first) if not first.observed else (),
            style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
            version=metadata.version("skilljuror"),
            drawn=_drawn,
        )
    )


def breakable(text: str) -> Markup:
    """A text whose long names and paths may be broken after _ and /."""
    if len(text) < LONG_NAME:
        return escape(text)
    return Markup(re.sub(r"(?<=\w)([_/]+)(?=\w)", r"\1<wbr>", str(escape(text))))


def templates() -> Environment:
    """Return the packaged templates; text from logs and Skills is untrusted, an unknown name an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "points": format_points, "counted": format_count, "breakable": breakable,
    }  # fmt: skip
    return environment


def _drawn(figure: Drawing, *, narrow: bool = False) -> Markup:
    """matplotlib has escaped every name in the picture."""
    return Markup(figure.inline_narrow if narrow else figure.inline)
