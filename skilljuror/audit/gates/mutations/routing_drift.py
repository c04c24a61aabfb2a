"""Drift of routing: every text remains, but rows and paths in code lead elsewhere."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import basename, dirname, join

from skilljuror.audit.comparison.code_paths import (
    BundlePaths,
    commanded_paths,
    is_absolute,
    path_literals,
)
from skilljuror.audit.comparison.file_rows import FileRow, routes, rows_of
from skilljuror.audit.comparison.inline_spans import command_spans
from skilljuror.audit.gates.mutations.sites import Files, MutationSite, MutationTarget
from skilljuror.base.skill import is_licence, is_markdown
from skilljuror.skill.generated import WRITE_OUT, announced_path

_DULL = "see this file for more details."


def swap_files(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the contents of two neighbouring supporting pages with their own rows."""
    leads = routes(target.bundle)
    rows = (row for page in set(leads.values()) for row in rows_of(target.bundle, page))
    alone = {row.files[0] for row in rows if len(row.files) == 1}
    pages = [path for path in target.texts if path in leads and path in alone and _is_page(path)]
    for first, second in pairwise(pages):
        before, after = target.bundle.files[first], target.bundle.files[second]
        same_place = leads[first] == leads[second]
        if same_place and before.data.split() != after.data.split():
            files: Files = {first: after, second: before}
            yield MutationSite(first, 0, first, second, partial(dict, files))


def retarget_row(target: MutationTarget) -> Iterator[MutationSite]:
    """Point a row at another page of its bundle: its link only, and every mention of the page."""
    for row, others in _single_rows(target):
        line, old = target.line(row.page, row.start), _name(row.page, row.files[0])
        new = _name(row.page, others[0]) if others else old
        changed = (line.replace(f"]({old})", f"]({new})"), line.replace(old, new))
        yield from (target.edit(row.page, row.start, after) for after in changed if after != line)


def dull_cue(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace the description in a row by one that fits any page."""
    for row, _ in _single_rows(target):
        line = target.line(row.page, row.start)
        end = _end_of_name(line, _name(row.page, row.files[0]))
        if end and len(line) > end + len(_DULL):
            yield target.edit(row.page, row.start, f"{line[:end]}: {_DULL}")


def _single_rows(target: MutationTarget) -> Iterator[tuple[FileRow, Sequence[str]]]:
    """Rows of one line that lead to one page, each with the other pages that it could lead to."""
    leads = routes(target.bundle)
    for page in dict.fromkeys(leads.values()):
        near = [path for path, other in leads.items() if other == page and _is_page(path)]
        for row in rows_of(target.bundle, page):
            alone = len(row.files) == 1 and row.start == row.end and _is_page(row.files[0])
            line = target.line(page, row.start)
            if alone and _name(page, row.files[0]) in line and line.lstrip()[:1] in "-*[|":
                after = [path for path in near if path > row.files[0]]
                yield row, [path for path in (*after, *near) if path != row.files[0]]


def _is_page(path: str) -> bool:
    return is_markdown(path) and not is_licence(path)


def _name(page: str, path: str) -> str:
    folder = str(PurePosixPath(page).parent)
    return path.removeprefix(f"{folder}/")


def _end_of_name(line: str, name: str) -> int:
    """End of the last link or name of a file in a row; 0 if the description comes before it."""
    place = line.rfind(name)
    end = place + len(name)
    while end < len(line) and line[end] in ")`*_]":
        end += 1
    return end if line[:place].count(" ") <= 2 else 0


def retarget_code_path(target: MutationTarget) -> Iterator[MutationSite]:
    """Shorten a path in code that leads into the bundle, as if the code ran from that folder: an
    absolute path becomes a name, a relative one loses its first folder."""
    paths = BundlePaths(target.bundle, target.units)
    for path, number in sorted({*target.listings, *target.prose}):
        line = target.line(path, number)
        code = (path, number) in target.listings
        spans = [(0, len(line))] if code else command_spans(line)
        for start, end in spans:
            after = _shorter(line[start:end], path, paths)
            if after is not None:
                yield target.edit(path, number, line[:start] + after + line[end:])
                break


def _shorter(code: str, page: str, paths: BundlePaths) -> str | None:
    """The code with the first such path shortened; None if there is none."""
    for literal in path_literals(code):
        bare = literal.rstrip("/")
        if "/" in bare and paths.place(literal, page) is not None:
            cut = basename(bare) if is_absolute(bare) else bare.partition("/")[2]
            return code.replace(literal, cut, 1)
    return None


def drop_announcement(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete the instruction to write out an embedded file that a command names."""
    commanded = {path for _, path in commanded_paths(target.bundle)}
    for unit in target.units:
        path = announced_path(unit.text) if unit.generated == WRITE_OUT else None
        if path and join(dirname(unit.file), path) in commanded:
            yield target.edit(unit.file, unit.start, None)
