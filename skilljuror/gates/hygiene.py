"""Does everything that the text points at exist, and nothing lie about that does not belong?"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from skilljuror.gates.code_paths import unresolved_paths, unwritten_files
from skilljuror.gates.findings import Observation, differential, finding, gate_result
from skilljuror.gates.pointers import pointer_observations
from skilljuror.knowledge.units.extract import cached_by_bundles, units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import GateResult
from skilljuror.models.knowledge import CONTENT_KINDS, Unit
from skilljuror.models.resource_class import resource_class

_LITTER_FOLDERS = frozenset({
    "__pycache__", ".git", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv",
})  # fmt: skip
_LITTER_NAMES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_LITTER_SUFFIXES = frozenset({".pyc", ".pyo", ".log", ".tmp", ".swp", ".bak", ".orig", ".rej"})


class HygieneGate:
    """Links, anchors, commands, stale paths, litter, collisions, leftovers; all differential."""

    name: ClassVar[str] = "hygiene"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """The answer for one pair; real skills have broken links, so most are inherited."""
        findings = [
            *differential(_observations(parent), _observations(variant)),
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


def _empty_headings(units: list[Unit]) -> Iterator[Observation]:
    """Headings without text or a lower heading below them."""
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
            message = f"{path!r} and {seen[folded]!r} are one path on some disks"
            yield Observation(
                "hygiene.case-collision", PurePosixPath(folded).name, path, message=message
            )
        seen.setdefault(folded, path)


def _copies(units: list[Unit]) -> Iterator[Observation]:
    """Files with the same content, in a fence or beside; markdown is compared by what it says."""
    first: dict[str, str] = {}
    for unit in units:
        path, _, digest = unit.text.rpartition(" ")
        if unit.kind == "file" and digest in first:
            message = f"{path!r} has the same bytes as {first[digest]!r}"
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
            message = f"{path!r} lies beside {stems[path][0]!r}"
            yield Observation("hygiene.twin-file", PurePosixPath(path).name, path, message=message)


def _fenced_scripts(bundle: Bundle) -> Iterator[Observation]:
    for path, blob in bundle.files.items():
        if resource_class(path, blob) != "code":
            continue
        lines = [line for line in (blob.text or "").split("\n") if line.strip()]
        if lines and any(line.startswith(("```", "~~~")) for line in (lines[0], lines[-1])):
            yield Observation("hygiene.fence-in-script", PurePosixPath(path).name, path)
