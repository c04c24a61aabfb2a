"""Join the files of one session: each child is read with the nearest head of its session."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from skilljuror.logs.base import FoundSource, SessionLink, Source
from skilljuror.logs.read import parser

Identify = Callable[[Path], FoundSource]
"""Identify a file that was not requested."""

Member = tuple[int, SessionLink]
"""(index of the source, its role in its session)."""

Heads = dict[tuple[str | None, str], list[int]]
"""(format, session) -> indices of the session's heads; copies make several."""

Children = dict[str, dict[Path, None]]
"""Key of a child -> its captures, in order."""

_SESSION = re.compile(rb'"(?:session_id|sessionId|thread_id)"\s*:\s*"([^"]{8,80})"')


def session_in_head(source: Source) -> str | None:
    """First session id in a source's first bytes, whatever its format."""
    match = _SESSION.search(source.head)
    return match[1].decode("utf-8", "replace") if match else None


def join_session_files(sources: list[FoundSource], identify: Identify) -> list[FoundSource]:
    """Attach children to heads as siblings. A child without a head stays alone.

    A file that the user named adds the files of its session from disk.
    """
    members = _members(sources)
    parents = _parents(link for _, link in members)
    heads = _heads(sources, members)
    joined: dict[int, Children] = {index: {} for group in heads.values() for index in group}
    taken = _join_parts(sources, dict(members), heads, joined)
    for index, link in members:
        group = heads.get((sources[index].format, _root(link.session, parents)))
        if link.child is None or not group:
            continue
        path = sources[index].source.path
        joined[_nearest(sources, group, path)].setdefault(link.child, {})[path] = None
        taken.add(index)
    named = {
        found.source.path.resolve(): index for index, found in enumerate(sources) if found.named
    }
    for index, children in joined.items():
        if sources[index].named and index not in taken:
            _add_neighbours(sources[index], children, identify)
            paths = [path for captures in children.values() for path in captures]
            inside = {named.get(path.resolve(), index) for path in paths}
            taken |= inside - {index}
    return [
        _with_siblings(found, joined.get(index, {}))
        for index, found in enumerate(sources)
        if index not in taken
    ]


def _members(sources: list[FoundSource]) -> list[Member]:
    """Role of each source in its session; a head that another file continues in becomes that file's
    child."""
    links = {index: found.link for index, found in enumerate(sources) if found.link is not None}
    heads = {sources[index].source.path: index for index, link in links.items() if not link.child}
    parents = _parents(links.values())
    for index, link in list(links.items()):
        following = heads.get(link.continuation) if link.continuation else None
        if following is None or sources[following].format != sources[index].format:
            continue
        own = links[following].session
        if _root(link.session, parents) == own:
            continue
        links[following] = replace(links[following], session=link.session, child=own)
        parents[own] = link.session
        del heads[sources[following].source.path]
    return list(links.items())


def _heads(sources: list[FoundSource], members: Iterable[Member]) -> Heads:
    heads: Heads = {}
    for index, link in members:
        if link.child is None:
            heads.setdefault((sources[index].format, link.session), []).append(index)
    return heads


def _join_parts(
    sources: list[FoundSource],
    links: dict[int, SessionLink],
    heads: Heads,
    joined: dict[int, Children],
) -> set[int]:
    """Attach heads that are parts of one conversation to the first; return the attached ones."""
    taken: set[int] = set()
    for group in heads.values():
        first: dict[Path, int] = {}
        for index in group:
            below = links[index].parts_below
            head = index if below is None else first.setdefault(below, index)
            if head != index:
                path = sources[index].source.path
                joined[head][str(path)] = {path: None}
                taken.add(index)
        group[:] = [index for index in group if index not in taken]
    return taken


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
    return max(group, key=lambda index: (_shared(sources[index].source.path, path), -index))


def _shared(path: Path, other: Path) -> int:
    same = 0
    for left, right in zip(path.parts, other.parts, strict=False):
        if left != right:
            break
        same += 1
    return same


def _add_neighbours(head: FoundSource, children: Children, identify: Identify) -> None:
    """Add the files of a named head's session from its folder."""
    link = head.link
    if link is None or head.format is None:
        return
    near = [head, *_neighbours(head, head.format, identify)]
    members = _members(near)
    parents = _parents(other for _, other in members)
    parents.pop(
        link.session, None
    )  # a named file stays a head, even if another file continues in it
    for index, other in members:
        path = near[index].source.path
        if index == 0 or _root(other.session, parents) != link.session:
            continue
        if other.child is not None:
            children.setdefault(other.child, {})[path] = None
        elif other.parts_below is not None and other.parts_below == link.parts_below:
            children[str(path)] = {path: None}


def _neighbours(head: FoundSource, format: str, identify: Identify) -> Iterator[FoundSource]:
    """Files of a format near a named one, and near its continuations."""
    seen = {head.source.path}
    waiting = [(head, _candidates(format, head.source.path))]
    while waiting:
        found, near = waiting.pop()
        following = _continuation(found)
        for path in [*following, *near]:
            if path in seen:
                continue
            seen.add(path)
            other = identify(path)
            if other.format == format:
                yield other
                waiting.append((other, _candidates(format, path) if path in following else []))


def _candidates(format: str, path: Path) -> list[Path]:
    near = {other for other in parser(format).neighbours(path) if other != path}
    return sorted(other for other in near if other.is_file() and not other.is_symlink())


def _continuation(found: FoundSource) -> list[Path]:
    """The continuation, if it exists and does not link out of the folder."""
    path = found.link.continuation if found.link else None
    if path is None or not path.is_file() or path.is_symlink():
        return []
    inside = path.resolve().is_relative_to(found.source.path.parent.resolve())
    return [path] if inside else []


def _with_siblings(found: FoundSource, children: Children) -> FoundSource:
    """Attach the longest capture of each child; the others are not read."""
    if not children:
        return found
    captures = [list(paths) for paths in children.values()]
    longest = {
        paths[0] if len(paths) == 1 else max(paths, key=lambda path: path.stat().st_size)
        for paths in captures
    }
    shorter = sorted(path for paths in captures for path in paths if path not in longest)
    source = replace(found.source, siblings=tuple(sorted(longest)))
    return replace(found, source=source, shorter=tuple(shorter))
