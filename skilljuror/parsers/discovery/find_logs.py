"""Finding the logs in files and folders: what each is, and which belong together."""

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import FoundSource, Source
from skilljuror.parsers.discovery.session_families import join_session_files, session_in_head
from skilljuror.parsers.discovery.unsupported import unsupported_kind
from skilljuror.parsers.raw_logs.file_head import (
    HEAD_BYTES,
    LONG_HEAD_BYTES,
    first_broken_line,
    read_head,
)
from skilljuror.parsers.read import claims, parser

_FOLDERS_UP = 8
"""How far above a log a folder may lie that is read as a whole."""


class LogFilter(NamedTuple):
    """Which logs are looked for."""

    since: float | None = None
    """Seconds since the epoch: files in folders that were last changed before are left out."""
    formats: Sequence[str] = ()
    """Their formats, by name or as `module:attribute`; () for all that are registered."""


ALL_LOGS = LogFilter()


def discover(
    paths: Sequence[Path], since: float | None = None, formats: Sequence[str] = ()
) -> list[FoundSource]:
    """Every source under the paths, in the order of the paths and sorted below each.

    Folders are walked without following links out of them. `since` and `formats` are those of
    `LogFilter`. Raises UsageError for a format that does not exist.
    """
    finder = _Finder(formats, since)
    sources: dict[Path, FoundSource] = {}
    for path in paths:
        for resolved, source in finder.sources_at(path):
            sources.setdefault(resolved, source)
    return join_session_files(list(sources.values()), cache(finder.identify))


def session_names_at(path: Path, formats: Sequence[str] = ()) -> set[str]:
    """Names that tie a log to others, and those of the files that it goes on in; none where it
    has gone."""
    finder = _Finder(formats)
    names: set[str] = set()
    seen: set[Path] = set()
    following: Path | None = path
    while following is not None and following not in seen and following.is_file():
        seen.add(following)
        found = finder.identify(following)
        names |= session_names_of(found)
        following = found.link.continuation if found.link else None
    return names


def session_names_of(found: FoundSource) -> set[str]:
    """Names that tie a log to others: its session, the key of its files, and its continuation."""
    link = found.link
    following = str(link.continuation.with_suffix("")) if link and link.continuation else None
    return {name for name in (found.session, link and link.session, following) if name}


def folder_source_around(path: Path, formats: Sequence[str] = ()) -> Path | None:
    """The nearest folder around a file that a format reads as a whole; None where there is none."""
    finder = _Finder(formats)
    folders = list(path.parents)[:_FOLDERS_UP]
    return next((folder for folder in folders if finder.claims_folder(folder)), None)


class _Finder:
    """Looks at files and folders for logs of some formats."""

    def __init__(self, formats: Sequence[str] = (), since: float | None = None) -> None:
        self.formats = tuple(formats)
        self.since = since
        self._of_files: list[str] = []
        self._of_folders: dict[str, list[str]] = {}
        """Name of a file -> formats of whole folders that hold one."""
        for name in self.formats or FORMATS:
            marker = parser(name).folder_marker
            of_kind = self._of_files if marker is None else self._of_folders.setdefault(marker, [])
            of_kind.append(name)

    def sources_at(self, path: Path) -> Iterator[tuple[Path, FoundSource]]:
        """(path without links, what is there)."""
        if path.is_dir():
            yield from self._walk(path)
        elif path.is_file():
            yield path.resolve(), self.identify(path, named=True)
        else:
            problem = f"{str(path)!r} does not exist"
            yield path.resolve(), FoundSource(Source(path), None, True, problem)

    def identify(self, path: Path, *, named: bool = False) -> FoundSource:
        """What a file is."""
        try:
            source = Source(path, read_head(path))
            formats = self._claims(source)
            if not formats and _may_come_later(source):
                longer = Source(path, read_head(path, LONG_HEAD_BYTES))
                formats = self._claims(longer)
                source = longer if formats else source
        except OSError as error:
            return _unreadable(path, error, named=named)
        return self._decide(source, formats, named=named)

    def claims_folder(self, folder: Path) -> bool:
        """Whether a format reads a folder as a whole."""
        there = [name for name in self._of_folders if (folder / name).is_file()]
        return bool(self._folder_formats(folder, there)[1])

    def _claims(self, source: Source) -> list[str]:
        return claims(source, self._of_files) if self._of_files else []

    def _walk(self, root: Path) -> Iterator[tuple[Path, FoundSource]]:
        inside = root.resolve()
        waiting = [(root, inside)]
        while waiting:
            folder, resolved = waiting.pop()
            try:
                folders, files = _entries(folder)
            except OSError as error:
                yield resolved, _unreadable(folder, error, named=folder == root)
                continue
            marker, formats = self._folder_formats(folder, [entry.name for entry in files])
            if formats:
                if self._is_recent(folder / marker):
                    inside_formats = tuple(self._of_files) if self.formats else ()
                    source = Source(folder, formats=inside_formats)
                    yield resolved, self._decide(source, formats, named=folder == root)
                continue
            for entry in files:
                path, target = folder / entry.name, resolved / entry.name
                if entry.is_symlink() and not (target := path.resolve()).is_relative_to(inside):
                    problem = "a link out of the folder"
                    yield target, FoundSource(Source(path), None, False, problem, size=_size(path))
                elif entry.is_file() and self._is_recent(path):
                    yield target, self.identify(path)
            waiting.extend((folder / name, resolved / name) for name in reversed(folders))

    def _folder_formats(self, folder: Path, names: Sequence[str]) -> tuple[str, list[str]]:
        """(the file that marks a folder as one source, the formats that claim it); `names` are
        those of its files."""
        for name in names:
            candidates = self._of_folders.get(name)
            if candidates and (formats := claims(Source(folder), candidates)):
                return name, formats
        return "", []

    def _is_recent(self, path: Path) -> bool:
        try:
            return self.since is None or path.stat().st_mtime >= self.since
        except OSError:  # told when it is read
            return True

    def _decide(self, source: Source, formats: list[str], *, named: bool) -> FoundSource:
        """What becomes of a source that some formats claim; its head is not kept."""
        size = _size(source.path)
        without_head = Source(source.path, formats=source.formats)
        if len(formats) == 1:
            link = parser(formats[0]).session_link(source)
            session = link.session if link and not link.by_path else session_in_head(source)
            return FoundSource(without_head, formats[0], named, None, link, session, size)
        if formats:
            problem = f"{' and '.join(formats)} both claim it; name one with --format"
        elif kind := unsupported_kind(source):
            problem = f"{kind}: this kind of log is not read"
        elif line := _broken_line(source, size):
            problem = f"damaged: line {line} is no JSON, and no format claims it"
            return FoundSource(without_head, None, named, problem, size=size, broken=True)
        else:
            problem = "no format claims it"
        return FoundSource(without_head, None, named, problem, size=size)


def _may_come_later(source: Source) -> bool:
    """Whether what tells the format may stand behind the first bytes."""
    return len(source.head) == HEAD_BYTES and source.head.lstrip()[:1] in {b"{", b"["}


def _unreadable(path: Path, error: OSError, *, named: bool) -> FoundSource:
    """A file or folder that the system refuses, which may hold what nobody will know of."""
    problem = f"cannot be read: {error.strerror}"
    return FoundSource(Source(path), None, named, problem, size=_size(path), broken=True)


def _broken_line(source: Source, size: int | None) -> int | None:
    """The first of its first lines that is no JSON, where a file calls itself JSON lines."""
    if source.path.suffix != ".jsonl":
        return None
    return first_broken_line(source.head, whole=size is not None and size <= len(source.head))


def _entries(folder: Path) -> tuple[list[str], list["os.DirEntry[str]"]]:
    """(names of the folders, everything else) in a folder, sorted; links to folders are neither.

    Raises OSError."""
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=attrgetter("name"))
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [entry.name for entry in folders], [entry for entry in entries if not entry.is_dir()]


def _size(path: Path) -> int | None:
    """Bytes of a file; None for a folder, and for what cannot be looked at."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
