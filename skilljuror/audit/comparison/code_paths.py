"""Paths in code, and their targets in a bundle.

A relative path is resolved from the folders that commands run from: that of a skill, of the page, or of a
section that names its own. An absolute path leads into the bundle if it passes a folder of skills, or one
with a skill's name.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from posixpath import basename, dirname, join, normpath

from skilljuror.audit.comparison.inline_spans import command_spans
from skilljuror.audit.comparison.normalised_text import (
    folders_above,
    path_suffixes,
    without_upward_steps,
)
from skilljuror.base.skill import CONTENT_KINDS, Bundle, Unit
from skilljuror.skill.generated import (
    DIRECTORY,
    MARKER,
    WRITE_OUT,
    announced_path,
    directory_path,
    marker_path,
)
from skilljuror.skill.units import cached_by_bundles, units_of

_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'`<>]{1,2000}")
_LITERAL = re.compile(
    r"(?:~/|/|\$\{?\w{1,64}\}?/|\{\w{1,64}\}/|<[\w -]{1,64}>/)?(?:[\w@+.-]{1,255}/){0,64}"
    r"[\w@+.-]{0,254}[\w@+-]/?"
)
INTERPRETED = re.compile(
    r"(?<![\w-])(?:python3?|node|bash|sh|uv run|deno run|npx tsx|ruby|perl)\s+"
    r"((?:[\w.-]+/)*[\w-][\w.-]*\.(?:py|js|mjs|sh|ts|rb|pl))\b"
)
_SUFFIX = re.compile(r"\w\.[A-Za-z]\w{0,9}$")
_NAMED_FOLDER = re.compile(r"^(?:\$\{?\w+\}?|\{\w+\}|<[\w -]+>)/")
"""A placeholder for a folder, such as $SKILL_DIR."""


@lru_cache(maxsize=1 << 15)
def path_literals(code: str) -> tuple[str, ...]:
    """Return the possible paths in code: words with a slash or a suffix, without addresses."""
    if "/" not in code and "." not in code:
        return ()
    found = (match[0] for match in _LITERAL.finditer(_ADDRESS.sub(" ", code)))
    return tuple(one for one in found if "/" in one or _SUFFIX.search(one))


def is_absolute(literal: str) -> bool:
    """Whether a path starts at the file system's root or at a home folder."""
    return literal.startswith(("/", "~"))


def code_of(unit: Unit) -> tuple[str, ...]:
    """Return the code in a unit: a line of code, or the commands in a line of prose."""
    if unit.kind == "code":
        return (unit.text,)
    text = unit.text
    return tuple(text[start:end].strip("`") for start, end in command_spans(text))


class BundlePaths:
    """Every file and folder of a bundle that code can name, on disk or on a page."""

    def __init__(self, bundle: Bundle, units: Sequence[Unit]) -> None:
        files = [*bundle.files, *carried_files(units)]
        self._places = {*files, *(folder for path in files for folder in folders_above(path))}
        self._ends = {end: place for place in sorted(self._places) for end in path_suffixes(place)}
        self._skills = [skill.directory for skill in bundle.skills]
        self._homes = [*self._skills, *_directories(units, self._skills)]
        """Folders that commands are run from."""
        self._named: dict[str, list[str]] = defaultdict(list)
        """Name of a skill, or of such a folder -> the folders of that name."""
        for skill in bundle.skills:
            self._named[skill.name].append(skill.directory)
        for home in self._homes:
            self._named[basename(home)].append(home)

    def place(self, literal: str, page: str) -> str | None:
        """Return the file or folder of a path in the code of a page, resolved from a known folder, or None."""
        if is_absolute(literal):
            known = self._below_skills(literal)
        else:
            path = _NAMED_FOLDER.sub("", literal)
            known = (join(base, path) for base in (dirname(page), *self._homes, ""))
        return next((one for one in map(normpath, known) if one in self._places), None)

    def place_from_anywhere(self, literal: str) -> str | None:
        """Return the file or folder of a path, resolved from any folder, or None."""
        if is_absolute(literal):
            return self.place(literal, "")
        return self._ends.get(without_upward_steps(_NAMED_FOLDER.sub("", literal)))

    def _below_skills(self, literal: str) -> Iterator[str]:
        parts = literal.strip("/").split("/")
        for number, part in enumerate(parts, 1):
            homes = ["", *self._skills] if part == "skills" else self._named.get(part, ())
            yield from (join(home, *parts[number:]) for home in homes)


@cached_by_bundles
def commanded_paths(bundle: Bundle) -> tuple[tuple[Unit, str], ...]:
    """Return (unit, path) of the files and folders in a bundle's commands.

    The script of an interpreter may be named from any folder.
    """
    units = units_of(bundle)
    paths = BundlePaths(bundle, units)
    found = []
    for unit in units:
        literals = (one for command in _commands_of(unit) for one in path_literals(command))
        found += [(unit, paths.place(literal, unit.file)) for literal in literals]
        for match in INTERPRETED.finditer(unit.text) if unit.kind in CONTENT_KINDS else ():
            found.append((unit, paths.place_from_anywhere(match[1])))
    return tuple((unit, place) for unit, place in found if place is not None)


def _commands_of(unit: Unit) -> tuple[str, ...]:
    if unit.kind == "command":
        return (unit.text,)
    return code_of(unit) if unit.kind in CONTENT_KINDS - {"code"} else ()


def carried_files(units: Iterable[Unit]) -> Iterator[str]:
    """Yield the bundle paths of the files that pages carry."""
    return _paths_in_lines(units, MARKER, marker_path)


def announced_files(units: Iterable[Unit]) -> Iterator[str]:
    """Yield the bundle paths of carried files that a page says to write out."""
    return _paths_in_lines(units, WRITE_OUT, announced_path)


def _directories(units: Iterable[Unit], skills: Sequence[str]) -> Iterator[str]:
    for unit in units:
        path = directory_path(unit.text) if unit.generated == DIRECTORY else None
        if path:
            above = (skill for skill in skills if unit.file.startswith(f"{skill}/"))
            yield join(max(above, key=len, default=dirname(unit.file)), path)


def _paths_in_lines(
    units: Iterable[Unit], template: str, path_in: Callable[[str], str | None]
) -> Iterator[str]:
    for unit in units:
        path = path_in(unit.text) if unit.generated == template else None
        if path:
            yield join(dirname(unit.file), path)


def follows(before: Unit, after: Unit, parent: BundlePaths, variant: BundlePaths) -> bool:
    """Whether each path that differs in the code of two texts led to a file that moved to where it leads now."""
    old, new = (
        [path for code in code_of(unit) for path in path_literals(code)] for unit in (before, after)
    )
    return (
        old != new
        and len(old) == len(new)
        and all(
            not is_absolute(path)
            and not is_absolute(other)
            and parent.place(path, before.file) is not None
            and variant.place(path, after.file) is None
            and variant.place(other, after.file) is not None
            for path, other in zip(old, new, strict=True)
            if path != other
        )
    )
