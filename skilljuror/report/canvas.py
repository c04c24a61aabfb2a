"""Drawing surface: matplotlib set up so that the same data give the same bytes of SVG."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import fill
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

LABEL, NARROW_LABEL = 44, 20
"""Characters of a label, on wide and on narrow paper."""
TOLD = 12
"""Items of a figure that its alternative text tells."""
NARROW = 4.7
"""Inches that fill a phone's screen without making the letters smaller."""
NARROW_TITLE, NARROW_MARK = 42, 56
"""Characters of a line of the title, and of the mark below it, on narrow paper."""

_SETTINGS: Any = {
    "svg.hashsalt": "skilljuror",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # its default names ten more in every text
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


class Paper(NamedTuple):
    """Size and style of a figure."""

    scripted: bool
    """A scripted policy ran, and the figure says so."""
    narrow: bool = False
    """For a phone: nothing may lie outside of its width, and letters stay as large."""


class Drawing(NamedTuple):
    """A finished figure."""

    name: str
    """File name without ending; also the name of the question its data come from."""
    title: str
    """What it shows, in one line."""
    read: str
    """How to read it."""
    alt: str
    """Its numbers in words, for whoever cannot see it."""
    svg: str
    """The picture, with the ink colours of light paper."""
    narrow: str = ""
    """The same for a narrow screen."""

    @property
    def inline(self) -> str:
        """The picture for inside a page: ids of its own, ink that follows the page's theme."""
        return _inline(self.svg, self.name)

    @property
    def inline_narrow(self) -> str:
        """The same for a narrow screen."""
        return _inline(self.narrow, f"{self.name}-narrow")


def _inline(svg: str, name: str) -> str:
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", body)
    body = re.sub(r'(<svg\b[^>]*?) (?:height|width)="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg\b[^>]*?) (?:height|width)="[^"]*"', r"\1", body, count=1)
    return body.replace(INK, "var(--ink)").replace(LINE, "var(--line)")


@contextmanager
def canvas(paper: Paper, width: float, height: float) -> Iterator[tuple["Figure", "Axes"]]:
    """A figure of `width` by `height` inches with one set of axes; narrow paper is as wide as it is.

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
        size = (NARROW, height + 0.5) if paper.narrow else (width, height)
        figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.subplots()


def short_label(name: str, paper: Paper) -> str:
    """A name from a log as a label: one line, printable, not longer than fits the paper."""
    text = "".join(mark if mark.isprintable() else " " for mark in name)
    most = NARROW_LABEL if paper.narrow else LABEL
    return text if len(text) <= most else text[: most - 1] + "…"


def finish(
    figure: "Figure", name: str, title: str, read: str, told: Sequence[str], paper: Paper
) -> Drawing:
    """The figure as a Drawing, titled, and marked when a scripted policy ran; `told` are its numbers."""
    heading, mark = (
        (fill(title, NARROW_TITLE), fill(SCRIPTED, NARROW_MARK))
        if paper.narrow
        else (title, SCRIPTED)
    )
    figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold")
    if paper.scripted:
        figure.axes[0].set_title(mark, loc="left", fontsize=9, color=MINUS)
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    more = [f"{len(told) - TOLD} more in the data"] if len(told) > TOLD else []
    alt = f"{title}: {'; '.join([*told[:TOLD], *more])}"
    return Drawing(name, title, read, alt, "\n".join(lines) + "\n")
