"""The plan that a study's folder holds, and the trials that have finished under it."""

from pathlib import Path
from typing import Literal

from skilljuror import __version__
from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder, read_record, write_atomic, write_record
from skilljuror.models.study import StudyPlan, TrialRecord
from skilljuror.studies.plan import changed_fields


def plan_version(folder: StudyFolder) -> Literal[1, 2]:
    """That of the plan under which trials have finished; the newest where there is none."""
    if folder.planned and folder.finished_trials():
        return read_record(StudyPlan, folder.plan_file).format_version
    return 2


def keep_plan(folder: StudyFolder, plan: StudyPlan, study_file: Path) -> list[str]:
    """Write the plan, or prove that the folder holds the same one; what is to be said of it.

    Raises StudyError for a folder that holds another plan under which trials have finished, or anything
    else.
    """
    begun = bool(folder.finished_trials())
    if not folder.plan_file.exists():
        refuse_other_content(folder, study_file)
        _write_plan(folder, plan, study_file)
        return []
    before = read_record(StudyPlan, folder.plan_file)
    changed = _changed_fields(before, plan)
    if changed and begun:
        raise StudyError(
            f"{str(folder.root)!r} holds a run of another plan; changed since:"
            f" {', '.join(changed[:8])}; restore them, or run into another folder",
            file=str(folder.plan_file),
            field=changed[0],
        )
    if changed:
        _write_plan(folder, plan, study_file)
        return [f"no trial had finished: the plan was made anew ({', '.join(changed[:8])})"]
    if before.config != plan.config:  # in what may change between runs
        _write_plan(folder, plan, study_file)
    if before.skilljuror_version != __version__:
        return [f"the plan was frozen by skilljuror {before.skilljuror_version}"]
    return []


def refuse_other_content(folder: StudyFolder, study_file: Path) -> None:
    """Raise StudyError for a folder without a plan that holds anything else."""
    if folder.finished_trials():
        raise StudyError(
            f"{str(folder.root)!r} holds trials but no plan.json; run into another folder",
            file=str(folder.root),
        )
    if folder.sources_file.exists():
        raise StudyError(
            f"{str(folder.root)!r} holds logs that were ingested; run into another folder",
            file=str(folder.sources_file),
        )
    copy = folder.study_file
    if copy.exists() and copy.read_bytes() != study_file.read_bytes():
        raise StudyError(
            f"{str(folder.root)!r} holds another study.yaml; run into another folder",
            file=str(copy),
        )


def _write_plan(folder: StudyFolder, plan: StudyPlan, study_file: Path) -> None:
    copy = folder.study_file
    if not (copy.exists() and copy.samefile(study_file)):
        write_atomic(copy, study_file.read_bytes())
    write_record(folder.plan_file, plan)


def _changed_fields(before: StudyPlan, plan: StudyPlan) -> list[str]:
    changed = changed_fields(before, plan)
    if before.agent_digest != plan.agent_digest:
        changed.append("the agent's program")
    return changed


def finished_records(folder: StudyFolder, plan: StudyPlan) -> dict[str, TrialRecord]:
    """Every finished trial of this plan with its record. Raises StudyError for one of another."""
    records: dict[str, TrialRecord] = {}
    for name in folder.finished_trials():
        record = read_record(TrialRecord, folder.trial_record(name))
        if record.config_digest != plan.config_digest:
            raise StudyError(
                f"trial {name!r} was run under another plan; move its folder away and run again",
                file=str(folder.trial_record(name)),
            )
        records[name] = record
    return records
