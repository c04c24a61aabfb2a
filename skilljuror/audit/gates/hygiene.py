"""Targets of links, anchors, commands and mentions exist; no litter, collisions or leftovers."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from posixpath import basename, dirname, join, normpath
from typing import ClassVar, NamedTuple
from urllib.parse import unquote

from skilljuror.audit.comparison.code_paths import (
    INTERPRETED,
    BundlePaths,
    announced_files,
    carried_files,
    code_of,
    commanded_paths,
    path_literals,
)
from skilljuror.audit.comparison.inline_spans import leads_out
from skilljuror.audit.comparison.normalised_text import all_paths, path_suffixes
from skilljuror.audit.gates.findings import Observation, differential, finding, gate_result
from skilljuror.base.build import GateResult
from skilljuror.base.errors import did_you_mean
from skilljuror.base.skill import CONTENT_KINDS, Blob, Bundle, Unit, is_markdown, resource_class
from skilljuror.skill.bundles import look_alike
from skilljuror.skill.generated import CONFIGURATION, MARKER, embedded_files, marker_path
from skilljuror.skill.markdown import anchors, markdown_index, read_text
from skilljuror.skill.units import cached_by_bundles, units_of

_LITTER_FOLDERS = frozenset({
    "__pycache__", ".git", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv",
})  # fmt: skip
_LITTER_NAMES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_LITTER_SUFFIXES = frozenset({".pyc", ".pyo", ".log", ".tmp", ".swp", ".bak", ".orig", ".rej"})


class HygieneGate:
    """Check links, anchors, commands, stale paths, litter, collisions and leftovers."""

    name: ClassVar[str] = "hygiene"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair; the parent's links that are broken from their own folder are inherited."""
        known = [*_observations(parent), *misplaced_links(parent, units_of(parent))]
        findings = [
            *differential(known, _observations(variant)),
            *map(finding, unresolved_paths(parent, variant)),
        ]
        after = units_of(variant)
        checked = {
            "link": sum(unit.kind == "link" for unit in after),
            "heading": sum(unit.kind == "heading" for unit in after),
            "path": len(variant.files),
        }
        return gate_result(self.name, (parent, variant), policy, findings, checked)


@cached_by_bundles
def _observations(bundle: Bundle) -> list[Observation]:
    units = units_of(bundle)
    return [
        *pointer_observations(bundle, units),
        *unwritten_files(bundle),
        *_litter(bundle),
        *_collisions(bundle),
        *_copies(units),
        *_twins(bundle),
        *_fenced_scripts(bundle),
        *_empty_headings(units),
    ]


def unresolved_paths(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Yield paths in the variant's code, each once, that exist in the parent only. A path that
    exists in neither, such as the name of an output, is not reported."""
    known, _ = _paths_in_code(parent)
    _, lost = _paths_in_code(variant)
    for literal, unit in lost.items():
        if literal in known:
            message = f"path {literal!r} in code is valid in the source but not in the variant"
            yield Observation(
                "hygiene.unresolved-path", literal, unit.file, unit.start, literal, message
            )


@cached_by_bundles
def _paths_in_code(bundle: Bundle) -> tuple[Mapping[str, Unit], Mapping[str, Unit]]:
    """(paths in code that exist in the bundle, those that do not), each with its first unit."""
    units = units_of(bundle)
    paths = BundlePaths(bundle, units)
    known: dict[str, Unit] = {}
    lost: dict[str, Unit] = {}
    for unit in units:
        for literal in (path for code in code_of(unit) for path in path_literals(code)):
            side = lost if paths.place_from_anywhere(literal) is None else known
            side.setdefault(literal, unit)
    return known, lost


def unwritten_files(bundle: Bundle) -> Iterator[Observation]:
    """Yield files, each once, that a command names, that exist only as text on a page, and that
    no line tells the agent to write out."""
    units = units_of(bundle)
    unwritten = {*carried_files(units)} - {*announced_files(units), *bundle.files}
    for unit, path in commanded_paths(bundle) if unwritten else ():
        if path in unwritten:
            unwritten.remove(path)
            message = f"a command needs {path!r}, which exists only as text on the page"
            yield Observation(
                "hygiene.unwritten-file", path, unit.file, unit.start, unit.text, message
            )


def _empty_headings(units: list[Unit]) -> Iterator[Observation]:
    content = [unit for unit in units if unit.kind in CONTENT_KINDS and unit.kind != "field"]
    for unit, following in zip(content, [*content[1:], None], strict=False):
        if unit.kind != "heading" or unit.generated:
            continue
        inside = following and following.file == unit.file and unit.text in following.headings
        if not inside:
            yield Observation("hygiene.empty-heading", unit.text, unit.file, unit.start, unit.text)


def _litter(bundle: Bundle) -> Iterator[Observation]:
    for path in bundle.files:
        pure = PurePosixPath(path)
        folder = any(part in _LITTER_FOLDERS for part in pure.parts[:-1])
        odd = pure.suffix.lower() in _LITTER_SUFFIXES or pure.name.lower() in _LITTER_NAMES
        if folder or odd or pure.name.endswith("~"):
            yield Observation("hygiene.litter", pure.name, path)


def _collisions(bundle: Bundle) -> Iterator[Observation]:
    seen: dict[str, str] = {}
    for path in bundle.files:
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in seen:
            message = f"{path!r} and {seen[folded]!r} differ only in case or Unicode form"
            yield Observation(
                "hygiene.case-collision", PurePosixPath(folded).name, path, message=message
            )
        seen.setdefault(folded, path)


def _copies(units: list[Unit]) -> Iterator[Observation]:
    """Files with the same content, in a fence or on disk; Markdown is compared by its words."""
    first: dict[str, str] = {}
    for unit in units:
        path, _, digest = unit.text.rpartition(" ")
        if unit.kind == "file" and digest in first:
            message = f"{path!r} has the same content as {first[digest]!r}"
            yield Observation("hygiene.duplicate-file", digest, unit.file, message=message)
        elif unit.kind == "file":
            first[digest] = path


def _twins(bundle: Bundle) -> Iterator[Observation]:
    stems: dict[str, list[str]] = defaultdict(list)
    for path in bundle.files:
        pure = PurePosixPath(path)
        if pure.suffix:
            stems[str(pure.with_suffix(""))].append(path)
    for path in bundle.files:
        if path in stems:
            message = f"{path!r} exists next to {stems[path][0]!r}"
            yield Observation("hygiene.twin-file", PurePosixPath(path).name, path, message=message)


def _fenced_scripts(bundle: Bundle) -> Iterator[Observation]:
    for path, blob in bundle.files.items():
        if resource_class(path, blob) != "code":
            continue
        lines = [line for line in (blob.text or "").split("\n") if line.strip()]
        if lines and any(line.startswith(("```", "~~~")) for line in (lines[0], lines[-1])):
            yield Observation("hygiene.fence-in-script", PurePosixPath(path).name, path)


# ---- what text leads to --------------------------------------------------------------------------

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
            homes = [page for page, found in self.anchors.items() if anchor.lower() in found]
            near = did_you_mean(anchor.lower(), self.anchors.get(target, ())).rstrip()
            hint = f"it is in {homes[0]}" if homes else near or "remove the anchor"
            message = f"broken anchor: no heading for {address!r} ({hint})"
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
