"""The figures of a study: per-task deltas, timing, exposure, strata."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skilljuror.report.answers import Answers
from skilljuror.report.canvas import (
    MINUS,
    OTHER_COLOURS,
    PLUS,
    TIE,
    Drawing,
    Paper,
    canvas,
    finish,
    short_label,
)
from skilljuror.report.formatting import format_points
from skilljuror.report.patterns import MIN_TASKS
from skilljuror.store.questions import NOT_USABLE

Row = dict[str, Any]

NAMED_BARS = 40
"""Up to this many tasks, each bar carries its name."""

BINS = 20
"""Columns of a heat map: twentieths of a run."""

Cells = Mapping[tuple[str, int], float]
"""(row, bin) -> value, rows in the order of their first mention."""

DRAWN_STRATA = ("validation_type", "workflow_type")
"""Attributes whose values are points of the scatter."""


def drawings(answers: Answers, names: Sequence[str], *, scripted: bool) -> list[Drawing]:
    """The named figures that have something to show, each for wide and for narrow screens."""
    drawn = []
    marks = [row[NOT_USABLE] for row in answers("outcomes").records() if row[NOT_USABLE]]
    for name in names:
        wide = FIGURES[name](answers, Paper(scripted))
        wide = wide and wide._replace(read=". ".join([wide.read.removesuffix("."), *marks]) + ".")
        narrow = FIGURES[name](answers, Paper(scripted, narrow=True)) if wide else None
        if wide and narrow:
            drawn.append(wide._replace(narrow=narrow.svg))
    return drawn


def task_deltas(answers: Answers, paper: Paper) -> Drawing | None:
    """Strict passes per task, treatment minus control (Figure 4)."""
    rows = sorted(
        (row for row in answers("task_deltas").records() if row["delta_rate"] is not None),
        key=lambda row: (-row["delta_rate"], row["task"]),
    )
    if not rows:
        return None
    named = len(rows) <= NAMED_BARS
    size = (9.0, 1.3 + 0.24 * len(rows)) if named else (9.0, 3.4)
    with canvas(paper, *size) as (figure, axes):
        (_named_bars if named else _bare_bars)(axes, rows, paper)
        title = f"Pass rate per task, {rows[0]['treatment']} minus {rows[0]['control']}"
        read = (
            "One bar is one task: to the plus side the treatment passed more of its trials, to the "
            "minus side fewer. A dot is a tie."
        )
        return finish(figure, "task_deltas", title, read, _told_deltas(rows, paper), paper)


def _told_deltas(rows: list[Row], paper: Paper) -> list[str]:
    """Tasks that gained, tied and lost, with the largest change of each side."""
    values = [row["delta_rate"] for row in rows]
    gained, lost = sum(value > 0 for value in values), sum(value < 0 for value in values)
    best, worst = (
        f"{short_label(row['task'], paper)}, {format_points(100 * row['delta_rate'])}"
        for row in (rows[0], rows[-1])
    )
    return [
        f"of {len(rows)} tasks {gained} gained, {len(rows) - gained - lost} tied, {lost} lost",
        *([f"most for {best}"] if gained else []),
        *([f"least for {worst}"] if lost else []),
    ]


def _named_bars(axes: Any, rows: list[Row], paper: Paper) -> None:
    places = range(len(rows))
    values = [100 * row["delta_rate"] for row in rows]
    axes.barh(places, values, color=[_colour(value) for value in values], height=0.72)
    _ties(axes, [(0.0, place) for place, value in enumerate(values) if not value])
    axes.set_yticks(places, [short_label(row["task"], paper) for row in rows])
    axes.invert_yaxis()
    axes.axvline(0, color=TIE, linewidth=0.8)
    axes.set_xlabel("percentage points")
    axes.grid(axis="x", linewidth=0.5)
    axes.set_axisbelow(True)
    reach = max(20.0, *map(abs, values)) * 1.06
    axes.set_xlim(-reach, reach)


def _bare_bars(axes: Any, rows: list[Row], _paper: Paper) -> None:
    values = [100 * row["delta_rate"] for row in rows]
    axes.bar(range(len(rows)), values, color=[_colour(value) for value in values], width=0.8)
    _ties(axes, [(place, 0.0) for place, value in enumerate(values) if not value])
    axes.axhline(0, color=TIE, linewidth=0.8)
    axes.set_ylabel("percentage points")
    axes.set_xlabel(f"{len(rows)} tasks, from the largest gain to the largest loss")
    axes.set_xticks([])
    axes.grid(axis="y", linewidth=0.5)
    axes.set_axisbelow(True)


def _ties(axes: Any, points: list[tuple[float, float]]) -> None:
    if points:
        axes.scatter(*zip(*points, strict=True), s=12, color=TIE, zorder=3)


def _colour(value: float) -> str:
    return TIE if not value else PLUS if value > 0 else MINUS


def timing_bins(answers: Answers, paper: Paper) -> Drawing | None:
    """Draw the positions of Skill-related steps in the run (Figure 5)."""
    rows = answers("timing_bins").records()
    if not any(row["skill_steps"] for row in rows):
        return None
    cells = {(row["condition"], row["bin"]): row["per_trial"] for row in rows}
    return _heat_map(
        "timing_bins",
        "Skill-related steps along the run, per trial",
        "One column is a twentieth of the run. The colour is the number of Skill-related steps per "
        "trial, not a share: a darker row means more Skill use in all.",
        cells,
        paper,
    )


def exposure_curve(answers: Answers, paper: Paper) -> Drawing | None:
    """Draw how the Skill's knowledge reaches the agent, if there is a knowledge map."""
    rows = answers("exposure_curve").records()
    if not any(row["units_share"] for row in rows):
        return None
    colours = _series(answers, [row["condition"] for row in rows])
    with canvas(paper, 9.0, 3.6) as (figure, axes):
        for condition, colour in colours.items():
            _curve(axes, [row for row in rows if row["condition"] == condition], colour)
        axes.set_xlabel("share of the run that is over")
        axes.set_ylabel("units seen, % of those offered")
        axes.set_ylim(0, 104)
        axes.set_xlim(0, 1)
        axes.grid(linewidth=0.5)
        if paper.narrow:
            figure.legend(loc="outside lower left", ncols=2)
        else:
            axes.legend(loc="upper left")
        read = (
            "A line is the mean over trials of the knowledge units that have reached the agent; the "
            "band holds the middle half of the trials."
        )
        title = "How the Skill's knowledge reaches the agent"
        told = [_told_curve([row for row in rows if row["condition"] == name]) for name in colours]
        return finish(figure, "exposure_curve", title, read, told, paper)


def _told_curve(rows: list[Row]) -> str:
    """Shares of the units seen at half of the run and at its end."""
    half, end = (100 * rows[at]["units_share"] for at in (len(rows) // 2, -1))
    return f"{rows[0]['condition']} {half:.0f} % at half of the run, {end:.0f} % at its end"


def _curve(axes: Any, rows: list[Row], colour: str) -> None:
    places = [row["position"] for row in rows]
    low = [100 * row["units_share_low"] for row in rows]
    high = [100 * row["units_share_high"] for row in rows]
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    means = [100 * row["units_share"] for row in rows]
    axes.plot(places, means, color=colour, linewidth=2, label=rows[0]["condition"])


def _series(answers: Answers, conditions: Sequence[str]) -> dict[str, str]:
    """One colour per condition; treatment and control have theirs everywhere on the page."""
    overview = answers.single("overview")
    fixed = {overview["treatment"]: PLUS, overview["control"]: MINUS}
    others = [name for name in dict.fromkeys(conditions) if name not in fixed]
    free = {name: OTHER_COLOURS[place % len(OTHER_COLOURS)] for place, name in enumerate(others)}
    return {name: fixed.get(name) or free[name] for name in dict.fromkeys(conditions)}


def strata(answers: Answers, paper: Paper) -> Drawing | None:
    """Uptake against outcome, one point per stratum (Figure 7)."""
    found = [row for row in answers("strata").records() if _drawn(row)]
    found = [row for row in found if row["judge"] == found[0]["judge"]]
    rows = [row for row in found if row["tasks"] >= MIN_TASKS]
    if len(rows) < 2:
        return None
    with canvas(paper, 9.0, 4.8) as (figure, axes):
        _points(axes, rows, paper)
        axes.axhline(0, color=TIE, linewidth=0.8)
        axes.axvline(0, color=TIE, linewidth=0.8)
        axes.set_xlabel("change of yes events per trajectory")
        axes.set_ylabel("change of strict pass rate, pp")
        axes.grid(linewidth=0.5)
        axes.set_axisbelow(True)
        read = (
            f"One point is one kind of task; its area is the number of tasks, given in brackets. "
            f"A line spans what is possible where uses are open, with the point in its middle. "
            f"Uptake is that of judge {rows[0]['judge']}. {_left_out(len(found) - len(rows))}Which tasks gain uptake is not decided by "
            "chance: this shows where to look, not what causes what."
        )
        title = "Uptake and success by kind of task, treatment minus control"
        told = [
            f"{short_label(row['value'], paper)} ({row['tasks']} tasks) uptake {row['delta_yes_low']:+.2f} to"
            f" {row['delta_yes_high']:+.2f}, passes {format_points(100 * row['delta_pass'])}"
            for row in rows
        ]
        return finish(figure, "strata", title, read, told, paper)


def _left_out(count: int) -> str:
    kinds = "1 kind" if count == 1 else f"{count} kinds"
    return f"Left out: {kinds} of fewer than {MIN_TASKS} tasks. " if count else ""


def _drawn(row: Row) -> bool:
    known = row["delta_yes_low"] is not None and row["delta_pass"] is not None
    return known and row["attribute"] in DRAWN_STRATA


def _points(axes: Any, rows: list[Row], paper: Paper) -> None:
    ends = [(row["delta_yes_low"], row["delta_yes_high"]) for row in rows]
    places = [
        ((a + b) / 2, 100 * row["delta_pass"]) for row, (a, b) in zip(rows, ends, strict=True)
    ]
    areas = [60.0 * row["tasks"] for row in rows]
    colours = [_colour(up) for _, up in places]
    for (low, high), (_, up) in zip(ends, places, strict=True):
        axes.plot((low, high), (up, up), "|-", color=_colour(up), linewidth=1, alpha=0.6)
    axes.scatter(*zip(*places, strict=True), s=areas, c=colours, alpha=0.55, linewidth=0)
    axes.margins(0.2, 0.14)
    labels = [f"{short_label(row['value'], paper)} ({row['tasks']})" for row in rows]
    for text, place, shift in dodge_labels(
        labels, places, max(b for _, b in ends) - min(a for a, _ in ends)
    ):
        axes.annotate(
            text, place, xytext=(7, 3 + 10.5 * shift), textcoords="offset points", fontsize=8
        )


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


def skill_timing(answers: Answers, paper: Paper) -> Drawing | None:
    """When in a run each skill is used, the most used skills first."""
    rows = answers("skill_timing").records()
    used = [row["skill"] for row in answers("skills_opened").records() if row["opened"]]
    listed = [name for name in used if any(row["skill"] == name for row in rows)][:NAMED_BARS]
    if not listed:
        return None
    cells = {(name, place): 0 for name in listed for place in range(20)}
    cells |= {(row["skill"], row["bin"]): row["steps"] for row in rows if row["skill"] in listed}
    return _heat_map(
        "skill_timing",
        "When in a run each skill is used",
        "One column is a twentieth of the run. The colour is the number of steps with a use of the "
        "skill, over all runs.",
        cells,
        paper,
    )


def skills_opened(answers: Answers, paper: Paper) -> Drawing | None:
    """Runs that were offered a skill and runs that opened it."""
    from matplotlib.ticker import MaxNLocator

    found = answers("skills_opened").records()
    rows = [row for row in found if row["opened"] or row["searched"]][:NAMED_BARS]
    if not rows:
        return None
    with canvas(paper, 9.0, 1.4 + 0.3 * len(rows)) as (figure, axes):
        places = range(len(rows))
        offered = [row["trajectories"] for row in rows]
        axes.barh(places, offered, color=TIE, alpha=0.35, height=0.72, label="offered or touched")
        opened = [row["opened"] for row in rows]
        axes.barh(places, opened, color=PLUS, height=0.4, label="opened")
        searched = [row["searched"] for row in rows]
        axes.barh(
            places, searched, left=opened, color=PLUS, alpha=0.4, height=0.4, label="searched only"
        )
        axes.set_yticks(places, [short_label(row["skill"], paper) for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel("runs")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(loc="outside lower left" if paper.narrow else "outside upper right", ncols=2)
        read = (
            "The pale bar is the runs that knew of the skill, the dark bar those that opened it; "
        )
        read += "in those behind it, only a search printed lines of it."
        title = "Skills that agents opened"
        told = [
            f"{short_label(row['skill'], paper)} opened in {row['opened']} of {row['trajectories']} runs"
            for row in rows
        ]
        return finish(figure, "skills_opened", title, read, told, paper)


def _heat_map(name: str, title: str, read: str, cells: Cells, paper: Paper) -> Drawing:
    """A heat map with one row per name and one column per twentieth of the run, clear to full."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    names = list(dict.fromkeys(row for row, _ in cells))
    grid = [[cells.get((row, place), 0.0) for place in range(BINS)] for row in names]
    ramp = LinearSegmentedColormap.from_list("ramp", [to_rgba(PLUS, 0.04), to_rgba(PLUS, 1.0)])
    with canvas(paper, 9.0, 1.4 + 0.4 * len(names)) as (figure, axes):
        mesh = axes.pcolormesh(grid, cmap=ramp, vmin=0, edgecolors="none", rasterized=False)
        _heat_map_axes(axes, [short_label(name, paper) for name in names])
        bar = figure.colorbar(mesh, ax=axes, pad=0.015, aspect=12)
        bar.outline.set_visible(False)
        told = [_told_row(short_label(one, paper), grid[at]) for at, one in enumerate(names)]
        return finish(figure, name, title, read, told, paper)


def _told_row(label: str, values: Sequence[float]) -> str:
    """Sum of a row of a heat map, and the fullest of its columns."""
    most = max(values)
    where = f", most ({most:.2g}) in column {values.index(most) + 1} of {BINS}" if most else ""
    return f"{label} {sum(values):.3g} in all{where}"


def _heat_map_axes(axes: Any, names: list[str]) -> None:
    axes.set_yticks([place + 0.5 for place in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xticks([0, 5, 10, 15, 20], ["0", "¼", "½", "¾", "1"])
    axes.set_xlabel("part of the run")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


FIGURES: dict[str, Callable[[Answers, Paper], Drawing | None]] = {
    "task_deltas": task_deltas,
    "timing_bins": timing_bins,
    "exposure_curve": exposure_curve,
    "strata": strata,
    "skill_timing": skill_timing,
    "skills_opened": skills_opened,
}
"""Figures by the name of the question their data come from."""
