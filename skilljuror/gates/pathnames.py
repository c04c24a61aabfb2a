"""What the names and bytes of a bundle's files give away."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from skilljuror.gates.findings import Observation
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import Unit
from skilljuror.models.resource_class import resource_class

_LITTER_FOLDERS = frozenset({
    "__pycache__", ".git", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv",
})  # fmt: skip
_LITTER_NAMES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_LITTER_SUFFIXES = frozenset({".pyc", ".pyo", ".log", ".tmp", ".swp", ".bak", ".orig", ".rej"})


def path_facts(bundle: Bundle, units: list[Unit]) -> Iterator[Observation]:
    """Litter, collisions, copies, twins and scripts that kept their fence."""
    yield from _litter(bundle)
    yield from _collisions(bundle)
    yield from _copies(units)
    yield from _twins(bundle)
    yield from _fenced_scripts(bundle)


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
