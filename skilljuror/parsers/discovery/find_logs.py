"""Finding the logs in files and folders: what each is, and which belong together."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from skilljuror.files import path_of, path_text
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import FoundSource, Source
from skilljuror.parsers.discovery.file_facts import FileFacts, facts_at, facts_of
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


class Located(NamedTuple):
    """A file that was walked to, or a folder that is read as a whole; not looked into yet."""

    path: str
    """Where it is, as `path_text` writes it."""
    target: str
    """The same without links."""
    facts: FileFacts | None
    """What the folder around it tells; None where it cannot be looked at."""
    named: bool = False
    """Whether the caller named it."""
    formats: tuple[str, ...] = ()
    """Formats that claim a folder; () for a file."""
    problem: str | None = None
    """Why it is not looked into."""
    broken: bool = False
    """Whether that is an error."""


def discover(
    paths: Sequence[Path], since: float | None = None, formats: Sequence[str] = ()
) -> list[FoundSource]:
    """Every source under the paths, in the order of the paths and sorted below each.

    Folders are walked without following links out of them. `since` and `formats` are those of
    `LogFilter`. Raises UsageError for a format that does not exist.
    """
    finder = Finder(LogFilter(since, formats))
    return finder.join(finder.locate(paths))


def names_of(found: FoundSource) -> tuple[str, ...]:
    """Names that tie a source to others, which have one of them too."""
    link, path = found.link, path_text(found.source.path)
    names = {found.session or path}
    if link is not None:
        names |= {path, link.session, "" if link.by_path else link.child or ""}
        names.add(path_text(link.continuation) if link.continuation else "")
    return tuple(sorted({name.encode("utf-8", "replace").decode() for name in names - {""}}))


def folder_source_around(path: Path, formats: Sequence[str] = ()) -> Path | None:
    """The nearest folder around a file that a format reads as a whole; None where there is none."""
    finder = Finder(LogFilter(None, formats))
    folders = list(path.parents)[:_FOLDERS_UP]
    return next((folder for folder in folders if finder.claims_folder(folder)), None)


Recall = Callable[[str, FileFacts], tuple[FileFacts, FoundSource | None]]
"""Path and facts of a file -> its facts, and what it is; None where it must be opened."""


def _forgetful(path: str, facts: FileFacts) -> tuple[FileFacts, FoundSource | None]:
    return facts, None


class Finder:
    """Looks at files and folders for logs."""

    def __init__(self, wanted: LogFilter = ALL_LOGS, recall: Recall = _forgetful) -> None:
        self.formats, self.since = tuple(wanted.formats), wanted.since
        self.looked_at: dict[str, tuple[FoundSource, FileFacts]] = {}
        """Path -> what a file is, and its facts before it was opened."""
        self._recall = recall
        self._of_files: list[str] = []
        self._of_folders: dict[str, list[str]] = {}
        """Name of a file -> formats of whole folders that hold one."""
        for name in self.formats or FORMATS:
            marker = parser(name).folder_marker
            of_kind = self._of_files if marker is None else self._of_folders.setdefault(marker, [])
            of_kind.append(name)

    def locate(self, paths: Sequence[Path]) -> list[Located]:
        """Every file under the paths, and every folder that is read as a whole; each once."""
        located: dict[str, Located] = {}
        for path in paths:
            for one in self._locate_at(path):
                located.setdefault(one.target, one)
        return list(located.values())

    def join(self, located: Iterable[Located]) -> list[FoundSource]:
        """What was located, with those of one session joined."""
        return join_session_files([self.find(one) for one in located], cache(self._identify))

    def find(self, one: Located) -> FoundSource:
        """What a file or folder is; it is opened once, and not where it is remembered."""
        path, before = path_of(one.path), self.looked_at.get(one.path)
        if before is not None:
            return replace(before[0], named=one.named)
        if one.problem is not None or one.facts is None:
            problem = one.problem or "cannot be looked at"
            size = one.facts.size if one.facts and not one.facts.content else None
            return FoundSource(Source(path), None, one.named, problem, size=size, broken=one.broken)
        facts, found = self._recall(one.path, one.facts)
        if one.formats:
            inside_formats = tuple(self._of_files) if self.formats else ()
            found = self._decide(Source(path, formats=inside_formats), list(one.formats), None)
        elif found is None:
            found = self._open(path, facts.size)
        self.looked_at[one.path] = found, facts
        return replace(found, named=one.named)

    def _identify(self, path: Path) -> FoundSource:
        """What a file is that nobody asked for."""
        return self.find(Located(path_text(path), "", facts_at(path)))

    def _locate_at(self, path: Path) -> Iterator[Located]:
        if path.is_dir():
            yield from self._walk(path)
        elif path.is_file():
            yield Located(path_text(path), str(path.resolve()), facts_at(path), named=True)
        else:
            problem = f"{str(path)!r} does not exist"
            yield Located(path_text(path), str(path.resolve()), None, named=True, problem=problem)

    def _open(self, path: Path, size: int) -> FoundSource:
        """What a file is, by its first bytes."""
        try:
            source = Source(path, read_head(path))
            formats = self._claims(source)
            if not formats and _may_come_later(source):
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
            except OSError as error:
                named = folder == str(root)
                yield Located(
                    _as_text(folder), resolved, None, named, (), _refused(error), broken=True
                )
                continue
            marker, formats = self._folder_formats(Path(folder), [entry.name for entry in files])
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
        """A file in a folder below the resolved folder `top`; None for what is none."""
        target = f"{folder}/{entry.name}"
        if entry.is_symlink():
            resolved = Path(path).resolve()
            target = str(resolved)
            if not resolved.is_relative_to(top):
                return Located(
                    _as_text(path), target, facts_at(path), problem="a link out of the folder"
                )
        try:
            if not entry.is_file():
                return None
            facts = facts_of(entry.stat())
        except OSError as error:
            return Located(_as_text(path), target, None, problem=_refused(error), broken=True)
        return Located(_as_text(path), target, facts) if self._is_recent(facts) else None

    def _folder_formats(self, folder: Path, names: Sequence[str]) -> tuple[str, list[str]]:
        """(the file that marks a folder as one source, the formats that claim it); `names` are
        those of its files."""
        for name in names:
            candidates = self._of_folders.get(name)
            if candidates and (formats := claims(Source(folder), candidates)):
                return name, formats
        return "", []

    def _is_recent(self, facts: FileFacts | None) -> bool:
        return self.since is None or (facts is not None and facts.mtime_ns >= self.since * 1e9)

    def _decide(self, source: Source, formats: list[str], size: int | None) -> FoundSource:
        """What becomes of a source that some formats claim; its head is not kept."""
        without_head = Source(source.path, formats=source.formats)
        if len(formats) == 1:
            link = parser(formats[0]).session_link(source)
            session = link.session if link and not link.by_path else session_in_head(source)
            return FoundSource(without_head, formats[0], False, None, link, session, size)
        if formats:
            problem = f"{' and '.join(formats)} both claim it; name one with --format"
        elif kind := unsupported_kind(source):
            problem = f"{kind}: this kind of log is not read"
        elif line := _broken_line(source, size):
            problem = f"damaged: line {line} is no JSON, and no format claims it"
            return FoundSource(without_head, None, False, problem, size=size, broken=True)
        else:
            problem = "no format claims it"
        return FoundSource(without_head, None, False, problem, size=size)


def _may_come_later(source: Source) -> bool:
    """Whether what tells the format may stand behind the first bytes."""
    return len(source.head) == HEAD_BYTES and source.head.lstrip()[:1] in {b"{", b"["}


def _as_text(path: str) -> str:
    return path if path.isascii() else path_text(Path(path))


def _refused(error: OSError) -> str:
    """What is said of a file or folder that may hold what nobody will know of."""
    return f"cannot be read: {error.strerror}"


def _broken_line(source: Source, size: int | None) -> int | None:
    """The first of its first lines that is no JSON, where a file calls itself JSON lines."""
    if source.path.suffix != ".jsonl":
        return None
    return first_broken_line(source.head, whole=size is not None and size <= len(source.head))


def _entries(folder: str) -> tuple[list[str], list["os.DirEntry[str]"]]:
    """(names of the folders, everything else) in a folder, sorted; links to folders are neither.

    Raises OSError."""
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=attrgetter("name"))
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [entry.name for entry in folders], [entry for entry in entries if not entry.is_dir()]
