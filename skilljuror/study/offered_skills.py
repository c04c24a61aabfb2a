"""Load the Skills of adopted trials and compare them with Harbor's locks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skilljuror.base.errors import StudyError
from skilljuror.base.skill import Bundle
from skilljuror.base.study import AdoptionMap
from skilljuror.logs.harbor.lock import describe_skills, locked_skills, skill_digest
from skilljuror.skill.bundles import load_bundle
from skilljuror.study.condition_matching import AdoptedTrial

OfferedSkills = Mapping[tuple[str, str], Bundle]
"""(task, condition) -> Skills of its trials, if known."""


def offered_skills(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> OfferedSkills:
    """Load the Skills that the map names. Raises StudyError if Harbor locked other Skills, if an arm
    without a variant has Skills, or if a name stands for two variants; BundleError for an invalid
    folder."""
    _refuse_skills_without_variant(adoption, trials, map_file)
    offered: dict[tuple[str, str], Bundle] = {}
    folders = {arm.name: arm.skills for arm in adoption.conditions if arm.skills}
    for trial in trials:
        cell = trial.task, trial.condition
        if trial.condition in folders and cell not in offered:
            offered[cell] = load_bundle(
                map_file.parent / folders[trial.condition].replace("{task}", trial.task)
            )
        if cell in offered:
            _refuse_other_skills(trial, offered[cell])
    _refuse_ambiguous_variants(adoption, offered)
    return offered


def _refuse_skills_without_variant(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> None:
    for place, arm in enumerate(adoption.conditions):
        if arm.variant is not None:
            continue
        own = (trial for trial in trials if trial.condition == arm.name)
        locked = next((trial.folder for trial in own if locked_skills(trial.path)), None)
        if arm.skills or locked:
            why = "it has skills" if arm.skills else f"the lock.json of {locked!r} has Skills"
            raise StudyError(
                f"{map_file}: field 'conditions.{place}.variant': null means no Skill in"
                f" {arm.name!r}, but {why}; name the variant, such as variant: origin",
                file=str(map_file),
                field=f"conditions.{place}.variant",
            )


def _refuse_ambiguous_variants(adoption: AdoptionMap, offered: OfferedSkills) -> None:
    variants = {arm.name: arm.variant for arm in adoption.conditions}
    first: dict[tuple[str, str | None], str] = {}
    for (task, condition), bundle in offered.items():
        other = first.setdefault((task, variants[condition]), condition)
        if offered[task, other].digest != bundle.digest:
            raise StudyError(
                f"the variant {variants[condition]!r} of task {task!r} differs between {other!r} and"
                f" {condition!r}; give each its own name",
                field="variant",
            )


def unproved(trials: Sequence[AdoptedTrial], offered: OfferedSkills) -> Iterator[str]:
    """Note trials without a lock of their Skills."""
    count = sum((t.task, t.condition) in offered and locked_skills(t.path) is None for t in trials)
    if count:
        yield f"trials without a lock.json, so their Skills are unproved: {count}"


def _refuse_other_skills(trial: AdoptedTrial, bundle: Bundle) -> None:
    locked = locked_skills(trial.path)
    held = {skill.directory: _digest(bundle, skill.directory) for skill in bundle.skills}
    if locked is not None and locked != held:
        raise StudyError(
            f"{trial.folder!r} has other Skills than {bundle.source!r}: its lock.json has"
            f" {describe_skills(locked)}, the folder {describe_skills(held)}; fix the skills of {trial.condition!r}",
            file=str(trial.path / "lock.json"),
            field="skills",
        )


def _digest(bundle: Bundle, directory: str) -> str:
    folder = f"{directory}/"
    files = {path: blob for path, blob in bundle.files.items() if path.startswith(folder)}
    return skill_digest((path.removeprefix(folder), blob.sha256) for path, blob in files.items())
