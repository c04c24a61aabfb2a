"""Options that commands share, and the one place that prints what they return.

A command returns an `Answer`: a payload for machines, and blocks for people, which are made only when they are
shown.
"""

import os
import re
import shlex
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from typer import Argument, Option

from skilljuror.base.errors import SkilljurorError
from skilljuror.cli.terminal import drawable, json_text, visible

if TYPE_CHECKING:
    from skilljuror.base.workers import Listener, Progress

Json = Annotated[bool, Option("--json", help="Print JSON, errors included.")]
Debug = Annotated[bool, Option("--debug", help="Print the traceback of an error.")]
Study = Annotated[Path, Argument(help="Study folder.", metavar="STUDY")]
Build = Annotated[Path, Argument(help="Build folder.", metavar="DIR")]
Logs = Annotated[list[Path], Argument(help="Log files or folders.", metavar="PATH")]
Formats = Annotated[
    list[str] | None,
    Option(
        "--format", metavar="NAME", help="Log format or parser (package.module:Class); repeatable."
    ),
]
Gates = Annotated[
    list[str] | None,
    Option("--gate", metavar="NAME", help="Extra gate, package.module:Class; repeatable."),
]
Engine = Literal["ray"] | None
Jobs = Annotated[int, Option("-j", "--jobs", min=1, help="Worker processes.")]
ApiBase = Annotated[str | None, Option("--api-base", metavar="URL", help="Server of the model.")]
Budget = Annotated[float | None, Option("--budget-usd", min=0, help="Maximum cost in US dollars.")]
Threads = Annotated[int, Option("--threads", min=1, help="Concurrent model calls.")]
Reason = Annotated[str, Option("--reason", help="Reason for accepting it.")]
By = Annotated[
    str | None, Option("--by", metavar="NAME", help="Person who accepts it; default: you.")
]

PIPE_WIDTH = 400
"""Default width of a table in a file or pipe; COLUMNS overrides it."""
MOST_ROWS = 20
"""Rows of a table without --all."""
FOLDED_WIDTH = 24
"""Columns up to this width are not folded or cut."""
COLUMN_GAP = "  "
"""Space between two columns of a table."""
_LEGEND = tomllib.loads((Path(__file__).parent / "legend.toml").read_text(encoding="utf-8"))
LEGEND: dict[str, str] = _LEGEND["words"]
"""Word of a table -> its meaning; categories of uptake have their own."""
LEGEND_COLUMNS: dict[str, str] = _LEGEND["columns"]
"""Column -> the word of the legend that explains it."""

_AS_JSON: ContextVar[bool] = ContextVar("as_json", default=False)
_WHOLE: ContextVar[bool | None] = ContextVar("whole", default=None)
"""Whether --all was given; None for a command without it."""


class Table(NamedTuple):
    """A table and the legend of its words: at most MOST_ROWS rows, and the first columns that fit. With --all it is
    whole, as records if it is too wide."""

    columns: Sequence[str]
    """The most important first."""
    rows: Iterable[Sequence[Any]]
    title: str | None = None
    cut: bool | None = None
    """True cuts cells to a line, too; False prints all rows."""
    total: dict[str, Any] | None = None
    """Column -> sum over all rows."""
    rest: str = ""
    """Where the rest is, besides --all; default: --json."""
    limited: bool = False
    """Whether the rows were limited, so that there are more."""


class Indented(NamedTuple):
    """Text with one indent for the first line and one for the rest, wrapped on a terminal."""

    text: str
    first: str = ""
    rest: str = ""


Block = str | Table | Indented
"""What a command shows a person; a text is a line, or several."""


WRITTEN = object()
"""Payload of a command that has written its result itself, in a format that was asked for."""


class Answer(NamedTuple):
    """What a command returns."""

    payload: Any
    """What --json prints; records are converted."""
    blocks: Iterable[Block] = ()
    """What a person sees, made when it is shown."""
    status: int = 0
    """Exit status."""
    remarks: Sequence[str] = ()
    """Lines on standard error, in either case."""
    error: SkilljurorError | None = None
    """What stopped the command after this; with --json it is the one document."""


def print_answer(
    command: Callable[[], Answer | None], as_json: bool, whole: bool | None = None
) -> int:
    """Run a command, print its answer, and return the exit status."""
    token = _AS_JSON.set(as_json)
    _WHOLE.set(whole)
    try:
        if (answer := command()) is None:
            return 0
        if not as_json:
            for block in answer.blocks:
                show(block)
        elif answer.error is None and answer.payload is not WRITTEN:
            print(json_text(to_plain(answer.payload)))
        for line in answer.remarks:
            print(line, file=sys.stderr)
        if answer.error is not None:
            raise answer.error
        return answer.status
    finally:
        _AS_JSON.reset(token)


def wants_json() -> bool:
    """Whether the running command was asked for JSON."""
    return _AS_JSON.get()


def show(block: Block) -> None:
    """Print a block for a person."""
    if isinstance(block, Table):
        _print_table(block)
    elif isinstance(block, Indented):
        _print_indented(block)
    else:
        print(block)


def command_line(*words: object) -> str:
    """A command, quoted for a shell."""
    return shlex.join(["skilljuror", *map(str, words)])


def to_plain(value: Any) -> Any:
    """Convert records and containers of records to JSON values."""
    import msgspec

    return msgspec.to_builtins(value, enc_hook=_encode, str_keys=True)


def _encode(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump else str(value)


def records(rows: Iterable[Any], columns: str) -> Table:
    """Return records or mappings as a table; columns are `field` or `field: heading`, comma-separated."""
    parts = [column.partition(": ") for column in columns.split(", ")]
    cells = [
        [row[name] if isinstance(row, dict) else getattr(row, name) for name, _, _ in parts]
        for row in rows
    ]
    return Table([heading or name for name, _, heading in parts], cells)


def labelled(label: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield each line after its label."""
    return (f"{label}: {line}" for line in lines)


def headline(summary: Any) -> Iterator[Block]:
    """Yield the headline of a report: verdict, number, table of conditions."""
    if not summary.headline:
        return
    yield summary.title
    yield Table(summary.columns, summary.headline, summary.number or None)
    if summary.meaning:
        yield f"pp = percentage points: {summary.meaning}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 file, 1,200 files, 2 trajectories."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def share_text(count: int, whole: int) -> str:
    """Return a count with its share of a whole."""
    return f"{count} ({100 * count / whole:.1f} %)" if whole else str(count)


def legend(words: Iterable[str]) -> list[str]:
    """One line per word that has a meaning, in the order of the legend."""
    from skilljuror.base.results import UptakeCategory

    named = {LEGEND_COLUMNS.get(word, word) for word in words}
    meanings = LEGEND | {category.value: category.legend for category in UptakeCategory}
    return [f"{word} = {meaning}" for word, meaning in meanings.items() if word in named]


def legend_blocks(words: Iterable[str]) -> Iterator[Indented]:
    """Yield the legend of the words that have one."""
    return (Indented(line, "", "  ") for line in legend(words))


def _print_table(block: Table) -> None:
    from rich.cells import cell_len

    whole, width = _WHOLE.get(), _line_width(PIPE_WIDTH)
    columns = [visible(name) for name in block.columns]
    body = [[_cell(value) for value in row] for row in block.rows]
    kept = body if whole or block.cut is False else body[:MOST_ROWS]
    sums = block.total or {}
    total = ["total", *(_cell(sums.get(name, "")) for name in block.columns[1:])]
    if block.title:
        print(block.title)
    room, sizes = width + len(COLUMN_GAP), dict[int, int]()
    natural = [
        max(cell_len(line) for cell in column for line in cell.split("\n"))
        for column in zip(columns, total if sums else columns, *kept, strict=True)
    ]
    for place, wanted in enumerate(natural):
        size = min(wanted, FOLDED_WIDTH)
        is_blank = block.cut and not whole and {row[place] for row in body} == {"–"}
        if not is_blank and size + len(COLUMN_GAP) <= room:
            room -= size + len(COLUMN_GAP)
            sizes[place] = size
    if whole and len(sizes) < len(columns):
        _print_records(columns, body, width)
    else:
        for place, size in sizes.items():
            sizes[place] += (extra := min(natural[place] - size, room))
            room -= extra
        rows = [*kept, total] if any(block.columns[place] in sums for place in sizes) else kept
        _print_grid(columns, rows, sizes, len(kept), bool(block.cut) and not whole)
    sys.stdout.flush()
    hidden = {"row": len(body) - len(kept), "column": len(columns) - len(sizes)}
    if not whole and any(hidden.values()):
        more = [counted(n, f"more {what}") for what, n in hidden.items() if n]
        more[0] = f"over {more[0]}" if block.limited else more[0]
        rest = block.rest or "--json" if whole is None else f"--all, {block.rest or '--json'}"
        print(f"… {', '.join(more)}: {rest}", file=sys.stderr)
    for line in legend_blocks(
        [columns[n] for n in sizes] + [row[n] for row in kept for n in sizes]
    ):
        show(line)


def _print_records(columns: list[str], rows: list[list[str]], width: int) -> None:
    name_width = max(map(len, columns))
    for number, row in enumerate(rows, 1):
        print(f"── {number} ".ljust(min(width, 40), "─"))
        for name, cell in zip(columns, row, strict=True):
            show(Indented(cell, f"{name:{name_width}}  ", " " * (name_width + 2)))


def _print_grid(
    columns: list[str], rows: list[list[str]], sizes: dict[int, int], count: int, cut: bool
) -> None:
    """Print the columns that have a size; a total may follow `count` rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Let the entry point handle a closed pipe."""
            raise BrokenPipeError

    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place in sizes:
        right = bool(count) and all(_is_number(row[place]) for row in rows[:count])
        name, justify = Text(columns[place]), "right" if right else "left"
        grid.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        grid.add_row(
            *(
                Text(_one_line(row[place], size) if cut else row[place])
                for place, size in sizes.items()
            )
        )
    width = sum(sizes.values()) + len(COLUMN_GAP) * max(len(sizes) - 1, 0)
    Piped(width=width, highlight=False, color_system=None).print(grid)


def _one_line(text: str, width: int) -> str:
    """A text cut to a width; of a path the end stays."""
    from rich.cells import cell_len, set_cell_size

    text = " ".join(text.split())
    if cell_len(text) <= width:
        return text
    if "/" not in text or " " in text:
        return set_cell_size(text, width - 1) + "…"
    while cell_len(text) >= width:
        text = text[1:]
    return f"…{text}"


def _print_indented(block: Indented) -> None:
    text, first, rest = block
    width = max(_line_width(sys.maxsize) - max(len(first), len(rest)), FOLDED_WIDTH)
    wrap = textwrap.TextWrapper(width, break_on_hyphens=False, replace_whitespace=False)
    lines = [
        part
        for line in visible(text).split("\n")
        for part in ([line] if len(line) <= width else wrap.wrap(line))
    ]
    for number, line in enumerate(lines):
        print(f"{rest if number else first}{line}".rstrip())


def _line_width(default: int) -> int:
    """Width of a line: COLUMNS, else the terminal's, else `default`."""
    return shutil.get_terminal_size((default, 24)).columns


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        if 0 < abs(value) < 0.0005:
            return f"{value:.1g}"
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return visible(str(value))


def _is_number(text: str) -> bool:
    return text == "–" or bool(re.fullmatch(r"(?:≥ )?-?[\d,]+(?:\.\d+)?", text))


@contextmanager
def progress(*, lines: bool = True) -> "Iterator[Listener]":
    """A progress bar on a terminal, `lines` elsewhere, nothing with JSON."""
    from skilljuror.base.workers import silent

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    if wants_json():
        yield silent
    elif sys.stderr.isatty() and not plain:
        with _progress_bars() as listener:
            yield listener
    else:
        yield _progress_lines() if lines else silent


@contextmanager
def working(stage: str) -> "Iterator[Listener]":
    """A moving bar on a terminal while the block works, until it reports how much is done."""
    from skilljuror.base.workers import Progress

    with progress(lines=False) as listener:
        listener(Progress(stage, 0, 0))
        yield listener


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
                tasks[progress.stage] = bars.add_task(progress.stage, total=None, note="")
            bars.update(
                tasks[progress.stage], completed=progress.done, total=progress.total or None,
                note=visible(progress.note),
            )  # fmt: skip

        yield listen


def _progress_lines() -> "Listener":
    """Plain progress: one line at each trial of a run, and at each tenth of another stage."""
    tenths: dict[str, int] = {}

    def listen(progress: "Progress") -> None:
        if progress.done == 0:
            return
        tenth = 10 * progress.done // progress.total if progress.total else 10
        if progress.stage == "run" or tenths.get(progress.stage) != tenth:
            tenths[progress.stage] = tenth
            line = f"{progress.stage}: {progress.done}/{progress.total} {progress.note}"
            print(line.rstrip(), file=sys.stderr)

    return listen
