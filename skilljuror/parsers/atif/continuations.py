"""The parts of one ATIF run: which file a document goes on in, and the order to read them in."""

import re
from collections.abc import Mapping, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

_KEY = b'"continued_trajectory_ref"'
_NUMBERS = re.compile(r"(\d{1,18})")


class _Ends(msgspec.Struct):
    """The one member of a document that is looked at; all others are passed over."""

    continued_trajectory_ref: Any = None


_ENDS = msgspec.json.Decoder(_Ends)


def continuation(path: Path) -> Path | None:
    """The file that a document names as its continuation; None where it names none.

    The name is written behind the steps, so the whole file is searched where it lies, and decoded
    only where the key stands in it. What a cut-off file was to say is not known.
    """
    try:
        with path.open("rb") as log, mmap(log.fileno(), 0, access=ACCESS_READ) as raw:
            if raw.find(_KEY) < 0:
                return None
            named = _ENDS.decode(raw[:]).continued_trajectory_ref
    except (OSError, ValueError, RecursionError):  # ValueError: empty, or no JSON
        return None
    return file_beside(path, named)


def file_beside(path: Path, named: Any) -> Path | None:
    """The file of that relative name in the folder of another or below it; None for one outside."""
    if not isinstance(named, str) or not named or "\0" in named or "\\" in named:
        return None
    relative = PurePosixPath(named)
    if relative.is_absolute() or ".." in relative.parts or not relative.name:
        return None
    return path.parent / relative


def order_parts(
    first: Path, others: Sequence[Path], named: Mapping[Path, Path | None]
) -> list[Path]:
    """The files of a run: each followed by the one that it names, else by number.

    `named` holds what each names as its continuation.
    """
    left = sorted(others, key=_by_number)
    found = [first]
    while left:
        following = named.get(found[-1])
        found.append(left.pop(left.index(following) if following in left else 0))
    return found


def _by_number(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sorts `cont-10` behind `cont-2`."""
    pieces = _NUMBERS.split(path.name)
    return [(int(piece), "") if i % 2 else (0, piece) for i, piece in enumerate(pieces)], str(path)
