"""Locations of a run's Skills: maps any path to (Skill, resource), and learns them from the log."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.base.skill import SKILL_ROOTS, is_root, name_key
from skilljuror.base.trajectory import Message, SkillManifest, Trajectory
from skilljuror.events.access import (
    Access,
    absolute,
    contains_any,
    folder_of,
    glob_fits,
    is_glob,
    name_of,
    normalised,
)

_AGENT_FOLDERS = (
    r"\.claude|\.agents?|\.codex|\.gemini|\.github|\.copilot|\.cursor|\.opencode|\.config/opencode"
    r"|\.factory|\.goose|\.windsurf|\.qwen|\.kiro|\.junie|\.pi|\.pi/agent|\.openhands|\.amp|\.roo"
    r"|\.kimi(?:-code)?|\.config/agents"
)
_KNOWN_ROOT = re.compile(
    rf"^(.*?(?:(?:^|/)(?:{_AGENT_FOLDERS})/skills?(?:/\.system)?"
    r"|/plugins/(?:cache|marketplaces|repos)/(?:[^/]+/){1,5}?skills|(?:^|/)mnt/skills/(?:public|user|private|examples|organization)"
    rf"|(?:^|/)harbor/skills|^(?:{'|'.join(SKILL_ROOTS.values())})"
    r"|/agent/sessions/skills|(?:^|/)environment/skills))(?:/(.*))?$"
)
"""Roots in real logs (formats §2), at any location; all contain "skill"."""
_PATH_SIGNS = ("skills", "skill/", "SKILL.md", "skill.md", "SKILL_", "Begin Patch")
"""Any text with a path below an unlisted root contains one of these."""
_OWN_SKILLS = "/skills/.system"
"""Folder of Codex's own Skills."""
BUNDLE_FOLDERS = frozenset(
    {"references", "reference", "scripts", "assets", "templates", "steps", "examples", "docs", "resources"}
)  # fmt: skip
"""Usual folders of a bundle; agents write them directly under the root by mistake."""


class ResourceLocation(Struct, frozen=True, gc=False):
    """Skill and resource that a path denotes."""

    skill: str
    """Skill as offered; "" for a path that names only the root."""
    resource: str
    """Path inside the Skill; "." for its folder."""
    bundled: bool = False
    """The Skill belongs to the agent program."""
    folder: bool = False
    """The path is a folder of the bundle."""


def bare_skill_name(skill: str) -> str:
    """Skill name without its plugin, as its folder is named: `books:ledger` -> `ledger`."""
    return skill.rpartition(":")[2]


class ResolvedAccess(Struct, frozen=True, gc=False):
    """An access whose path is a resource."""

    access: Access
    location: ResourceLocation
    order: int
    """Position in the call."""

    @property
    def key(self) -> tuple[str, str]:
        return self.location.skill, self.location.resource


class SkillCatalog(Struct):
    """Known locations and resources of Skills.

    Each Skill has one name everywhere, see `name`. A "bare name" is without the plugin.
    """

    closed: bool = False
    """Only the listed roots count: the log shows the location of every offered Skill."""
    known: bool = False
    """The resources come from a manifest and are complete."""
    roots: dict[str, None] = field(default_factory=dict)
    """Folders that contain Skills, in order of discovery."""
    folders: dict[str, str] = field(default_factory=dict)
    """Folder of a Skill -> its name as offered."""
    folder_names: dict[str, None] = field(default_factory=dict)
    """Names of these folders, each with a leading slash."""
    names: dict[str, dict[str, None]] = field(default_factory=dict)
    """Bare name -> every name of such a Skill in log or manifest."""
    bundled: set[str] = field(default_factory=set)
    """The agent program's own Skills."""
    resources: dict[str, dict[str, str]] = field(default_factory=dict)
    """Skill -> `name_key` of a path -> path; of two with one key the later one is "/path" -> path."""
    inner_folders: dict[str, set[str]] = field(default_factory=dict)
    """Skill -> keys of the folders of these paths."""

    def add_skill(self, name: str, folder: str | None = None) -> None:
        """Add a Skill, and its folder if known."""
        self.names.setdefault(bare_skill_name(name), {}).setdefault(name)
        if folder:
            self._add_folder(normalised(folder), name)

    def name(self, skill: str) -> str:
        """Return the one name of a Skill, given its name in log or manifest or its folder's name: the
        bare name where that is known, else the one with the plugin."""
        bare = bare_skill_name(skill)
        known = self.names.get(bare, {})
        return bare if bare in known else next(iter(known)) if len(known) == 1 else skill

    def add_root(self, root: str) -> None:
        root = normalised(root)
        if root not in {"", "/", "~"}:
            self.roots.setdefault(root)

    def add_resource(self, skill: str, path: str) -> None:
        skill, lower = self.name(skill), name_key(path)
        known = self.resources.setdefault(skill, {})
        if known.setdefault(lower, path) != path:
            known[f"/{path}"] = path
        folders = self.inner_folders.setdefault(skill, set())
        folder = lower.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]

    def add_folder(self, path: str, location: ResourceLocation) -> None:
        """Learn the location of a Skill from a path and its meaning."""
        if location.resource == ".":
            folder = path if location.skill else ""
        else:
            ends = path.endswith("/" + location.resource)
            folder = path[: -len(location.resource) - 1] if ends else ""
        if folder:
            self._add_folder(folder, location.skill)

    def _add_folder(self, folder: str, skill: str) -> None:
        if folder not in self.folders:
            self.folders[folder] = skill
            self.folder_names.setdefault("/" + name_of(folder))

    def has(self, skill: str, path: str) -> bool:
        return name_key(path) in self.resources.get(self.name(skill), {})

    def locate(self, path: str) -> ResourceLocation | None:
        """Skill and resource of a path, or None if it is outside all Skills."""
        path = normalised(path)
        folder = self._skill_folder(path)
        if folder is not None:
            skill = self.name(self.folders[folder])
            return self._location(skill, path[len(folder) + 1 :], bundled=_OWN_SKILLS in folder)
        for root in self.roots:
            if path.startswith(root + "/"):
                return self._under_root(path[len(root) + 1 :], root)
        match = _KNOWN_ROOT.match(path) if "skill" in path else None
        if match and match[2]:
            first = match[2].partition("/")[0]
            if not self.closed or first in self.names:
                return self._under_root(match[2], match[1])
        return None

    def _skill_folder(self, path: str) -> str | None:
        """Longest Skill folder that contains the path."""
        while path and path not in self.folders:
            path = path.rpartition("/")[0]
        return path or None

    def _under_root(self, below: str, root: str) -> ResourceLocation | None:
        """Meaning of a path below a root."""
        first, _, inner = below.partition("/")
        if first == ".system" and inner:
            return self._under_root(inner, root + "/.system")
        if first in BUNDLE_FOLDERS and first not in self.names:
            return ResourceLocation("", below)
        if is_glob(first):
            return None
        if "." in first and not inner and first not in self.names:
            return None
        return self._location(self.name(first), inner, bundled=_OWN_SKILLS in root)

    def _location(self, skill: str, inner: str, *, bundled: bool) -> ResourceLocation:
        """Location inside a Skill, with the path's known upper and lower case."""
        known = self.resources.get(skill, {})
        resource = known.get(f"/{inner}") or known.get(name_key(inner), inner) or "."
        if is_root(resource):
            resource = "SKILL.md"
        folder = resource == "." or self._is_folder(skill, resource)
        return ResourceLocation(skill, resource, bundled or skill in self.bundled, folder)

    def _is_folder(self, skill: str, resource: str) -> bool:
        """Whether a path is a folder: other paths are below it, or it is a usual one without an
        extension."""
        lower = name_key(resource)
        if lower in self.resources.get(skill, {}):
            return False
        return lower in self.inner_folders.get(skill, ()) or resource in BUNDLE_FOLDERS

    def expand(self, pattern: str) -> list[ResourceLocation]:
        """Known resources that match a glob over paths."""
        fits = glob_fits(pattern)
        found: dict[tuple[str, str], ResourceLocation] = {}
        for folder, given in self.folders.items():
            skill = self.name(given)
            for path in self.resources.get(skill, {}).values():
                if fits(f"{folder}/{path}"):
                    place = self._location(skill, path, bundled=_OWN_SKILLS in folder)
                    found[place.skill, place.resource] = place
        return list(found.values())

    def named_in(self, text: str) -> bool:
        """Whether a text contains anything that every path to a Skill contains."""
        if contains_any(text, _PATH_SIGNS):
            return True
        return contains_any(text, self.folder_names)


# Skills that a log offers.

_BASE_DIRECTORY = re.compile(r"Base directory for this skill: ([^\n]{1,1000})")
_PATH_STOPS = frozenset(" \t\n\r'\"`()<>[]{},;|*")
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
            for path in _skill_files(message.text[:_LONGEST_MESSAGE]):
                _add_skill_file(catalog, path)
    return catalog


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
    """Add the Skills listed in the log; if it has their locations, no other root counts."""
    for skill in trajectory.offered or ():
        folder = skill.path
        if folder and is_root(name_of(folder)):
            folder = folder_of(folder)
        catalog.add_skill(skill.name, folder)
        if skill.bundled:
            catalog.bundled.add(catalog.name(skill.name))
        catalog.closed = catalog.closed or bool(folder)


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
    catalog.add_skill(catalog.name(name), folder)
    if name_of(folder_of(folder)) in {"skills", ".system"}:
        catalog.add_root(folder_of(folder))


# Copies of and links to bundled files.

_SHARED_FOLDERS = frozenset(
    {"/", "/tmp", "~", "/root", "/app", "/work", "/workspace", "/home", ""}
)  # fmt: skip
"""Folders that exist before anything is copied into them."""


class FileCopies(Struct):
    """Copies and links made so far."""

    catalog: SkillCatalog
    originals: dict[str, str] = field(default_factory=dict)
    """Path of a copy -> its original in a bundle."""

    def add(self, copy: str, original: str, cwd: str | None) -> None:
        """Record a copy of a bundled file or folder, or of another copy."""
        original = self._original(original) or original
        if is_glob(original) or self.catalog.locate(original) is None:
            return
        copy = normalised(copy)
        self.originals[normalised(f"{copy}/{name_of(original)}") if copy else name_of(original)] = (
            original
        )
        existed = copy in _SHARED_FOLDERS or (cwd and f"{cwd}/".startswith(f"{copy}/"))
        if not existed:
            self.originals[copy] = original

    def locate(self, path: str) -> ResourceLocation | None:
        """Resource that a path shows, or None.

        A copied folder may contain other files: below it only the Skill's known or usual paths
        count.
        """
        original = self._original(path) if self.originals else None
        location = self.catalog.locate(original) if original is not None else None
        if location is None or path in self.originals or location.folder:
            return location
        resource = location.resource
        usual = is_root(resource) or resource.partition("/")[0] in BUNDLE_FOLDERS
        known = self.catalog.has(location.skill, resource)
        return location if known or (usual and not self.catalog.known) else None

    def _original(self, path: str) -> str | None:
        """Original of a copy, or of a file in a copied folder."""
        below, at = "", path
        while at:
            if at in self.originals:
                return normalised(f"{self.originals[at]}/{below}") if below else self.originals[at]
            below = f"{name_of(at)}/{below}" if below else name_of(at)
            at = folder_of(at) if at != "/" else ""
        return None
