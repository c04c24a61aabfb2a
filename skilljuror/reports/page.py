"""Writing the report: the page, and the CSV and SVG files beside it."""

import csv
import io
from importlib import metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from skilljuror.files import write_atomic
from skilljuror.queries.run import Result, catalog
from skilljuror.reports.asking import Ask
from skilljuror.reports.bars import condition_bars, interval_picture
from skilljuror.reports.canvas import SCRIPTED, Drawing
from skilljuror.reports.computed import COMPUTED
from skilljuror.reports.figures import drawings
from skilljuror.reports.formatting import points
from skilljuror.reports.headline import METHOD_COLUMNS, Headline, counted
from skilljuror.reports.sections import OBSERVED, STUDY
from skilljuror.reports.views import SectionView, section_view

TEMPLATES = Path(__file__).parent / "templates"


def write_page(ask: Ask, first: Headline, target: Path) -> Path:
    """Write everything into `target` and return the page's path; files of an earlier report
    that this one does not write are removed, other files are left alone."""
    sections = OBSERVED if first.observed else STUDY
    views = []
    for section in sections:
        figures = drawings(ask, section.figures, scripted=first.scripted)
        views.append(section_view(ask, section, figures))
    _clean(target)
    _write_tables(ask, views, target)
    if first.methods:
        _write_csv(target / "tables" / "headline.csv", Result(METHOD_COLUMNS, list(first.methods)))
    page = target / "report.html"
    write_atomic(page, _render(ask, first, views))
    return page


def _clean(target: Path) -> None:
    """An earlier report may hold quotes that this one must not."""
    for name in ("headline", *COMPUTED, *(entry.name for entry in catalog())):
        for path in (f"tables/{name}.csv", f"figures/{name}.csv", f"figures/{name}.svg"):
            (target / path).unlink(missing_ok=True)


def _write_tables(ask: Ask, views: list[SectionView], target: Path) -> None:
    for view in views:
        for table in view.tables:
            _write_csv(target / "tables" / f"{table.name}.csv", ask(table.name))
        for figure in view.figures:
            _write_figure(ask, figure, target / "figures")


def _write_figure(ask: Ask, figure: Drawing, folder: Path) -> None:
    write_atomic(folder / f"{figure.name}.svg", figure.svg)
    _write_csv(folder / f"{figure.name}.csv", ask(figure.name))


def _write_csv(path: Path, found: Result) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([_plain(value) for value in row] for row in found.rows)
    write_atomic(path, text.getvalue())


def _plain(value: Any) -> Any:
    """A null is an empty field; text that a spreadsheet would run as a formula is quoted."""
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return "'" + value
    return value


def _render(ask: Ask, first: Headline, views: list[SectionView]) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"points": points, "counted": counted}
    template = environment.get_template("report.html.j2")
    return template.render(
        first=first,
        sections=views,
        scripted=SCRIPTED if first.scripted else "",
        quotes=ask.quotes,
        interval=Markup(interval_picture(first)),
        bars=condition_bars(ask) if not first.observed else (),
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        version=metadata.version("skilljuror"),
        drawn=_drawn,
    )


def _drawn(figure: Drawing) -> Markup:
    """matplotlib has escaped every name in the picture."""
    return Markup(figure.inline)
