"""The figures: matplotlib set up so that the same data give the same bytes of SVG."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from skilljuror.base.errors import installed
from skilljuror.report.computed import MIN_STRATUM, Answers
from skilljuror.report.headline import Headline
from skilljuror.report.heat import Heat, by_file
from skilljuror.report.tables import SCRIPTED, format_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]

INK, LINE = "#1c1f23", "#c9cdd3"
PLUS, MINUS, TIE = "#2f7fd1", "#d7792a", "#8b919a"
USED, NEVER = "#3a9d78", "#c0453b"
WIDTH = 4.8
"""Inches of a figure: two fit side by side, and a phone shows one at three quarters."""
LABEL = 44
"""Characters of a label."""
ALT_ITEMS = 12
"""Items of a figure that its alternative text names."""
NAMED_BARS = 40
"""Up to this many tasks, each bar carries its name."""
BINS = 20
"""Columns of a heat map: twentieths of a run."""
DRAWN_STRATA = ("validation_type", "workflow_type")
"""Attributes whose values are points of the scatter."""
_SETTINGS: Any = {
    "svg.hashsalt": "skilljuror",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # its default names ten more in every text
    "font.size": 10,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
}


class Drawing(Struct, frozen=True):
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

    def inline(self) -> str:
        """The picture for inside a page: ids of its own, ink that follows the page's theme."""
        body = self.svg[self.svg.index("<svg") :]
        body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
        body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", body)
        for _ in range(2):
            body = re.sub(r'(<svg\b[^>]*?) (?:height|width)="[^"]*"', r"\1", body, count=1)
        return body.replace(INK, "var(--ink)").replace(LINE, "var(--line)")


class Paper(Struct, frozen=True):
    """Where a figure is drawn."""

    scripted: bool
    """A scripted policy ran, and the figure says so."""

    @contextmanager
    def axes(self, width: float, height: float) -> Iterator[tuple["Figure", "Axes"]]:
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

    def label(self, name: str) -> str:
        """A name from a log as a label: one line, printable, not longer than fits."""
        text = "".join(mark if mark.isprintable() else " " for mark in name)
        return text if len(text) <= LABEL else text[: LABEL - 1] + "…"

    def finish(
        self, figure: "Figure", name: str, title: str, read: str, facts: Sequence[str]
    ) -> Drawing:
        """The figure as a Drawing, titled, and marked when a scripted policy ran; `facts` are its numbers."""
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        if self.scripted:
            figure.supxlabel(SCRIPTED, x=0.01, ha="left", fontsize=8, color=MINUS)
        more = len(facts) - ALT_ITEMS
        listed = [*facts[:ALT_ITEMS], *([f"{more} more in the data"] if more > 0 else [])]
        return Drawing(name, title, read, f"{title}: {'; '.join(listed)}", svg_of(figure))


def svg_of(figure: "Figure") -> str:
    """The figure as SVG without a date."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def drawings(answers: Answers, names: Sequence[str], *, scripted: bool) -> list[Drawing]:
    """The named figures that have something to show; none without matplotlib."""
    able = names if installed("matplotlib") else ()
    drawn = (FIGURES[name](answers, Paper(scripted)) for name in able)
    return [drawing for drawing in drawn if drawing]


def interval(first: Headline) -> Drawing | None:
    """The interval of the headline on a line with its zero; None when there is none, and without matplotlib."""
    delta = first.delta if installed("matplotlib") else None
    if not first.quotable or delta is None or delta.delta is None or delta.t is None:
        return None
    low, mean, high = delta.t.low, delta.delta, delta.t.high
    reach = 1.15 * max(abs(low), abs(high), 5.0)
    with Paper(False).axes(WIDTH, 0.8) as (figure, axes):
        axes.axvline(0, color=TIE, linewidth=1, linestyle=":")
        axes.plot((low, high), (0, 0), color=PLUS, linewidth=10, alpha=0.35, solid_capstyle="round")  # fmt: skip
        axes.plot(mean, 0, "o", color=PLUS, markersize=10)
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-1, 1)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        apart = high - low > 0.4 * reach
        ticks = {low: format_points(low), high: format_points(high)} if apart else {}
        if all(abs(end) > 0.35 * reach for end in ticks):
            ticks[0.0] = "0"
        axes.set_xticks([*ticks], [*ticks.values()])
        svg = svg_of(figure)
    words = f"{format_points(mean)}, 95 % interval from {format_points(low)} to {format_points(high)}"  # fmt: skip
    return Drawing("interval", "", "", words, svg)


def task_deltas(answers: Answers, paper: Paper) -> Drawing | None:
    """Strict passes per task, treatment minus control (Figure 4)."""
    found = answers("task_deltas").records()
    rows = sorted(
        (row for row in found if row["delta_rate"] is not None),
        key=lambda row: (-row["delta_rate"], row["task"]),
    )
    if not rows:
        return None
    places, values = range(len(rows)), [100 * row["delta_rate"] for row in rows]
    colours = [_colour(value) for value in values]
    ties = [place for place, value in enumerate(values) if not value]
    named = len(rows) <= NAMED_BARS
    with paper.axes(WIDTH, 1.3 + 0.24 * len(rows) if named else 3.4) as (figure, axes):
        if named:
            axes.barh(places, values, color=colours, height=0.72)
            axes.scatter([0.0] * len(ties), ties, s=12, color=TIE, zorder=3)
            axes.set_yticks(places, [paper.label(row["task"]) for row in rows])
            axes.invert_yaxis()
            axes.axvline(0, color=TIE, linewidth=0.8)
            axes.set_xlabel("percentage points")
            axes.grid(axis="x")
            reach = max(20.0, *map(abs, values)) * 1.06
            axes.set_xlim(-reach, reach)
        else:
            axes.bar(places, values, color=colours, width=0.8)
            axes.scatter(ties, [0.0] * len(ties), s=12, color=TIE, zorder=3)
            axes.axhline(0, color=TIE, linewidth=0.8)
            axes.set_ylabel("percentage points")
            axes.set_xlabel(f"{len(rows)} tasks, from the largest gain to the largest loss")
            axes.set_xticks([])
            axes.grid(axis="y")
        gained, lost = sum(value > 0 for value in values), sum(value < 0 for value in values)
        best, worst = (
            f"{paper.label(row['task'])}, {format_points(100 * row['delta_rate'])}"
            for row in (rows[0], rows[-1])
        )
        facts = [
            f"of {len(rows)} tasks {gained} gained, {len(rows) - gained - lost} tied, {lost} lost",
            *([f"most for {best}"] if gained else []),
            *([f"least for {worst}"] if lost else []),
        ]
        title = f"Pass rate per task, {rows[0]['treatment']} minus {rows[0]['control']}"
        read = (
            "One bar is one task: to the plus side the treatment passed more of its trials, to the "
            "minus side fewer. A dot is a tie."
        )
        if left := len(found) - len(rows):
            read += f" {left} of {len(found)} tasks have no difference: a trial is not usable."
        return paper.finish(figure, "task_deltas", title, read, facts)


def _colour(value: float) -> str:
    return TIE if not value else PLUS if value > 0 else MINUS


class _Lacking(dict[str, str]):
    """Condition -> why its trials are not all usable, for conditions of which that is so."""

    def mark(self, condition: str) -> str:
        """What follows the condition's label."""
        return " *" if condition in self else ""

    @property
    def said(self) -> str:
        """The sentence that explains the mark; "" if nothing lacks."""
        return f" * {'; '.join(dict.fromkeys(self.values()))}." if self else ""


def _lacking(rows: Sequence[Row]) -> _Lacking:
    return _Lacking({row["condition"]: row["not_usable"] for row in rows if row.get("not_usable")})


def timing_bins(answers: Answers, paper: Paper) -> Drawing | None:
    """Draw the positions of Skill-related steps in the run (Figure 5): one row per condition and one column per
    twentieth of the run, clear to full."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    found = answers("timing_bins").records()
    if not any(row["skill_steps"] for row in found):
        return None
    cells = {(row["condition"], row["bin"]): row["per_trial"] for row in found}
    rows = list(dict.fromkeys(row for row, _ in cells))
    grid = [[cells.get((row, place), 0.0) for place in range(BINS)] for row in rows]
    ramp = LinearSegmentedColormap.from_list("ramp", [to_rgba(PLUS, 0.04), to_rgba(PLUS, 1.0)])
    facts = []
    for row, values in zip(rows, grid, strict=True):
        most = max(values)
        where = f", most ({most:.2g}) in column {values.index(most) + 1} of {BINS}" if most else ""
        facts.append(f"{paper.label(row)} {sum(values):.3g} in all{where}")
    with paper.axes(WIDTH, 1.4 + 0.4 * len(rows)) as (figure, axes):
        mesh = axes.pcolormesh(grid, cmap=ramp, vmin=0, edgecolors="none", rasterized=False)
        lacking = _lacking(found)
        labels = [paper.label(row) + lacking.mark(row) for row in rows]
        axes.set_yticks([place + 0.5 for place in range(len(rows))], labels)
        axes.invert_yaxis()
        axes.set_xticks([0, 5, 10, 15, 20], ["0", "¼", "½", "¾", "1"])
        axes.set_xlabel("part of the run")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(mesh, ax=axes, pad=0.015, aspect=12, label="steps")
        bar.outline.set_visible(False)
        title = "Skill-related steps along the run, per trial"
        read = f"A column is a twentieth of the run. A darker row means more Skill use in all.{lacking.said}"
        return paper.finish(figure, "timing_bins", title, read, facts)


def uptake(answers: Answers, paper: Paper) -> Drawing | None:
    """Draw the share of uses that became visible work, from its lower to its upper bound."""
    rows = [row for row in answers("uptake").records() if row["eru_low"] is not None]
    rows = [row for row in rows if row["judge"] == rows[0]["judge"]]
    if not rows:
        return None
    overview, places = answers.single("overview"), range(len(rows))
    colours = {overview["treatment"]: PLUS, overview["control"]: MINUS}
    with paper.axes(WIDTH, 1.4 + 0.4 * len(rows)) as (figure, axes):
        for place, row in enumerate(rows):
            low, high = 100 * row["eru_low"], 100 * row["eru_high"]
            colour = colours.get(row["condition"], TIE)
            axes.plot((low, high), (place, place), "|-", color=colour, linewidth=6, alpha=0.6)
            axes.plot((low, high), (place, place), "o", color=colour, markersize=6)
        lacking = _lacking(rows)
        axes.set_yticks(
            places, [paper.label(row["condition"]) + lacking.mark(row["condition"]) for row in rows]
        )
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("uses that became visible work, %")
        axes.grid(axis="x")
        facts = [f"{paper.label(row['condition'])} {100 * row['eru_low']:.0f} to {100 * row['eru_high']:.0f} % of {row['events']} uses" for row in rows]  # fmt: skip
        read = (
            f"Uptake (ERU rate) by judge {rows[0]['judge']}. A line spans what is possible where uses are open: "
            f"from none of them taken up to all. It is no interval.{lacking.said}"
        )
        return paper.finish(figure, "uptake", "Uptake of what was opened", read, facts)


def strata(answers: Answers, paper: Paper) -> Drawing | None:
    """Uptake against outcome, one point per stratum (Figure 7)."""
    known = [
        row
        for row in answers("strata").records()
        if row["delta_yes_low"] is not None and row["delta_pass"] is not None
        if row["attribute"] in DRAWN_STRATA
    ]
    known = [row for row in known if row["judge"] == known[0]["judge"]]
    rows = [row for row in known if row["tasks"] >= MIN_STRATUM]
    if len(rows) < 2:
        return None
    ranges = [(row["delta_yes_low"], row["delta_yes_high"]) for row in rows]
    points = [
        ((low + high) / 2, 100 * row["delta_pass"])
        for row, (low, high) in zip(rows, ranges, strict=True)
    ]
    labels = [f"{paper.label(row['value'])} ({row['tasks']})" for row in rows]
    width = max(high for _, high in ranges) - min(low for low, _ in ranges)
    with paper.axes(WIDTH, 4.8) as (figure, axes):
        for (low, high), (_, height) in zip(ranges, points, strict=True):
            line: Any = {"color": _colour(height), "linewidth": 1, "alpha": 0.6}
            axes.plot((low, high), (height, height), "|-", **line)
        across, up = zip(*points, strict=True)
        areas = [60.0 * row["tasks"] for row in rows]
        axes.scatter(across, up, s=areas, c=[*map(_colour, up)], alpha=0.55, linewidth=0)
        axes.margins(0.2, 0.14)
        for text, point, shift in dodge_labels(labels, points, width):
            axes.annotate(
                text, point, xytext=(7, 3 + 10.5 * shift), textcoords="offset points", fontsize=8
            )
        axes.axhline(0, color=TIE, linewidth=0.8)
        axes.axvline(0, color=TIE, linewidth=0.8)
        axes.set_xlabel("change of yes events per trajectory")
        axes.set_ylabel("change of strict pass rate, pp")
        axes.grid()
        count = len(known) - len(rows)
        kinds = "1 kind" if count == 1 else f"{count} kinds"
        left_out = f"Left out: {kinds} of fewer than {MIN_STRATUM} tasks. " if count else ""
        read = (
            f"One point is one kind of task; its area is the number of tasks, given in brackets. "
            f"A line spans what is possible where uses are open, with the point in its middle. "
            f"Uptake is that of judge {rows[0]['judge']}. {left_out}Which tasks gain uptake is not decided by "
            "chance: this shows where to look, not what causes what."
        )
        facts = [
            f"{paper.label(row['value'])} ({row['tasks']} tasks) uptake {row['delta_yes_low']:+.2f} to"
            f" {row['delta_yes_high']:+.2f}, passes {format_points(100 * row['delta_pass'])}"
            for row in rows
        ]
        title = "Uptake and success by kind of task, treatment minus control"
        return paper.finish(figure, "strata", title, read, facts)


def dodge_labels(
    labels: Sequence[str], places: Sequence[tuple[float, float]], width: float | None = None
) -> list[tuple[str, tuple[float, float], int]]:
    """Labels with their points and the number of lines each is shifted, so that labels of points
    that lie close together stand above one another; `width` is what is drawn, if wider than the points."""
    reach_x = 0.3 * (width or max(x for x, _ in places) - min(x for x, _ in places))
    reach_y = 0.04 * (max(y for _, y in places) - min(y for _, y in places))
    placed: list[tuple[str, tuple[float, float], int]] = []
    for text, (x, y) in sorted(
        zip(labels, places, strict=True), key=lambda pair: (pair[1], pair[0])
    ):
        close = [
            shift for _, (a, b), shift in placed if abs(a - x) <= reach_x and abs(b - y) <= reach_y
        ]
        free = (shift for shift in (0, -1, 1, -2, 2, -3, 3) if shift not in close)
        placed.append((text, (x, y), next(free, 0)))
    return placed


def skills_opened(answers: Answers, paper: Paper) -> Drawing | None:
    """Runs that were offered a skill and runs that opened it."""
    from matplotlib.ticker import MaxNLocator

    known = answers("skills_opened").records()
    rows = [row for row in known if row["opened"] or row["searched"]][:NAMED_BARS]
    if not rows:
        return None
    places = range(len(rows))
    offered, opened, searched = (
        [row[name] for row in rows] for name in ("trajectories", "opened", "searched")
    )
    with paper.axes(WIDTH, 1.4 + 0.3 * len(rows)) as (figure, axes):
        axes.barh(places, offered, color=TIE, alpha=0.35, height=0.72, label="offered or touched")
        axes.barh(places, opened, color=PLUS, height=0.4, label="opened")
        axes.barh(
            places, searched, left=opened, color=PLUS, alpha=0.4, height=0.4, label="searched only"
        )
        axes.set_yticks(places, [paper.label(row["skill"]) for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel("runs")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(loc="outside lower left", ncols=3, fontsize=8)
        read = (
            "The pale bar is the runs that knew of the skill, the dark bar those that opened it; "
            "in those behind it, only a search printed lines of it."
        )
        facts = [
            f"{paper.label(row['skill'])} opened in {row['opened']} of {row['trajectories']} runs"
            for row in rows
        ]
        return paper.finish(figure, "skills_opened", "Skills that agents opened", read, facts)


FIGURES: dict[str, Callable[[Answers, Paper], Drawing | None]] = {
    "task_deltas": task_deltas,
    "timing_bins": timing_bins,
    "uptake": uptake,
    "strata": strata,
    "skills_opened": skills_opened,
}
"""Figures by the name of the question their data come from."""


def coverage(heat: Heat, *, scripted: bool = False) -> Drawing:
    """Draw which lines of a Skill runs were shown and used: one row a file, SKILL.md first."""
    from matplotlib.colors import to_rgba

    def is_root(path: str) -> bool:
        return path.rpartition("/")[2].lower() == "skill.md"

    files = sorted(by_file(heat.units), key=lambda file: (file.task, not is_root(file.file)))
    rows = {(file.task, file.file): place for place, file in enumerate(files)}
    alone = len({file.file for file in files}) == len(files)
    names = [file.file if alone else f"{file.task}: {file.file}" for file in files]
    paper = Paper(scripted)
    with paper.axes(9.0, 1.5 + 0.34 * len(files)) as (figure, axes):
        for unit in heat.units:
            place, span = rows[unit.task, unit.file], (unit.start - 1, unit.end - unit.start + 1)
            colour = to_rgba(PLUS, 0.15 + 0.85 * unit.share) if unit.seen else to_rgba(NEVER, 0.25)
            axes.broken_barh([span], (place - 0.36, 0.6), facecolors=[colour])
            if unit.used_low:
                axes.broken_barh([span], (place + 0.26, 0.12), facecolors=[USED])
        ends = [name if len(name) <= LABEL else f"…{name[1 - LABEL :]}" for name in names]
        axes.set_yticks(range(len(files)), map(paper.label, ends))
        axes.set_ylim(len(files) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set_xlabel("line")
        handles = [
            axes.broken_barh([], (0, 0), facecolors=[colour], label=label)
            for colour, label in (
                (to_rgba(PLUS, 0.25), "shown to some runs"), (PLUS, "shown to all"),
                (USED, "used, proven"), (to_rgba(NEVER, 0.25), "never shown"),
            )
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower left", ncols=4)
        facts = [f"{name} {file.seen} of {file.units} units shown" for name, file in zip(names, files, strict=True)]  # fmt: skip
        title = f"Coverage of {heat.name}: {100 * heat.seen:.1f} % of {len(heat.units)} units shown"
        read = "One row is one file. The darker a line, the more runs were shown it."
        return paper.finish(figure, "coverage", title, read, facts)
