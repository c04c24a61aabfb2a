"""List the differences between a build folder and a rebuild, one line each."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from skilljuror.layouts.build.folder import RECORD

SHOWN = 5  # listed differences per file or kind; the rest are counted
KEYS = ("variant", "gate", "path", "mutation", "unit")
"""Fields that identify a list member, if their values are unique."""
_SHOWN_CHARS = 80
_ABSENT = object()
_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


class Entry(NamedTuple):
    """Content found or expected at a path."""

    sha256: str | None  # digest of a regular file; None for a link, an empty folder or a pipe
    executable: bool = False  # execute bit of the owner
    special: bool = False  # a set-id or sticky bit is set


Listing = Mapping[str, Entry]  # path inside a folder -> entry; folders with content are omitted


def listing(folder: Path) -> dict[str, Entry]:
    found = {}
    for base, folders, names in os.walk(folder):
        links = [name for name in folders if Path(base, name).is_symlink()]
        for name in (*names, *links, *([] if names or folders or base == str(folder) else [""])):
            place = Path(base, name)
            found[place.relative_to(folder).as_posix() + ("" if name else "/")] = _entry(place)
    return found


def _entry(place: Path) -> Entry:
    mode = place.lstat().st_mode
    if not stat.S_ISREG(mode):
        return Entry(None)
    with place.open("rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    return Entry(digest, bool(mode & stat.S_IXUSR), bool(mode & _SPECIAL))


def listing_differences(
    here: Listing, expected: Listing, folder: Path, again: Path | None = None
) -> list[str]:
    """List how `folder` differs from what is expected; `again` is the rebuild, if there is one. The
    record comes last, because the other differences explain most of its own."""
    return [
        line
        for path in sorted({*here, *expected}, key=_order)
        for line in first(_differences(path, here.get(path), expected.get(path), folder, again))
    ]


def _differences(
    path: str, here: Entry | None, expected: Entry | None, folder: Path, again: Path | None
) -> Iterator[str]:
    if expected is None:
        yield f"{path}: is not part of the build"
    elif here is None:
        yield f"{path}: is missing"
    elif here.sha256 is None:
        yield f"{path}: is not a regular file"
    else:
        if here.special:
            yield f"{path}: has a set-user-id, set-group-id or sticky bit"
        if here.executable != expected.executable:
            yield f"{path}: its execute bit is {'set' if here.executable else 'missing'}"
        if here.sha256 != expected.sha256:
            made = again and again / path
            yield from (
                _contents(path, folder / path, made)
                if made
                else [f"{path}: does not match its digest in {RECORD}"]
            )


def _order(path: str) -> tuple[bool, bool, bytes]:
    return path == RECORD, "/" not in path, os.fsencode(path)


def first(lines: Iterator[str]) -> list[str]:
    """Return the first `SHOWN` lines and the number of the rest."""
    every = list(lines)
    more = [f"… and {len(every) - SHOWN} more of this kind"] if len(every) > SHOWN else []
    return [*every[:SHOWN], *more]


def _contents(path: str, here: Path, there: Path) -> list[str]:
    mine, made = here.read_bytes(), there.read_bytes()
    if path == RECORD:
        found = list(_of_records(path, mine, made))
    else:
        compare = _of_rows if path.endswith(".jsonl") else _of_lines
        found = list(compare(path, mine, made))
    return found or [f"{path}: has the same values as the rebuild, formatted differently"]


def _of_records(path: str, mine: bytes, made: bytes) -> Iterator[str]:
    a, b = (msgspec.json.decode(data) for data in (mine, made))
    for name in sorted(a.keys() | b.keys()):
        pair = a.get(name, _ABSENT), b.get(name, _ABSENT)
        yield from first(_of_values(f"{path}: {name}", *pair))


def _of_rows(path: str, mine: bytes, made: bytes) -> Iterator[str]:
    a, b = ([_row(line) for line in data.removesuffix(b"\n").split(b"\n")] for data in (mine, made))
    yield from _of_values(f"{path}: row", a, b)


def _row(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.decode(errors="replace")


def _of_values(place: str, a: Any, b: Any) -> Iterator[str]:
    """Report the innermost fields that differ."""
    if isinstance(a, list) and isinstance(b, list):
        a, b = _by_name(a), _by_name(b)
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            pair = a.get(name, _ABSENT), b.get(name, _ABSENT)
            yield from _of_values(f"{place}.{name}", *pair)
    elif a is _ABSENT:
        yield f"{place}: is missing; the rebuild has {_shown(b)}"
    elif b is _ABSENT:
        yield f"{place}: is not in the rebuild; found {_shown(a)}"
    elif a != b:
        yield f"{place}: found {_shown(a)}, the rebuild has {_shown(b)}"


def _by_name(members: list[Any]) -> dict[str, Any]:
    """Members by the names of their subject, or by position if these are missing or repeated."""
    named: dict[str, Any] = {}
    for number, one in enumerate(members):
        about = one.get("unit", one) if isinstance(one, dict) else {}
        names = [str(about[key]) for key in KEYS if isinstance(about, dict) and key in about]
        name = "/".join(names)
        named[str(number) if not name or name in named else name] = one
    return named


def _of_lines(path: str, mine: bytes, made: bytes) -> Iterator[str]:
    if b"\0" in mine or b"\0" in made:
        place = next((n for n, (a, b) in enumerate(zip_longest(mine, made)) if a != b), 0)
        yield f"{path}: differs from the rebuild at byte {place}"
        return
    pairs = zip_longest(mine.split(b"\n"), made.split(b"\n"))
    for number, (a, b) in enumerate(pairs, 1):
        if a != b:
            shown = [_shown(_ABSENT if x is None else x.decode(errors="replace")) for x in (a, b)]
            yield f"{path}: line {number}: found {shown[0]}, the rebuild has {shown[1]}"
            return


def _shown(value: Any) -> str:
    text = "nothing" if value is _ABSENT else repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
