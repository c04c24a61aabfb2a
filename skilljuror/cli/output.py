"""What commands print: tables and progress for people, JSON for machines."""

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skilljuror.cli.legend import legend
from skilljuror.cli.terminal import drawable, json_text, visible

if TYPE_CHECKING:
    from skilljuror.pipeline.workers import Listener, Progress

PIPE_WIDTH = 400
"""Characters a line of a table may have that goes into a file or a pipe, unless COLUMNS says it."""
FOLDED_WIDTH = 24
"""Characters of a column below which text is not folded for want of room."""
COLUMN_GAP = "   "
"""What stands between two columns of a table."""
MAX_TURNED_ROWS = 6
"""Rows up to which a table that is too wide is turned on its side."""


def emit(payload: Any, as_json: bool, human: Callable[[], None]) -> None:
    """Print `payload` as JSON, or let `human` print for a person."""
    if as_json:
        print(json_text(to_plain(payload)))
    else:
        human()


def command_line(*words: object) -> str:
    """A command as a person may paste it into a shell."""
    return shlex.join(["skilljuror", *map(str, words)])


def to_plain(value: Any) -> Any:
    """A record, or anything made of records, as JSON-ready values."""
    import msgspec

    return msgspec.to_builtins(value, enc_hook=_encode, str_keys=True)


def _encode(value: Any) -> Any:
    from skilljuror.models.record import Record

    if isinstance(value, Record):
        return value.model_dump(mode="json")
    return str(value)


def _line_width(elsewhere: int) -> int:
    """Characters a line may have: what COLUMNS says, else the terminal, and elsewhere that."""
    return shutil.get_terminal_size((elsewhere, 24)).columns


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str | None = None,
    *,
    records: bool = False,
) -> None:
    """A table for people. Where it does not fit, a few rows are turned on their side and many are
    printed one by one, as all are with `records`. Below it stands what its unclear words mean."""
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


def print_legend(words: Iterable[str]) -> None:
    """Print what the unclear ones among the words mean."""
    for line in legend(words):
        print_indented(line, "", "  ")


def _fits(columns: Sequence[str], body: Sequence[Sequence[str]], width: int) -> bool:
    """Whether a table is that narrow, with text folded where it can be read still."""
    needed = [
        max(map(_longest_line, column)) for column in zip(columns, *body, strict=True)
    ]  # fmt: skip
    return sum(min(one, FOLDED_WIDTH) + len(COLUMN_GAP) for one in needed) - 1 <= width


def _longest_line(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _print_records(columns: Sequence[str], body: Sequence[Sequence[str]], width: int) -> None:
    """Each row as lines of column and value."""
    name_width = max(map(len, columns))
    for number, row in enumerate(body, 1):
        print(f"── {number} ".ljust(min(width, 40), "─"))
        for name, cell in zip(columns, row, strict=True):
            print_indented(cell, f"{name:{name_width}}  ", " " * (name_width + 2))


def print_indented(text: str, first: str, rest: str) -> None:
    """Print text after an indent of its first line and one of all others; on a terminal, lines
    that are too long are wrapped and keep it."""
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
            """A reader that went away is told to the entry point, which knows the exit status."""
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
    """A bar on a terminal, a to_plain line per tenth elsewhere, nothing for machines."""
    from skilljuror.pipeline.workers import silent

    if as_json:
        yield silent
    elif _can_draw():
        with _progress_bars() as listener:
            yield listener
    else:
        yield _ProgressLines()


def _can_draw() -> bool:
    """Whether a bar can be drawn where progress goes, and is welcome there."""
    plainly = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stderr.isatty() and not plainly


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
    """Plain progress: one line at each tenth of a stage."""

    def __init__(self) -> None:
        self.tenths: dict[str, int] = {}

    def __call__(self, progress: "Progress") -> None:
        if progress.done == 0:
            return
        tenth = 10 * progress.done // progress.total if progress.total else 10
        if self.tenths.get(progress.stage) != tenth:
            self.tenths[progress.stage] = tenth
            print(
                f"{progress.stage}: {progress.done}/{progress.total} {progress.note}".rstrip(),
                file=sys.stderr,
            )
