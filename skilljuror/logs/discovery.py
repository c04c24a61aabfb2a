"""Find logs, detect their formats, and join the files of one run.

Each child is read with the nearest head of its session.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.files import path_of, path_text
from skilljuror.logs import FORMATS
from skilljuror.logs.base import FoundSource, SessionLink, Source
from skilljuror.logs.read import claims, parser, session_link, unread_kind
from skilljuror.logs.records import HEAD_BYTES, LONG_HEAD_BYTES, first_broken_line, read_head

_FOLDERS_UP = 8
"""Maximum levels between a log and its folder source."""
_SESSION = re.compile(rb'"(?:session_id|sessionId|thread_id)"\s*:\s*"([^"]{8,80})"')


# Facts of files


class FileFacts(NamedTuple):
    """Facts that show, without opening a file, whether it changed: from the folder entry of a file, or
    of a folder read as a whole."""

    size: int
    """Bytes; for a folder, the sum of its files."""
    mtime_ns: int
    """Last change, nanoseconds since the epoch; for a folder, the latest of its files."""
    inode: int
    content: str | None = None
    """Digest of a folder's tree (names and facts of its files); for a file, of its bytes if
    requested."""


def facts_of(status: os.stat_result) -> FileFacts:
    return FileFacts(status.st_size, status.st_mtime_ns, status.st_ino)


def facts_at(path: Path | str) -> FileFacts | None:
    """Facts of a path's target, or None if inaccessible."""
    try:
        place = str(path_of(path)) if isinstance(path, str) else str(path)
        status = os.stat(place)  # noqa: PTH116  a hundred thousand times
    except OSError:
        return None
    return _tree_facts(place, status) if stat.S_ISDIR(status.st_mode) else facts_of(status)


def is_gone(path: str) -> bool:
    """Whether a path no longer exists; False if access is denied."""
    try:
        os.lstat(path_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _tree_facts(folder: str, status: os.stat_result) -> FileFacts:
    size, latest = 0, status.st_mtime_ns
    digest = hashlib.sha256()
    for file in _files_below(folder):
        try:
            facts = facts_of(os.stat(file, follow_symlinks=False))  # noqa: PTH116
        except OSError:
            facts = FileFacts(0, 0, 0)
        size, latest = size + facts.size, max(latest, facts.mtime_ns)
        digest.update(f"{os.fsencode(file)!r} {facts[:3]}\n".encode())
    return FileFacts(size, latest, status.st_ino, digest.hexdigest())


def _files_below(folder: str) -> Iterator[str]:
    for base, folders, names in os.walk(folder):
        folders.sort()
        yield from (f"{base}{os.sep}{name}" for name in sorted(names))


# Finding


class LogFilter(NamedTuple):
    """Which logs to look for."""

    since: float | None = None
    """Seconds since the epoch: skip files in folders that are older."""
    formats: Sequence[str] = ()
    """Format names or `module:attribute`; () for all registered ones."""
    shard: tuple[int, int] | None = None
    """(K, N): only shard K of N. The folders below a path are divided by name, each with all that is below it; a
    path with logs of its own stays whole, and a named file goes with its folder."""


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
    return finder.join(
        located._replace(named=named and located.named) for located in finder.locate(paths)
    )


def names_of(source: FoundSource) -> tuple[str, ...]:
    """Names that link a source to others with the same name."""
    link, path = source.link, path_text(source.source.path)
    names = {source.session or path}
    if link is not None:
        names |= {path, link.session, "" if link.by_path else link.child or "", link.origin or ""}
    return tuple(sorted({name.encode("utf-8", "replace").decode() for name in names - {""}}))


def folder_source_around(path: Path, formats: Sequence[str] = ()) -> Path | None:
    """Nearest parent folder that a format reads as a whole, or None."""
    finder = Finder(LogFilter(None, formats))
    folders = list(path.parents)[:_FOLDERS_UP]
    return next((folder for folder in folders if finder.claims_folder(folder)), None)


Recall = Callable[[str, FileFacts], tuple[FileFacts, FoundSource | None]]
"""Look up a file by path and facts: its facts, and its source or None if it must be opened."""


class Finder:
    def __init__(
        self, wanted: LogFilter = ALL_LOGS, recall: Recall = lambda path, facts: (facts, None)
    ) -> None:
        self.formats, self.since = tuple(wanted.formats), wanted.since
        self._shard = wanted.shard
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
            if path.is_dir():
                found = self._walk(path)
            else:
                found = iter([_locate_named(path)] if self._is_ours(path.resolve().parent) else ())
            for one in found:
                located.setdefault(one.target, one)
        return list(located.values())

    def join(self, located: Iterable[Located]) -> list[FoundSource]:
        """Identify located files and join those of one session, and others near them."""

        def identify(path: Path) -> FoundSource:
            return self.find(Located(path_text(path), "", facts_at(path)))

        return join_session_files([self.find(one) for one in located], cache(identify))

    def find(self, located: Located) -> FoundSource:
        """Identify a file or folder; it is opened at most once, and not if remembered."""
        path, before = path_of(located.path), self.looked_at.get(located.path)
        if before is not None:
            return replace(before[0], named=located.named)
        if located.problem is not None or located.facts is None:
            problem, facts = located.problem or "cannot be read", located.facts
            size = facts.size if facts and not facts.content else None
            source = Source(path)
            return FoundSource(
                source, None, located.named, problem, size=size, broken=located.broken
            )
        facts, found = self._recall(located.path, located.facts)
        try:
            if located.formats:
                inside = tuple(self._of_files) if self.formats else ()
                found = self._decide(Source(path, formats=inside), list(located.formats), None)
            elif found is None:
                found = self._open(path, facts.size)
        except TrajectoryError as error:
            found = FoundSource(Source(path), None, False, _reason(error, path), broken=True)
        self.looked_at[located.path] = found, facts
        return replace(found, named=located.named)

    def claims_folder(self, folder: Path) -> bool:
        """Whether a format reads a folder as a whole."""
        there = [name for name in self._of_folders if (folder / name).is_file()]
        return bool(self._folder_formats(folder, there)[1])

    def _open(self, path: Path, size: int) -> FoundSource:
        """Identify a file by its first bytes; with more of them if the format may only show later."""
        try:
            source = Source(path, read_head(path))
            formats = claims(source, self._of_files) if self._of_files else []
            full = len(source.head) == HEAD_BYTES and source.head.lstrip()[:1] in {b"{", b"["}
            if not formats and full and self._of_files:
                longer = Source(path, read_head(path, LONG_HEAD_BYTES))
                formats = claims(longer, self._of_files)
                source = longer if formats else source
        except OSError as error:
            problem = _reason(error, path)
            return FoundSource(Source(path), None, False, problem, size=size, broken=True)
        return self._decide(source, formats, size)

    def _decide(self, source: Source, formats: list[str], size: int | None) -> FoundSource:
        """Decide on a source by its matching formats; its head is dropped."""
        without_head = Source(source.path, formats=source.formats)
        if len(formats) == 1:
            link = session_link(source, formats[0])
            session = link.session if link and not link.by_path else session_in_head(source)
            return FoundSource(without_head, formats[0], False, None, link, session, size)
        broken = False
        if formats:
            problem = f"matches several formats ({', '.join(formats)}); choose one with --format"
        elif kind := unread_kind(source):
            problem = f"{kind}: unsupported log format"
        elif line := _broken_line(source, size):
            problem, broken = f"damaged: line {line} is not valid JSON", True
        else:
            problem = "unsupported log format"
        return FoundSource(
            without_head, None, False, problem, size=size, broken=broken, damaged=broken
        )

    def _walk(self, root: Path) -> Iterator[Located]:
        top = str(root.resolve())
        waiting = [(str(root), top)]
        while waiting:
            folder, resolved = waiting.pop()
            is_root = folder == str(root)
            try:
                with os.scandir(folder) as scanned:
                    entries = sorted(scanned, key=attrgetter("name"))
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
                files = [entry for entry in entries if not entry.is_dir()]
                names = [entry.name for entry in files]
                marker, formats = self._folder_formats(Path(folder), names)
            except (OSError, TrajectoryError) as error:
                problem = _reason(error, Path(folder))
                yield Located(_as_text(folder), resolved, None, is_root, (), problem, broken=True)
                continue
            if is_root and self._shard:
                ours = self._is_ours(Path(top))
                if formats or self._has_log(root, names):
                    folders = folders if ours else []
                else:
                    folders = [name for name in folders if self._is_ours(Path(name))]
                files, formats = (files, formats) if ours else ([], [])
            if formats:
                if self._is_recent(facts_at(f"{folder}/{marker}")):
                    facts = facts_at(folder)
                    yield Located(_as_text(folder), resolved, facts, is_root, tuple(formats))
                continue
            for entry in files:
                if found := self._at_entry(entry, f"{folder}/{entry.name}", resolved, top):
                    yield found
            waiting.extend((f"{folder}/{name}", f"{resolved}/{name}") for name in reversed(folders))

    def _has_log(self, folder: Path, names: Sequence[str]) -> bool:
        """Whether a folder has a log of its own, below which its session may have more."""
        for name in names:
            with suppress(OSError, TrajectoryError):
                if claims(Source(folder / name, read_head(folder / name)), self._of_files):
                    return True
        return False

    def _is_ours(self, folder: Path) -> bool:
        """Whether a folder belongs to the shard, by a digest of its name."""
        if self._shard is None:
            return True
        number, count = self._shard
        digest = hashlib.sha256(os.fsencode(folder.name)).digest()
        return int.from_bytes(digest[:8]) % count == number - 1

    def _at_entry(
        self, entry: "os.DirEntry[str]", path: str, folder: str, top: str
    ) -> Located | None:
        """Locate an entry below the resolved folder `top`, or None."""
        target, text = f"{folder}/{entry.name}", _as_text(path)
        if entry.is_symlink():
            resolved = Path(path).resolve()
            target = str(resolved)
            if not resolved.is_relative_to(top):
                problem = "link to a file outside the folder"
                return Located(text, target, facts_at(path), problem=problem)
        try:
            if not entry.is_file():
                return None
            facts = facts_of(entry.stat())
        except OSError as error:
            return Located(text, target, None, problem=_reason(error, Path(path)), broken=True)
        return Located(text, target, facts) if self._is_recent(facts) else None

    def _folder_formats(self, folder: Path, names: Sequence[str]) -> tuple[str, list[str]]:
        """Return (marker file, formats that match the folder); `names` are its files."""
        for name in names:
            candidates = self._of_folders.get(name)
            if candidates and (formats := claims(Source(folder), candidates)):
                return name, formats
        return "", []

    def _is_recent(self, facts: FileFacts | None) -> bool:
        return self.since is None or (facts is not None and facts.mtime_ns >= self.since * 1e9)


def _locate_named(path: Path) -> Located:
    text, target = path_text(path), str(path.resolve())
    if path.is_file():
        return Located(text, target, facts_at(path), named=True)
    return Located(text, target, None, named=True, problem=f"{str(path)!r} does not exist")


def _as_text(path: str) -> str:
    return path if path.isascii() else path_text(Path(path))


def _reason(error: OSError | TrajectoryError, path: Path) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    return error.message.removeprefix(f"{str(path)!r} ")


def _broken_line(source: Source, size: int | None) -> int | None:
    """First invalid line in the head of a .jsonl file."""
    if source.path.suffix != ".jsonl":
        return None
    return first_broken_line(source.head, whole=size is not None and size <= len(source.head))


def session_in_head(source: Source) -> str | None:
    """First session id in a source's first bytes, whatever its format."""
    match = _SESSION.search(source.head)
    return match[1].decode("utf-8", "replace") if match else None


# Sessions


Identify = Callable[[Path], FoundSource]
"""Identify a file that was not requested."""
Children = dict[str, dict[Path, None]]
"""Key of a child -> its captures, in order."""


def join_session_files(sources: list[FoundSource], identify: Identify) -> list[FoundSource]:
    """Attach children to heads as siblings. A child without a head stays alone.

    A file that the user named adds the files of its session from disk.
    """
    links = {index: source.link for index, source in enumerate(sources) if source.link is not None}
    parents = _parents(links.values())
    heads: dict[tuple[str | None, str], list[int]] = {}
    children: dict[int, Children] = {}
    taken: set[int] = set()
    for index, link in links.items():
        if link.child is None:
            heads.setdefault((sources[index].format, link.session), []).append(index)
            children[index] = {}
    for index, link in links.items():
        group = heads.get((sources[index].format, _root(link.session, parents)))
        if link.child is not None and group:
            path = sources[index].source.path
            children[_nearest(sources, group, path)].setdefault(link.child, {})[path] = None
            taken.add(index)
    named = {
        source.source.path.resolve(): index for index, source in enumerate(sources) if source.named
    }
    for index, captures in children.items():
        if sources[index].named and index not in taken:
            _add_neighbours(sources[index], captures, identify)
            paths = [path for several in captures.values() for path in several]
            taken |= {named.get(path.resolve(), index) for path in paths} - {index}
    return [
        _with_siblings(source, children.get(index, {}))
        for index, source in enumerate(sources)
        if index not in taken
    ]


def _parents(links: Iterable[SessionLink]) -> dict[str, str]:
    """Child key -> key of the session that it is read with."""
    return {link.child: link.session for link in links if link.child}


def _root(session: str, parents: dict[str, str]) -> str:
    """Key of the head; a child of a child names only its parent."""
    for _ in range(len(parents)):
        if parents.get(session, session) == session:
            break
        session = parents[session]
    return session


def _nearest(sources: list[FoundSource], group: list[int], path: Path) -> int:
    """The head with the longest common path, else the first."""

    def common(index: int) -> int:
        pairs = zip(sources[index].source.path.parts, path.parts, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    return max(group, key=lambda index: (common(index), -index))


def _add_neighbours(head: FoundSource, children: Children, identify: Identify) -> None:
    """Add the files of a named head's session from its folder."""
    link, path = head.link, head.source.path
    if link is None or head.format is None:
        return
    paths = {
        other
        for other in parser(head.format).neighbours(path)
        if other != path and other.is_file() and not other.is_symlink()
    }
    near = [other for other in map(identify, sorted(paths)) if other.format == head.format]
    links = [(other.source.path, other.link) for other in near if other.link is not None]
    parents = _parents(other for _, other in links)
    for path, other in links:
        if other.child is not None and _root(other.session, parents) == link.session:
            children.setdefault(other.child, {})[path] = None


def _with_siblings(head: FoundSource, children: Children) -> FoundSource:
    """Attach the longest capture of each child; the others are not read."""
    if not children:
        return head
    captures = [list(paths) for paths in children.values()]
    longest = {
        paths[0] if len(paths) == 1 else max(paths, key=lambda path: path.stat().st_size)
        for paths in captures
    }
    shorter = sorted(path for paths in captures for path in paths if path not in longest)
    source = replace(head.source, siblings=tuple(sorted(longest)))
    return replace(head, source=source, shorter=tuple(shorter))
