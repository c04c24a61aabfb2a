"""The head of a report as Markdown, for a pull request: verdict, remarks and the first tables."""

from collections.abc import Iterator
from pathlib import Path

from skilljuror.report.answers import Answers
from skilljuror.report.audit import escaped
from skilljuror.report.canvas import SCRIPTED
from skilljuror.report.headline import headline
from skilljuror.report.remarks import REMARKS
from skilljuror.report.sections import OBSERVED, STUDY, Panel, Section
from skilljuror.report.views import TableView, table_view
from skilljuror.store.connect import open_read

_STUDY = ("outcomes", "effect", "root_shown")
_OBSERVED = ("skills_opened",)


def report_markdown(database: Path) -> str:
    """Return the head of the report, without any quote of a log. Raises StoreError."""
    with open_read(database) as reader:
        answers = Answers(reader, quotes=False)
        first = headline(answers)
        parts = [f"**{escaped(first.title)}**"]
        parts += [escaped(text) for text in (first.number, first.advice) if text]
        if first.scripted:
            parts.append(f"> {SCRIPTED}")
        if not first.observed:
            told = [*REMARKS["contrast_coverage"](answers), *REMARKS["roots_cut"](answers)]
            parts += [f"> {escaped(remark.words)}" for remark in told]
        sections = OBSERVED if first.observed else STUDY
        wanted = _OBSERVED if first.observed else _STUDY
        views = [table_view(answers, panel) for panel in _panels(sections, wanted)]
        parts += ["\n".join(table_lines(view)) for view in views if view.rows]
    return "\n\n".join(parts) + "\n"


def _panels(sections: tuple[Section, ...], wanted: tuple[str, ...]) -> Iterator[Panel]:
    panels = {panel.query: panel for section in sections for panel in section.panels}
    return (panels[name] for name in wanted)


def table_lines(view: TableView) -> Iterator[str]:
    """Yield a table under its question; numbers are set flush right."""
    yield f"### {escaped(view.question)}"
    yield ""
    yield _row(column.label for column in view.columns)
    yield _row("---:" if column.number else "---" for column in view.columns)
    for row in view.rows:
        yield _row(escaped(" ".join(cell.text.split())) for cell in row)
    if view.total > len(view.rows):
        yield ""
        yield f"{len(view.rows)} of {view.total} rows"


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
