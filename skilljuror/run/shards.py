"""Run a study on several machines: a share of its trials on each, then one study again."""

import filecmp
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from skilljuror.errors import StudyError, UsageError
from skilljuror.files import (
    StudyFolder,
    append_jsonl,
    digest_json,
    digest_tree,
    fresh_dir,
    read_jsonl,
    read_record,
)
from skilljuror.models.study import PlannedTrial, StudyPlan
from skilljuror.run.saved_plan import changed_plan_fields

_SHARD = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")
_OF_A_MACHINE = ("jobs", "report", ".run.lock", ".workers.lock")
"""Entries of a study folder that a merged study goes without, with the database and its companions."""


class Shard(Struct, frozen=True):
    """One share of a study's trials."""

    number: int
    """From 1."""
    of: int

    @classmethod
    def read(cls, text: str) -> "Shard":
        """Read K/N. Raises UsageError."""
        found = _SHARD.fullmatch(text)
        if not found or int(found[1]) > int(found[2]):
            raise UsageError(
                f"--shard {text!r}: write K/N with 1 <= K <= N, such as 1/3", field="shard"
            )
        return cls(int(found[1]), int(found[2]))

    def trials(self, plan: StudyPlan) -> tuple[PlannedTrial, ...]:
        """Return its trials. All arms of a task's n-th trial are in one share, so that a machine never
        stands for an arm."""
        pairs = dict.fromkeys((one.number, one.task) for one in plan.trials)
        mine = {pair for at, pair in enumerate(sorted(pairs)) if at % self.of == self.number - 1}
        return tuple(one for one in plan.trials if (one.number, one.task) in mine)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Merged(Struct, frozen=True):
    """Result of a merge."""

    folder: str
    """The merged study."""
    shards: int
    trials: int
    """Finished trials."""
    planned: int


def merge(shards: Sequence[Path], out: Path) -> Merged:
    """Merge studies of one plan, each with other trials, into a new folder.

    Raises StudyError if plans or variants differ, if two have the same trial, or if `out` exists.
    """
    if out.exists():
        raise StudyError(f"--out {str(out)!r} already exists; name a new folder", file=str(out))
    folders = [StudyFolder.existing(path) for path in shards]
    plan = _same_plan(folders)
    with fresh_dir(out) as staging:
        for folder in folders:
            _add(folder, staging)
    finished = StudyFolder(out).finished_trials()
    return Merged(str(out), len(shards), len(finished), len(plan.trials))


def _same_plan(folders: Sequence[StudyFolder]) -> StudyPlan:
    first, *others = (read_record(StudyPlan, folder.plan_file) for folder in folders)
    for folder, other in zip(folders[1:], others, strict=True):
        if changed := changed_plan_fields(first, other):
            raise StudyError(
                f"{str(folder.root)!r} and {str(folders[0].root)!r} have different plans: {', '.join(changed[:8])};"
                " run every shard from the same study file, tasks and agent",
                file=str(folder.plan_file),
                field=changed[0],
            )
    return first


def _add(folder: StudyFolder, out: Path) -> None:
    """Copy what a shard has and the others have not."""
    for path in _files(folder.root):
        name = path.relative_to(folder.root)
        target = out / name
        if path.suffix == ".jsonl" and len(name.parts) == 1:
            _add_lines(path, target)
        elif not target.exists() and not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
        elif name.parts[0] in {"trials", "attempts"} and not _equal(path, target):
            raise StudyError(
                f"trial {name.parts[1]!r} is in two shards with different results; remove it from"
                " one of them",
                file=str(path),
            )
    _refuse_other_variants(folder, StudyFolder(out))


def _files(root: Path) -> Iterator[Path]:
    for entry in sorted(root.iterdir()):
        if entry.name in _OF_A_MACHINE or entry.name.startswith("study.duckdb"):
            continue
        found = [entry] if not entry.is_dir() or entry.is_symlink() else sorted(entry.rglob("*"))
        yield from (path for path in found if path.is_symlink() or path.is_file())


def _equal(path: Path, other: Path) -> bool:
    if path.is_symlink() or other.is_symlink():
        return path.is_symlink() and other.is_symlink() and path.readlink() == other.readlink()
    return filecmp.cmp(path, other, shallow=False)


def _add_lines(path: Path, target: Path) -> None:
    """Add the rows of a log that the other one lacks."""
    known = {digest_json(row) for row in read_jsonl(target)} if target.exists() else set()
    append_jsonl(target, *(row for row in read_jsonl(path) if digest_json(row) not in known))


def _refuse_other_variants(folder: StudyFolder, out: StudyFolder) -> None:
    for build in sorted(folder.builds.glob("*")):
        task = build.name
        if digest_tree(build / "variants") != digest_tree(out.build(task) / "variants"):
            raise StudyError(
                f"the variants of task {task!r} differ between shards; where a model writes them, build once:"
                " copy a study folder with its variants to every machine before its run",
                file=str(build),
            )
