"""Fingerprint texts that an arm's agent must not see: the Skill, texts of one layout only, the verifier
and the solution.

Texts in the instruction or the environment are excluded. Ingest searches the logs for the rest.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.bundles import load_bundle
from skilljuror.files import StudyFolder, read_rows, write_atomic
from skilljuror.fingerprints import Fingerprints, texts_below, tokenize
from skilljuror.transforms.layouts.placebo_irrelevant import is_filler

ProtectedKind = Literal["skill", "layout", "verifier", "solution"]
FOLDERS: dict[ProtectedKind, str] = {"verifier": "tests", "solution": "solution"}
"""Kind -> folder of the task."""


class ProtectedText(Struct, frozen=True):
    """The fingerprints of one file."""

    kind: ProtectedKind
    source: str  # path of the file in the bundle or in the task's folder
    prints: Fingerprints
    variant: str | None = None  # the only variant or condition that offers the text; None for all


def fingerprints_of(study: Path, task: str) -> Path:
    return study / "fingerprints" / f"{task}.jsonl"


def fingerprinted_tasks(study: Path) -> list[str]:
    return sorted(path.stem for path in (study / "fingerprints").glob("*.jsonl"))


def save_fingerprints(study: StudyFolder, task: str, task_dir: Path, skills: Path | None) -> None:
    """Save the fingerprints of a task, its variants and the Skills saved in the study."""
    held = [(task_dir / "instruction.md").read_text(encoding="utf-8")]
    held += texts_below(task_dir / "environment", skip="skills").values()
    rows = [*_of_task(task_dir), *_of_skills(study, task, skills)]
    allowed = Fingerprints.union(row.prints for row in rows).found_in(held)
    protected = [replace(row, prints=row.prints.without(allowed)) for row in rows]
    lines = [msgspec.json.encode(row, order="deterministic") + b"\n" for row in protected]
    write_atomic(fingerprints_of(study.root, task), b"".join(lines))


@lru_cache(maxsize=32)
def protected_texts(path: Path) -> tuple[ProtectedText, ...]:
    """Read the fingerprints of a task; empty if missing."""
    return tuple(read_rows(ProtectedText, path))


def _of_task(task_dir: Path) -> Iterator[ProtectedText]:
    for kind, folder in FOLDERS.items():
        for path, text in texts_below(task_dir / folder).items():
            yield ProtectedText(kind, f"{folder}/{path}", Fingerprints.of(tokenize(text)))


def _of_skills(study: StudyFolder, task: str, skills: Path | None) -> Iterator[ProtectedText]:
    rows = list(_whole(skills)) if skills else []
    yield from rows
    known = frozenset().union(*(row.prints.digests for row in rows))
    given = _folders(study.given / task)
    for folder in given:
        yield from _whole(folder, folder.name)
    for folder in (*_folders(study.build(task) / "variants"), *given):
        for path, text in _texts(folder).items():
            written = (line for line in text.splitlines() if not is_filler(line))
            lines = (Fingerprints.of(tokenize(line)) for line in written)
            prints = Fingerprints.union(lines).without(known)  # their order differs between layouts
            if prints.digests:
                yield ProtectedText("layout", path, prints, folder.name)


def _whole(skills: Path, variant: str | None = None) -> Iterator[ProtectedText]:
    for path, text in _texts(skills).items():
        yield ProtectedText("skill", path, Fingerprints.of(tokenize(text)), variant)


def _folders(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if place.is_dir() else []


def _texts(skills: Path) -> Mapping[str, str]:
    if skills.is_dir():
        return texts_below(skills)
    files = load_bundle(skills, inspect=False).files
    return {path: blob.text for path, blob in files.items() if blob.text is not None}
