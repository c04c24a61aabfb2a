"""A call -> the accesses its arguments ask for, resolved to resources (the command witness)."""

import re
from collections import ChainMap
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import UNCERTAIN, Access
from skilljuror.attribution.accesses.line_selection import WHOLE_FILE, LineSelection
from skilljuror.attribution.classes import class_of
from skilljuror.attribution.commands.apply_patch import patch_accesses
from skilljuror.attribution.commands.pipeline import command_accesses
from skilljuror.attribution.commands.quoted_paths import quoted_accesses
from skilljuror.attribution.paths import expand_home, folder_of, glob_match, is_glob, join
from skilljuror.attribution.python.file_accesses import imports_by_script, python_accesses
from skilljuror.attribution.resolution.call_normalisation import (
    classify_tool,
    simplified_command,
    typed_text,
    with_forward_slashes,
)
from skilljuror.attribution.resolution.file_copies import FileCopies
from skilljuror.attribution.resolution.glob_matches import paths_by_front_matter, paths_in_headings
from skilljuror.attribution.resolution.skill_catalog import ResourceLocation, SkillCatalog
from skilljuror.attribution.shell.expansion import Environment, Value, Word
from skilljuror.attribution.shell.reader import ShellReader, read_shell
from skilljuror.attribution.shell.wrappers import unwrap
from skilljuror.models.trajectory import Call

_FILE_TOOLS = frozenset({"read", "write", "edit", "search", "list"})
_PATH_ARGUMENTS = ("path", "file_path", "filePath", "filename", "uri", "absolute_path", "file",
                   "relative_path")  # fmt: skip
MAX_COMMAND = 300_000
"""Characters of a command that are read."""
_PATH_IN_OUTPUT = re.compile(r"[\w@./~+-]{3,500}")
_SKILL_FOLDERS = ("SKILL_DIR", "SKILL_ROOT", "SKILL_PATH", "SKILL_HOME", "CLAUDE_SKILL_DIR")
_NO_BUNDLE = re.compile(r"(?:^|/)(?:\.?venv|node_modules|__pycache__|\.git)(?:/|$)")


class ResolvedAccess(Struct, frozen=True, gc=False):
    """An access whose path is a resource."""

    access: Access
    location: ResourceLocation
    order: int
    """Position in the call."""

    @property
    def key(self) -> tuple[str, str]:
        """Skill and resource."""
        return self.location.skill, self.location.resource


class AccessResolver(Struct):
    """Reads calls one after the other: scripts and copies made earlier are remembered."""

    catalog: SkillCatalog
    cwd: str | None
    home: str | None
    copies: FileCopies
    """Copies of bundled files, and links to them."""
    keeps_folder: bool = False
    """The agent's shell lives on between calls, and its folder with it."""
    scripts: dict[str, list[ResolvedAccess]] = field(default_factory=dict)
    """Path of a script an agent wrote -> what it touches when it runs."""
    here: dict[str, str] = field(default_factory=dict)
    """Agent -> the folder inside a bundle to which its shell has moved."""
    folders: dict[str, bool] = field(default_factory=dict)
    """Folder -> whether it lies in a bundle, as far as asked."""

    asked: tuple[str, str] | None = None
    """The glob and the output that were asked about last."""
    answer: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    """What was found then."""

    def resolve_call(
        self, call: Call, agent: str, shown: str
    ) -> tuple[list[ResolvedAccess], list[Access]]:
        """The claims of a call that printed `shown`, in order, and all its accesses."""
        accesses = [self._settled(one) for one in self._accesses(call, agent)]
        if "Shell cwd was reset to" in shown[-500:]:
            self.here.pop(agent, None)
        return self.resolve(accesses, shown), accesses

    def resolve(self, accesses: list[Access], shown: str) -> list[ResolvedAccess]:
        """The claims of a call whose accesses are known already."""
        resolved_accesses: list[ResolvedAccess] = []
        for at, given in enumerate(accesses):
            access = accesses[at] = self.copies.through(given)
            for location in self._locations(access, shown):
                resolved_accesses.append(
                    ResolvedAccess(_as_listing(access, location), location, len(resolved_accesses))
                )
            if access.kind == "exec":
                resolved_accesses.extend(self._indirect(access, len(resolved_accesses)))
            elif access.kind in {"write", "edit"}:
                self._remember(access)
                resolved_accesses.extend(self._mentions(access, len(resolved_accesses)))
        return resolved_accesses

    def _settled(self, access: Access) -> Access:
        """Which of the files that a listing gave were chosen, the names in the output tell where
        no manifest does."""
        if (
            access.needs_evidence
            and access.glob
            and access.via == "shell"
            and not self.catalog.known
        ):
            return replace(access, needs_evidence=False, bundle_files_only=True)
        return _unproven(access)

    def _accesses(self, call: Call, agent: str) -> list[Access]:
        if call.action in {"shell", "python"}:
            return self._command(call, agent)
        if call.action == "poll":
            return self._typed(call)
        patch = call.written or str(call.arguments.get("input", ""))
        if call.action in {"edit", "other"} and "*** Begin Patch" in patch:
            return patch_accesses(patch, call.workdir or self.cwd)
        if call.action in _FILE_TOOLS and (call.path or call.pattern):
            return self._file_tool(call)
        return self._unknown_tool(call) if call.action == "other" else []

    def _file_tool(self, call: Call) -> list[Access]:
        """A read or a listing counts only in a bundle; a search or a write may reach further."""
        if call.action in {"read", "list"}:
            named = self._relevant(f"{call.path} {call.pattern}", self._folder(call))
            return [self._tool(call)] if named else []
        return [self._tool(call)]

    def _command(self, call: Call, agent: str) -> list[Access]:
        text = with_forward_slashes((call.command or "")[:MAX_COMMAND])
        folder = self._folder(call) if call.workdir else self.here.get(agent, self.cwd)
        if not self._relevant(text, folder):
            return []
        if call.action == "python":
            return python_accesses(text, folder, self.home, echoes=True)
        environment = Environment(folder, self.home, ChainMap(self._variables()))
        commands = ShellReader(environment).read(simplified_command(text))
        self._moved(agent, environment.cwd)
        return command_accesses(list(unwrap(commands, self.home)), self.home)

    def _typed(self, call: Call) -> list[Access]:
        """What is typed into a shell that is running already."""
        text = typed_text(call)
        if not text or not self._relevant(text, None):
            return []
        commands = unwrap(read_shell(text, self._folder(call), self.home), self.home)
        return command_accesses(list(commands), self.home)

    def _variables(self) -> dict[str, Value]:
        """Variables that agents set for their shells; one that names the skill's folder means the
        only skill whose folder is known."""
        folder = next(iter(self.catalog.folders)) if len(self.catalog.folders) == 1 else None
        own = dict.fromkeys(_SKILL_FOLDERS, (Word(folder),)) if folder else {}
        return {**own, **self._agent_folders()}

    def _agent_folders(self) -> dict[str, Value]:
        if not self.home:
            return {}
        folders = {"CODEX_HOME": ".codex", "CLAUDE_CONFIG_DIR": ".claude", "GEMINI_DIR": ".gemini"}
        known = {name: f"{self.home}/{folder}" for name, folder in folders.items()}
        if self.cwd:
            known["CLAUDE_PROJECT_DIR"] = self.cwd
        return {name: (Word(folder),) for name, folder in known.items()}

    def _moved(self, agent: str, folder: str | None) -> None:
        """Remember a `cd` into a bundle; elsewhere the log's own folder is the better guide."""
        if folder is not None and self.keeps_folder and self._inside(folder):
            self.here[agent] = folder
        else:
            self.here.pop(agent, None)

    def _folder(self, call: Call) -> str | None:
        if call.workdir:
            return join(self.cwd, expand_home(call.workdir, self.home))
        return self.cwd

    def _relevant(self, text: str, folder: str | None) -> bool:
        if self.catalog.named_in(text):
            return True
        if folder and self._inside(folder):
            return True
        if any(name in text for name in self.copies.names()):
            return True
        return any(path.rpartition("/")[2] in text for path in self.scripts)

    def _inside(self, folder: str) -> bool:
        """Whether a folder lies in a bundle."""
        if folder not in self.folders:
            self.folders[folder] = self.catalog.locate(folder + "/x") is not None
        return self.folders[folder]

    def _tool(self, call: Call) -> Access:
        kind = "list" if _names_only(call) else call.action
        folder = self._folder(call)
        path = join(folder, expand_home(call.path or ".", self.home))
        if kind == "list" and call.pattern:
            path, inner = join(path, call.pattern), call.pattern
            return Access(path, "list", "read-tool", glob=True, text=f"{call.name} {inner}")
        selection = LineSelection()
        if call.start is not None or call.count is not None:
            start = call.start or 1
            selection = LineSelection(
                ranges=((start, start + call.count - 1 if call.count else None),)
            )
        return Access(
            path,
            kind,  # type: ignore[arg-type]
            "read-tool",
            selection=selection.filtered() if kind == "search" else selection,
            glob=kind == "search" and is_glob(path),
            text=f"{call.name} {call.path or call.pattern or ''}",
            written=call.written,
        )

    def _unknown_tool(self, call: Call) -> list[Access]:
        """A tool nobody here knows, given paths: its name tells what it does with them."""
        given = [call.arguments.get(name) for name in _PATH_ARGUMENTS]
        several = call.arguments.get("paths") or call.arguments.get("include")
        values = [*given, *(several if isinstance(several, list) else ())]
        kind, shown = classify_tool(call.name)
        found: dict[str, Access] = {}
        for value in values:
            if isinstance(value, str) and 0 < len(value) < 1000:
                path = join(self.cwd, expand_home(value.removeprefix("file://"), self.home))
                text = f"{call.name} {value}"
                access = Access(
                    path, kind, "read-tool", bundle_files_only=kind == "read", text=text
                )
                selection = _head_selection(call.arguments) if kind == "read" else access.selection
                found.setdefault(
                    path, replace(access, glob=is_glob(path), shown=shown, selection=selection)
                )
        return list(found.values())

    def _locations(self, access: Access, shown: str) -> list[ResourceLocation]:
        path = access.path
        if not path or len(path) > 1000 or "\n" in path:
            return []
        if "\0" in path:
            return self._possible(access) if access.needs_evidence else self._by_suffix(access)
        if access.glob or (is_glob(path) and access.kind != "list"):
            return self._globbed(access, shown)
        location = self.catalog.locate(path)
        if location is None and access.kind in {"read", "search"}:
            location = self.copies.locate(path)
        elif location is None and self.copies.links:
            location = self.copies.linked(path)
        if location is None or not self._acceptable(access, location):
            return []
        return [self._opened(location) if access.kind == "list" else location]

    def _opened(self, location: ResourceLocation) -> ResourceLocation:
        """What is listed and has no ending is a folder, unless a file of that name is known."""
        ending = "." in location.resource.rpartition("/")[2]
        if location.folder or ending or self.catalog.has(location.skill, location.resource):
            return location
        return replace(location, folder=True)

    def _by_suffix(self, access: Access) -> list[ResourceLocation]:
        """`$UNKNOWN/scripts/x.py`: the one resource that ends like this."""
        location = self.catalog.by_suffix(access.path.rpartition("\0")[2].strip("/"))
        return [location] if location and self._acceptable(access, location) else []

    def _possible(self, access: Access) -> list[ResourceLocation]:
        """`known/$UNKNOWN`: everything below, for the output to choose from."""
        return self.catalog.expand(re.sub(r"\0+", "**", access.path))

    def _acceptable(self, access: Access, location: ResourceLocation) -> bool:
        if _NO_BUNDLE.search(location.resource):
            return False
        if location.folder and access.kind not in {"list", "search"}:
            return access.kind == "read" and access.via == "read-tool"
        if access.kind == "import":
            return self._importable(access, location)
        if access.bundle_files_only:
            return self._is_file(location) and not self._copied_code(access, location)
        return True

    def _importable(self, access: Access, location: ResourceLocation) -> bool:
        if self.catalog.has(location.skill, location.resource):
            return True
        return not self.catalog.known and access.note != UNCERTAIN

    def _is_file(self, location: ResourceLocation) -> bool:
        if self.catalog.known:
            return self.catalog.has(location.skill, location.resource)
        return "." in location.resource.rpartition("/")[2][1:]

    @staticmethod
    def _copied_code(access: Access, location: ResourceLocation) -> bool:
        return access.note == "copied" and class_of(location.resource) == "code"

    def _globbed(self, access: Access, shown: str) -> list[ResourceLocation]:
        if access.kind == "list":
            return self._listed(access)
        named_only = access.bundle_files_only and access.via == "shell" and not self.catalog.known
        found = [] if named_only else self.catalog.expand(access.path)
        names = {(place.skill, place.resource) for place in found}
        if self.catalog.known:
            return found
        shown_paths, skills = self._shown_paths(access.path, shown)
        for path in sorted(shown_paths | skills):
            place = self.catalog.locate(path)
            if place and path in skills and place.resource != "SKILL.md":
                continue
            if place and not place.folder and (place.skill, place.resource) not in names:
                found.append(place)
        return found

    def _shown_paths(self, pattern: str, shown: str) -> tuple[set[str], set[str]]:
        """(paths that fit a glob, places of a SKILL.md that do) in an output; the last ones stay,
        for a command may hold the same glob many times."""
        if self.asked != (pattern, shown):
            written = (join(self.cwd, path) for path in _PATH_IN_OUTPUT.findall(shown[:200_000]))
            fitting = {path for path in written if glob_match(pattern, path)}
            skills = set(paths_by_front_matter(pattern, shown))
            self.asked = pattern, shown
            self.answer = fitting.union(paths_in_headings(pattern, shown)), skills
        return self.answer

    def _listed(self, access: Access) -> list[ResourceLocation]:
        """A glob aimed at one bundle: its fixed beginning lies inside it."""
        fixed = []
        for part in access.path.split("/"):
            if is_glob(part):
                break
            fixed.append(part)
        location = self.catalog.locate("/".join(fixed))
        return [replace(location, resource=".", folder=True)] if location and location.skill else []

    def _indirect(self, access: Access, order: int) -> Iterator[ResolvedAccess]:
        """Running a script that was written or copied earlier."""
        for resolved in self.scripts.get(access.path, ()):
            used = replace(
                resolved.access,
                selection=resolved.access.selection
                if access.selection.whole
                else resolved.access.selection.filtered(),
                shown=resolved.access.shown and access.shown,
                text=access.text,
                note=f"run of {access.path}",
            )
            yield replace(resolved, access=used, order=order)
        location = self.copies.locate(access.path)
        if location and not location.folder and not self.copies.linked(access.path):
            yield ResolvedAccess(
                replace(access, kind="import", note="a copy of it was run"), location, order
            )

    def _mentions(self, access: Access, order: int) -> Iterator[ResolvedAccess]:
        """Modules named in code that is written and not run yet."""
        for resolved in self.scripts.get(access.path, ()) if access.written else ():
            if resolved.access.kind == "import":
                named = replace(resolved.access, kind="mention", shown=False, text=access.text)
                yield replace(resolved, access=named, order=order)

    def _remember(self, access: Access) -> None:
        """What a written file will touch when it runs, and what a copy was made from."""
        if access.source:
            link = access.note == "link"
            self.copies.add(
                access.path, access.source, self.cwd, link=link, selection=access.selection
            )
        if access.written and self.catalog.named_in(access.written):
            self._authored(access)

    def _authored(self, access: Access) -> None:
        """Remember what a script will touch when it runs."""
        text = (access.written or "")[:MAX_COMMAND]
        suffix = access.path.rpartition(".")[2]
        if suffix in {"sh", "bash"}:
            commands = read_shell(text, self.cwd, self.home)
            touched = command_accesses(list(unwrap(commands, self.home)), self.home)
        elif suffix == "py":
            touched = imports_by_script(text, access.path, self.home)
        elif suffix in {"js", "mjs", "cjs", "ts", "rb", "pl", "php", "R", "lua"}:
            touched = quoted_accesses(text, folder_of(access.path) or None, self.home)
        else:
            return
        resolved_accesses: list[ResolvedAccess] = []
        for one in touched:
            for location in self._locations(one, ""):
                resolved_accesses.append(ResolvedAccess(one, location, len(resolved_accesses)))
        if resolved_accesses:
            self.scripts[access.path] = resolved_accesses


def _head_selection(arguments: dict[str, Any]) -> LineSelection:
    """`head: 5`, as tools of other servers ask for the beginning of a file."""
    head = arguments.get("head")
    return WHOLE_FILE.head(head) if isinstance(head, int) and head > 0 else WHOLE_FILE


def _as_listing(access: Access, location: ResourceLocation) -> Access:
    """A file tool that is given a folder lists it."""
    if location.folder and access.kind == "read":
        return replace(access, kind="list")
    return access


def _unproven(access: Access) -> Access:
    """A read of a path whose end is not known needs the output as a proof."""
    unknown = "\0" in access.path and not access.path.startswith("\0")
    if (
        unknown
        and access.kind in {"read", "search"}
        and access.path.rpartition("\0")[2].count("/") == 0
    ):
        return replace(access, needs_evidence=True)
    return access


def _names_only(call: Call) -> bool:
    """Whether a search tool prints the names of files and no lines; Claude Code's does by default."""
    mode = call.arguments.get("output_mode", "content" if call.name != "Grep" else None)
    return call.action == "search" and mode != "content"
