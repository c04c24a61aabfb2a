"""Which finished trials of Harbor belong to which arm, by the globs of a map."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from skilljuror.errors import StudyError, TrajectoryError, UsageError
from skilljuror.files import path_text
from skilljuror.models.adoption import AdoptionMap
from skilljuror.models.harbor import HarborResult
from skilljuror.parsers.harbor.result import is_trial, read_result
from skilljuror.studies.tasks import can_name_trials


class AdoptedTrial(Struct, frozen=True):
    """A trial that belongs to an arm."""

    folder: str
    """Its folder, job and all, as the globs of the map see it."""
    path: Path
    """Its folder."""
    result: HarborResult
    """What its result.json says."""
    condition: str
    """Its arm."""

    @property
    def task(self) -> str:
        """The task's name without its organisation."""
        return task_of(self.result)


def task_of(result: HarborResult) -> str:
    """The task's name without its organisation."""
    return result.task_name.rpartition("/")[2]


class TrialLeftOut(Struct, frozen=True):
    """A trial that belongs to no arm."""

    folder: str
    """Its folder, job and all."""
    reason: str
    """Why it is left out."""


def match_trials(
    jobs: Sequence[Path], adoption: AdoptionMap
) -> tuple[list[AdoptedTrial], list[TrialLeftOut]]:
    """Every trial at or below the jobs, in the order of their paths: in its arm, or left out.

    Raises UsageError for a job that is not there, StudyError for a trial that fits two arms and where
    the trials are of several agents or models.
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
    return list(adopted.values()), left_out


def _trial_folders(jobs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """(folder, path from the job's parent on) of every trial."""
    for job in jobs:
        if not job.is_dir():
            raise UsageError(f"there is no folder of jobs at {str(job)!r}", file=str(job))
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
            f"{folder!r} fits the trials of {arms[0].name!r} ({arms[0].trials!r}) and of"
            f" {arms[1].name!r} ({arms[1].trials!r}); let the globs of an arm fit its own trials only",
            field="conditions",
        )
    reason = _misfit(result, adoption) if arms else "no condition's trials fit its path"
    return (
        TrialLeftOut(folder, reason) if reason else AdoptedTrial(folder, path, result, arms[0].name)
    )


def _misfit(result: HarborResult, adoption: AdoptionMap) -> str | None:
    """Why a trial cannot be a row of the study; None where it can."""
    if adoption.agent is not None and result.agent != adoption.agent:
        return f"its agent is {result.agent}"
    if adoption.model is not None and result.model != adoption.model:
        return f"its model is {result.model}"
    if not can_name_trials(task_of(result)):
        return f"its task {result.task_name!r} cannot name trials"
    if result.started_at is None or result.finished_at is None:
        return "its result.json does not say when it began and ended"
    return None


def _refuse_several(adopted: Sequence[AdoptedTrial]) -> None:
    """Matched trials differ in the Skill alone."""
    for field in ("agent", "model"):
        names = sorted({str(getattr(trial.result, field)) for trial in adopted})
        if len(names) > 1:
            raise StudyError(
                f"the trials are of several {field}s ({', '.join(names)}) and a study compares one;"
                f" name it in the map ({field}: {names[0]})",
                field=field,
            )
