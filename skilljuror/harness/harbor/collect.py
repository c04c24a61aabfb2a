"""Turn a trial folder of Harbor into a record and its raw artifacts."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Collection
from datetime import UTC, datetime
from filecmp import cmp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from skilljuror.base.errors import HarnessError, TrajectoryError, redact_files
from skilljuror.base.study import CANCELLED, HarborResult, TrialRecord
from skilljuror.harness.agent_home import write_agent_record
from skilljuror.harness.artifacts import (
    WORK,
    Reading,
    copy_logs,
    keep_work,
    list_files,
    write_listing,
)
from skilljuror.harness.base import TrialJob, key_values, trial_record, without_keys
from skilljuror.harness.environment import copy_environment, read_allowance
from skilljuror.harness.harbor.job import DOWNLOADED, HarborJob, skill_folders
from skilljuror.harness.inside_harbor.skilljuror_bwrap import LEFT_OUT
from skilljuror.harness.sandbox import host_path
from skilljuror.harness.seal import unsealed
from skilljuror.logs.harbor.lock import describe_skills, locked_skills, skill_digest
from skilljuror.logs.harbor.result import read_result, record_fields


def finished_trials(job: HarborJob) -> dict[str, Path]:
    """Return Harbor's name -> folder of every finished trial of a job."""
    found = {}
    for name, folder in job.trial_folders.items():
        with contextlib.suppress(TrajectoryError):  # broken off before, or while, it was written
            if _ended(read_result(folder)):
                found[name] = folder
    return found


def stopped_trials(job: HarborJob) -> dict[str, Path]:
    """Return Harbor's name -> folder of every unfinished trial of a job whose agent ran, or may have
    run if there is no result."""
    found = {}
    for name, folder in job.trial_folders.items():
        try:
            result = read_result(folder)
            stopped = not _ended(result) and result.agent_window is not None
        except TrajectoryError:
            stopped = True
        if stopped:
            found[name] = folder
    return found


def _ended(result: HarborResult) -> bool:
    """Whether a trial finished by itself: a signal can leave a result with neither an exception nor
    a verifier's reward."""
    spoke = result.exception or result.verified or result.steps
    return bool(result.finished_at and spoke and result.exception not in CANCELLED)


def remove_kept(job: HarborJob, kept: Collection[tuple[str, str]]) -> None:
    """Remove leftovers of saved attempts, as (trial, start), after a killed run."""
    for name, folder in (finished_trials(job) | stopped_trials(job)).items():
        if (job.trials[name].trial.trial, _fields(folder)["started_at"]) in kept:
            shutil.rmtree(folder, ignore_errors=True)


class TrialPlace(NamedTuple):
    """Where an agent ran."""

    isolation: str
    """Harbor's environment."""
    network: str | None
    """Network of the agent, as on the trial's record."""


def collect(
    job: TrialJob, folder: Path, target: Path, place: TrialPlace, skill_root: str | None
) -> TrialRecord:
    """Copy the artifacts of a finished trial into the empty folder `target`; return its record.
    Raises HarnessError if Harbor offered other Skills than the variant's, and for an agent without
    Skill support."""
    result = read_result(folder)
    if "does not support skills" in (result.message or ""):
        raise HarnessError(
            f"agent {job.agent.name!r} takes no Skills in Harbor, and condition"
            f" {job.trial.condition!r} offers some; choose another agent"
        )
    _refuse_other_skills(job, folder)
    record = _copied(job, folder, target, _fields(folder), place, skill_root)
    if record.agent_version is None:
        record = record.model_copy(update={"agent_version": result.agent_version})
    return record


def collect_stopped(job: TrialJob, folder: Path, target: Path, place: TrialPlace) -> TrialRecord:
    """Copy the artifacts of an interrupted trial; return its record, with null for unknown values."""
    return _copied(job, folder, target, _fields(folder), place, None)


def _fields(folder: Path) -> dict[str, Any]:
    """Return what a trial's result says; without one, when Harbor wrote its first and last file."""
    try:
        return record_fields(read_result(folder))
    except TrajectoryError:
        log = folder / "trial.log"
        return {
            "status": "error",
            "reward": None,
            "message": None,
            "harness": "harbor",
            "started_at": _changed(folder / "config.json"),
            "finished_at": _changed(log if log.exists() else folder / "config.json"),
            "agent_seconds": None,
            "verifier_seconds": None,
        }


def _changed(file: Path) -> str:
    moment = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return moment.isoformat(timespec="milliseconds")


def _copied(
    job: TrialJob,
    folder: Path,
    target: Path,
    fields: dict[str, Any],
    place: TrialPlace,
    skill_root: str | None,
) -> TrialRecord:
    """Copy a trial's artifacts; return its record with the values of its result (`fields`)."""
    reading = Reading()
    left_out = copy_logs(folder, target, reading, skip=folder / DOWNLOADED)
    reading.of("work", lambda: _keep_work(job, folder / DOWNLOADED, target), None)
    write_agent_record(target / "agent.json", job.agent)
    redact_files(target, key_values(job.agent).values())
    said = [fields["message"], *(f"not copied: {one}" for one in left_out[:1])]
    fields |= {
        "message": "; ".join(filter(None, said)) or None,
        "isolation": place.isolation,
        "left_out": (*_left_inside(folder), *reading.summary()),
        "unsealed": unsealed() if place.isolation == "bwrap" else None,
        "variant_digest": job.variant_digest,
        "skill_root": skill_root if job.variant_dir else None,
        "network": place.network,
        "task_network": read_allowance(job.task_dir).network,
    }
    record = trial_record(job, **fields)
    return TrialRecord.model_validate_json(without_keys(record.model_dump_json(), job.agent))


def _keep_work(job: TrialJob, work: Path, target: Path) -> None:
    """Keep the agent's files of a downloaded working directory, and list all."""
    if not work.is_dir():
        return
    with TemporaryDirectory() as name:
        first = Path(name)
        if job.keep is None:
            recipe = copy_environment(job.task_dir / "environment", first)
            first = host_path(first, recipe.workdir)

        def unchanged(name: str, _: os.stat_result) -> bool:
            return (first / name).is_file() and cmp(first / name, work / name, shallow=False)

        not_kept = keep_work(work, target / WORK, job.keep, unchanged)
    write_listing(target, {**list_files(work, Reading()), "not_kept": not_kept})


def _left_inside(folder: Path) -> list[str]:
    """Files that were not copied out of the sandbox."""
    try:
        said = json.loads((folder / LEFT_OUT).read_bytes())
    except (OSError, ValueError):
        return []
    return [str(one) for one in said] if isinstance(said, list) else []


def _refuse_other_skills(job: TrialJob, folder: Path) -> None:
    """Check that Harbor offered the variant, and nothing in the arm without a Skill."""
    locked = locked_skills(folder) or {}
    held = {path.name: digest_of(path) for path in skill_folders(job)}
    if locked != held:
        raise HarnessError(
            f"trial {job.trial.trial!r} did not get the Skills of its condition: its lock.json has"
            f" {describe_skills(locked)}, {'variant ' + repr(job.variant) if job.variant else 'the arm'} has"
            f" {describe_skills(held)}; build the variant again in a fresh folder"
        )


def digest_of(skill: Path) -> str:
    """Digest of a Skill's folder as in Harbor's lock file."""
    files = (path for path in skill.rglob("*") if path.is_file())
    return skill_digest(
        (path.relative_to(skill).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    )
