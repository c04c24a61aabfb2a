"""Skills that conditions offer as they are: found, kept in the study, and held against each other.

Nobody matched their knowledge, so what differs between two of them is more than layout; how much of it
they share is told beside the study's other Skills.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, structs

from skilljuror.bundles import load_bundle, write_bundle
from skilljuror.bundles.revision import load_at
from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder, digest_tree, fresh_dir
from skilljuror.knowledge.comparison.diff import diff
from skilljuror.knowledge.comparison.unit_map import knowledge_map
from skilljuror.knowledge.units.extract import units_of
from skilljuror.models.build import VariantManifest
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.study import GivenSkill, PlannedTask, SkillSource, StudyPlan
from skilljuror.pipeline.construction.manifests import variant_manifest

GIVEN = "given"
"""The parent of a Skill that is made from no other."""


class GivenSkills:
    """The Skills that conditions of a study name by path or revision, each loaded once."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._loaded: dict[tuple[str, str | None], tuple[str | None, Bundle]] = {}

    def __call__(self, source: SkillSource, task: str) -> GivenSkill:
        """The Skill that a condition gives to a task, frozen. Raises UsageError."""
        path = source.at(task)
        commit, bundle = self._load(path, source.revision)
        if not bundle.skills:
            raise StudyError(
                f"skill {path!r} of a condition holds no SKILL.md; name a skill's folder, or a folder"
                " of skills",
                file=str(self._base / path),
                field="conditions",
            )
        return GivenSkill(path=path, commit=commit, tree_digest=bundle.digest)

    def keep(self, folder: StudyFolder, task: PlannedTask) -> dict[str, VariantManifest]:
        """Put the Skills of a planned task into the study; condition -> what lies there. Raises
        StudyError where another one does."""
        for condition, given in task.given.items():
            target = folder.given / task.name / condition
            if not target.exists():
                _, bundle = self._load(given.path, given.commit)
                with fresh_dir(target) as staging:
                    write_bundle(bundle.files, staging)
            if digest_tree(target) != given.tree_digest:
                raise StudyError(
                    f"{str(target)!r} is not the Skill that condition {condition!r} of task"
                    f" {task.name!r} gives ({given.path}); move it away",
                    file=str(target),
                )
        kept = given_manifests(folder, [task.name])
        return {found.variant: found for _, found in kept if found.variant in task.given}

    def _load(self, path: str, revision: str | None) -> tuple[str | None, Bundle]:
        key = path, revision
        if key not in self._loaded:
            place = self._base / path
            loaded = load_at(place, revision) if revision else (None, load_bundle(place))
            self._loaded[key] = self._loaded[path, loaded[0]] = loaded
        return self._loaded[key]


class GivenSkillRow(Struct, frozen=True):
    """A row of `given_skills`."""

    task: str
    condition: str
    path: str
    git_commit: str | None
    tree_digest: str
    compared_with: str | None
    units: int | None = None
    shared: int | None = None
    altered: int | None = None
    own_units: int | None = None


def given_manifests(
    folder: StudyFolder, tasks: Iterable[str]
) -> Iterator[tuple[str, VariantManifest]]:
    """(task, Skill as it lies there) of all that a study keeps for tasks."""
    for task in tasks:
        kept = folder.given / task
        for path in sorted(kept.iterdir()) if kept.is_dir() else ():
            yield task, variant_manifest(path.name, GIVEN, _kept_bundle(path))


def given_rows(folder: StudyFolder, plan: StudyPlan) -> Iterator[GivenSkillRow]:
    """What every task of a study is given, held against what stands before it."""
    for task in plan.tasks:
        before: str | None = None
        for arm in plan.config.conditions:
            if given := task.given.get(arm.name):
                fields = (task.name, arm.name, given.path, given.commit, given.tree_digest, before)
                row = GivenSkillRow(*fields)
                yield structs.replace(row, **_compared(folder, task.name, before, arm.name))
            before = arm.offers or before


def _compared(folder: StudyFolder, task: str, before: str | None, name: str) -> dict[str, int]:
    """How far a Skill says what another one says; empty where there is none to compare."""
    places = [folder.offered(task, one) for one in (before, name) if one is not None]
    if len(places) < 2 or not all(place.is_dir() for place in places):
        return {}
    other, own = map(_kept_bundle, places)
    rows = knowledge_map(other, {name: own})
    return {
        "units": len(rows),
        "shared": sum(row.places[name] is not None for row in rows),
        "altered": len(diff(other, own).altered),
        "own_units": len(units_of(own)),
    }


@lru_cache(maxsize=32)
def units_of_given(skills: Path, name: str) -> tuple[MappedUnit, ...]:
    """The knowledge map of a Skill as it is: each of its units where it stands."""
    bundle = _kept_bundle(skills)
    return tuple(knowledge_map(bundle, {name: bundle}))


def _kept_bundle(folder: Path) -> Bundle:
    return load_bundle(folder, inspect=False)
