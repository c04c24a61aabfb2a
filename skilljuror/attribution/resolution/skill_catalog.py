"""Where the skills lie: from any path an agent may write to (skill, resource)."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.attribution.paths import contains_any, glob_fits, glob_match, is_glob, normalised
from skilljuror.models.resource_class import is_root

_AGENT_FOLDERS = (
    r"\.claude|\.agents?|\.codex|\.gemini|\.github|\.copilot|\.cursor|\.opencode|\.config/opencode"
    r"|\.factory|\.goose|\.windsurf|\.qwen|\.kiro|\.junie|\.pi|\.pi/agent|\.openhands|\.amp|\.roo"
)
_KNOWN_ROOT = re.compile(
    rf"^(.*?(?:(?:^|/)(?:{_AGENT_FOLDERS})/skills?(?:/\.system)?"
    r"|/plugins/(?:cache|marketplaces|repos)/(?:[^/]+/){1,5}?skills|(?:^|/)mnt/skills/(?:public|user|private|examples|organization)"
    r"|(?:^|/)harbor/skills|/agent/sessions/skills|(?:^|/)environment/skills))(?:/(.*))?$"
)
"""Roots seen in real logs (formats §2), wherever they lie; all of them say "skill"."""
_NEEDLES = ("skills", "skill/", "SKILL.md", "skill.md", "SKILL_", "Begin Patch")
_SIGNS = ("skill", "SKILL", "Begin Patch")
"""One of them stands in whatever holds one of those."""
_HEAD = 3
"""Characters of a folder's name that are looked up before the names are."""
_BUNDLED = "/skills/.system"
BUNDLE_FOLDERS = frozenset({
    "references",
    "reference",
    "scripts",
    "assets",
    "templates",
    "steps",
    "examples",
    "docs",
    "resources",
})
"""Folders of a bundle, that somebody writes straight under the root by mistake."""


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
    """The part of a skill's name after its plugin."""
    return skill.rpartition(":")[2]


class SkillCatalog(Struct):
    """Everything known about where skills lie and which resources they have."""

    closed: bool = False
    """Only the listed roots count: the log shows where every offered skill lies."""
    known: bool = False
    """The resources are those of the manifest, and no others."""
    roots: dict[str, None] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    """Folder of a skill -> its name as offered."""
    folder_names: dict[str, None] = field(default_factory=dict)
    """Names of these folders, each with the slash before it."""
    folder_heads: set[str] = field(default_factory=set)
    """How these names begin; "" where one is shorter than that."""
    names: dict[str, str] = field(default_factory=dict)
    """Tail of a name -> the name as offered."""
    bundled: set[str] = field(default_factory=set)
    """Tails of the agent's own skills."""
    resources: dict[str, dict[str, str]] = field(default_factory=dict)
    """Tail of a skill -> lower-case path -> path."""
    mentioned: dict[str, dict[str, None]] = field(default_factory=dict)
    """Tail of a skill -> paths that a listing or a text named and nobody has opened yet."""

    def add_skill(self, name: str, folder: str | None = None, *, bundled: bool = False) -> None:
        """Add a skill, and where it lies if that is known."""
        tail = bare_skill_name(name)
        if ":" in name or tail not in self.names:
            self.names[tail] = name
        if bundled:
            self.bundled.add(tail)
        if folder:
            folder = normalised(folder)
            self._add_folder(folder, name)

    def add_root(self, root: str) -> None:
        """Add a folder that holds skills."""
        root = normalised(root)
        if root not in {"", "/", "~"}:
            self.roots.setdefault(root)

    def add_resource(self, skill: str, path: str) -> None:
        """Add a file of a skill."""
        self.resources.setdefault(bare_skill_name(skill), {}).setdefault(path.lower(), path)

    def add_folder(self, path: str, location: ResourceLocation) -> None:
        """A path that was understood shows where its skill lies."""
        if location.resource == ".":
            folder, found = path, bool(location.skill)
        else:
            folder = path[: -len(location.resource) - 1]
            found = path.endswith("/" + location.resource)
        if found and folder:
            self._add_folder(folder, location.skill)

    def _add_folder(self, folder: str, skill: str) -> None:
        if folder not in self.folders:
            self.folders[folder] = skill
            name = folder.rpartition("/")[2]
            self.folder_names.setdefault("/" + name)
            self.folder_heads.add(name[:_HEAD] if len(name) >= _HEAD else "")

    def add_name(self, skill: str, path: str) -> None:
        """A file that a listing or the skill's own text names: globs may mean it."""
        self.mentioned.setdefault(bare_skill_name(skill), {}).setdefault(path)

    def has(self, skill: str, path: str) -> bool:
        """Whether the skill is known to have that file."""
        return path.lower() in self.resources.get(bare_skill_name(skill), {})

    def locate(self, path: str) -> ResourceLocation | None:
        """What a path means; None for a path outside every skill."""
        path = normalised(path)
        folder = self._skill_folder(path)
        if folder is not None:
            skill = self.folders[folder]
            skill = self.names.get(skill, skill)
            return self._location(skill, path[len(folder) + 1 :], bundled=_BUNDLED in folder)
        for root in self.roots:
            if path.startswith(root + "/"):
                return self._under_root(path[len(root) + 1 :], root)
        found = _KNOWN_ROOT.match(path) if "skill" in path else None
        if found and found[2]:
            first = found[2].partition("/")[0]
            if not self.closed or first in self.names:
                return self._under_root(found[2], found[1])
        return None

    def _skill_folder(self, path: str) -> str | None:
        """The longest folder of a skill that holds the path."""
        while path:
            if path in self.folders:
                return path
            path = path.rpartition("/")[0]
        return None

    def _under_root(self, rest: str, root: str) -> ResourceLocation | None:
        first, _, inner = rest.partition("/")
        if first == ".system" and inner:
            return self._under_root(inner, root + "/.system")
        if first in BUNDLE_FOLDERS and first not in self.names:
            return ResourceLocation("", rest)
        if is_glob(first):
            return None
        if "." in first and not inner and first not in self.names:
            return None
        return self._location(self.names.get(first, first), inner, bundled=_BUNDLED in root)

    def _location(self, skill: str, inner: str, *, bundled: bool) -> ResourceLocation:
        tail = bare_skill_name(skill)
        bundled = bundled or tail in self.bundled
        paths = self.resources.get(tail, {})
        resource = paths.get(inner.lower(), inner) or "."
        if is_root(resource):
            resource = "SKILL.md"
        return ResourceLocation(
            skill, resource, bundled, folder=resource == "." or self._is_folder(tail, resource)
        )

    def _is_folder(self, tail: str, resource: str) -> bool:
        """Whether a path names a folder: others lie under it, or it is a usual one without an ending."""
        start = resource.lower() + "/"
        paths = self.resources.get(tail, {})
        if resource.lower() in paths:
            return False
        return any(path.startswith(start) for path in paths) or resource in BUNDLE_FOLDERS

    def by_suffix(self, end: str) -> ResourceLocation | None:
        """The only resource whose path ends so; at least a folder and a name are asked for. A path
        that goes on from `skills/NAME/` names the skill itself."""
        if "/" not in end:
            return None
        _, below, rest = f"/{end}".partition("/skills/")
        if below and rest.partition("/")[0] in self.names:
            return self._under_root(rest, "")
        found = [
            (tail, path)
            for tail in {**self.resources, **self.mentioned}
            for path in {*self.resources.get(tail, {}).values(), *self.mentioned.get(tail, ())}
            if f"/{tail}/{path}".lower().endswith("/" + end.lower())
        ]
        if len(found) != 1:
            return None
        tail, path = found[0]
        return self._location(self.names.get(tail, tail), path, bundled=False)

    def expand(self, pattern: str) -> list[ResourceLocation]:
        """The known resources that a glob over paths fits."""
        home = pattern.startswith("~/")
        fits = glob_fits(pattern)
        found = {
            (place.skill, place.resource): place
            for folder, skill, path in self._paths()
            if fits(full := f"{folder}/{path}") or (home and _ends(pattern[1:], full))
            for place in [self._location(skill, path, bundled=_BUNDLED in folder)]
        }
        return list(found.values())

    def _paths(self) -> Iterator[tuple[str, str, str]]:
        """(folder, skill, path) of every known resource, for every folder its skill lies in."""
        for folder, skill in self.folders.items():
            tail = bare_skill_name(skill)
            known = self.resources.get(tail, {})
            for path in known.values():
                yield folder, skill, path
            for path in self.mentioned.get(tail, {}):
                if path.lower() not in known:
                    yield folder, skill, path

    def named_in(self, text: str) -> bool:
        """Whether a text holds anything that a path to a skill must hold."""
        if contains_any(text, _SIGNS) and contains_any(text, _NEEDLES):
            return True
        if "/" not in text:
            return False
        if "" not in self.folder_heads:
            heads = [part[:_HEAD] for part in text.split("/")]
            if self.folder_heads.isdisjoint(heads):
                return False
        return contains_any(text, self.folder_names)


def _ends(pattern: str, path: str) -> bool:
    """Whether a glob below a home folder that nobody knows fits the end of a path."""
    fixed = pattern[: next((at for at, mark in enumerate(pattern) if mark in "*?["), None)]
    at = path.find(fixed)
    return at > 0 and glob_match(pattern, path[at:])


def known_root(path: str) -> tuple[str, str] | None:
    """(root, skill folder) of a path under one of the roots seen in real logs."""
    found = _KNOWN_ROOT.match(normalised(path))
    if not found or not found[2]:
        return None
    first = found[2].partition("/")[0]
    return found[1], f"{found[1]}/{first}"
