"""The packaged templates of pages."""

import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skilljuror.report.tables import format_count, format_points

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
LONG_NAME = 16
"""Characters from which a text may be broken inside of its words."""


def templates() -> "Environment":
    """Return the packaged templates; text from logs and Skills is untrusted, an unknown name an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "points": format_points, "counted": format_count, "breakable": breakable,
    }  # fmt: skip
    return environment


def render(template: str, **values: Any) -> str:
    """Return a page with the style of reports."""
    from markupsafe import Markup

    style = Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))
    version = metadata.version("skilljuror")
    return templates().get_template(template).render(style=style, version=version, **values)


def breakable(text: str) -> "Markup":
    """A text whose long names and paths may be broken after _ and /."""
    from markupsafe import Markup, escape

    if len(text) < LONG_NAME:
        return escape(text)
    return Markup(re.sub(r"(?<=\w)([_/]+)(?=\w)", r"\1<wbr>", str(escape(text))))
