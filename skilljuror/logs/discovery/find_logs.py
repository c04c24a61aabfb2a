"""Find logs in files and folders, detect their formats, and join sessions."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.files import path_of, path_text
from skilljuror.logs import FORMATS
from skilljuror.logs.base import FoundSource, Source
from skilljuror.logs.discovery.file_facts import FileFacts, facts_at, facts_of
from skilljuror.logs.discovery.session_families import join_session_files, session_in_head
from skilljuror.logs.raw_logs.file_head import (
    HEAD_BYTES,
    LONG_HEAD_BYTES,
    first_broken_line,
    read_head,
)
from skilljuror.logs.read import claims, parser, session_link
from skilljuror.logs.unread_kinds import unread_kind

_FOLDERS_UP = 8
"""Maximum levels between a log and its folder source."""


class LogFilter(NamedTuple):
    """Which logs to look for."""

    since: float | None = None
    """Seconds since the epoch: skip files in folders that are older."""
    formats: Sequence[str] = ()
    """Format names or `module:attribute`; () for all registered ones."""


ALL_LOGS = LogFilter()


class Located(NamedTuple):
    """A file found, or a folder read as a whole; not opened yet."""

    path: str
    """Path as `path_text` writes it."""
    target: str
    """Path with links resolved."""
    facts: FileFacts | None
    """Facts from its folder entry; None if inaccessible."""
    named: bool = False
    """Whether the user named it."""
    formats: tuple[str, ...] = ()
    """Formats that match a folder; () for a file."""
    problem: str | None = None
    """Why it is not opened."""
    broken: bool = False
    """Whether that is an error."""


def discover(
    paths: Sequence[Path],
    since: float | None = None,
    formats: Sequence[str] = (),
    *,
    named: bool = True,
) -> list[FoundSource]:
    """Return all sources under the paths, in the order of the paths and sorted below each.

    Links that leave a folder are not followed. `since` and `formats` are those of `LogFilter`. A named
    file brings the files of its session; otherwise nothing but the paths is looked at. Raises UsageError
    for an unknown format.
    """
    finder = Finder(LogFilter(since, formats))
    return finder.join(one._replace(named=named and one.named) for one in finder.locate(paths))


def names_of(found: FoundSource) -> tuple[str, ...]:
    """Names that link a source to others with the same name."""
    link, path = found.link, path_text(found.source.path)
    names = {found.session or path}
    if link is not None:
        names |= {path, link.session, "" if link.by_path else link.child or "", link.origin or ""}
        names.add(path_text(link.continuation) if link.continuation else "")
    return tuple(sorted({name.encode("utf-8", "replace").decode() for name in names - {""}}))


def folder_source_around(path: Path, formats: Sequence[str] = ()) -> Path | None:
    """Nearest parent folder that a format reads as a whole, or None."""
    finder = Finder(LogFilter(None, formats))
    folders = list(path.parents)[:_FOLDERS_UP]
    return next((folder for folder in folders if finder.claims_folder(folder)), None)


Recall = Callable[[str, FileFacts], tuple[FileFacts, FoundSource | None]]
"""Look up a file by path and facts: its facts, and its source or None if it must be opened."""


def _forgetful(path: str, facts: FileFacts) -> tuple[FileFacts, FoundSource | None]:
    return facts, None


class Finder:
    def __init__(self, wanted: LogFilter = ALL_LOGS, recall: Recall = _forgetful) -> None:
        self.formats, self.since = tuple(wanted.formats), wanted.since
        self.looked_at: dict[str, tuple[FoundSource, FileFacts]] = {}
        """Path -> the source of a file, and its facts before it was opened."""
        self._recall = recall
        self._of_files: list[str] = []
        self._of_folders: dict[str, list[str]] = {}
        """File name -> formats of folders that contain one."""
        for name in self.formats or FORMATS:
            marker = parser(name).folder_marker
            of_kind = self._of_files if marker is None else self._of_folders.setdefault(marker, [])
            of_kind.append(name)

    def locate(self, paths: Sequence[Path]) -> list[Located]:
        """Return every file and folder source under the paths once."""
        located: dict[str, Located] = {}
        for path in paths:
            for one in self._locate_at(path):
                located.setdefault(one.target, one)
        return list(located.values())

    def join(self, located: Iterable[Located]) -> list[FoundSource]:
        """Identify located files and join those of one session, and others near them."""

        def identify(path: Path) -> FoundSource:
            return self.find(Located(path_text(path), "", facts_at(path)))

        return join_session_files([self.find(one) for one in located], cache(identify))

    def find(self, one: Located) -> FoundSource:
        """Identify a file or folder; it is opened at most once, and not if remembered."""
        path, before = path_of(one.path), self.looked_at.get(one.path)
        if before is not None:
            return replace(before[0], named=one.named)
        if one.problem is not None or one.facts is None:
            problem = one.problem or "cannot be read"
            size = one.facts.size if one.facts and not one.facts.content else None
            return FoundSource(Source(path), None, one.named, problem, size=size, broken=one.broken)
        facts, found = self._recall(one.path, one.facts)
        try:
            if one.formats:
                inside_formats = tuple(self._of_files) if self.formats else ()
                found = self._decide(Source(path, formats=inside_formats), list(one.formats), None)
            elif found is None:
                found = self._open(path, facts.size)
        except TrajectoryError as error:
            found = FoundSource(Source(path), None, False, _reason(error, path), broken=True)
        self.looked_at[one.path] = found, facts
        return replace(found, named=one.named)

    def _locate_at(self, path: Path) -> Iterator[Located]:
        if path.is_dir():
            yield from self._walk(path)
        elif path.is_file():
            yield Located(path_text(path), str(path.resolve()), facts_at(path), named=True)
        else:
            problem = f"{str(path)!r} does not exist"
            yield Located(path_text(path), str(path.resolve()), None, named=True, problem=problem)

    def _open(self, path: Path, size: int) -> FoundSource:
        """Identify a file by its first bytes."""
        try:
            source = Source(path, read_head(path))
            formats = self._claims(source)
            full = len(source.head) == HEAD_BYTES  # the format may only show later
            if not formats and full and source.head.lstrip()[:1] in {b"{", b"["}:
                longer = Source(path, read_head(path, LONG_HEAD_BYTES))
                formats = self._claims(longer)
                source = longer if formats else source
        except OSError as error:
            return FoundSource(Source(path), None, False, _refused(error), size=size, broken=True)
        return self._decide(source, formats, size)

    def claims_folder(self, folder: Path) -> bool:
        """Whether a format reads a folder as a whole."""
        there = [name for name in self._of_folders if (folder / name).is_file()]
        return bool(self._folder_formats(folder, there)[1])

    def _claims(self, source: Source) -> list[str]:
        return claims(source, self._of_files) if self._of_files else []

    def _walk(self, root: Path) -> Iterator[Located]:
        top = str(root.resolve())
        waiting = [(str(root), top)]
        while waiting:
            folder, resolved = waiting.pop()
            try:
                folders, files = _entries(folder)
                names = [entry.name for entry in files]
                marker, formats = self._folder_formats(Path(folder), names)
            except (OSError, TrajectoryError) as error:
                named, problem = folder == str(root), _reason(error, Path(folder))
                yield Located(_as_text(folder), resolved, None, named, (), problem, broken=True)
                continue
            if formats:
                facts = facts_at(folder)
                if self._is_recent(facts_at(f"{folder}/{marker}")):
                    yield Located(
                        _as_text(folder), resolved, facts, folder == str(root), tuple(formats)
                    )
                continue
            for entry in files:
                if found := self._at_entry(entry, f"{folder}/{entry.name}", resolved, top):
                    yield found
            waiting.extend((f"{folder}/{name}", f"{resolved}/{name}") for name in reversed(folders))

    def _at_entry(
        self, entry: "os.DirEntry[str]", path: str, folder: str, top: str
    ) -> Located | None:
        """Locate an entry below the resolved folder `top`, or None."""
        target = f"{folder}/{entry.name}"
        if entry.is_symlink():
            resolved = Path(path).resolve()
            target = str(resolved)
            if not resolved.is_relative_to(top):
                return Located(
                    _as_text(path),
                    target,
                    facts_at(path),
                    problem="link to a file outside the folder",
                )
        try:
            if not entry.is_file():
                return None
            facts = facts_of(entry.stat())
        except OSError as error:
            return Located(_as_text(path), target, None, problem=_refused(error), broken=True)
        return Located(_as_text(path), target, facts) if self._is_recent(facts) else None

    def _folder_formats(self, folder: Path, names: Sequence[str]) -> tuple[str, list[str]]:
        """Return (marker file, formats that match the folder); `names` are its files."""
        for name in names:
            candidates = self._of_folders.get(name)
            if candidates and (formats := claims(Source(folder), candidates)):
                return name, formats
        return "", []

    def _is_recent(self, facts: FileFacts | None) -> bool:
        return self.since is None or (facts is not None and facts.mtime_ns >= self.since * 1e9)

    def _decide(self, source: Source, formats: list[str], size: int | None) -> FoundSource:
        """Decide on a source by its matching formats; its head is dropped."""
        without_head = Source(source.path, formats=source.formats)
        if len(formats) == 1:
            link = session_link(source, formats[0])
            session = link.session if link and not link.by_path else session_in_head(source)
            return FoundSource(without_head, formats[0], False, None, link, session, size)
        if formats:
            problem = f"matches several formats ({', '.join(formats)}); choose one with --format"
        elif kind := unread_kind(source):
            problem = f"{kind.name}: {kind.reason}"
        elif line := _broken_line(source, size):
            problem = f"damaged: line {line} is not valid JSON"
            return FoundSource(
                without_head, None, False, problem, size=size, broken=True, damaged=True
            )
        else:
            problem = "unsupported log format"
        return FoundSource(without_head, None, False, problem, size=size)


def _as_text(path: str) -> str:
    return path if path.isascii() else path_text(Path(path))


def _reason(error: OSError | TrajectoryError, path: Path) -> str:
    if isinstance(error, OSError):
        return _refused(error)
    return error.message.removeprefix(f"{str(path)!r} ")


def _refused(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"


def _broken_line(source: Source, size: int | None) -> int | None:
    """First invalid line in the head of a .jsonl file."""
    if source.path.suffix != ".jsonl":
        return None
    return first_broken_line(source.head, whole=size is not None and size <= len(source.head))


def _entries(folder: str) -> tuple[list[str], list["os.DirEntry[str]"]]:
    """Return (folder names, other entries), sorted; links to folders are excluded. Raises OSError."""
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=attrgetter("name"))
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [entry.name for entry in folders], [entry for entry in entries if not entry.is_dir()]
