"""What commands print: tables and progress for people, JSON for machines."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from skilljuror.models.record import Record
from skilljuror.pipeline.progress import Listener, Progress, silent


def emit(payload: Any, as_json: bool, human: Callable[[], None]) -> None:
    """Print `payload` as JSON, or let `human` print for a person."""
    if as_json:
        print(json.dumps(plain(payload), ensure_ascii=False))
    else:
        human()


def plain(value: Any) -> Any:
    """A record, or anything made of records, as JSON-ready values."""
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    return msgspec.to_builtins(value, enc_hook=_encode, str_keys=True)


def _encode(value: Any) -> Any:
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    return str(value)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """A table that fits the terminal; plain text where nobody looks."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    body = [[_cell(value) for value in row] for row in rows]
    numeric = [
        bool(body) and all(_is_number(row[position]) for row in body)
        for position in range(len(columns))
    ]
    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in zip(columns, numeric, strict=True):
        grid.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in body:
        grid.add_row(*(Text(cell) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(grid)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def _is_number(text: str) -> bool:
    return text == "–" or text.replace(".", "", 1).replace("-", "", 1).isdigit()


@contextmanager
def progress(as_json: bool) -> Iterator[Listener]:
    """A bar on a terminal, a plain line per tenth elsewhere, nothing for machines."""
    if as_json:
        yield silent
    elif sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        with _bars() as listener:
            yield listener
    else:
        yield _Lines()


@contextmanager
def _bars() -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:8}"), BarColumn(), MofNCompleteColumn())
    with Bars(
        *columns, TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
        console=Console(stderr=True), transient=True,
    ) as bars:  # fmt: skip
        tasks: dict[str, Any] = {}

        def listen(sign: Progress) -> None:
            if sign.stage not in tasks:
                tasks[sign.stage] = bars.add_task(sign.stage, total=sign.total, note="")
            bars.update(tasks[sign.stage], completed=sign.done, total=sign.total, note=sign.note)

        yield listen


class _Lines:
    """Plain progress: one line at each tenth of a stage."""

    def __init__(self) -> None:
        self.tenths: dict[str, int] = {}

    def __call__(self, sign: Progress) -> None:
        tenth = 10 * sign.done // sign.total if sign.total else 10
        if self.tenths.get(sign.stage) != tenth:
            self.tenths[sign.stage] = tenth
            print(f"{sign.stage}: {sign.done}/{sign.total} {sign.note}".rstrip(), file=sys.stderr)
