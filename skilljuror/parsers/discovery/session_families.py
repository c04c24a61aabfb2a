"""Joining the files of one run: every child is read with the nearest head of its family."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from skilljuror.parsers.atif.continuations import continuation
from skilljuror.parsers.base import FoundSource, SessionLink, Source
from skilljuror.parsers.claude_code.session import session_record
from skilljuror.parsers.codex.rollout import parent_thread, session_meta
from skilljuror.parsers.opencode import session_info
from skilljuror.parsers.raw_logs.coercion import as_string
from skilljuror.parsers.raw_logs.file_head import parse_head

Identify = Callable[[Path], FoundSource]
"""Looks at a file that nobody asked for."""

Member = tuple[int, SessionLink]
"""(index into the found sources, kinship)."""


def join_session_files(found: list[FoundSource], identify: Identify) -> list[FoundSource]:
    """Attach children to heads as siblings. A child without its head stands alone.

    A file that the caller named brings its kin from the disk beside it.
    """
    members = _members(found)
    roots = _roots(kin for _, kin in members)
    heads = _heads(found, members)
    joined: dict[int, dict[str, Path]] = {index: {} for group in heads.values() for index in group}
    taken: set[int] = _join_moved(found, heads, joined)
    for index, kin in members:
        group = heads.get((found[index].format, _root(kin.session, roots)))
        if kin.member is None or not group:
            continue
        path = found[index].source.path
        _add(joined[_nearest(found, group, path)], kin.member, path)
        taken.add(index)
    named = {one.source.path.resolve(): index for index, one in enumerate(found) if one.named}
    for index, children in joined.items():
        if found[index].named and index not in taken:
            _add_near(found[index], children, identify)
            inside = {named.get(path.resolve(), index) for path in children.values()}
            taken |= inside - {index}
    return [
        _with_siblings(one, joined.get(index, {}))
        for index, one in enumerate(found)
        if index not in taken
    ]


def _members(found: list[FoundSource]) -> list[Member]:
    """The kinship of each; a head that another file says it goes on in is that one's child."""
    kin = {index: one.kin for index, one in enumerate(found) if one.kin is not None}
    heads = {found[index].source.path: index for index, one in kin.items() if one.member is None}
    roots = _roots(kin.values())
    for index, one in list(kin.items()):
        other = heads.get(one.goes_on) if one.goes_on else None
        if other is None or found[other].format != found[index].format:
            continue
        own = kin[other].session
        if _root(one.session, roots) == own:
            continue
        kin[other] = replace(kin[other], session=one.session, member=own)
        roots[own] = one.session
        del heads[found[other].source.path]
    return list(kin.items())


def _heads(
    found: list[FoundSource], members: Iterable[Member]
) -> dict[tuple[str | None, str], list[int]]:
    """Heads by format and session; copies of one session are several heads."""
    heads: dict[tuple[str | None, str], list[int]] = {}
    for index, kin in members:
        if kin.member is None:
            heads.setdefault((found[index].format, kin.session), []).append(index)
    return heads


def _join_moved(
    found: list[FoundSource],
    heads: dict[tuple[str | None, str], list[int]],
    joined: dict[int, dict[str, Path]],
) -> set[int]:
    """A Claude session goes on in another project folder when its agent changes directory."""
    taken: set[int] = set()
    for (format, session), group in heads.items():
        if format != "claude-session" or len(group) < 2:
            continue
        first: dict[Path, int] = {}
        for index in group:
            path = found[index].source.path
            if path.stem != session:
                continue
            head = first.setdefault(path.parent.parent, index)
            if head != index:
                joined[head][str(path)] = path
                taken.add(index)
        group[:] = [index for index in group if index not in taken]
    return taken


def _roots(members: Iterable[SessionLink]) -> dict[str, str]:
    return {kin.member: kin.session for kin in members if kin.member}


def _root(session: str, roots: dict[str, str]) -> str:
    """The head's key: a child of a child names its parent, not the head."""
    for _ in range(len(roots)):
        if roots.get(session, session) == session:
            break
        session = roots[session]
    return session


def _nearest(found: list[FoundSource], group: list[int], path: Path) -> int:
    """The head that shares the longest path with a child; the first one of equals."""
    return max(group, key=lambda index: (_shared(found[index].source.path, path), -index))


def _shared(one: Path, other: Path) -> int:
    same = 0
    for left, right in zip(one.parts, other.parts, strict=False):
        if left != right:
            break
        same += 1
    return same


def _add(children: dict[str, Path], member: str, path: Path) -> None:
    """Of two captures of one child the longer one is read."""
    before = children.get(member)
    if before is None or path.stat().st_size > before.stat().st_size:
        children[member] = path


def _add_near(head: FoundSource, children: dict[str, Path], identify: Identify) -> None:
    """Add kin of a named file that lie beside it."""
    kin = head.kin
    if kin is None or head.format is None:
        return
    near = [head, *_near(head, head.format, identify)]
    members = _members(near)
    roots = _roots(relation for _, relation in members)
    roots.pop(kin.session, None)  # what was named stays a head, whoever goes on in it
    for index, relation in members:
        path = near[index].source.path
        if index == 0 or _root(relation.session, roots) != kin.session:
            continue
        if relation.member is not None:
            _add(children, relation.member, path)
        elif head.format == "claude-session" and path.stem == kin.session:
            children[str(path)] = path


def _near(head: FoundSource, format: str, identify: Identify) -> Iterator[FoundSource]:
    """Files of a format near a named one, and near those that it goes on in."""
    seen = {head.source.path}
    waiting = [(head, neighbours(format, head.source.path))]
    while waiting:
        one, beside = waiting.pop()
        following = _following(one)
        for path in [*following, *beside]:
            if path in seen:
                continue
            seen.add(path)
            other = identify(path)
            if other.format == format:
                yield other
                more = neighbours(format, path) if path in following else []
                waiting.append((other, more))


def _following(one: FoundSource) -> list[Path]:
    """The file that one says it goes on in, where it is there, and no link out of the folder."""
    path = one.kin.goes_on if one.kin else None
    if path is None or not path.is_file() or path.is_symlink():
        return []
    inside = path.resolve().is_relative_to(one.source.path.parent.resolve())
    return [path] if inside else []


def _with_siblings(one: FoundSource, children: dict[str, Path]) -> FoundSource:
    if not children:
        return one
    return replace(one, source=replace(one.source, siblings=tuple(sorted(children.values()))))


_SESSION = re.compile(rb'"(?:session_id|sessionId|thread_id)"\s*:\s*"([^"]{8,80})"')
_PART = re.compile(r"^(.+)\.(?:cont-\d+|summarization-\d+-\w+)$")


def kin_of(format: str, source: Source) -> SessionLink | None:
    """The kinship of a source; None for formats whose runs are single files."""
    finder = _FINDERS.get(format)
    return finder(source) if finder else None


def session_of(format: str, source: Source, kin: SessionLink | None) -> str | None:
    """The session that the first bytes of a source name, which is of that kin."""
    if kin is not None and format != "atif":
        return kin.session
    match = _SESSION.search(source.head)
    return match[1].decode("utf-8", "replace") if match else None


def neighbours(format: str, path: Path) -> list[Path]:
    """Files that may be kin of a file that was named alone; they need not be."""
    found = {
        near
        for up, pattern in _NEIGHBOURS.get(format, ())
        for folder in path.parents[up : up + 1]
        for near in folder.glob(pattern.format(stem=_escaped(path.stem)))
        if near != path and near.is_file() and not near.is_symlink()
    }
    return sorted(found)


def _escaped(stem: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", stem)


_NEIGHBOURS = {
    "claude-session": (
        (0, "{stem}/subagents/**/*.jsonl"),
        (0, "agent-*.jsonl"),
        (1, "*/{stem}.jsonl"),
    ),
    "codex-rollout": ((0, "rollout-*.jsonl"),),
    "gemini-chat": ((0, "*/*.json*"),),
    "openhands": ((0, "[0-9]*.json"),),
    "opencode": ((0, "*.json"),),
    "atif": ((0, "{stem}.*.json"),),
}
"""format -> (how many folders up, pattern below it)."""


def _claude(source: Source) -> SessionLink | None:
    entry = session_record(source.head)
    session = as_string(entry.get("sessionId"))
    if session is None:
        return None
    sidechain = entry.get("isSidechain") is True
    return SessionLink(session, as_string(entry.get("agentId")) if sidechain else None)


def _codex(source: Source) -> SessionLink | None:
    meta = session_meta(source.head)
    thread = as_string(meta.get("id"))
    if thread is None:
        return None
    parent = parent_thread(meta)
    if parent is None:
        return SessionLink(thread)
    return SessionLink(as_string(meta.get("session_id")) or parent, thread)


def _gemini(source: Source) -> SessionLink | None:
    first = parse_head(source.head).first
    session = as_string(first.get("sessionId"))
    if session is None:
        return None
    if first.get("kind") == "subagent":
        return SessionLink(source.path.parent.name, session)
    return SessionLink(session)


def _atif(source: Source) -> SessionLink | None:
    match = _PART.match(source.path.stem)
    stem = match[1] if match else source.path.stem
    member = source.path.stem if match else None
    return SessionLink(str(source.path.parent / stem), member, continuation(source.path))


def _openhands(source: Source) -> SessionLink | None:
    """A folder of one event per file, named by number."""
    path = source.path
    if path.parent.name != "events" or not path.stem.isdecimal():
        return None
    return SessionLink(str(path.parent), None if path.stem == "0" else path.stem)


def _opencode(source: Source) -> SessionLink | None:
    info = session_info(source.head)
    session, parent = as_string(info.get("id")), as_string(info.get("parentID"))
    if session is None:
        return None
    return SessionLink(parent, session) if parent else SessionLink(session)


_FINDERS = {
    "openhands": _openhands,
    "opencode": _opencode,
    "claude-session": _claude,
    "codex-rollout": _codex,
    "gemini-chat": _gemini,
    "atif": _atif,
}
