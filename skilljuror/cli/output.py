"""Output of commands: tables, legend and progress for people, JSON for machines."""

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skilljuror.cli.terminal import drawable, json_text, visible

if TYPE_CHECKING:
    from skilljuror.base.workers import Listener, Progress

PIPE_WIDTH = 400
"""Default width of a table in a file or pipe; COLUMNS overrides it."""
FOLDED_WIDTH = 24
"""Columns up to this width are not folded."""
COLUMN_GAP = "   "
"""Space between two columns of a table."""
MAX_TURNED_ROWS = 6
"""Most rows of a table that is transposed because it is too wide."""
LEGEND = {
    "ERU rate": "Effective Resource Uptake: share of decided uses that became visible work; an interval"
    " (low, high) if uses are open",
    "open": "content was shown, and the judge could not decide whether it was used",
    "bundled": "the Skill belongs to the agent program itself",
    "events": "accesses of agents to Skill resources, one resource in one call each",
    "uses": "events, except those that only wrote or named the resource",
    "phantom": "a path under the Skill's folder that the Skill does not have",
    "fanout": "distinct resources that a run opened",
    "content_exposed": "how much of the resource's text the agent was shown",
    "over_read_limit": "too long for an agent to read at once (over 25,000 tokens)",
    "over_context": "too long for an agent to hold (over 100,000 tokens)",
}
"""Word of a table -> its meaning; categories of uptake have their own."""
LEGEND_COLUMNS = {
    "eru_rate": "ERU rate",
    "eru_low": "ERU rate",
    "mean_events": "events",
    "feasibility": "over_read_limit",
}
"""Column -> the word of the legend that explains it."""


def emit(payload: Any, as_json: bool, human: Callable[[], None]) -> None:
    """Print `payload` as JSON, or let `human` print for a person."""
    if as_json:
        print(json_text(to_plain(payload)))
    else:
        human()


def command_line(*words: object) -> str:
    """A command, quoted for a shell."""
    return shlex.join(["skilljuror", *map(str, words)])


def to_plain(value: Any) -> Any:
    """Convert records and containers of records to JSON values."""
    import msgspec

    return msgspec.to_builtins(value, enc_hook=_encode, str_keys=True)


def _encode(value: Any) -> Any:
    from skilljuror.base.build import Record

    if isinstance(value, Record):
        return value.model_dump(mode="json")
    return str(value)


def _line_width(default: int) -> int:
    """Width of a line: COLUMNS, else the terminal's, else `default`."""
    return shutil.get_terminal_size((default, 24)).columns


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str | None = None,
    *,
    records: bool = False,
) -> None:
    """Print a table, followed by the legend of its words.

    A table that is too wide is transposed if it has few rows; otherwise, or with `records`, each row
    is printed as lines of column and value.
    """
    columns = [visible(name) for name in columns]
    body = [[_cell(value) for value in row] for row in rows]
    words = {*columns, *(cell for row in body for cell in row)}
    width = _line_width(PIPE_WIDTH)
    if title:
        print(title)
    turned = [[name, *cells] for name, *cells in zip(columns, *body, strict=True)]
    if not records and _fits(columns, body, width):
        _console(width).print(_grid(columns, body))
    elif not records and len(body) <= MAX_TURNED_ROWS and _fits(turned[0], turned[1:], width):
        _console(width).print(_grid(turned[0], turned[1:]))
    else:
        _print_records(columns, body, width)
    print_legend(words)


def record_table(records: Iterable[Any], *columns: str) -> None:
    """Print records or mappings as a table; a column is `field`, or `field: heading`."""
    parts = [column.partition(": ") for column in columns]
    rows = [
        [one[name] if isinstance(one, dict) else getattr(one, name) for name, _, _ in parts]
        for one in records
    ]
    table([heading or name for name, _, heading in parts], rows)


def print_lines(label: str, lines: Iterable[str]) -> None:
    """Print each line after its label."""
    for line in lines:
        print(f"{label}: {line}")


def print_headline(summary: Any) -> None:
    """Print the headline of a report: verdict, number, table of conditions."""
    if not summary.headline:
        return
    print(summary.title)
    table(summary.columns, summary.headline, title=summary.number or None)
    if summary.meaning:
        print(f"pp = percentage points: {summary.meaning}")


def print_legend(words: Iterable[str]) -> None:
    """Print the legend of the words that have one."""
    for line in legend(words):
        print_indented(line, "", "  ")


def legend(words: Iterable[str]) -> list[str]:
    """One line per word that has a meaning, in the order of the legend."""
    from skilljuror.base.results import UptakeCategory

    found = {LEGEND_COLUMNS.get(word, word) for word in words}
    meanings = LEGEND | {one.value: one.legend for one in UptakeCategory}
    return [f"{word} = {meaning}" for word, meaning in meanings.items() if word in found]


def _fits(columns: Sequence[str], body: Sequence[Sequence[str]], width: int) -> bool:
    """Whether a table fits the width with its wide columns folded."""
    needed = [max(map(_longest_line, column)) for column in zip(columns, *body, strict=True)]
    return sum(min(one, FOLDED_WIDTH) + len(COLUMN_GAP) for one in needed) - 1 <= width


def _longest_line(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _print_records(columns: Sequence[str], body: Sequence[Sequence[str]], width: int) -> None:
    """Print each row as lines of column and value."""
    name_width = max(map(len, columns))
    for number, row in enumerate(body, 1):
        print(f"── {number} ".ljust(min(width, 40), "─"))
        for name, cell in zip(columns, row, strict=True):
            print_indented(cell, f"{name:{name_width}}  ", " " * (name_width + 2))


def print_indented(text: str, first: str, rest: str) -> None:
    """Print text with one indent for the first line and one for the rest; wrap it on a terminal."""
    width = max(_line_width(sys.maxsize) - max(len(first), len(rest)), FOLDED_WIDTH)
    wrap = textwrap.TextWrapper(width, break_on_hyphens=False, replace_whitespace=False)
    lines = [
        part
        for line in visible(text).split("\n")
        for part in ([line] if len(line) <= width else wrap.wrap(line))
    ]
    for number, line in enumerate(lines):
        print(f"{rest if number else first}{line}".rstrip())


def _console(width: int) -> Any:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Let the entry point handle a closed pipe."""
            raise BrokenPipeError

    return Piped(width=width, highlight=False, color_system=None)


def _grid(columns: Sequence[str], body: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, name in enumerate(columns):
        right = bool(body) and all(_is_number(row[position]) for row in body)
        grid.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in body:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.3g}"
    return visible(str(value))


def _is_number(text: str) -> bool:
    return text == "–" or text.replace(".", "", 1).replace("-", "", 1).isdigit()


@contextmanager
def progress(as_json: bool) -> "Iterator[Listener]":
    """A progress bar on a terminal, lines elsewhere, nothing with JSON."""
    from skilljuror.base.workers import silent

    if as_json:
        yield silent
    elif _can_draw():
        with _progress_bars() as listener:
            yield listener
    else:
        yield _ProgressLines()


def _can_draw() -> bool:
    """Whether stderr is a terminal on which a bar is wanted."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stderr.isatty() and not plain


@contextmanager
def _progress_bars() -> "Iterator[Listener]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:8}"), BarColumn(), MofNCompleteColumn())
    with Bars(
        *columns, TimeRemainingColumn(), TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=drawable(sys.stderr)), transient=True,
        redirect_stdout=False, redirect_stderr=False,
    ) as bars:  # fmt: skip
        tasks: dict[str, Any] = {}

        def listen(progress: "Progress") -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.total, note="")
            bars.update(
                tasks[progress.stage],
                completed=progress.done,
                total=progress.total,
                note=visible(progress.note),
            )

        yield listen


class _ProgressLines:
    """Plain progress: one line at each trial of a run, and at each tenth of another stage."""

    def __init__(self) -> None:
        self.tenths: dict[str, int] = {}

    def __call__(self, progress: "Progress") -> None:
        if progress.done == 0:
            return
        tenth = 10 * progress.done // progress.total if progress.total else 10
        if progress.stage == "run" or self.tenths.get(progress.stage) != tenth:
            self.tenths[progress.stage] = tenth
            print(
                f"{progress.stage}: {progress.done}/{progress.total} {progress.note}".rstrip(),
                file=sys.stderr,
            )
