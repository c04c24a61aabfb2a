"""What a log shows to have been offered: roots, skills, folders."""

import re
from collections.abc import Iterator

from skilljuror.attribution.paths import absolute, folder_of, name_of, normalised
from skilljuror.attribution.resolution.skill_catalog import (
    SkillCatalog,
    bare_skill_name,
    known_root,
)
from skilljuror.models.events import SkillManifest
from skilljuror.models.resource_class import is_root
from skilljuror.models.trajectory import Message, Trajectory

_BASE = re.compile(r"Base directory for this skill: ([^\n]{1,1000})")
_LOCATION = re.compile(r"<location>\s*([^<\n]{1,1000}?)\s*</location>")
_FINDERS = ("claude", "codex", "gemini", "copilot", "opencode")
_STOPS = frozenset(" \t\n\r'\"`()<>[]{},;|*")
_ROOT_PATH = re.compile(r"(?<![\w.~/$}-])(~?(?:/[\w.-]{1,100}){0,12}/skills)/?(?![\w/.-])")
_CWD = re.compile(r"<cwd>\s*([^<\n]{1,1000}?)\s*</cwd>")
_HOMES = re.compile(r"^(/root|/home/[^/]+(?:/[^/.]+)?|/Users/[^/]+)(?=/\.)")
_MAX_MESSAGE = 400_000


def discover_catalog(trajectory: Trajectory, manifest: SkillManifest | None) -> SkillCatalog:
    """Where the skills of a run lie, from the manifest and from what the log tells."""
    catalog = SkillCatalog()
    if manifest is not None and manifest.known:
        _add_manifest(catalog, manifest)
    for root in trajectory.skill_roots:
        catalog.add_root(root)
    _add_offered(catalog, trajectory)
    told = not catalog.closed and not _finds_skills(trajectory)
    for message in trajectory.messages:
        _add_message(catalog, message, told=told)
    return catalog


def _finds_skills(trajectory: Trajectory) -> bool:
    """Whether the agent finds skills by itself, so that a path in a prompt offers nothing."""
    names = (trajectory.format, trajectory.agent or "")
    return any(name.startswith(_FINDERS) for name in names)


def _add_manifest(catalog: SkillCatalog, manifest: SkillManifest) -> None:
    catalog.known = True
    for skill in manifest.skills:
        catalog.add_skill(skill)
        for root in manifest.roots:
            catalog.add_skill(skill, f"{root}/{skill}")
    for root in manifest.roots:
        catalog.add_root(root)
    for resource in manifest.resources:
        catalog.add_resource(resource.skill, resource.path)


def _add_offered(catalog: SkillCatalog, trajectory: Trajectory) -> None:
    offered = trajectory.offered or ()
    for skill in offered:
        folder = (
            folder_of(skill.path) if skill.path and is_root(name_of(skill.path)) else skill.path
        )
        catalog.add_skill(skill.name, folder, bundled=skill.bundled)
    catalog.closed = any(skill.path for skill in offered)


def _add_message(catalog: SkillCatalog, message: Message, *, told: bool) -> None:
    if message.kind == "skill_body":
        _add_body(catalog, message)
    elif message.kind in {"skill_listing", "system", "prompt"}:
        _add_named(catalog, message.text[:_MAX_MESSAGE], told=told and message.agent == "main")


def _add_named(catalog: SkillCatalog, text: str, *, told: bool) -> None:
    """Skills and roots that a prompt or a list names by their paths."""
    if "<location>" in text:
        for path in _LOCATION.findall(text):
            _add_skill_file(catalog, path)
    if not told:
        return
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
        while start > max(0, at - 500) and text[start - 1] not in _STOPS:
            start -= 1
        path = text[start : at + len("/SKILL.md")].rpartition(":")[2]
        if absolute(path):
            yield path
        at = text.find("/SKILL.md", at + 1)


def _add_body(catalog: SkillCatalog, message: Message) -> None:
    found = _BASE.search(message.text[:2000])
    folder = message.path or (found[1].strip() if found else None)
    if not folder:
        return
    if is_root(name_of(folder)):
        folder = folder_of(folder)
    folder = normalised(folder)
    name = message.skill or name_of(folder)
    catalog.add_skill(name, folder)
    if bare_skill_name(name) == name_of(folder):
        catalog.add_root(folder_of(folder))


def _add_skill_file(catalog: SkillCatalog, path: str) -> None:
    """A SKILL.md that the prompt names: its folder is a skill, and usually lies in a root."""
    folder = folder_of(normalised(path))
    name = name_of(folder)
    if not name or name in {".", "skills"} or any(mark in folder for mark in "<>$*{"):
        return
    catalog.add_skill(catalog.names.get(name, name), folder)
    if name_of(folder_of(folder)) in {"skills", ".system"} or known_root(folder):
        catalog.add_root(folder_of(folder))


def home_folder(trajectory: Trajectory, catalog: SkillCatalog) -> str | None:
    """The agent's home folder, told by the log or by where its skills lie."""
    if trajectory.home:
        return trajectory.home
    for folder in (*catalog.roots, *catalog.folders):
        found = _HOMES.match(folder)
        if found:
            return found[1]
    return None


def working_folder(trajectory: Trajectory) -> str | None:
    """The folder the agent works in, told by the log or by its first messages."""
    if trajectory.cwd:
        return trajectory.cwd
    for message in trajectory.messages[:20]:
        found = _CWD.search(message.text[:4000])
        if found:
            return found[1]
    return None
