"""Save and compare a study's plan, and load its finished trials."""

from pathlib import Path

from skilljuror.base import __version__
from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, read_record, write_atomic, write_record
from skilljuror.base.study import StudyPlan, TrialRecord
from skilljuror.store.ingest.trials import read_trial_record
from skilljuror.study.plan import changed_fields


def save_plan(folder: StudyFolder, plan: StudyPlan, study_file: Path) -> list[str]:
    """Write the plan, or check that the folder has the same one; return notes.

    Raises StudyError for a folder with finished trials of another plan, or with other content.
    """
    begun = bool(folder.finished_trials())
    if not folder.plan_file.exists():
        refuse_other_content(folder, study_file)
        _write_plan(folder, plan, study_file)
        return []
    before = read_record(StudyPlan, folder.plan_file)
    changed = changed_plan_fields(before, plan)
    if changed and begun:
        raise StudyError(
            f"{str(folder.root)!r} has trials of a different plan; changed fields:"
            f" {', '.join(changed[:8])}; restore them, or choose another --out",
            file=str(folder.plan_file),
            field=changed[0],
        )
    if changed:
        _write_plan(folder, plan, study_file)
        return [f"replaced the plan, because no trial had finished ({', '.join(changed[:8])})"]
    if before.config != plan.config:  # only fields that may change between runs
        _write_plan(folder, plan, study_file)
    if before.skilljuror_version != __version__:
        return [f"the plan was created by skilljuror {before.skilljuror_version}"]
    return []


def refuse_other_content(folder: StudyFolder, study_file: Path) -> None:
    """Raise StudyError for a folder without a plan that has other content."""
    if folder.finished_trials():
        raise StudyError(
            f"{str(folder.root)!r} has trials but no plan.json; run into another folder",
            file=str(folder.root),
        )
    if folder.sources_file.exists():
        raise StudyError(
            f"{str(folder.root)!r} has ingested logs; run into another folder",
            file=str(folder.sources_file),
        )
    copy = folder.study_file
    if copy.exists() and copy.read_bytes() != study_file.read_bytes():
        raise StudyError(
            f"{str(folder.root)!r} has another study.yaml; run into another folder",
            file=str(copy),
        )


def _write_plan(folder: StudyFolder, plan: StudyPlan, study_file: Path) -> None:
    copy = folder.study_file
    if not (copy.exists() and copy.samefile(study_file)):
        write_atomic(copy, study_file.read_bytes())
    write_record(folder.plan_file, plan)


def changed_plan_fields(before: StudyPlan, plan: StudyPlan) -> list[str]:
    """Return the fields, and the agent's program, that differ between two plans."""
    changed = changed_fields(before, plan)
    if before.agent_digest != plan.agent_digest:
        changed.append("the agent's program")
    return changed


def finished_records(folder: StudyFolder, plan: StudyPlan) -> dict[str, TrialRecord]:
    """Trial -> record of every finished trial. Raises StudyError for a trial of another plan and for an
    invalid record."""
    records: dict[str, TrialRecord] = {}
    for name in folder.finished_trials():
        record = read_trial_record(folder, name)
        if record.config_digest != plan.config_digest:
            raise StudyError(
                f"trial {name!r} was run under another plan; move its folder away and rerun",
                file=str(folder.trial_record(name)),
            )
        records[name] = record
    return records
