"""Drawing surface: matplotlib set up so that the same data give the same bytes of SVG."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1c1f23"
LINE = "#c9cdd3"
PLUS = "#2f7fd1"
MINUS = "#d7792a"
TIE = "#8b919a"
OTHER_COLOURS = (TIE, "#3a9d78", "#8f63c7", "#b8860b")
"""Colours of further series; all are told apart on light and on dark paper."""

SCRIPTED = "Scripted policy: no language model ran; these figures say nothing about real agents."

LABEL = 44
"""Characters of a label."""

_SETTINGS: Any = {
    "svg.hashsalt": "skilljuror",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.size": 10,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": LINE,
    "legend.frameon": False,
}


class Drawing(NamedTuple):
    """A finished figure."""

    name: str
    """File name without ending; also the name of the question its data come from."""
    title: str
    """What it shows, in one line."""
    read: str
    """How to read it."""
    svg: str
    """The picture, with the ink colours of light paper."""

    @property
    def inline(self) -> str:
        """The picture for inside a page: ids of its own, ink that follows the page's theme."""
        body = self.svg[self.svg.index("<svg") :]
        body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
        body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", body)
        body = re.sub(r'(<svg\b[^>]*?) (?:height|width)="[^"]*"', r"\1", body, count=1)
        body = re.sub(r'(<svg\b[^>]*?) (?:height|width)="[^"]*"', r"\1", body, count=1)
        return body.replace(INK, "var(--ink)").replace(LINE, "var(--line)")


@contextmanager
def canvas(width: float, height: float) -> Iterator[tuple["Figure", "Axes"]]:
    """A figure of `width` by `height` inches with one set of axes.

    Made without pyplot and from matplotlib's own defaults: neither the style nor the backend of
    whoever calls is used or changed.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(), warnings.catch_warnings():
        # a name may use letters that the measuring font lacks; the reader's font has them
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def short_label(name: str) -> str:
    """A name from a log as a label: one line, printable, not longer than LABEL characters."""
    text = "".join(mark if mark.isprintable() else " " for mark in name)
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def finish(figure: "Figure", name: str, title: str, read: str, *, scripted: bool) -> Drawing:
    """The figure as a Drawing, titled, and marked when a scripted policy ran."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    if scripted:
        figure.axes[0].set_title(SCRIPTED, loc="left", fontsize=9, color=MINUS)
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return Drawing(name, title, read, "\n".join(lines) + "\n")
