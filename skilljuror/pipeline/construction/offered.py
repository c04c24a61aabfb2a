"""What a trial offered: the manifest and the knowledge map of its variant."""

from functools import lru_cache
from pathlib import Path

from skilljuror import tokens
from skilljuror.bundles import load_bundle
from skilljuror.files import StudyFolder, read_rows
from skilljuror.models.events import Resource, SkillManifest
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.resource_class import resource_class
from skilljuror.models.study import TrialRecord

NOTHING_OFFERED = SkillManifest()


@lru_cache(maxsize=32)
def manifest_of(skills: Path, root: str | None, variant: str | None) -> SkillManifest:
    """The manifest of a folder of skills that lay at `root` in the sandbox."""
    bundle = load_bundle(skills)
    resources = []
    for path, blob in bundle.files.items():
        skill, _, inside = path.partition("/")
        if inside:
            text = blob.text
            kind = resource_class(inside, blob)
            counted = None if text is None else tokens.count(text)
            resources.append(Resource(skill, inside, kind, text, counted))
    names = tuple(sorted({skill.directory for skill in bundle.skills}))
    return SkillManifest(tuple(resources), (root,) if root else (), names, True, variant)


@lru_cache(maxsize=32)
def units_of_build(build: Path) -> tuple[MappedUnit, ...]:
    """The knowledge map of a build; empty where it has none."""
    return tuple(read_rows(MappedUnit, build / "knowledge.jsonl"))


def offered_by(folder: StudyFolder, record: TrialRecord) -> SkillManifest:
    """What this trial offered; an empty manifest for the no-skill arm."""
    if record.variant is None:
        return NOTHING_OFFERED
    skills = folder.variant(record.task, record.variant)
    return manifest_of(skills, record.skill_root, record.variant)
