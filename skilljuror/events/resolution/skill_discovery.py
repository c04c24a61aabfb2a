"""Discover offered Skills in a log: roots, names, folders."""

import re
from collections.abc import Iterator

from skilljuror.base.skill import is_root
from skilljuror.base.trajectory import Message, SkillManifest, Trajectory
from skilljuror.events.paths import absolute, folder_of, name_of, normalised
from skilljuror.events.resolution.skill_catalog import SkillCatalog, bare_skill_name

_BASE_DIRECTORY = re.compile(r"Base directory for this skill: ([^\n]{1,1000})")
_PATH_STOPS = frozenset(" \t\n\r'\"`()<>[]{},;|*")
_ROOT_PATH = re.compile(r"(?<![\w.~/$}-])(~?(?:/[\w.-]{1,100}){0,12}/skills)/?(?![\w/.-])")
_LONGEST_MESSAGE = 400_000


def discover_catalog(trajectory: Trajectory, manifest: SkillManifest | None) -> SkillCatalog:
    """Return the locations of a run's Skills from manifest and log."""
    catalog = SkillCatalog()
    if manifest is not None and manifest.known:
        _add_manifest(catalog, manifest)
    for root in trajectory.skill_roots:
        catalog.add_root(root)
    _add_offered(catalog, trajectory)
    by_prompt = not catalog.closed and not trajectory.traits.finds_skills
    for message in trajectory.messages:
        if message.kind == "skill_body":
            _add_body(catalog, message)
        elif by_prompt and message.agent == "main" and message.kind in {"skill_listing", "system", "prompt"}:  # fmt: skip
            _add_named(catalog, message.text[:_LONGEST_MESSAGE])
    return catalog


def _add_manifest(catalog: SkillCatalog, manifest: SkillManifest) -> None:
    catalog.known = True
    for skill in manifest.skills:
        catalog.add_skill(skill, listed=True)
        for root in manifest.roots:
            catalog.add_skill(skill, f"{root}/{skill}")
    for root in manifest.roots:
        catalog.add_root(root)
    for resource in manifest.resources:
        catalog.add_resource(resource.skill, resource.path)


def _add_offered(catalog: SkillCatalog, trajectory: Trajectory) -> None:
    """Add the Skills listed in the log; if it has their locations, no other root counts. A name
    with a plugin means the manifest's Skill, unless that is listed too."""
    offered = trajectory.offered or ()
    names = {skill.name for skill in offered}
    given = catalog.names.keys() - names
    for skill in offered:
        folder = skill.path
        if folder and is_root(name_of(folder)):
            folder = folder_of(folder)
        catalog.add_skill(skill.name, folder, listed=bare_skill_name(skill.name) not in given)
        if skill.bundled:
            catalog.bundled.add(catalog.name(skill.name))
    catalog.closed = any(skill.path for skill in offered)


def _add_named(catalog: SkillCatalog, text: str) -> None:
    """Add Skills and roots named by paths in a prompt or a list."""
    for path in _skill_files(text):
        _add_skill_file(catalog, path)
    if "/skills" in text:
        for root in _ROOT_PATH.findall(text):
            catalog.add_root(root)


def _skill_files(text: str) -> Iterator[str]:
    """Absolute paths in a text that end in /SKILL.md."""
    at = text.find("/SKILL.md")
    while at >= 0:
        start = at
        while start > max(0, at - 500) and text[start - 1] not in _PATH_STOPS:
            start -= 1
        path = text[start : at + len("/SKILL.md")].rpartition(":")[2]
        if absolute(path):
            yield path
        at = text.find("/SKILL.md", at + 1)


def _add_body(catalog: SkillCatalog, message: Message) -> None:
    """Add the Skill of an injected body, and its base directory."""
    named = _BASE_DIRECTORY.search(message.text[:2000])
    folder = message.path or (named[1].strip() if named else None)
    if not folder:
        return
    if is_root(name_of(folder)):
        folder = folder_of(folder)
    folder = normalised(folder)
    skill = message.skill or name_of(folder)
    catalog.add_skill(skill, folder)
    if bare_skill_name(skill) == name_of(folder):
        catalog.add_root(folder_of(folder))


def _add_skill_file(catalog: SkillCatalog, path: str) -> None:
    """Add a SKILL.md named in the prompt: its folder is a Skill, usually inside a root."""
    folder = folder_of(normalised(path))
    name = name_of(folder)
    if not name or name in {".", "skills"} or any(mark in folder for mark in "<>$*{"):
        return
    catalog.add_skill(catalog.name(name, folder), folder)
    if name_of(folder_of(folder)) in {"skills", ".system"}:
        catalog.add_root(folder_of(folder))
