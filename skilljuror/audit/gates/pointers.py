"""Targets that text names: links, anchors, scripts in commands, absolute skill paths."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote

from skilljuror.audit.comparison.code_paths import INTERPRETED
from skilljuror.audit.comparison.inline_spans import leads_out
from skilljuror.audit.comparison.normalised_text import all_paths, path_suffixes
from skilljuror.audit.gates.findings import Observation
from skilljuror.base.skill import CONTENT_KINDS, Blob, Bundle, Unit, is_markdown
from skilljuror.skill.bundles import look_alike
from skilljuror.skill.generated import CONFIGURATION, MARKER, embedded_files, marker_path
from skilljuror.skill.markdown import anchors, markdown_index, read_text

_MENTION = re.compile(
    r"(?<![\w/:@$~{}*<>)-])(?:\.{0,2}/){0,64}+"
    r"((?:[\w.-]{1,255}+/){0,64}[\w-][\w.-]{0,255}\.(?:md|py|sh|mjs|js|ts|rb|pl))"
    r"(?![\w/*{}<>-])"
)
_CONFIGURES = re.compile(r"Configuration for `([^`]+)`")
_STALE = re.compile(
    r"(?:~|/root|/home/[\w.-]+)/\.[\w-]+/skills/[\w./-]*|/(?:mnt|root)/skills/[\w./-]*"
)


def pointer_observations(bundle: Bundle, units: list[Unit]) -> Iterator[Observation]:
    """Yield broken links and anchors, commands without a script, and absolute skill paths."""
    targets = _LinkTargets(bundle, units)
    for unit in units:
        if unit.kind == "link":
            yield from targets.link(unit)
        elif unit.kind in CONTENT_KINDS and ("." in unit.text or "skills" in unit.text):
            yield from targets.commands(unit)
            if unit.generated is None:
                yield from _stale(unit)
                yield from targets.mentions(unit)


def misplaced_links(bundle: Bundle, units: list[Unit]) -> Iterator[Observation]:
    """Yield links that are broken from their own folder but valid from a skill's folder."""
    targets = _LinkTargets(bundle, units)
    for unit in units:
        if unit.kind == "link":
            yield from targets.misplaced(unit)


class _NamedPaths(NamedTuple):
    stale: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    mentions: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1 << 15)
def _named_paths(text: str) -> _NamedPaths:
    stale = _STALE.finditer(text) if "skills" in text else ()
    return _NamedPaths(
        tuple((match[0], basename(match[0].rstrip("/"))) for match in stale),
        tuple((match[0], normpath(match[1])) for match in INTERPRETED.finditer(text)),
        tuple((match[0], normpath(match[1])) for match in _MENTION.finditer(text)),
    )


def _stale(unit: Unit) -> Iterator[Observation]:
    for shown, key in _named_paths(unit.text).stale:
        yield Observation("hygiene.stale-path", key, unit.file, unit.start, shown)


class _LinkTargets:
    def __init__(self, bundle: Bundle, units: list[Unit]) -> None:
        self.paths = set(bundle.files)
        self.folders = {folder for path in self.paths for folder in _folders(path)}
        originals = list(_original_paths(units))
        self.folders |= {folder for path in originals for folder in _folders(path)}
        self.homes = sorted({dirname(path) for path in originals})
        """Folders of files embedded in pages; their links to folders start there."""
        known = [*all_paths(bundle, units), *originals]
        self.suffixes = {tail for path in known for tail in path_suffixes(path)}
        self.skills = [skill.directory for skill in bundle.skills]
        self.sections = [dirname(path) for path in originals if basename(path) == "SKILL.md"]
        """Folders of skills that became sections of a page; their links start there."""
        self.roots = {skill.path: bundle.files[skill.path] for skill in bundle.skills}
        titles: dict[str, list[str]] = defaultdict(list)
        for unit in units:
            if unit.kind == "heading":
                titles[unit.file].append(unit.text)
        self._reported: set[str] = set()
        self.anchors = {path: set(anchors(headings)) for path, headings in titles.items()}

    def link(self, unit: Unit) -> Iterator[Observation]:
        """Yield a finding for a broken link or anchor; links out of the bundle are skipped."""
        address, path, anchor = _address(unit)
        if not address:
            return
        target = self._target(unit, path) if path else unit.file
        if target is None:
            alike = look_alike(normpath(join(dirname(unit.file), path)), self.paths)
            yield _broken(unit, address, path, alike)
        elif anchor and is_markdown(target) and anchor.lower() not in self.anchors.get(target, ()):
            message = f"broken anchor: {target!r} has no heading for #{anchor}"
            yield Observation(
                "hygiene.broken-anchor", anchor, unit.file, unit.start, address, message
            )

    def misplaced(self, unit: Unit) -> Iterator[Observation]:
        """Yield a link that is valid, but not from its own folder."""
        address, path, _ = _address(unit)
        place = normpath(join(dirname(unit.file), path))
        here = not path or place in self.paths or place in self.folders
        if not here and self._target(unit, path) is not None:
            yield _broken(unit, address, path)

    def _target(self, unit: Unit, path: str) -> str | None:
        """The file or folder (also of embedded files) that a link leads to; None if broken."""
        own = dirname(unit.file)
        bases = [own, *self.skills, *(join(own, folder) for folder in self.sections), ""]
        places = (normpath(join(base, path)) for base in bases)
        target = next((p for p in places if p in self.paths or p in self.folders), None)
        if target is None and path.endswith("/") and unit.file in self.roots:
            near = (normpath(join(home, path)) for home in self.homes)
            target = next((p for p in near if p in self.folders), None)
        return target or self._embedded_target(unit, path)

    def _embedded_target(self, unit: Unit, path: str) -> str | None:
        """The page itself, for a link from one fenced file of the page to another: inside fences,
        links are relative to the file's original folder."""
        if unit.file not in self.roots:
            return None
        embedded = _embedded_ranges(self.roots[unit.file])
        homes = (dirname(name) for name, start, end in embedded if start < unit.start <= end)
        known = {name for name, _, _ in embedded}
        return unit.file if any(normpath(join(home, path)) in known for home in homes) else None

    def commands(self, unit: Unit) -> Iterator[Observation]:
        """Yield missing scripts of commands; any stated working directory is allowed."""
        for shown, path in _named_paths(unit.text).commands:
            if path not in self.suffixes:
                yield Observation(
                    "hygiene.unresolved-command", basename(path), unit.file, unit.start, shown,
                    f"a command runs {path!r}, which does not exist",
                )  # fmt: skip

    def mentions(self, unit: Unit) -> Iterator[Observation]:
        """Yield missing documents and scripts that the text names, each once."""
        for shown, path in _named_paths(unit.text).mentions:
            if path not in self.suffixes and path not in self._reported:
                self._reported.add(path)
                yield Observation(
                    "hygiene.unresolved-mention", path, unit.file, unit.start, shown,
                    f"the text names {path!r}, which does not exist",
                )  # fmt: skip


def _address(link: Unit) -> tuple[str, str, str]:
    """Return a link's (address, path, anchor); all "" for a link out of the bundle."""
    address = unquote(link.text.rpartition(" -> ")[2])
    if leads_out(address):
        return "", "", ""
    path, _, anchor = address.partition("#")
    return address, path.partition("?")[0], anchor


def _broken(link: Unit, address: str, path: str, alike: str = "") -> Observation:
    return Observation(
        "hygiene.broken-link", basename(path.rstrip("/")), link.file, link.start, address,
        f"broken link: {address!r} does not exist{alike}",
    )  # fmt: skip


@lru_cache(maxsize=8)
def _embedded_ranges(root: Blob) -> tuple[tuple[str, int, int], ...]:
    """(path, first line, last line) of the files embedded in a flat page; lines are 0 in prose."""
    text = read_text(root)
    files = embedded_files(markdown_index(text.lines)) if text else ()
    return tuple(
        (file.path, *((file.start, file.end) if file.fenced else (0, 0))) for file in files
    )


def _original_paths(units: Iterable[Unit]) -> Iterator[str]:
    """Source paths of the files embedded in pages, and of roots that became sections of a page."""
    for unit in units:
        path = marker_path(unit.text) if unit.generated == MARKER else None
        if path:
            yield join(dirname(unit.file), path)
        folder = _CONFIGURES.match(unit.text) if unit.generated == CONFIGURATION else None
        if folder:
            yield f"{folder[1]}/SKILL.md"


def _folders(path: str) -> Iterator[str]:
    while path := dirname(path):
        yield path
