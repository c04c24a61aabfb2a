"""Skills that conditions offer by path or revision: load, save in the study, and compare.

Their knowledge is not matched, so two of them may differ in more than layout; `given_rows` measures how
much they share.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, structs

from skilljuror.audit.comparison.unit_matching import knowledge_map
from skilljuror.audit.edits import edits_between
from skilljuror.base.build import VariantManifest
from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, digest_tree, fresh_dir
from skilljuror.base.skill import Bundle, MappedUnit
from skilljuror.base.study import GivenSkill, PlannedTask, SkillSource, StudyPlan, trial_arms
from skilljuror.layouts.build.manifests import variant_manifest
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.skill.revision import load_at
from skilljuror.skill.units import units_of

GIVEN = "given"  # parent of a Skill that was not built from another


class GivenSkills:
    """Loads each Skill that a condition names by path or revision once."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._loaded: dict[tuple[str, str | None], tuple[str | None, Bundle]] = {}

    def __call__(self, source: SkillSource, task: str) -> GivenSkill:
        """Return the frozen Skill of a condition for a task. Raises StudyError."""
        path = source.at(task)
        commit, bundle = self._load(path, source.revision)
        if not bundle.skills:
            raise StudyError(
                f"skill {path!r} of a condition has no SKILL.md; name a folder of one or more skills",
                file=str(self._base / path),
                field="conditions",
            )
        return GivenSkill(path=path, commit=commit, tree_digest=bundle.digest)

    def save(self, folder: StudyFolder, task: PlannedTask) -> dict[str, VariantManifest]:
        """Copy the Skills of a planned task into the study; return condition -> manifest. Raises
        StudyError if a different Skill is already there."""
        for condition, given in task.given.items():
            target = folder.given / task.name / condition
            if not target.exists():
                _, bundle = self._load(given.path, given.commit)
                with fresh_dir(target) as staging:
                    write_bundle(bundle.files, staging)
            if digest_tree(target) != given.tree_digest:
                raise StudyError(
                    f"{str(target)!r} differs from the Skill of condition {condition!r} of task"
                    f" {task.name!r} ({given.path}); move it away",
                    file=str(target),
                )
        saved = given_manifests(folder, [task.name])
        return {found.variant: found for _, found in saved if found.variant in task.given}

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
    """Yield (task, manifest) of the Skills saved for tasks."""
    for task in tasks:
        saved = folder.given / task
        for path in sorted(saved.iterdir()) if saved.is_dir() else ():
            yield task, variant_manifest(path.name, GIVEN, load_bundle(path, inspect=False))


def given_rows(folder: StudyFolder, plan: StudyPlan) -> Iterator[GivenSkillRow]:
    """Yield each offered Skill, compared with the one of the condition before it."""
    for task in plan.tasks:
        before: str | None = None
        for arm in trial_arms(plan.config):
            if given := task.given.get(arm.name):
                fields = (task.name, arm.name, given.path, given.commit, given.tree_digest, before)
                row = GivenSkillRow(*fields)
                yield structs.replace(row, **_compared(folder, task.name, before, arm.name))
            before = arm.offers or before


def _compared(folder: StudyFolder, task: str, before: str | None, name: str) -> dict[str, int]:
    """Count units shared by two Skills; empty if there are not two."""
    places = [folder.offered(task, one) for one in (before, name) if one is not None]
    if len(places) < 2 or not all(place.is_dir() for place in places):
        return {}
    other, own = (load_bundle(place, inspect=False) for place in places)
    rows = knowledge_map(other, {name: own})
    return {
        "units": len(rows),
        "shared": sum(row.places[name] is not None for row in rows),
        "altered": sum(edit.critical is not None for edit in edits_between(other, own).edits),
        "own_units": len(units_of(own)),
    }


@lru_cache(maxsize=32)
def units_of_given(skills: Path, name: str) -> tuple[MappedUnit, ...]:
    """Return the knowledge map of a Skill onto itself."""
    bundle = load_bundle(skills, inspect=False)
    return tuple(knowledge_map(bundle, {name: bundle}))
