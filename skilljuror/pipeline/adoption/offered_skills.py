"""The Skills that adopted trials got, held against what Harbor locked."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skilljuror.bundles import load_bundle
from skilljuror.errors import StudyError
from skilljuror.models.adoption import AdoptionMap
from skilljuror.models.bundle import Bundle
from skilljuror.parsers.harbor.lock import locked_skills, skill_digest, told
from skilljuror.pipeline.adoption.matching import AdoptedTrial

OfferedSkills = Mapping[tuple[str, str], Bundle]
"""(task, condition) -> what its trials got; without those of which nobody said."""


def offered_skills(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> OfferedSkills:
    """What the map says that the trials got. Raises StudyError where Harbor locked something else,
    for Skills of an arm without a variant, and for one name of two variants; BundleError for a folder
    that is none."""
    _refuse_skills_of_none(adoption, trials, map_file)
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
    _refuse_two_of_a_name(adoption, offered)
    return offered


def _refuse_skills_of_none(
    adoption: AdoptionMap, trials: Sequence[AdoptedTrial], map_file: Path
) -> None:
    """An arm without a variant is the one in which no Skill was offered."""
    for place, arm in enumerate(adoption.conditions):
        if arm.variant is not None:
            continue
        own = (trial for trial in trials if trial.condition == arm.name)
        locked = next((trial.folder for trial in own if locked_skills(trial.path)), None)
        if arm.skills or locked:
            why = "it has skills" if arm.skills else f"{locked!r} got Skills, as its lock.json says"
            raise StudyError(
                f"{map_file}: field 'conditions.{place}.variant': null, as if no Skill was offered"
                f" in {arm.name!r}, and {why}; name what its agents got, such as variant: origin",
                file=str(map_file),
                field=f"conditions.{place}.variant",
            )


def _refuse_two_of_a_name(adoption: AdoptionMap, offered: OfferedSkills) -> None:
    variants = {arm.name: arm.variant for arm in adoption.conditions}
    first: dict[tuple[str, str | None], str] = {}
    for (task, condition), bundle in offered.items():
        other = first.setdefault((task, variants[condition]), condition)
        if offered[task, other].digest != bundle.digest:
            raise StudyError(
                f"the variant {variants[condition]!r} of task {task!r} is one thing in {other!r} and"
                f" another in {condition!r}; give each its own name",
                field="variant",
            )


def unproved(trials: Sequence[AdoptedTrial], offered: OfferedSkills) -> Iterator[str]:
    """A note on trials of which no lock says which Skills they got."""
    count = sum((t.task, t.condition) in offered and locked_skills(t.path) is None for t in trials)
    if count:
        yield f"trials without a lock.json that proves that they got the Skills of the map: {count}"


def _refuse_other_skills(trial: AdoptedTrial, bundle: Bundle) -> None:
    locked = locked_skills(trial.path)
    held = {skill.directory: _digest(bundle, skill.directory) for skill in bundle.skills}
    if locked is not None and locked != held:
        raise StudyError(
            f"{trial.folder!r} got other Skills than those at {bundle.source!r}: its lock.json has"
            f" {told(locked)}, the folder {told(held)}; correct the skills of {trial.condition!r}",
            file=str(trial.path / "lock.json"),
            field="skills",
        )


def _digest(bundle: Bundle, directory: str) -> str:
    folder = f"{directory}/"
    files = {path: blob for path, blob in bundle.files.items() if path.startswith(folder)}
    return skill_digest((path.removeprefix(folder), blob.sha256) for path, blob in files.items())
