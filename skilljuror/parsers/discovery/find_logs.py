"""Finding the logs in files and folders: what each is, and which belong together."""

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path

from skilljuror.parsers.base import FoundSource, Source
from skilljuror.parsers.discovery.session_families import join_session_files, kin_of, session_of
from skilljuror.parsers.discovery.unsupported import unsupported_kind
from skilljuror.parsers.raw_logs.file_head import HEAD_BYTES, LONG_HEAD_BYTES, read_head
from skilljuror.parsers.read import claims


def discover(paths: Sequence[Path], since: float | None = None) -> list[FoundSource]:
    """Every source under the paths, in the order of the paths and sorted below each.

    Folders are walked without following links out of them. `since` (seconds since the
    epoch) leaves out files last changed before it; files named as such always count.
    """
    found: dict[Path, FoundSource] = {}
    for path in paths:
        for real, one in _at(path, since):
            found.setdefault(real, one)
    return join_session_files(list(found.values()), cache(_identify_near))


def session_names_at(path: Path) -> set[str]:
    """Names that tie a log to others, and those of the files that it goes on in; none where it
    has gone."""
    names: set[str] = set()
    seen: set[Path] = set()
    following: Path | None = path
    while following is not None and following not in seen and following.is_file():
        seen.add(following)
        found = _identify(following, named=False)
        names |= session_names_of(found)
        following = found.kin.goes_on if found.kin else None
    return names


def session_names_of(found: FoundSource) -> set[str]:
    """Names that tie a log to others: its session, its family, and that of its continuation."""
    kin = found.kin
    following = str(kin.goes_on.with_suffix("")) if kin and kin.goes_on else None
    return {name for name in (found.session, kin and kin.session, following) if name}


def _at(path: Path, since: float | None) -> Iterator[tuple[Path, FoundSource]]:
    """(path without links, what is there)."""
    if path.is_dir():
        yield from _walk(path, since)
    elif path.is_file():
        yield path.resolve(), _identify(path, named=True)
    else:
        problem = f"{str(path)!r} does not exist"
        yield path.resolve(), FoundSource(Source(path), None, True, problem)


def _walk(root: Path, since: float | None) -> Iterator[tuple[Path, FoundSource]]:
    inside = root.resolve()
    waiting = [(root, inside)]
    while waiting:
        folder, real = waiting.pop()
        folders, files = _entries(folder)
        if any(entry.name == "result.json" for entry in files) and (
            formats := claims(Source(folder))
        ):
            if _recent(folder / "result.json", since):
                yield real, _decided(Source(folder), formats, named=folder == root)
            continue
        for entry in files:
            path, target = folder / entry.name, real / entry.name
            if entry.is_symlink() and not (target := path.resolve()).is_relative_to(inside):
                problem = "a link out of the folder"
                yield target, FoundSource(Source(path), None, False, problem, size=_size(path))
            elif entry.is_file() and _recent(path, since):
                yield target, _identify(path, named=False)
        waiting.extend((folder / name, real / name) for name in reversed(folders))


def _entries(folder: Path) -> tuple[list[str], list["os.DirEntry[str]"]]:
    """(names of the folders, everything else) in a folder, sorted; links to folders are neither."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=attrgetter("name"))
    except OSError:
        return [], []
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [entry.name for entry in folders], [entry for entry in entries if not entry.is_dir()]


def _recent(path: Path, since: float | None) -> bool:
    return since is None or path.stat().st_mtime >= since


def _identify(path: Path, *, named: bool) -> FoundSource:
    try:
        source = Source(path, read_head(path))
        formats = claims(source)
        if not formats and _may_come_later(source):
            far = Source(path, read_head(path, LONG_HEAD_BYTES))
            formats = claims(far)
            source = far if formats else source
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        return FoundSource(Source(path), None, named, problem, size=_size(path))
    return _decided(source, formats, named=named)


def _may_come_later(source: Source) -> bool:
    return len(source.head) == HEAD_BYTES and source.head.lstrip()[:1] in {b"{", b"["}


def _decided(source: Source, formats: list[str], *, named: bool) -> FoundSource:
    size = _size(source.path)
    if len(formats) == 1:
        kin = kin_of(formats[0], source)
        session = session_of(formats[0], source, kin)
        return FoundSource(Source(source.path), formats[0], named, None, kin, session, size)
    if formats:
        problem = f"{' and '.join(formats)} both claim it; name one with --format"
    elif known := unsupported_kind(source):
        problem = f"{known}: this kind of log is not read"
    else:
        problem = "no format claims it"
    return FoundSource(Source(source.path), None, named, problem, size=size)


def _size(path: Path) -> int | None:
    """Bytes of a file; None for a folder, and for one that has gone."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_size if stat.S_ISREG(known.st_mode) else None


def _identify_near(path: Path) -> FoundSource:
    return _identify(path, named=False)
