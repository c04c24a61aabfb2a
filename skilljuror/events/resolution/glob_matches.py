"""Files that a glob matched, found in the output: headings that name them, front matter.

Without a manifest, `cat */SKILL.md` and `for f in *.md; do echo "== $f"; cat "$f"; done` name no
file; their output does.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from skilljuror.base.work_budget import charge
from skilljuror.events.paths import (
    absolute,
    folder_of,
    glob_fits,
    is_glob,
    join,
)

_HEADING = re.compile(
    r"[ \t]*(?:[#=*>+~_-]{1,12}|file|path)?:?[ \t]*(?P<path>[\w@./~+-]{2,300}\.\w{1,10})[ \t]*[#=*<+~_:-]{0,12}[ \t]*\Z",
    re.IGNORECASE,
)
"""A line that is a path, optionally with marks around it."""
_FRONT_MATTER = re.compile(
    r"^---[ \t]*\r?\n(?:.*\n){0,20}?name:[ \t]*[\"']?([\w.:-]{1,100})", re.MULTILINE
)
_LONGEST_OUTPUT = 400_000
"""Maximum characters of an output to search."""
_LONGEST_HEADING = 200
_FOLDERS_UP = 4
"""Folders above a glob's fixed part from which a heading may name a file."""


def paths_in_headings(pattern: str, output: str) -> Iterator[str]:
    """Paths in an output's headings that match a glob."""
    fixed, fits = _fixed_part(pattern), glob_fits(pattern)
    headings = _headings(output)
    charge(_FOLDERS_UP * len(headings))
    for heading in headings:
        path = _fitting(fits, fixed, heading)
        if path is not None:
            yield path


@lru_cache(maxsize=1)
def _headings(output: str) -> tuple[str, ...]:
    """Paths in headings of an output; cached, as a command may have many globs."""
    lines = output[:_LONGEST_OUTPUT].splitlines()
    found = [
        _HEADING.match(line) for line in lines if "." in line and len(line) <= _LONGEST_HEADING
    ]
    return tuple([heading["path"] for heading in found if heading])


def paths_by_front_matter(pattern: str, output: str) -> Iterator[str]:
    """Paths of a SKILL.md that match a glob, by front matter in the output."""
    names = _front_matter_names(output)
    charge(len(names))
    fixed = _fixed_part(pattern)
    for name in ("", *names) if names else ():
        folder = join(fixed, name.rpartition(":")[2]) if name else fixed
        path = join(folder, "SKILL.md")
        if glob_fits(pattern)(path):
            yield path


@lru_cache(maxsize=1)
def _front_matter_names(output: str) -> tuple[str, ...]:
    """Distinct names in the front matters of an output."""
    text = output[:_LONGEST_OUTPUT]
    return tuple(dict.fromkeys(_FRONT_MATTER.findall(text) if "\nname:" in text else []))


def _fixed_part(pattern: str) -> str:
    """The folder before the first wildcard."""
    parts = pattern.split("/")
    at = next((at for at, part in enumerate(parts) if is_glob(part)), len(parts))
    return "/".join(parts[:at])


def _fitting(fits: Callable[[str], object], fixed: str, path: str) -> str | None:
    """Path of a heading, relative to a glob's fixed part or a folder above it."""
    if absolute(path):
        return path if fits(path) else None
    folder = fixed
    for _ in range(_FOLDERS_UP):
        full = join(folder, path)
        if fits(full):
            return full
        folder = folder_of(folder)
        if not folder:
            break
    return None
