"""Drift of paths in code: the program is another one, or is not found."""

from collections.abc import Iterator
from posixpath import basename, dirname, join

from skilljuror.gates.mutations.sites import MutationSite, MutationTarget
from skilljuror.knowledge.generated.templates import WRITE_OUT, announced_path
from skilljuror.knowledge.markdown.inline_text import command_spans
from skilljuror.knowledge.units.code_paths import (
    BundlePaths,
    commanded_paths,
    is_absolute,
    path_literals,
)


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
