"""Fingerprint texts that an arm's agent must not see: a Skill or a part of it that the arm does not
offer, texts of one layout only, the verifier and the solution.

Texts in the instruction or the environment are excluded. Ingest searches the logs for the rest.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.files import StudyFolder, read_rows, write_atomic
from skilljuror.base.texts import RUN, Fingerprints, run_digest, texts_below, tokenize
from skilljuror.layouts.controls import is_filler
from skilljuror.skill.bundles import load_bundle

ProtectedKind = Literal["skill", "layout", "verifier", "solution"]
FOLDERS: dict[ProtectedKind, str] = {"verifier": "tests", "solution": "solution"}
"""Kind -> folder of the task."""


class ProtectedText(Struct, frozen=True):
    """The fingerprints of one file."""

    kind: ProtectedKind
    source: str  # path of the file in the bundle or in the task's folder
    prints: Fingerprints
    variant: str | None = None  # the only variant or condition that offers the text; None for all
    lacked_by: str | None = (
        None  # the variant or condition that does not offer this part of a Skill
    )


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
    source = bundle_texts(skills) if skills else {}
    for folder in (*_folders(study.build(task) / "variants"), *given):
        texts = bundle_texts(folder)
        offered = _Offered(texts.values())
        for path, text in source.items():
            if (prints := offered.lacking(text)).digests:
                yield ProtectedText("skill", path, prints, lacked_by=folder.name)
        for path, text in texts.items():
            written = (line for line in text.splitlines() if not is_filler(line))
            lines = (Fingerprints.of(tokenize(line)) for line in written)
            prints = Fingerprints.union(lines).without(known)  # their order differs between layouts
            if prints.digests:
                yield ProtectedText("layout", path, prints, folder.name)


class _Offered:
    """The text of a variant, in whatever order its files are shown."""

    def __init__(self, texts: Collection[str]) -> None:
        self._lines = {tuple(tokenize(line)) for text in texts for line in text.splitlines()}
        self._runs = {digest for text in texts for _, digest in _runs(tokenize(text))}

    def lacking(self, text: str) -> Fingerprints:
        """Fingerprints of a text with at least one word that is in no line or run of the variant."""
        words, held = list[str](), list[bool]()
        for line in map(tokenize, text.splitlines()):
            words += line
            held += [tuple(line) in self._lines] * len(line)
        for at, digest in _runs(words):
            if digest in self._runs:
                held[at : at + RUN] = [True] * RUN
        shown = (at for at, _ in _runs(words) if all(held[at : at + RUN]))
        return Fingerprints.of(words).without(run_digest(words[at : at + RUN]) for at in shown)


def _runs(words: list[str]) -> Iterator[tuple[int, int]]:
    return ((at, run_digest(words[at : at + RUN])) for at in range(len(words) - RUN + 1))


def _whole(skills: Path, variant: str | None = None) -> Iterator[ProtectedText]:
    for path, text in bundle_texts(skills).items():
        yield ProtectedText("skill", path, Fingerprints.of(tokenize(text)), variant)


def _folders(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if place.is_dir() else []


def bundle_texts(skills: Path) -> Mapping[str, str]:
    """Path -> text of the text files of a folder or an archive of Skills."""
    if skills.is_dir():
        return texts_below(skills)
    files = load_bundle(skills, inspect=False).files
    return {path: blob.text for path, blob in files.items() if blob.text is not None}
