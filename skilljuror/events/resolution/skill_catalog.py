"""Locations of a run's Skills: maps any path to (Skill, resource)."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.base.skill import is_root
from skilljuror.base.study import SKILL_ROOTS
from skilljuror.base.work_budget import FEW_TURNS, charge
from skilljuror.events.paths import contains_any, glob_fits, is_glob, name_of, normalised

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
SKILL_SCHEME = "skill://"
"""Scheme of servers that offer Skills: `skill://NAME/SKILL.md`."""
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
    names: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Bare name -> every name of such a Skill in log or manifest -> whether it is listed as offered."""
    bundled: set[str] = field(default_factory=set)
    """The agent program's own Skills."""
    resources: dict[str, dict[str, str]] = field(default_factory=dict)
    """Skill -> lower-case path -> path."""
    inner_folders: dict[str, set[str]] = field(default_factory=dict)
    """Skill -> folders of these paths, in lower case."""
    mentioned: dict[str, dict[str, None]] = field(default_factory=dict)
    """Skill -> paths named in a listing or text but not opened yet."""

    def add_skill(self, name: str, folder: str | None = None, *, listed: bool = False) -> None:
        """Add a Skill, and its folder if known."""
        known = self.names.setdefault(bare_skill_name(name), {})
        known[name] = listed or known.get(name, False)
        if folder:
            self._add_folder(normalised(folder), name)

    def name(self, skill: str, path: str = "") -> str:
        """Return the canonical name of a Skill, given its name or its folder's name and a path in
        it.

        The plugin is included if the log tells it: by that name, by a path through a plugin's
        folder, or because no other Skill has the bare name. If the bare name is listed and the
        other is not, both mean one Skill.
        """
        bare = bare_skill_name(skill)
        known = self.names.get(bare, {})
        alone = known.get(bare, False)
        if skill != bare:
            return bare if alone and not known.get(skill) else skill
        others = [name for name, listed in known.items() if name != bare and (listed or not alone)]
        if len(others) == 1 and not alone:
            return others[0]
        plugins = {name.split(":")[-2]: name for name in others}
        folders = reversed(path.split("/")) if plugins else ()
        return next((plugins[folder] for folder in folders if folder in plugins), bare)

    def add_root(self, root: str) -> None:
        root = normalised(root)
        if root not in {"", "/", "~"}:
            self.roots.setdefault(root)

    def add_resource(self, skill: str, path: str) -> None:
        skill, lower = self.name(skill), path.lower()
        self.resources.setdefault(skill, {}).setdefault(lower, path)
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

    def add_name(self, skill: str, path: str) -> None:
        """Add a file named by a listing or a Skill's text, as a candidate for globs."""
        self.mentioned.setdefault(self.name(skill), {}).setdefault(path)

    def has(self, skill: str, path: str) -> bool:
        return path.lower() in self.resources.get(self.name(skill), {})

    def locate(self, path: str) -> ResourceLocation | None:
        """Skill and resource of a path, or None if it is outside all Skills."""
        if path.startswith(SKILL_SCHEME):
            name, _, inner = path[len(SKILL_SCHEME) :].partition("/")
            known = bare_skill_name(name) in self.names
            skill = self.name(name)
            bundled = skill in self.bundled
            return self._location(skill, inner or "SKILL.md", bundled=bundled) if known else None
        path = normalised(path)
        if len(self.roots) > FEW_TURNS:
            charge(len(self.roots))
        folder = self._skill_folder(path)
        if folder is not None:
            skill = self.name(self.folders[folder], folder)
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
        return self._location(self.name(first, root), inner, bundled=_OWN_SKILLS in root)

    def _location(self, skill: str, inner: str, *, bundled: bool) -> ResourceLocation:
        """Location inside a Skill, with the path's known upper and lower case."""
        resource = self.resources.get(skill, {}).get(inner.lower(), inner) or "."
        if is_root(resource):
            resource = "SKILL.md"
        folder = resource == "." or self._is_folder(skill, resource)
        return ResourceLocation(skill, resource, bundled or skill in self.bundled, folder)

    def _is_folder(self, skill: str, resource: str) -> bool:
        """Whether a path is a folder: other paths are below it, or it is a usual one without an
        extension."""
        lower = resource.lower()
        if lower in self.resources.get(skill, {}):
            return False
        return lower in self.inner_folders.get(skill, ()) or resource in BUNDLE_FOLDERS

    def by_suffix(self, end: str) -> ResourceLocation | None:
        """The only resource whose path has this end of at least a folder and a name. A path that
        continues after `skills/NAME/` names the Skill itself."""
        if "/" not in end:
            return None
        _, below, rest = f"/{end}".partition("/skills/")
        if below and rest.partition("/")[0] in self.names:
            return self._under_root(rest, "")
        charge(sum(map(len, self.resources.values())) + sum(map(len, self.mentioned.values())))
        found = [
            (skill, path)
            for skill in {**self.resources, **self.mentioned}
            for path in {*self.resources.get(skill, {}).values(), *self.mentioned.get(skill, ())}
            if f"/{bare_skill_name(skill)}/{path}".lower().endswith("/" + end.lower())
        ]
        if len(found) != 1:
            return None
        skill, path = found[0]
        return self._location(skill, path, bundled=False)

    def expand(self, pattern: str) -> list[ResourceLocation]:
        """Known resources that match a glob over paths."""
        fits = glob_fits(pattern)
        found: dict[tuple[str, str], ResourceLocation] = {}
        for folder, skill, path in self._paths():
            if fits(f"{folder}/{path}"):
                place = self._location(skill, path, bundled=_OWN_SKILLS in folder)
                found[place.skill, place.resource] = place
        return list(found.values())

    def _paths(self) -> Iterator[tuple[str, str, str]]:
        """(folder, Skill, path) of every known resource, for each folder of its Skill."""
        for folder, given in self.folders.items():
            skill = self.name(given, folder)
            known = self.resources.get(skill, {})
            charge(1 + len(known) + len(self.mentioned.get(skill, ())))
            for path in known.values():
                yield folder, skill, path
            for path in self.mentioned.get(skill, {}):
                if path.lower() not in known:
                    yield folder, skill, path

    def named_in(self, text: str) -> bool:
        """Whether a text contains anything that every path to a Skill contains."""
        if contains_any(text, _PATH_SIGNS):
            return True
        if len(self.folder_names) > FEW_TURNS:
            charge(len(self.folder_names))
        return contains_any(text, self.folder_names)
