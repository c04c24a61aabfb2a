"""Finding the logs in files and folders: what each is, and which belong together."""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from skilljuror.parsers.base import Found, Source
from skilljuror.parsers.families import join_families
from skilljuror.parsers.kin import kin_of, session_of
from skilljuror.parsers.peek import FAR_BYTES, HEAD_BYTES, head_of
from skilljuror.parsers.read import claims
from skilljuror.parsers.unread import name_unread

__all__ = ["Found", "discover", "families_at", "families_of"]


def discover(paths: Sequence[Path], since: float | None = None) -> list[Found]:
    """Every source under the paths, in the order of the paths and sorted below each.

    Folders are walked without following links out of them. `since` (seconds since the
    epoch) leaves out files last changed before it; files named as such always count.
    """
    found: list[Found] = []
    seen: set[Path] = set()
    folders: dict[Path, Path] = {}
    for path in paths:
        for one in _at(path, since):
            real = _real(one.source.path, folders)
            if real not in seen:
                seen.add(real)
                found.append(one)
    return join_families(found, cache(_identify_near))


def families_at(path: Path) -> set[str]:
    """Names that tie a log to others: its session and its family; none where it has gone."""
    return families_of(_identify(path, named=False)) if path.is_file() else set()


def families_of(found: Found) -> set[str]:
    """Names that tie a log to others: its session and its family."""
    return {name for name in (found.session, found.kin and found.kin.session) if name}


def _real(path: Path, folders: dict[Path, Path]) -> Path:
    """The path without links; `folders` keeps the answers for folders."""
    if path.is_symlink() or path.name in {"", ".."}:
        return path.resolve()
    folder = folders.get(path.parent)
    if folder is None:
        folder = folders[path.parent] = path.parent.resolve()
    return folder / path.name


def _at(path: Path, since: float | None) -> Iterator[Found]:
    if path.is_dir():
        yield from _walk(path, since)
    elif path.is_file():
        yield _identify(path, named=True)
    else:
        yield Found(Source(path), None, True, f"{str(path)!r} does not exist")


def _walk(root: Path, since: float | None) -> Iterator[Found]:
    inside = root.resolve()
    for base, folders, names in os.walk(root):
        folders.sort()
        folder = Path(base)
        if "result.json" in names and (formats := claims(Source(folder))):
            folders.clear()
            if _recent(folder / "result.json", since):
                yield _decided(Source(folder), formats, named=folder == root)
            continue
        for name in sorted(names):
            path = folder / name
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                yield Found(Source(path), None, False, "a link out of the folder")
            elif path.is_file() and _recent(path, since):
                yield _identify(path, named=False)


def _recent(path: Path, since: float | None) -> bool:
    return since is None or path.stat().st_mtime >= since


def _identify(path: Path, *, named: bool) -> Found:
    try:
        source = Source(path, head_of(path))
        formats = claims(source)
        if not formats and _may_come_later(source):
            far = Source(path, head_of(path, FAR_BYTES))
            formats = claims(far)
            source = far if formats else source
    except OSError as error:
        return Found(Source(path), None, named, f"cannot be read: {error.strerror}")
    return _decided(source, formats, named=named)


def _may_come_later(source: Source) -> bool:
    return len(source.head) == HEAD_BYTES and source.head.lstrip()[:1] in {b"{", b"["}


def _decided(source: Source, formats: list[str], *, named: bool) -> Found:
    if len(formats) == 1:
        kin, session = kin_of(formats[0], source), session_of(formats[0], source)
        return Found(Source(source.path), formats[0], named, kin=kin, session=session)
    if formats:
        problem = f"{' and '.join(formats)} both claim it; name one with --format"
        return Found(Source(source.path), None, named, problem)
    known = name_unread(source)
    if known:
        return Found(Source(source.path), None, named, f"{known}: this kind of log is not read")
    return Found(Source(source.path), None, named, "no format claims it")


def _identify_near(path: Path) -> Found:
    return _identify(path, named=False)
