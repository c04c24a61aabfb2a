"""What commands print: tables and progress for people, JSON for machines."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skilljuror.pipeline.workers import Listener, Progress

PIPE_WIDTH = 400
"""Columns of a table that goes into a file or a pipe."""
MAX_TURNED_ROWS = 6
"""Rows up to which a table that is too wide is turned on its side."""


def emit(payload: Any, as_json: bool, human: Callable[[], None]) -> None:
    """Print `payload` as JSON, or let `human` print for a person."""
    if as_json:
        print(json.dumps(to_plain(payload), ensure_ascii=False))
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


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """A table for people: as wide as it is where nobody looks, and on a terminal that is too
    narrow for a few wide rows turned on its side."""
    body = [[_cell(value) for value in row] for row in rows]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    if len(body) <= MAX_TURNED_ROWS and _width_needed(columns, body) > width:
        sides = [[name, *cells] for name, *cells in zip(columns, *body, strict=True)]
        columns, body = sides[0], sides[1:]
    if title:
        print(title)
    _console(width).print(_grid(columns, body))


def _console(width: int) -> Any:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """A reader that went away is told to the entry point, which knows the exit status."""
            raise BrokenPipeError

    return Piped(width=width, highlight=False)


def _width_needed(columns: Sequence[str], body: Sequence[Sequence[str]]) -> int:
    cells = zip(columns, *body, strict=True)
    return sum(max(len(cell) for cell in column) + 2 for column in cells)


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
    return str(value)


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
        *columns, TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
        console=Console(stderr=True), transient=True,
    ) as bars:  # fmt: skip
        tasks: dict[str, Any] = {}

        def listen(progress: "Progress") -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.total, note="")
            bars.update(
                tasks[progress.stage],
                completed=progress.done,
                total=progress.total,
                note=progress.note,
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
