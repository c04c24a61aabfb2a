"""First pass over a run: its calls with the resources that they name, and the names and texts of
resources that the log shows."""

import re
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.base.skill import ResourceClass
from skilljuror.base.trajectory import (
    EventKind,
    Message,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
)
from skilljuror.events.access import (
    WHOLE_FILE,
    Access,
    LineSelection,
    absolute,
    expand_home,
    folder_of,
    is_glob,
    join,
    name_of,
)
from skilljuror.events.catalog import (
    FileCopies,
    ResolvedAccess,
    ResourceLocation,
    SkillCatalog,
    bare_skill_name,
)
from skilljuror.events.commands import (
    UNCERTAIN,
    Shell,
    accesses_of_script,
    patch_accesses,
    python_accesses,
)
from skilljuror.events.evidence import (
    CallOutput,
    LineIndex,
    ResourceKey,
    Segment,
    Segments,
    call_succeeded,
    output_text,
    segment_output,
)

MAX_COMMAND = 300_000
"""Maximum characters of a command or code."""
MOST_ACCESSES = 256
"""Maximum accesses of one call, and resources that they resolve to; real calls have up to about
twenty."""
_LONGEST_PATH = 1000
_PATH_ARGUMENTS = ("path", "file_path", "filePath", "filename", "uri", "absolute_path", "file",
                   "relative_path")  # fmt: skip

_READS = re.compile(r"read|view|open|cat|fetch|load|show|get", re.IGNORECASE)
"""Names of tools that show files."""


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
    cut: set[int] = field(default_factory=set)
    """Lines of calls with too many accesses."""
    unread: set[int] = field(default_factory=set)
    """Lines of calls whose shell text was not understood to its end."""

    def resolve_call(self, call: ToolCall, agent: str) -> tuple[list[ResolvedAccess], list[Access]]:
        """Return a call's resolved accesses in order, and all its accesses."""
        accesses = self._accesses(call, agent)
        if call.result is not None and "Shell cwd was reset to" in call.result.text[-500:]:
            self.shell_folders.pop(agent, None)
        if len(accesses) > MOST_ACCESSES:
            self.cut.add(call.line)
            accesses = accesses[:MOST_ACCESSES]
        return self.resolve(accesses, call.line), accesses

    def resolve(self, accesses: list[Access], line: int) -> list[ResolvedAccess]:
        """Return accesses that are resources, and remember writes and copies. `line` is the call's
        line in the log."""
        resolved: list[ResolvedAccess] = []
        for access in accesses:
            for location in self._locations(access):
                listing = location.folder and access.kind == "read"
                used = replace(access, kind="list") if listing else access
                resolved.append(ResolvedAccess(used, location, len(resolved)))
            if access.kind == "exec":
                resolved += self._run(access, len(resolved))
            elif access.kind in {"write", "edit"}:
                self._remember(access)
                resolved += self._mentions(access, len(resolved))
            if len(resolved) > MOST_ACCESSES:
                self.cut.add(line)
                break
        return resolved[:MOST_ACCESSES]

    # From a call to its accesses.

    def _accesses(self, call: ToolCall, agent: str) -> list[Access]:
        folder = join(self.cwd, expand_home(call.workdir, self.home)) if call.workdir else self.cwd
        text = (call.command or "")[:MAX_COMMAND]
        if call.action == "shell":
            shell = agent if self.keeps_folder and not call.workdir else None
            return self._commands(text, call, folder, shell)
        if call.action == "python":
            return python_accesses(text, folder, self.home) if self._relevant(text, folder) else []
        if call.action == "poll":
            return self._commands(typed_text(call), call, folder, f"{agent} {call.command}")
        patch = call.written or str(call.arguments.get("input", ""))
        if call.action in {"edit", "other"} and "*** Begin Patch" in patch:
            return patch_accesses(patch, call.workdir or self.cwd)
        if call.action in {"read", "write", "edit", "search", "list"} and (
            call.path or call.pattern
        ):
            return self._file_tool(call, folder)
        return self._unknown_tool(call) if call.action == "other" else []

    def _commands(
        self, text: str, call: ToolCall, folder: str | None, shell: str | None
    ) -> list[Access]:
        """Accesses of a shell text; empty if neither text nor folder concern a Skill.

        `shell` is the key of the persistent shell that it is typed into. A `cd` into a bundle is
        remembered; elsewhere the log's own folder is more reliable.
        """
        if shell is not None:
            folder = self.shell_folders.get(shell, folder)
        if not text or not self._relevant(text, folder):
            return []
        reader = Shell(folder, self.home)
        accesses = reader.read(text)
        if not reader.understood or len(call.command or "") > MAX_COMMAND:
            self.unread.add(call.line)
        if shell is not None:
            self.shell_folders.pop(shell, None)
            if reader.cwd is not None and self.catalog.locate(reader.cwd + "/x") is not None:
                self.shell_folders[shell] = reader.cwd
        return accesses

    def _relevant(self, text: str, folder: str | None) -> bool:
        """Whether a text may name a resource, a copy, or a script that touches one."""
        if self.catalog.named_in(text) or (folder and self.catalog.locate(folder + "/x")):
            return True
        return any(name_of(path) in text for path in (*self.copies.originals, *self.scripts))

    def _file_tool(self, call: ToolCall, folder: str | None) -> list[Access]:
        """Path of a file tool. Reads and listings must be in a bundle; searches and writes may
        extend further."""
        if call.action in {"read", "list"} and not self._relevant(
            f"{call.path} {call.pattern}", folder
        ):
            return []
        path = join(folder, expand_home(call.path or ".", self.home))
        text = f"{call.name} {call.path or call.pattern or ''}"
        names_only = call.name == "Grep" and call.arguments.get("output_mode") != "content"
        if call.action == "list" or (call.action == "search" and names_only):
            return [Access(path, "list", "read-tool", text=text)]
        if call.action == "search":
            lines = WHOLE_FILE.filtered()
            return [Access(path, "search", "read-tool", lines, glob=is_glob(path), text=text)]
        start = call.start or 1
        end = start + call.count - 1 if call.count else None
        lines = LineSelection(((start, end),), by_content="pages" in call.arguments)
        kind: EventKind = "edit"
        if call.action in {"read", "write"}:
            kind = "read" if call.action == "read" else "write"
        return [Access(path, kind, "read-tool", lines, text=text, written=call.written)]

    def _unknown_tool(self, call: ToolCall) -> list[Access]:
        """Path arguments of an unknown tool; unless its name says that it reads, its answer must show it."""
        accesses: dict[str, Access] = {}
        for name in _PATH_ARGUMENTS:
            given = call.arguments.get(name)
            if isinstance(given, str) and 0 < len(given) < _LONGEST_PATH:
                path = join(self.cwd, expand_home(given.removeprefix("file://"), self.home))
                text = f"{call.name} {given}"
                access = Access(path, "read", "read-tool", bundle_files_only=True, text=text)
                unsure = not _READS.search(call.name)
                accesses.setdefault(path, replace(access, needs_evidence=unsure))
        return list(accesses.values())

    # From an access to resources.

    def _locations(self, access: Access) -> list[ResourceLocation]:
        path = access.path
        if not path or len(path) > _LONGEST_PATH or "\n" in path or "\0" in path:
            return []
        if access.kind != "list" and (access.glob or is_glob(path)):
            return self.catalog.expand(path)
        location = self.catalog.locate(path)
        if location is None and access.kind in {"read", "search"}:
            location = self.copies.locate(path)
        return [location] if location is not None and self._acceptable(access, location) else []

    def _acceptable(self, access: Access, location: ResourceLocation) -> bool:
        """Whether an access of this kind to this location is an access to a resource."""
        if location.folder and access.kind not in {"list", "search"}:
            return access.kind == "read" and access.via == "read-tool"
        known = self.catalog.has(location.skill, location.resource)
        if access.kind == "import":
            return known or (not self.catalog.known and access.note != UNCERTAIN)
        if access.bundle_files_only:
            named_as_file = "." in name_of(location.resource)[1:]
            return known if self.catalog.known else named_as_file
        return True

    # What earlier calls wrote and copied.

    def _run(self, access: Access, order: int) -> Iterator[ResolvedAccess]:
        """Accesses of running a script written or copied earlier."""
        for resolved in self.scripts.get(access.path, ()):
            used = replace(
                resolved.access,
                selection=resolved.access.selection.narrowed(access.selection),
                shown=resolved.access.shown and access.shown,
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
        for inner in self.scripts.get(access.path, ()) if access.written else ():
            if inner.access.kind == "import":
                named = replace(inner.access, kind="mention", shown=False, text=access.text)
                yield replace(inner, access=named, order=order)

    def _remember(self, access: Access) -> None:
        """Remember the original of a copy, and a script's accesses."""
        if access.source:
            self.copies.add(access.path, access.source, self.cwd)
        if not access.written or not self.catalog.named_in(access.written):
            return
        text, ending = access.written[:MAX_COMMAND], access.path.rpartition(".")[2]
        touched: list[Access] = []
        if ending in {"sh", "bash"}:
            touched = Shell(self.cwd, self.home).read(text)
        elif ending == "py":
            touched = accesses_of_script(text, access.path, self.home)
        places = [
            ResolvedAccess(inner, place, 0)
            for inner in touched[:MOST_ACCESSES]
            for place in self._locations(inner)
        ]
        if places:
            self.scripts[access.path] = places[:MOST_ACCESSES]


def typed_text(call: ToolCall) -> str:
    """Text that a call types into a running program; "" if it only polls."""
    given = call.arguments.get("chars")
    return given.strip() if isinstance(given, str) else ""


_LONGEST_RESULT = 400_000
"""Maximum characters of a result to search for a base directory."""
_BASE_DIRECTORY = re.compile(
    r"^\**Base directory(?: for this skill)?\**: (?:file://)?([^\n]{1,1000})", re.MULTILINE
)


class AnalysedCall(Struct):
    """A call with the resources that it names."""

    step: Step
    call: ToolCall
    result: ToolResult | None
    """Its answer; for keystrokes, the screen shared by several calls."""
    resolved_accesses: list[ResolvedAccess]
    """Its accesses to resources, in order."""
    accesses: list[Access]
    number: int = 0
    """0-based position among the run's calls."""
    polled: list[str] = field(default_factory=list)
    """Output from later polls."""
    cached_output: CallOutput | None = None
    """Output, while it is needed."""

    @property
    def output(self) -> CallOutput:
        """Its output, later polls included."""
        if self.cached_output is None:
            polled = "".join(self.polled)
            self.cached_output = CallOutput(self.result, self.call.command or "", polled)
        return self.cached_output

    def segments(self, line_index: LineIndex) -> Segments:
        """Lines of the output that surely belong to one access."""
        lines = self.output.lines
        return segment_output(self.resolved_accesses, self.accesses, lines, line_index)


class RunContext(Struct):
    """Results of the first pass."""

    catalog: SkillCatalog
    line_index: LineIndex
    files: tuple[str, ...] = ()
    """Raw files of the run."""
    classes: dict[ResourceKey, ResourceClass] = field(default_factory=dict)
    """Classes that the manifest gives."""
    analysed_calls: list[AnalysedCall] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)
    skill_bodies: dict[str, Message] = field(default_factory=dict)
    """Call id -> its Skill body."""
    cwd: str | None = None
    """Working folder of the agent."""
    taught_by: dict[ResourceKey, set[int]] = field(default_factory=dict)
    """Resource -> calls whose output its text was learned from, which are no second witness for
    them."""
    texts: dict[ResourceKey, str] = field(default_factory=dict)
    """Texts of resources, from the manifest or the log."""
    unread: set[int] = field(default_factory=set)
    """Lines of calls whose shell text was not understood to its end."""
    cut: set[int] = field(default_factory=set)
    """Lines of calls with too many resources."""


def build_run_context(
    trajectory: Trajectory, catalog: SkillCatalog, manifest: SkillManifest | None
) -> RunContext:
    """Read the calls of a run; without a manifest, learn names and texts of resources."""
    texts = {
        (catalog.name(resource.skill), resource.path): resource.text
        for resource in (manifest.resources if manifest is not None else ())
        if resource.text is not None
    }
    given = manifest.resources if manifest is not None else ()
    classes = {(one.skill, one.path): one.resource_class for one in given}
    index = LineIndex.of(sorted(texts.items()))
    run = RunContext(catalog, index, trajectory.files, classes, cwd=trajectory.cwd, texts=texts)
    run.line_index.complete = catalog.known
    run.skill_bodies = {
        message.call_id: message
        for message in trajectory.messages
        if message.kind == "skill_body" and message.call_id
    }
    _read_calls(trajectory, run)
    if not catalog.known:
        _learn(run)
        copies = FileCopies(catalog)
        resolver = AccessResolver(catalog, run.cwd, trajectory.home, copies, cut=run.cut)
        for analysed in run.analysed_calls:
            if analysed.accesses:
                analysed.resolved_accesses = resolver.resolve(analysed.accesses, analysed.call.line)
    return run


def _read_calls(trajectory: Trajectory, run: RunContext) -> None:
    resolver = AccessResolver(
        run.catalog, run.cwd, trajectory.home, FileCopies(run.catalog),
        keeps_folder=trajectory.traits.keeps_folder, cut=run.cut,
        unread=run.unread,
    )  # fmt: skip
    running: dict[tuple[str, str], AnalysedCall] = {}
    for step in trajectory.steps:
        for call, result in _answered_calls(step):
            if _add_polled_output(call, step, running):
                continue
            if call.action == "skill" and call.skill and call_succeeded(result):
                _learn_skill(call.skill, result, run.catalog)
            resolved, accesses = resolver.resolve_call(call, step.agent)
            number = len(run.analysed_calls)
            analysed = AnalysedCall(step, call, result, resolved, accesses, number)
            if call.command and result is not None:
                running[step.agent, call.command] = analysed
            run.analysed_calls.append(analysed)
            run.call_ids.update([call.call_id] if call.call_id else [])


def _add_polled_output(
    call: ToolCall, step: Step, running: dict[tuple[str, str], AnalysedCall]
) -> bool:
    """Add the output to a running command if the call only polls it."""
    if call.action != "poll" or typed_text(call):
        return False
    waited_for = running.get((step.agent, call.command or ""))
    if waited_for is not None:
        waited_for.polled.append(output_text(call.result))
        waited_for.cached_output = None
    return waited_for is not None


def _answered_calls(step: Step) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """Calls of a step with results; keystrokes sent together share the last one's screen."""
    shared = next((call.result for call in reversed(step.calls) if call.result is not None), None)
    for call in step.calls:
        together = call.result is None and "keystrokes" in call.arguments
        yield call, shared if together else call.result


def _learn_skill(name: str, result: ToolResult | None, catalog: SkillCatalog) -> None:
    """Add a Skill loaded by a tool, with its location if the answer has it."""
    text = result.text[:_LONGEST_RESULT] if result else ""
    base = _BASE_DIRECTORY.search(text) if "Base directory" in text else None
    folder = base[1].strip().rstrip("/") if base else ""
    if absolute(folder) and name_of(folder) == bare_skill_name(name):
        catalog.add_skill(name, folder)
        catalog.add_root(folder_of(folder))
    else:
        catalog.add_skill(name)


_Piece = tuple[Segment, bool]
"""Lines of a file, and whether it ends with them."""


def _learn(run: RunContext) -> None:
    """Learn names from every successful access; texts from outputs that show one file from its
    start."""
    pieces: dict[ResourceKey, dict[int, _Piece]] = {}
    for analysed in run.analysed_calls:
        if not analysed.resolved_accesses or analysed.result is None:
            continue
        for resolved, first_line, piece in _pieces(analysed, run.line_index):
            if first_line not in pieces.setdefault(resolved.key, {}):
                pieces[resolved.key][first_line] = piece
                run.taught_by.setdefault(resolved.key, set()).add(analysed.number)
        for resolved in analysed.resolved_accesses:
            _learn_name(resolved, analysed, run.catalog)
    for key in sorted(pieces):
        text = _assembled(pieces[key])
        if text is not None:
            run.texts[key] = text
            run.line_index.learn(key, text)


def _learn_name(resolved: ResolvedAccess, analysed: AnalysedCall, catalog: SkillCatalog) -> None:
    path, kind, output = resolved.access.path, resolved.access.kind, analysed.output
    if call_succeeded(analysed.result) is False or kind == "mention":
        return
    if kind == "list" and resolved.location.folder:
        catalog.add_folder(path, resolved.location)
    elif not resolved.location.folder and kind != "list" and not output.error_for(path):
        catalog.add_resource(*resolved.key)
        if catalog.locate(path) is not None:
            catalog.add_folder(path, resolved.location)


def _pieces(
    analysed: AnalysedCall, line_index: LineIndex
) -> Iterator[tuple[ResolvedAccess, int, _Piece]]:
    """Yield (access, first line, piece of its file) for each read whose lines are surely its own
    and contiguous."""
    output = analysed.output
    if output.cut or output.refused:
        return
    segments = analysed.segments(line_index)
    for resolved in analysed.resolved_accesses:
        lines = segments.get(resolved.order)
        access = resolved.access
        if access.kind != "read" or not lines or output.error_for(access.path):
            continue
        asked = access.selection
        if len(asked.ranges) != 1 or asked.by_content or asked.last is not None:
            continue
        start, end = asked.ranges[0]
        result = analysed.result
        if analysed.call.action == "read" and result is not None:
            start = result.first_line or start
            ends = result.total_lines is not None and start + len(lines) > result.total_lines
            yield resolved, start, (lines, ends or end is None)
        elif end is None or len(lines) <= end - start + 1:
            yield resolved, start, (lines, end is None or len(lines) < end - start + 1)


def _assembled(pieces: dict[int, _Piece]) -> str | None:
    """Join consecutive pieces to the whole text; None while some are missing."""
    at = 1
    lines: list[str] = []
    while at in pieces:
        segment, ends = pieces[at]
        lines.extend(segment)
        if ends:
            return "\n".join(lines) + "\n"
        at += len(segment)
    return None
