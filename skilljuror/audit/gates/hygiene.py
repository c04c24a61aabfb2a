"""Targets of links, commands and mentions exist; no litter, collisions or leftovers."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import ClassVar

from skilljuror.audit.comparison.code_paths import (
    BundlePaths,
    announced_files,
    carried_files,
    code_of,
    commanded_paths,
    path_literals,
)
from skilljuror.audit.gates.findings import Observation, differential, finding, gate_result
from skilljuror.audit.gates.pointers import misplaced_links, pointer_observations
from skilljuror.base.build import GateResult
from skilljuror.base.skill import CONTENT_KINDS, Bundle, Unit, resource_class
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
