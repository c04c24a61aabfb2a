"""Two builds, file by file and field by field: each difference in one line."""

import os
from collections.abc import Collection, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from skilljuror.pipeline.construction.build_folder import IGNORED, RECORD

SHOWN = 5
"""Differences of one file, or of one kind, that are listed; the rest are counted."""
KEYS = ("variant", "gate", "path", "mutation", "unit")
"""Fields that name a member of a list, where they differ from one to the next."""
_SHOWN_CHARS = 80
_ABSENT = object()


def files_of(build: Path) -> dict[str, Path]:
    """Every entry of a folder that is no folder with content, by its path inside, in bytewise order."""
    found = {}
    for base, folders, names in os.walk(build):
        links = [name for name in folders if Path(base, name).is_symlink()]
        for name in (*names, *links, *([] if names or folders or base == str(build) else [""])):
            place = Path(base, name)
            if name != IGNORED:
                found[place.relative_to(build).as_posix() + ("" if name else "/")] = place
    return {path: found[path] for path in sorted(found, key=os.fsencode)}


def build_differences(
    build: Path, again: Path, apart: Collection[str], fields_apart: Collection[str]
) -> list[str]:
    """How a build on disk differs from the same build made again.

    `apart` are files, and `fields_apart` fields of the record, that are not compared. The record comes
    last: what else differs explains most of its differences.
    """
    here, there = files_of(build), files_of(again)
    told: list[str] = []
    for path in sorted({*here, *there} - {*apart}, key=_order):
        if path not in there:
            told.append(f"{path}: building again makes no such file")
        elif path not in here:
            told.append(f"{path}: is missing")
        else:
            told += first(_file_differences(path, here[path], there[path], fields_apart))
    return told


def _order(path: str) -> tuple[bool, bool, str]:
    """Files of variants, then what is told of them, then the record."""
    return path == RECORD, "/" not in path, path


def first(lines: Iterator[str]) -> list[str]:
    """The first lines, and how many more there are."""
    every = list(lines)
    more = [f"… and {len(every) - SHOWN} more of this kind"] if len(every) > SHOWN else []
    return [*every[:SHOWN], *more]


def _file_differences(
    path: str, here: Path, there: Path, fields_apart: Collection[str]
) -> Iterator[str]:
    if not here.is_file() or here.is_symlink():
        yield f"{path}: is no plain file"
        return
    if (here.stat().st_mode ^ there.stat().st_mode) & 0o100:
        yield f"{path}: the execute bit is another than building again gives"
    mine, made = here.read_bytes(), there.read_bytes()
    if mine == made:
        return
    if path == RECORD:
        yield from _of_records(path, mine, made, fields_apart)
    else:
        compare = _of_rows if path.endswith(".jsonl") else _of_lines
        yield from list(compare(path, mine, made)) or [f"{path}: is written in another way"]


def _of_records(
    path: str, mine: bytes, made: bytes, fields_apart: Collection[str]
) -> Iterator[str]:
    a, b = (msgspec.json.decode(data) for data in (mine, made))
    for name in sorted(a.keys() | b.keys()):
        if name not in fields_apart:
            pair = a.get(name, _ABSENT), b.get(name, _ABSENT)
            yield from first(_of_values(f"{path}: {name}", *pair))


def _of_rows(path: str, mine: bytes, made: bytes) -> Iterator[str]:
    a, b = _named_rows(mine), _named_rows(made)
    yield from _of_values(f"{path}: row", a, b)


def _named_rows(data: bytes) -> dict[str, Any]:
    """The rows by what they are about, or by their number where that is the same for several."""
    rows: dict[str, Any] = {}
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            row = line.decode(errors="replace")
        name = _name_of(row)
        rows[f"{number}" if name is None or name in rows else name] = row
    return rows


def _name_of(row: Any) -> str | None:
    """What a row is about: a gate's answer about a variant, or a unit."""
    about = row.get("unit", row) if isinstance(row, dict) else {}
    names = [str(about[key]) for key in KEYS if isinstance(about, dict) and key in about]
    return "/".join(names) or None


def _of_values(place: str, a: Any, b: Any) -> Iterator[str]:
    """The innermost fields that differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            pair = a.get(name, _ABSENT), b.get(name, _ABSENT)
            yield from _of_values(f"{place}.{name}", *pair)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _of_values(place, *_as_members(a, b))
    elif a is _ABSENT:
        yield f"{place}: is missing; building again gives {_shown(b)}"
    elif b is _ABSENT:
        yield f"{place}: building again gives none; here {_shown(a)}"
    elif a != b:
        yield f"{place}: {_shown(a)}, and building again gives {_shown(b)}"


def _as_members(a: list[Any], b: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two lists as dicts, by a field that names their members or else by position."""
    for key in KEYS:
        mine, made = _by(key, a), _by(key, b)
        if mine and made and ([*mine] == [*made] or mine.keys() != made.keys()):
            return mine, made
    mine, made = ({str(n): one for n, one in enumerate(members)} for members in (a, b))
    return mine, made


def _by(key: str, members: list[Any]) -> dict[str, Any] | None:
    """Members by their own names; None where some have none, or the same."""
    names = [str(one[key]) for one in members if isinstance(one, dict) and key in one]
    return dict(zip(names, members, strict=True)) if len({*names}) == len(members) else None


def _of_lines(path: str, mine: bytes, made: bytes) -> Iterator[str]:
    if b"\0" in mine or b"\0" in made:
        place = next((n for n, (a, b) in enumerate(zip_longest(mine, made)) if a != b), 0)
        yield f"{path}: differs from what building again gives, at byte {place}"
        return
    pairs = zip_longest(mine.split(b"\n"), made.split(b"\n"))
    for number, (a, b) in enumerate(pairs, 1):
        if a != b:
            shown = [_shown(_ABSENT if x is None else x.decode(errors="replace")) for x in (a, b)]
            yield f"{path}: line {number}: {shown[0]}, and building again gives {shown[1]}"
            return


def _shown(value: Any) -> str:
    text = "nothing" if value is _ABSENT else repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
