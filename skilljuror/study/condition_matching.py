"""Assign finished Harbor trials to arms by the globs of a map."""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import StudyError, TrajectoryError, UsageError
from skilljuror.base.files import path_text
from skilljuror.base.study import REWARD, AdoptionMap, HarborResult, chosen_reward
from skilljuror.harness.tasks import can_name_trials
from skilljuror.logs.harbor.result import is_trial, read_result


class AdoptedTrial(Struct, frozen=True):
    """A trial that belongs to an arm."""

    folder: str
    """Folder from the job on, which the map's globs match."""
    path: Path
    """Full path of the folder."""
    result: HarborResult
    condition: str
    """Name of its arm."""

    @property
    def task(self) -> str:
        """The task's name in the study."""
        return task_of(self.result)


def task_of(result: HarborResult) -> str:
    """The task's name without its organisation, with single underscores: two part the names of
    trials."""
    return re.sub("__+", "_", result.task_name.rpartition("/")[2])


class TrialLeftOut(Struct, frozen=True):
    """A trial without an arm."""

    folder: str
    """Folder from the job on."""
    reason: str


def match_trials(
    jobs: Sequence[Path], adoption: AdoptionMap
) -> tuple[list[AdoptedTrial], list[TrialLeftOut]]:
    """Match every trial below `jobs`, in path order; return adopted and excluded ones.

    Raises UsageError for a missing job, StudyError for a trial that matches two arms and for trials of
    several agents or models.
    """
    adopted: dict[str, AdoptedTrial] = {}
    left_out: list[TrialLeftOut] = []
    for path, folder in _trial_folders(jobs):
        found = _match(path, folder, adoption)
        if isinstance(found, TrialLeftOut):
            left_out.append(found)
        elif (first := adopted.setdefault(found.result.id, found)) is not found:
            left_out.append(TrialLeftOut(folder, f"a copy of {first.folder}"))
    _refuse_several(list(adopted.values()))
    _refuse_equal_names(list(adopted.values()))
    return list(adopted.values()), left_out


def _trial_folders(jobs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """(folder, path from the job's parent on) of every trial."""
    for job in jobs:
        if not job.is_dir():
            raise UsageError(f"jobs folder {str(job)!r} not found", file=str(job))
        root = job.resolve()
        for base, folders, files in os.walk(root):
            folders.sort()
            path = Path(base)
            if "result.json" in files and is_trial(path):
                folders.clear()
                yield path, path_text(path.relative_to(root.parent))


def _match(path: Path, folder: str, adoption: AdoptionMap) -> AdoptedTrial | TrialLeftOut:
    try:
        result = read_result(path)
    except TrajectoryError as error:
        return TrialLeftOut(folder, error.message)
    arms = [arm for arm in adoption.conditions if fnmatchcase(folder, arm.trials)]
    if len(arms) > 1:
        raise StudyError(
            f"{folder!r} matches the trials of {arms[0].name!r} ({arms[0].trials!r}) and of"
            f" {arms[1].name!r} ({arms[1].trials!r}); make the globs of the arms disjoint",
            field="conditions",
        )
    reason = _misfit(result, adoption) if arms else "no condition's glob matches its path"
    if reason:
        return TrialLeftOut(folder, reason)
    if result.rewards and adoption.reward != REWARD:
        chosen = chosen_reward(result.rewards, adoption.reward)
        result = replace(result, reward=chosen.value, problem=chosen.problem)
    return AdoptedTrial(folder, path, result, arms[0].name)


def _misfit(result: HarborResult, adoption: AdoptionMap) -> str | None:
    """Why a trial cannot be part of the study, or None."""
    if adoption.agent is not None and result.agent != adoption.agent:
        return f"its agent is {result.agent}"
    if adoption.model is not None and result.model != adoption.model:
        return f"its model is {result.model}"
    if not can_name_trials(task_of(result)):
        return f"its task {result.task_name!r} is not a valid name"
    if result.started_at is None or result.finished_at is None:
        return "its result.json lacks a start or end time"
    return None


def _refuse_equal_names(adopted: Sequence[AdoptedTrial]) -> None:
    """Raise StudyError for two tasks that would have one name in the study."""
    first: dict[str, str] = {}
    for name, given in ((trial.task, trial.result.task_name) for trial in adopted):
        if first.setdefault(name, given).rpartition("/")[2] != given.rpartition("/")[2]:
            raise StudyError(
                f"the tasks {first[name]!r} and {given!r} would both be {name!r} in the study; adopt"
                " them as two studies",
                field="conditions",
            )


def _refuse_several(adopted: Sequence[AdoptedTrial]) -> None:
    """Raise StudyError for several agents or models: trials may differ in the Skill only."""
    for field in ("agent", "model"):
        names = sorted({str(getattr(trial.result, field)) for trial in adopted})
        if len(names) > 1:
            raise StudyError(
                f"the trials have several {field}s ({', '.join(names)}), but a study has one; choose it"
                f" in the map ({field}: {names[0]})",
                field=field,
            )
