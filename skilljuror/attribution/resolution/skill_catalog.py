"""Where the skills of a run lie: from any path an agent may write to (skill, resource)."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.attribution.paths import contains_any, glob_fits, is_glob, name_of, normalised
from skilljuror.models.harbor import SKILL_ROOTS
from skilljuror.models.resource_class import is_root
from skilljuror.work import FEW_TURNS, charge

_AGENT_FOLDERS = (
    r"\.claude|\.agents?|\.codex|\.gemini|\.github|\.copilot|\.cursor|\.opencode|\.config/opencode"
    r"|\.factory|\.goose|\.windsurf|\.qwen|\.kiro|\.junie|\.pi|\.pi/agent|\.openhands|\.amp|\.roo"
)
_KNOWN_ROOT = re.compile(
    rf"^(.*?(?:(?:^|/)(?:{_AGENT_FOLDERS})/skills?(?:/\.system)?"
    r"|/plugins/(?:cache|marketplaces|repos)/(?:[^/]+/){1,5}?skills|(?:^|/)mnt/skills/(?:public|user|private|examples|organization)"
    rf"|(?:^|/)harbor/skills|^(?:{'|'.join(SKILL_ROOTS.values())})"
    r"|/agent/sessions/skills|(?:^|/)environment/skills))(?:/(.*))?$"
)
"""Roots seen in real logs (formats §2), wherever they lie; all of them say "skill"."""
_PATH_SIGNS = ("skills", "skill/", "SKILL.md", "skill.md", "SKILL_", "Begin Patch")
"""One of them stands in any text that names a path below a root that need not be known."""
_OWN_SKILLS = "/skills/.system"
"""Where Codex keeps skills of its own."""
BUNDLE_FOLDERS = frozenset(
    {"references", "reference", "scripts", "assets", "templates", "steps", "examples", "docs", "resources"}
)  # fmt: skip
"""Usual folders of a bundle; agents write them straight under the root by mistake."""


class ResourceLocation(Struct, frozen=True, gc=False):
    """What a path means."""

    skill: str
    """Skill as offered; "" for a path that names the root but no skill."""
    resource: str
    """Path inside the skill; "." for the skill's own folder."""
    bundled: bool = False
    """The skill belongs to the agent itself."""
    folder: bool = False
    """The path names a folder of the bundle."""


def bare_skill_name(skill: str) -> str:
    """The name of a skill without its plugin: `books:ledger` -> `ledger`."""
    return skill.rpartition(":")[2]


class SkillCatalog(Struct):
    """Everything known about where skills lie and which resources they have.

    "Bare name" is the name of a skill without its plugin.
    """

    closed: bool = False
    """Only the listed roots count: the log shows where every offered skill lies."""
    known: bool = False
    """The resources are those of the manifest, and no others."""
    roots: dict[str, None] = field(default_factory=dict)
    """Folders that hold skills, in order of discovery."""
    folders: dict[str, str] = field(default_factory=dict)
    """Folder of a skill -> its name as offered."""
    folder_names: dict[str, None] = field(default_factory=dict)
    """Names of these folders, each with the slash before it."""
    names: dict[str, str] = field(default_factory=dict)
    """Bare name -> the name as offered."""
    bundled: set[str] = field(default_factory=set)
    """Bare names of the agent's own skills."""
    resources: dict[str, dict[str, str]] = field(default_factory=dict)
    """Bare name -> lower-case path -> path."""
    inner_folders: dict[str, set[str]] = field(default_factory=dict)
    """Bare name -> folders of these paths, in lower case."""
    mentioned: dict[str, dict[str, None]] = field(default_factory=dict)
    """Bare name -> paths that a listing or a text named and nobody has opened yet."""

    def add_skill(self, name: str, folder: str | None = None, *, bundled: bool = False) -> None:
        """Add a skill, and where it lies if that is known."""
        bare = bare_skill_name(name)
        if ":" in name or bare not in self.names:
            self.names[bare] = name
        if bundled:
            self.bundled.add(bare)
        if folder:
            self._add_folder(normalised(folder), name)

    def add_root(self, root: str) -> None:
        """Add a folder that holds skills."""
        root = normalised(root)
        if root not in {"", "/", "~"}:
            self.roots.setdefault(root)

    def add_resource(self, skill: str, path: str) -> None:
        """Add a file of a skill."""
        bare, lower = bare_skill_name(skill), path.lower()
        self.resources.setdefault(bare, {}).setdefault(lower, path)
        folders = self.inner_folders.setdefault(bare, set())
        folder = lower.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]

    def add_folder(self, path: str, location: ResourceLocation) -> None:
        """Learn from a path and what it means where its skill lies."""
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
        """Add a file that a listing or the skill's own text names: globs may mean it."""
        self.mentioned.setdefault(bare_skill_name(skill), {}).setdefault(path)

    def has(self, skill: str, path: str) -> bool:
        """Whether the skill is known to have that file."""
        return path.lower() in self.resources.get(bare_skill_name(skill), {})

    def locate(self, path: str) -> ResourceLocation | None:
        """What a path means; None for a path outside every skill."""
        path = normalised(path)
        if len(self.roots) > FEW_TURNS:
            charge(len(self.roots))
        folder = self._skill_folder(path)
        if folder is not None:
            skill = self.folders[folder]
            skill = self.names.get(skill, skill)
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
        """The longest folder of a skill that holds the path."""
        while path:
            if path in self.folders:
                return path
            path = path.rpartition("/")[0]
        return None

    def _under_root(self, below: str, root: str) -> ResourceLocation | None:
        """What a path below a root means."""
        first, _, inner = below.partition("/")
        if first == ".system" and inner:
            return self._under_root(inner, root + "/.system")
        if first in BUNDLE_FOLDERS and first not in self.names:
            return ResourceLocation("", below)
        if is_glob(first):
            return None
        if "." in first and not inner and first not in self.names:
            return None
        return self._location(self.names.get(first, first), inner, bundled=_OWN_SKILLS in root)

    def _location(self, skill: str, inner: str, *, bundled: bool) -> ResourceLocation:
        """A place inside a skill; its path gets the letters that the skill gives it."""
        bare = bare_skill_name(skill)
        resource = self.resources.get(bare, {}).get(inner.lower(), inner) or "."
        if is_root(resource):
            resource = "SKILL.md"
        folder = resource == "." or self._is_folder(bare, resource)
        return ResourceLocation(skill, resource, bundled or bare in self.bundled, folder)

    def _is_folder(self, bare: str, resource: str) -> bool:
        """Whether a path names a folder: others lie under it, or it is a usual one without an ending."""
        lower = resource.lower()
        if lower in self.resources.get(bare, {}):
            return False
        return lower in self.inner_folders.get(bare, ()) or resource in BUNDLE_FOLDERS

    def by_suffix(self, end: str) -> ResourceLocation | None:
        """The only resource whose path ends so; at least a folder and a name are asked for. A path
        that goes on from `skills/NAME/` names the skill itself."""
        if "/" not in end:
            return None
        _, below, rest = f"/{end}".partition("/skills/")
        if below and rest.partition("/")[0] in self.names:
            return self._under_root(rest, "")
        charge(sum(map(len, self.resources.values())) + sum(map(len, self.mentioned.values())))
        found = [
            (bare, path)
            for bare in {**self.resources, **self.mentioned}
            for path in {*self.resources.get(bare, {}).values(), *self.mentioned.get(bare, ())}
            if f"/{bare}/{path}".lower().endswith("/" + end.lower())
        ]
        if len(found) != 1:
            return None
        bare, path = found[0]
        return self._location(self.names.get(bare, bare), path, bundled=False)

    def expand(self, pattern: str) -> list[ResourceLocation]:
        """The known resources that a glob over paths fits."""
        fits = glob_fits(pattern)
        found: dict[tuple[str, str], ResourceLocation] = {}
        for folder, skill, path in self._paths():
            if fits(f"{folder}/{path}"):
                place = self._location(skill, path, bundled=_OWN_SKILLS in folder)
                found[place.skill, place.resource] = place
        return list(found.values())

    def _paths(self) -> Iterator[tuple[str, str, str]]:
        """(folder, skill, path) of every known resource, for every folder its skill lies in."""
        for folder, skill in self.folders.items():
            bare = bare_skill_name(skill)
            known = self.resources.get(bare, {})
            charge(1 + len(known) + len(self.mentioned.get(bare, ())))
            for path in known.values():
                yield folder, skill, path
            for path in self.mentioned.get(bare, {}):
                if path.lower() not in known:
                    yield folder, skill, path

    def named_in(self, text: str) -> bool:
        """Whether a text holds anything that a path to a skill must hold."""
        if contains_any(text, _PATH_SIGNS):
            return True
        if len(self.folder_names) > FEW_TURNS:
            charge(len(self.folder_names))
        return contains_any(text, self.folder_names)
