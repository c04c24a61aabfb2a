"""Heat maps of twentieths of a run, drawn in one colour from clear to full."""

from collections.abc import Mapping
from typing import Any

from skilljuror.reports.canvas import PLUS, Drawing, canvas, finished, tidy

BINS = 20

Cells = Mapping[tuple[str, int], float]
"""(row, bin) -> value, rows in the order of their first mention."""


def heat_map(name: str, title: str, read: str, cells: Cells, *, scripted: bool) -> Drawing:
    """One row per name, one column per twentieth of the run."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    names = list(dict.fromkeys(row for row, _ in cells))
    grid = [[cells.get((row, place), 0.0) for place in range(BINS)] for row in names]
    ramp = LinearSegmentedColormap.from_list("ramp", [to_rgba(PLUS, 0.04), to_rgba(PLUS, 1.0)])
    with canvas(9.0, 1.4 + 0.4 * len(names)) as (figure, axes):
        mesh = axes.pcolormesh(grid, cmap=ramp, vmin=0, edgecolors="none", rasterized=False)
        _frame(axes, names)
        bar = figure.colorbar(mesh, ax=axes, pad=0.015, aspect=12)
        bar.outline.set_visible(False)
        return finished(figure, name, title, read, scripted=scripted)


def _frame(axes: Any, names: list[str]) -> None:
    axes.set_yticks([place + 0.5 for place in range(len(names))], list(map(tidy, names)))
    axes.invert_yaxis()
    axes.set_xticks([0, 5, 10, 15, 20], ["0", "¼", "½", "¾", "1"])
    axes.set_xlabel("part of the run")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
