"""Files that a glob meant, told from what was printed: headings that name them, front matter."""

import re
from collections.abc import Iterator

from skilljuror.attribution.paths import absolute, folder_of, glob_match, is_glob, join

_HEADING = re.compile(
    r"[ \t]*(?:[#=*>+~_-]{1,12}|file|path)?:?[ \t]*(?P<path>[\w@./~+-]{2,300}\.\w{1,10})[ \t]*[#=*<+~_:-]{0,12}[ \t]*\Z",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"^---[ \t]*\r?\n(?:.*\n){0,20}?name:[ \t]*[\"']?([\w.:-]{1,100})", re.MULTILINE
)
_MOST = 400_000
_WIDEST = 200
"""Characters of a line that may be a heading."""
_UP = 4
"""Folders above the fixed part of a glob from which a heading may name a file."""


def paths_in_headings(pattern: str, output: str) -> Iterator[str]:
    """Paths that fit a glob and that a heading in the output names."""
    fixed = _fixed(pattern)
    for line in output[:_MOST].splitlines():
        heading = _HEADING.match(line) if "." in line and len(line) <= _WIDEST else None
        found = _fitting(pattern, fixed, heading["path"]) if heading else None
        if found is not None:
            yield found


def paths_by_front_matter(pattern: str, output: str) -> Iterator[str]:
    """Places of a SKILL.md that fit a glob, where the output shows the front matter of one."""
    names = _FRONT.findall(output[:_MOST]) if "\nname:" in output[:_MOST] else []
    fixed = _fixed(pattern)
    for name in dict.fromkeys(["", *names] if names else []):
        folder = join(fixed, name.rpartition(":")[2]) if name else fixed
        path = join(folder, "SKILL.md")
        if glob_match(pattern, path):
            yield path


def _fixed(pattern: str) -> str:
    """The folder before the first wildcard."""
    parts = pattern.split("/")
    at = next((at for at, part in enumerate(parts) if is_glob(part)), len(parts))
    return "/".join(parts[:at])


def _fitting(pattern: str, fixed: str, path: str) -> str | None:
    """A path, or the end of one, seen from a folder above the glob's files."""
    if absolute(path):
        return path if glob_match(pattern, path) else None
    base = fixed
    for _ in range(_UP):
        full = join(base, path)
        if glob_match(pattern, full):
            return full
        base = folder_of(base)
        if not base:
            break
    return None
