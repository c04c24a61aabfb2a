"""Resolve the accesses of a call to resources (the command witness)."""

import re
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.base.skill import is_root
from skilljuror.base.trajectory import EventKind, ToolCall
from skilljuror.base.work_budget import FEW_TURNS, charge
from skilljuror.events.accesses.file_access import UNCERTAIN, Access
from skilljuror.events.accesses.line_selection import LineSelection
from skilljuror.events.commands.apply_patch import patch_accesses
from skilljuror.events.commands.pipeline import command_accesses
from skilljuror.events.paths import expand_home, is_glob, join, name_of
from skilljuror.events.python.file_accesses import accesses_of_script, python_accesses
from skilljuror.events.resolution.call_normalisation import (
    classify_tool,
    typed_text,
    with_forward_slashes,
)
from skilljuror.events.resolution.file_copies import FileCopies
from skilljuror.events.resolution.glob_matches import paths_by_front_matter, paths_in_headings
from skilljuror.events.resolution.skill_catalog import (
    SKILL_SCHEME,
    ResourceLocation,
    SkillCatalog,
)
from skilljuror.events.shell.expansion import Environment
from skilljuror.events.shell.reader import ShellReader
from skilljuror.events.shell.syntax_tree import parse
from skilljuror.events.shell.wrappers import unwrap

_FILE_TOOLS = frozenset({"read", "write", "edit", "search", "list"})
_PATH_ARGUMENTS = ("path", "file_path", "filePath", "filename", "uri", "absolute_path", "file",
                   "relative_path")  # fmt: skip
MAX_COMMAND = 300_000
"""Maximum characters of a command."""
MOST_ACCESSES = 256
"""Maximum accesses of one call, and resources that they resolve to; real calls have up to about
twenty."""
_LONGEST_PATH = 1000
_NO_RESOURCE = re.compile(r"(?:^|/)(?:\.?venv|node_modules|__pycache__|\.git)(?:/|$)")
"""Files that tools create in a bundle."""


class ResolvedAccess(Struct, frozen=True, gc=False):
    """An access whose path is a resource."""

    access: Access
    location: ResourceLocation
    order: int
    """Position in the call."""

    @property
    def key(self) -> tuple[str, str]:
        return self.location.skill, self.location.resource


class AccessResolver(Struct):
    """Resolves calls in order, and remembers earlier scripts and copies."""

    catalog: SkillCatalog
    cwd: str | None
    home: str | None
    copies: FileCopies
    keeps_folder: bool = False
    """Each agent has one persistent shell, whose folder persists too."""
    scripts: dict[str, list[ResolvedAccess]] = field(default_factory=dict)
    """Path of a script written by the agent -> resources that it touches when run."""
    shell_folders: dict[str, str] = field(default_factory=dict)
    """Persistent shell -> its current folder inside a bundle."""
    inside: dict[str, bool] = field(default_factory=dict)
    """Folder -> whether it is in a bundle (cache)."""
    last_glob: tuple[str, str, tuple[str, ...]] = ("", "", ())
    """Last glob and output with their matches: a command may repeat a glob."""
    cut: set[int] = field(default_factory=set)
    """Calls with too many accesses."""
    unread: set[int] = field(default_factory=set)
    """Calls whose shell text was too long."""

    def resolve_call(
        self, call: ToolCall, agent: str, output: str
    ) -> tuple[list[ResolvedAccess], list[Access]]:
        """Return a call's resolved accesses in order, given its `output`, and all its accesses."""
        accesses = self._accesses(call, agent)
        if "Shell cwd was reset to" in output[-500:]:
            self.shell_folders.pop(agent, None)
        if len(accesses) > MOST_ACCESSES:
            self.cut.add(call.line)
            accesses = accesses[:MOST_ACCESSES]
        return self.resolve(accesses, output, call.line), accesses

    def resolve(self, accesses: list[Access], output: str, line: int) -> list[ResolvedAccess]:
        """Return accesses that are resources, and remember writes and copies. `line` is the call's
        line in the log."""
        resolved: list[ResolvedAccess] = []
        for access in accesses:
            if len(resolved) > MOST_ACCESSES:
                break
            for location in self._locations(access, output):
                listing = location.folder and access.kind == "read"
                used = replace(access, kind="list") if listing else access
                resolved.append(ResolvedAccess(used, location, len(resolved)))
            if access.kind == "exec":
                resolved.extend(self._run(access, len(resolved)))
            elif access.kind in {"write", "edit"}:
                self._remember(access)
                resolved.extend(self._mentions(access, len(resolved)))
        if len(resolved) > MOST_ACCESSES:
            self.cut.add(line)
        return resolved[:MOST_ACCESSES]

    # From a call to its accesses.

    def _accesses(self, call: ToolCall, agent: str) -> list[Access]:
        if call.action == "shell":
            shell = agent if self.keeps_folder and not call.workdir else None
            return self._commands(call.command or "", call, shell)
        if call.action == "python":
            text, folder = (call.command or "")[:MAX_COMMAND], self._folder(call)
            relevant = self._relevant(text, folder)
            return python_accesses(text, folder, self.home, echoes=True) if relevant else []
        if call.action == "poll":
            return self._commands(typed_text(call), call, f"{agent} {call.command}")
        patch = call.written or str(call.arguments.get("input", ""))
        if call.action in {"edit", "other"} and "*** Begin Patch" in patch:
            return patch_accesses(patch, call.workdir or self.cwd)
        if call.action in _FILE_TOOLS and (call.path or call.pattern):
            return self._file_tool(call)
        return self._unknown_tool(call) if call.action == "other" else []

    def _commands(self, text: str, call: ToolCall, shell: str | None) -> list[Access]:
        """Accesses of a shell text; empty if neither text nor folder concern a Skill.

        `shell` is the key of the persistent shell that it is typed into.
        """
        text = with_forward_slashes(text[:MAX_COMMAND])
        folder = self._folder(call)
        if shell is not None:
            folder = self.shell_folders.get(shell, folder)
        if not text or not self._relevant(text, folder):
            return []
        accesses, end = self._shell_accesses(text, folder)
        if parse(text)[1]:
            self.unread.add(call.line)
        if shell is not None:
            self._keep_folder(shell, end)
        return accesses

    def _keep_folder(self, shell: str, folder: str | None) -> None:
        """Remember a `cd` into a bundle; elsewhere the log's own folder is more reliable."""
        if folder is not None and self._is_inside(folder):
            self.shell_folders[shell] = folder
        else:
            self.shell_folders.pop(shell, None)

    def _shell_accesses(self, text: str, folder: str | None) -> tuple[list[Access], str | None]:
        """Accesses of a shell text, and the folder in which its shell ends."""
        environment = Environment(folder, self.home)
        commands = list(unwrap(ShellReader(environment).read(text), self.home))
        return command_accesses(commands, self.home), environment.cwd

    def _folder(self, call: ToolCall) -> str | None:
        if call.workdir:
            return join(self.cwd, expand_home(call.workdir, self.home))
        return self.cwd

    def _relevant(self, text: str, folder: str | None) -> bool:
        """Whether a text may name a resource, a copy, or a script that touches one."""
        if self.catalog.named_in(text) or (folder and self._is_inside(folder)):
            return True
        turns = len(self.copies.originals) + len(self.scripts)
        if turns > FEW_TURNS:
            charge(turns)
        return any(name_of(path) in text for path in (*self.copies.originals, *self.scripts))

    def _is_inside(self, folder: str) -> bool:
        if folder not in self.inside:
            self.inside[folder] = self.catalog.locate(folder + "/x") is not None
        return self.inside[folder]

    def _file_tool(self, call: ToolCall) -> list[Access]:
        """Path of a file tool. Reads and listings must be in a bundle; searches and writes may
        extend further."""
        folder = self._folder(call)
        named = self._relevant(f"{call.path} {call.pattern}", folder)
        if call.action in {"read", "list"} and not named:
            return []
        path = join(folder, expand_home(call.path or ".", self.home))
        text = f"{call.name} {call.path or call.pattern or ''}"
        if call.action == "list" or _prints_names_only(call):
            if not call.pattern:
                return [Access(path, "list", "read-tool", text=text)]
            path = join(path, call.pattern)
            return [
                Access(path, "list", "read-tool", glob=True, text=f"{call.name} {call.pattern}")
            ]
        if call.action == "search":
            lines = LineSelection().filtered()
            return [Access(path, "search", "read-tool", lines, glob=is_glob(path), text=text)]
        start = call.start or 1
        end = start + call.count - 1 if call.count else None
        lines = LineSelection(((start, end),), by_content="pages" in call.arguments)
        kind: EventKind = "edit"
        if call.action in {"read", "write"}:
            kind = "read" if call.action == "read" else "write"
        return [Access(path, kind, "read-tool", lines, text=text, written=call.written)]

    def _unknown_tool(self, call: ToolCall) -> list[Access]:
        """Path arguments of an unknown tool; its name determines the kind of access."""
        several = call.arguments.get("paths") or call.arguments.get("include")
        given = [call.arguments.get(name) for name in _PATH_ARGUMENTS]
        kind, shown = classify_tool(call.name)
        accesses: dict[str, Access] = {}
        for value in [*given, *(several if isinstance(several, list) else ())]:
            if isinstance(value, str) and 0 < len(value) < _LONGEST_PATH:
                path = join(self.cwd, expand_home(value.removeprefix("file://"), self.home))
                path = value if value.startswith(SKILL_SCHEME) else path
                access = Access(
                    path, kind, "read-tool", shown=shown, glob=is_glob(path),
                    bundle_files_only=kind == "read", text=f"{call.name} {value}",
                )  # fmt: skip
                accesses.setdefault(path, access)
        return list(accesses.values())

    # From an access to resources.

    def _locations(self, access: Access, output: str) -> list[ResourceLocation]:
        path = access.path
        if not path or len(path) > _LONGEST_PATH or "\n" in path:
            return []
        if "\0" in path:
            end = path.rpartition("\0")[2].strip("/")
            location = self.catalog.locate(end) or self.catalog.by_suffix(end)
        elif access.kind == "list" and access.glob:
            return self._listed(path)
        elif access.kind != "list" and (access.glob or is_glob(path)):
            return self._globbed(access, output)
        else:
            location = self.catalog.locate(path)
            if location is None and access.kind in {"read", "search"}:
                location = self.copies.locate(path)
        if location is None or not self._acceptable(access, location):
            return []
        return [self._as_folder(location) if access.kind == "list" else location]

    def _as_folder(self, location: ResourceLocation) -> ResourceLocation:
        """A listed path without an extension is a folder, unless a file of that name is known."""
        ending = "." in name_of(location.resource)
        if location.folder or ending or self.catalog.has(location.skill, location.resource):
            return location
        return replace(location, folder=True)

    def _acceptable(self, access: Access, location: ResourceLocation) -> bool:
        """Whether an access of this kind to this location is an access to a resource."""
        if _NO_RESOURCE.search(location.resource):
            return False
        if location.folder and access.kind not in {"list", "search"}:
            return access.kind == "read" and access.via == "read-tool"
        known = self.catalog.has(location.skill, location.resource)
        if access.kind == "import":
            return known or (not self.catalog.known and access.note != UNCERTAIN)
        if access.bundle_files_only:
            named_as_file = "." in name_of(location.resource)[1:]
            return known if self.catalog.known else named_as_file
        return True

    def _listed(self, pattern: str) -> list[ResourceLocation]:
        """A listing by a glob targets the bundle that contains its fixed part."""
        parts = pattern.split("/")
        fixed = next((at for at, part in enumerate(parts) if is_glob(part)), len(parts))
        location = self.catalog.locate("/".join(parts[:fixed]))
        return [replace(location, resource=".", folder=True)] if location and location.skill else []

    def _globbed(self, access: Access, output: str) -> list[ResourceLocation]:
        """Files that match a glob: from the manifest, else known ones and those named in the
        output. If another program selects among them, only the latter."""
        if self.catalog.known or not access.needs_evidence:
            found = self.catalog.expand(access.path)
        else:
            found = []
        if self.catalog.known:
            return found
        keys = {(place.skill, place.resource) for place in found}
        for path in self._named_in_output(access.path, output):
            place = self.catalog.locate(path)
            if place and not place.folder and (place.skill, place.resource) not in keys:
                keys.add((place.skill, place.resource))
                found.append(place)
        return found

    def _named_in_output(self, pattern: str, output: str) -> tuple[str, ...]:
        """Paths that match a glob and that an output names by headings or front matter."""
        if self.last_glob[:2] != (pattern, output):
            named = {*paths_in_headings(pattern, output), *paths_by_front_matter(pattern, output)}
            self.last_glob = pattern, output, tuple(sorted(filter(self._is_plausible, named)))
        return self.last_glob[2]

    def _is_plausible(self, path: str) -> bool:
        """A SKILL.md is in its Skill's own folder."""
        place = self.catalog.locate(path) if is_root(name_of(path)) else None
        return place is None or place.resource == "SKILL.md"

    # What earlier calls wrote and copied.

    def _run(self, access: Access, order: int) -> Iterator[ResolvedAccess]:
        """Accesses of running a script written or copied earlier."""
        for resolved in self.scripts.get(access.path, ()):
            lines, shown = resolved.access.selection, resolved.access.shown
            used = replace(
                resolved.access,
                selection=lines if access.selection.whole else lines.filtered(),
                shown=shown and access.shown,
                text=access.text,
                note=f"run of {access.path}",
            )
            yield replace(resolved, access=used, order=order)
        location = self.copies.locate(access.path)
        if location and not location.folder:
            ran = replace(access, kind="import", note="a copy of it was run")
            yield ResolvedAccess(ran, location, order)

    def _mentions(self, access: Access, order: int) -> Iterator[ResolvedAccess]:
        """Modules named in code that is written but not run yet."""
        for resolved in self.scripts.get(access.path, ()) if access.written else ():
            if resolved.access.kind == "import":
                named = replace(resolved.access, kind="mention", shown=False, text=access.text)
                yield replace(resolved, access=named, order=order)

    def _remember(self, access: Access) -> None:
        """Remember the original of a copy, and a script's accesses."""
        if access.source:
            self.copies.add(access.path, access.source, self.cwd)
        if access.written and self.catalog.named_in(access.written):
            touched = self._accesses_of_script(access.written[:MAX_COMMAND], access.path)
            places = [
                (inner, place)
                for inner in touched[:MOST_ACCESSES]
                for place in self._locations(inner, "")
            ][:MOST_ACCESSES]
            if places:
                self.scripts[access.path] = [
                    ResolvedAccess(inner, place, order)
                    for order, (inner, place) in enumerate(places)
                ]

    def _accesses_of_script(self, text: str, path: str) -> list[Access]:
        ending = path.rpartition(".")[2]
        if ending in {"sh", "bash"}:
            return self._shell_accesses(text, self.cwd)[0]
        if ending == "py":
            return accesses_of_script(text, path, self.home)
        return []


def _prints_names_only(call: ToolCall) -> bool:
    """Whether a search prints file names only, the default of Claude Code's Grep."""
    mode = call.arguments.get("output_mode", "content" if call.name != "Grep" else None)
    return call.action == "search" and mode != "content"
