"""Find link targets in lines, outside code, and replace them in place."""

import re
from collections.abc import Callable
from posixpath import dirname, join, normpath, relpath
from urllib.parse import quote, unquote

from skilljuror.knowledge.markdown.inline_text import (
    code_spans,
    link_target_spans,
    unescaped_target,
)

_SCHEME = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|//)")

TargetRewrite = Callable[[str], str | None]
"""A link target -> its replacement, or None to leave it."""


def rewrite_links(line: str, rewrite: TargetRewrite) -> str:
    """Return the line with the local link targets replaced as `rewrite` says."""
    parts, place = [], 0
    for start, end in link_spans(line):
        target = line[start:end]
        new = rewrite(unescaped_target(target))
        if new is not None:
            parts += [line[place:start], f"<{new}>" if target.startswith("<") else new]
            place = end
    return "".join([*parts, line[place:]])


def link_spans(line: str) -> list[tuple[int, int]]:
    """Return the positions of link targets in the line."""
    if "](" not in line and "]:" not in line:
        return []
    code = code_spans(line)
    return [
        (first, last)
        for first, last in link_target_spans(line)
        if not any(start <= first < end for start, end in code)
    ]


def linked_paths(line: str, source: str) -> list[str]:
    """Return the bundle paths of the local links of a line in `source`."""
    targets = [unescaped_target(line[start:end]) for start, end in link_spans(line)]
    paths = [split_target(target)[0] for target in targets if is_local(target)]
    return [resolve_from(source, path) for path in paths if path]


def is_local(target: str) -> bool:
    """Whether a link target names a file of the bundle or an anchor."""
    return bool(target) and not _SCHEME.match(target) and not target.startswith(("/", "<", "{"))


def split_target(target: str) -> tuple[str, str]:
    """Return (path, anchor) of a local target, unquoted."""
    path, _, anchor = target.partition("#")
    return unquote(path), unquote(anchor)


def resolve_from(source: str, path: str) -> str:
    """Return the bundle path of a relative link in `source`."""
    return normpath(join(dirname(source), path))


def link_between(source: str, target: str, anchor: str = "") -> str:
    """Return a relative link from one file to another."""
    same_page = source == target and bool(anchor)
    path = "" if same_page else quote(relpath(target, dirname(source) or "."))
    return f"{path}#{quote(anchor, safe='-_')}" if anchor else path
