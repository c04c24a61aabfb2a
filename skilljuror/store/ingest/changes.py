"""Find which groups of files changed since the last ingest.

A file with unchanged facts is not opened; its format is remembered. Membership is decided for whole
families, the files linked by a name, if one of them changed. A group is skipped if its digest is
stored: of the code, the options, and the paths and facts of its files.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.files import digest_json, path_of, path_text
from skilljuror.base.results import SeenFile
from skilljuror.logs.base import FoundSource, SessionLink, Source
from skilljuror.logs.discovery.file_facts import FileFacts, facts_at, is_gone, with_content
from skilljuror.logs.discovery.find_logs import Finder, Located, LogFilter, names_of
from skilljuror.store.ingest.logs import LogGroup, group_captures

if TYPE_CHECKING:
    from skilljuror.store.seen import KnownFile, SeenFiles

AGAIN = "-"
"""Prefix of the digest of a group to read again."""
FRESH_NS = 2_000_000_000
"""A file changed less than this before the ingest may change again within the resolution of its
file system's clock."""


class ReadPolicy(Struct, frozen=True):
    """How far ingest trusts what is stored."""

    again: bool = False
    """Read everything again."""
    verify: bool = False
    """Compare files by content, not only by size and time."""
    prune: bool = False
    """Forget missing files, and runs that files no longer contain."""


TRUSTING = ReadPolicy()


class FileChanges(NamedTuple):
    """File counts by change."""

    new: int = 0
    """Files not seen before."""
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    """Known files that are missing."""


class Changes(NamedTuple):
    """The work of one ingest."""

    found: list[FoundSource]
    """Sources to store again, in the order of the paths."""
    groups: list[LogGroup]
    """Groups to read, in order."""
    digests: dict[str, str]
    """Path of each source to read -> digest of its group."""
    seen: dict[str | None, list[SeenFile]]
    """Group digest -> facts to store for its files; None for files without a group."""
    walked: list[str]
    """Paths of all files in scope."""
    gone: list[str]
    """Known files that are missing."""
    kept: dict[str, tuple[int, int]]
    """Key -> steps, all and inherited, of runs that only longer ones replace: one of their files became
    shorter or is missing."""
    counts: FileChanges

    def digest_of(self, group: LogGroup) -> str:
        return self.digests[path_text(group.found[0].source.path)]

    def rejected(self) -> Iterator[FoundSource]:
        """Sources that were opened but are not read."""
        return (one for one in self.found if one.format is None and (one.damaged or not one.broken))

    def only_seen(self) -> Iterator[SeenFile]:
        """Facts to store for files that are not read."""
        read = set(self.digests.values())
        return (file for group in self.seen.keys() - read for file in self.seen[group])


class ChangeFinder:
    """Compares files with the facts stored in a database."""

    def __init__(
        self, seen: "SeenFiles | None", reader: str, begun_ns: int, policy: ReadPolicy = TRUSTING
    ) -> None:
        self._seen = seen
        """Stored facts; None without a database."""
        self._reader = reader
        self._begun_ns = begun_ns
        self._policy = policy
        self._rows: dict[str, SeenFile] = {}
        """Path -> stored facts of files whose family changed."""

    def changes(self, paths: Sequence[Path], wanted: LogFilter) -> Changes:
        """Return what must be read of the logs under the paths."""
        reader = self._reader_of(wanted.formats)
        finder = Finder(wanted, partial(self._recall, reader))
        located = finder.locate(paths)
        if self._seen is None:
            return self._all(finder, located)
        return self._some(finder, located, [f"{path_text(path)}/" for path in paths], self._seen)

    def _all(self, finder: Finder, located: list[Located]) -> Changes:
        found = finder.join(located)
        new = sum(one.problem is None for one in located)
        return self._to_read(finder, located, found, set(), FileChanges(new=new))

    def _some(
        self, finder: Finder, located: list[Located], roots: list[str], seen: "SeenFiles"
    ) -> Changes:
        memory, read = seen.walked([one.path for one in located], roots), seen.groups()
        reader = self._reader_of(finder.formats)
        touched, same = set[str](), 0
        for one in located:
            known = memory.known.get(one.path)
            is_same = known is not None and self._is_same(one.path, one.facts, known)
            same += is_same
            if (
                known is None
                or not is_same
                or one.named
                or self._policy.again
                or known.reader != reader
                or (known.read_with is not None and known.read_with not in read)
            ):
                touched.add(one.path)
        others = {path: facts_at(path) for path in (*memory.related, *memory.missed)}
        gone = [path for path, facts in others.items() if facts is None and is_gone(path)]
        touched |= {
            path
            for path, known in memory.related.items()
            if not self._is_same(path, others[path], known)
        }
        family = self._family(finder, located, touched, seen)
        inside = [one for one in located if one.path in family]
        rest = family - {one.path for one in inside}
        outside = self._outside(rest)
        gone += [path for path in rest - others.keys() if is_gone(path)]
        found = [
            replace(one, named=False) if one.source.path in outside else one
            for one in finder.join([*inside, *outside.values()])
            if one.format is not None or one.source.path not in outside
        ]
        count = sum(one.problem is None for one in located)
        seen_before = len(memory.known)
        counts = FileChanges(count - seen_before, seen_before - same, same, len(gone))
        kept = seen.kept(self._lessened(family, finder))
        changes = self._to_read(finder, [*inside, *outside.values()], found, read, counts)
        return changes._replace(walked=[one.path for one in located], gone=gone, kept=kept)

    def _is_same(self, path: str, facts: FileFacts | None, known: "KnownFile | FileFacts") -> bool:
        if facts is None or known[:3] != facts[:3]:
            return False
        if self._policy.verify:
            return known.content == with_content(path, facts).content
        return (known.content or "").startswith(facts.content or "")

    def _reader_of(self, formats: Sequence[str]) -> str:
        """Digest of the reader and the formats searched for."""
        return " ".join([self._reader, *formats])

    def _recall(
        self, reader: str, path: str, facts: FileFacts
    ) -> tuple[FileFacts, FoundSource | None]:
        """Return the facts of a file, with its content's digest if requested or known, and its
        stored source."""
        row = self._rows.get(path)
        if self._policy.verify:
            facts = with_content(path, facts)
        elif row is not None and self._is_same(path, facts, _facts_in(row)):
            facts = _facts_in(row)
        if row is None or row.reader != reader or _facts_in(row) != facts:
            return facts, None
        link = _link_of_text(row.link)
        return facts, FoundSource(
            Source(path_of(path)), row.format, False, row.problem, link, row.session, row.size
        )

    def _family(
        self, finder: Finder, located: list[Located], touched: set[str], seen: "SeenFiles"
    ) -> set[str]:
        """Paths of the changed files and all files linked to them by names."""
        self._rows = {row.path: row for row in seen.files(touched)}
        names = {name for row in self._rows.values() for name in row.names}
        for one in located:
            if one.path in touched:
                names.update(names_of(finder.find(one)))
        family, asked = set(touched), set[str]()
        while names - asked:
            tied = seen.with_names(names - asked)
            asked |= names
            family.update(path for path, _ in tied)
            names.update(name for _, theirs in tied for name in theirs)
        self._rows.update((row.path, row) for row in seen.files(family - touched))
        return family

    def _outside(self, paths: Iterable[str]) -> dict[Path, Located]:
        """Files of the family outside the paths; treated as named, to include their neighbours."""
        outside: dict[Path, Located] = {}
        for path in sorted(paths):
            facts, format = facts_at(path), self._rows[path].format
            if facts is not None and format is not None:
                of_folder = (format,) if facts.content else ()
                target = str(path_of(path).resolve())
                outside[path_of(path)] = Located(path, target, facts, True, of_folder)
        return outside

    def _lessened(self, family: set[str], finder: Finder) -> set[str]:
        """Digests of groups with a file that became shorter, unreadable or missing."""
        lessened: set[str] = set()
        for path in family:
            row, now = self._rows.get(path), finder.looked_at.get(path)
            less = now is None or now[0].broken or now[1].size < row.size if row else False
            if row and row.read_with and less:
                lessened.add(row.read_with)
        return lessened

    def _to_read(
        self,
        finder: Finder,
        located: list[Located],
        found: list[FoundSource],
        read: set[str],
        counts: FileChanges,
    ) -> Changes:
        groups = group_captures(one for one in found if one.format is not None)
        digests = [self._digest(group, finder) for group in groups]
        again = [self._policy.again or digest not in read for digest in digests]
        to_read = [group for group, asked in zip(groups, again, strict=True) if asked]
        pairs = list(zip(groups, digests, strict=True))
        group_of = {
            path_text(path): digest
            for group, digest in pairs
            for one in group.found
            for path in one.files
        }
        stored = {one.source.path for group in to_read for one in group.found}
        seen: dict[str | None, list[SeenFile]] = {}
        for path in dict.fromkeys([*(one.path for one in located), *group_of]):
            if path in finder.looked_at:
                file = self._seen_file(finder, path, group_of.get(path))
                seen.setdefault(file.read_with, []).append(file)
        return Changes(
            found=[one for one in found if one.format is None or one.source.path in stored],
            groups=to_read,
            digests={path_text(path): group_of[path_text(path)] for path in sorted(stored)},
            seen=seen,
            walked=[one.path for one in located],
            gone=[],
            kept={},
            counts=counts,
        )  # fmt: skip

    def _digest(self, group: LogGroup, finder: Finder) -> str:
        """Digest of everything that determines a group's result; begins with `AGAIN` if it may
        change unnoticed."""
        members = [
            [one.format, one.source.formats, *_with_facts(one.files, finder)] for one in group.found
        ]
        digest = digest_json([self._reader, sorted(members, key=str)])
        files = [path for one in group.found for path in one.files]
        stable = all(self._is_stable(finder, path_text(path)) for path in files)
        return digest if stable else AGAIN + digest

    def _is_stable(self, finder: Finder, path: str) -> bool:
        """Whether a file is readable and cannot have changed since within its clock's resolution."""
        found, facts = finder.looked_at[path]
        return not found.broken and facts.mtime_ns < self._begun_ns - FRESH_NS

    def _seen_file(self, finder: Finder, path: str, read_with: str | None) -> SeenFile:
        found, facts = finder.looked_at[path]
        again = not self._is_stable(finder, path) or (read_with or "").startswith(AGAIN)
        return SeenFile(
            path,
            *facts,
            reader="" if again else self._reader_of(finder.formats),
            format=found.format,
            session=found.session,
            link=_link_as_text(found.link),
            problem=found.problem,
            names=names_of(found),
            read_with=read_with,
        )


def _facts_in(row: SeenFile) -> FileFacts:
    return FileFacts(row.size, row.mtime_ns, row.inode, row.content)


def _with_facts(paths: Iterable[Path], finder: Finder) -> list[tuple[str, FileFacts]]:
    return [(path_text(path), finder.looked_at[path_text(path)][1]) for path in paths]


def _link_as_text(link: SessionLink | None) -> str | None:
    if link is None:
        return None
    paths = (path and str(path) for path in (link.continuation, link.parts_below))
    return json.dumps([link.session, link.child, *paths, link.by_path, link.origin])


def _link_of_text(text: str | None) -> SessionLink | None:
    if text is None:
        return None
    session, child, continuation, below, *more = json.loads(text)
    return SessionLink(
        session, child, continuation and Path(continuation), below and Path(below), *more
    )
