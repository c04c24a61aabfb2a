"""The parts of one ATIF run: continuation links and reading order."""

import re
from collections.abc import Mapping, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

_KEY = b'"continued_trajectory_ref"'
_NUMBERS = re.compile(r"(\d{1,18})")


class _Ends(msgspec.Struct):
    """Decodes one member of a document and skips all others."""

    continued_trajectory_ref: Any = None


_ENDS = msgspec.json.Decoder(_Ends)


def continuation(path: Path) -> Path | None:
    """Return the file that a document names as its continuation, or None.

    The name follows the steps, so the whole file is searched in place, and decoded only if it
    contains the key.
    """
    try:
        with path.open("rb") as log, mmap(log.fileno(), 0, access=ACCESS_READ) as raw:
            if raw.find(_KEY) < 0:
                return None
            named = _ENDS.decode(raw[:]).continued_trajectory_ref
    except (OSError, ValueError, RecursionError):  # ValueError: empty, or not JSON
        return None
    return resolve_below(path, named)


def resolve_below(path: Path, named: Any) -> Path | None:
    """Resolve a relative name inside the folder of `path`; None if it is outside."""
    if not isinstance(named, str) or not named or "\0" in named or "\\" in named:
        return None
    relative = PurePosixPath(named)
    if relative.is_absolute() or ".." in relative.parts or not relative.name:
        return None
    return path.parent / relative


def order_parts(
    first: Path, others: Sequence[Path], named: Mapping[Path, Path | None]
) -> list[Path]:
    """Order the files of a run: each is followed by its continuation, else by number.

    `named` maps a file to its continuation.
    """
    left = sorted(others, key=_by_number)
    found = [first]
    while left:
        following = named.get(found[-1])
        found.append(left.pop(left.index(following) if following in left else 0))
    return found


def _by_number(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sort `cont-10` after `cont-2`."""
    pieces = _NUMBERS.split(path.name)
    return [(int(piece), "") if i % 2 else (0, piece) for i, piece in enumerate(pieces)], str(path)
