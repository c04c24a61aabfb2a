"""What no agent of an arm should see, as fingerprints in the study's folder: of a task's Skill, of what
is peculiar to each of its layouts, of the verifier and of the solution.

They are taken while the task's own files are at hand; what the instruction and the environment hold
themselves is left out. Ingest looks for the rest in what the agents were shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.bundles import load_bundle
from skilljuror.files import StudyFolder, read_rows, write_atomic
from skilljuror.fingerprints import Fingerprints, texts_below, words_of

ProtectedKind = Literal["skill", "layout", "verifier", "solution"]
FOLDERS: dict[ProtectedKind, str] = {"verifier": "tests", "solution": "solution"}
"""Kinds that lie in the task's own folder -> that folder."""


class ProtectedText(Struct, frozen=True):
    """The fingerprints of one file."""

    kind: ProtectedKind
    """What it is of."""
    source: str
    """Path of the file: inside the bundle, or inside the task's folder."""
    prints: Fingerprints
    """Its fingerprints."""
    variant: str | None = None
    """Variant, or condition with a Skill as it is, that alone offers the text; None for all that do."""


def fingerprints_of(study: Path, task: str) -> Path:
    """Where a study keeps the fingerprints of a task."""
    return study / "fingerprints" / f"{task}.jsonl"


def fingerprinted_tasks(study: Path) -> list[str]:
    """Names of the tasks whose fingerprints a study keeps, sorted."""
    return sorted(path.stem for path in (study / "fingerprints").glob("*.jsonl"))


def keep_fingerprints(study: StudyFolder, task: str, task_dir: Path, skills: Path | None) -> None:
    """Write down what no agent of a task's arms should see. Its variants, and the Skills that
    conditions offer as they are, are those that lie in the study."""
    held = [(task_dir / "instruction.md").read_text(encoding="utf-8")]
    held += texts_below(task_dir / "environment", skip="skills").values()
    rows = [*_of_task(task_dir), *_of_skills(study, task, skills)]
    allowed = Fingerprints.union(row.prints for row in rows).found_in(held)
    kept = [replace(row, prints=row.prints.without(allowed)) for row in rows]
    lines = [msgspec.json.encode(row, order="deterministic") + b"\n" for row in kept]
    write_atomic(fingerprints_of(study.root, task), b"".join(lines))


@lru_cache(maxsize=32)
def protected_texts(kept: Path) -> tuple[ProtectedText, ...]:
    """What was written down of a task; empty where nothing was."""
    return tuple(read_rows(ProtectedText, kept))


def _of_task(task_dir: Path) -> Iterator[ProtectedText]:
    for kind, folder in FOLDERS.items():
        for path, text in texts_below(task_dir / folder).items():
            yield ProtectedText(kind, f"{folder}/{path}", Fingerprints.of(words_of(text)))


def _of_skills(study: StudyFolder, task: str, skills: Path | None) -> Iterator[ProtectedText]:
    rows = list(_whole(skills)) if skills else []
    yield from rows
    known = frozenset().union(*(row.prints.digests for row in rows))
    given = _folders(study.given / task)
    for folder in given:
        yield from _whole(folder, folder.name)
    for folder in (*_folders(study.build(task) / "variants"), *given):
        for path, text in _texts(folder).items():
            prints = _by_line(text.splitlines()).without(known)
            if prints.digests:
                yield ProtectedText("layout", path, prints, folder.name)


def _whole(skills: Path, variant: str | None = None) -> Iterator[ProtectedText]:
    for path, text in _texts(skills).items():
        yield ProtectedText("skill", path, Fingerprints.of(words_of(text)), variant)


def _folders(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if place.is_dir() else []


def _by_line(lines: Iterable[str]) -> Fingerprints:
    """The fingerprints within lines: what follows what is another matter where pages are shown in a row."""
    return Fingerprints.union(Fingerprints.of(words_of(line)) for line in lines)


def _texts(skills: Path) -> Mapping[str, str]:
    """The texts of a folder of skills, or of a packed one."""
    if skills.is_dir():
        return texts_below(skills)
    files = load_bundle(skills, inspect=False).files
    return {path: blob.text for path, blob in files.items() if blob.text is not None}
