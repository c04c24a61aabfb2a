"""First pass over a run: calls with the resources they name, and names and texts of resources shown
in the log."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.base.skill import is_root
from skilljuror.base.trajectory import (
    Message,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
)
from skilljuror.events.accesses.file_access import Access
from skilljuror.events.evidence.line_index import LineIndex, ResourceKey, without_numbers
from skilljuror.events.evidence.output_segments import Segment, Segments, segment_output
from skilljuror.events.evidence.read_evidence import CallOutput, call_succeeded, output_text
from skilljuror.events.paths import absolute, folder_of, name_of
from skilljuror.events.resolution.call_normalisation import typed_text
from skilljuror.events.resolution.file_copies import FileCopies
from skilljuror.events.resolution.resolver import AccessResolver, ResolvedAccess
from skilljuror.events.resolution.resource_names import learn_linked_names, learn_listed_names
from skilljuror.events.resolution.skill_catalog import SkillCatalog, bare_skill_name

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
    analysed_calls: list[AnalysedCall] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)
    skill_bodies: dict[str, Message] = field(default_factory=dict)
    """Call id -> its Skill body."""
    skilled_agents: set[str] = field(default_factory=set)
    """Agents that were shown a Skill body without a call of their own."""
    cwd: str | None = None
    """Working folder of the agent."""
    taught_by: dict[ResourceKey, set[int]] = field(default_factory=dict)
    """Resource -> calls whose output its text was learned from, which are no second witness for
    them."""
    texts: dict[ResourceKey, str] = field(default_factory=dict)
    """Texts of resources, from the manifest or the log."""
    unread: set[int] = field(default_factory=set)
    """Calls whose shell text was too long."""
    cut: set[int] = field(default_factory=set)
    """Calls with too many resources."""


def build_run_context(
    trajectory: Trajectory, catalog: SkillCatalog, manifest: SkillManifest | None
) -> RunContext:
    """Read the calls of a run; without a manifest, learn names and texts of resources."""
    texts = {
        (catalog.name(resource.skill), resource.path): resource.text
        for resource in (manifest.resources if manifest is not None else ())
        if resource.text is not None
    }
    run = RunContext(catalog, LineIndex.of(sorted(texts.items())), cwd=trajectory.cwd, texts=texts)
    run.line_index.complete = catalog.known
    run.skill_bodies = {
        message.call_id: message
        for message in trajectory.messages
        if message.kind == "skill_body" and message.call_id
    }
    run.skilled_agents = {
        message.agent
        for message in trajectory.messages
        if message.kind == "skill_body" and not message.call_id
    }
    _read_calls(trajectory, run)
    if not catalog.known:
        _learn(run)
        copies = FileCopies(catalog)
        resolver = AccessResolver(catalog, run.cwd, trajectory.home, copies, cut=run.cut)
        for analysed in run.analysed_calls:
            if analysed.accesses:
                analysed.resolved_accesses = resolver.resolve(
                    analysed.accesses, analysed.output.text, analysed.call.line
                )
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
            resolved, accesses = resolver.resolve_call(
                call, step.agent, result.text if result else ""
            )
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
            if is_root(key[1]):
                learn_linked_names(text, key[0], run.catalog)
    for message in run.skill_bodies.values():
        learn_linked_names(message.text, message.skill or "", run.catalog)


def _learn_name(resolved: ResolvedAccess, analysed: AnalysedCall, catalog: SkillCatalog) -> None:
    path, kind, output = resolved.access.path, resolved.access.kind, analysed.output
    if call_succeeded(analysed.result) is False or kind == "mention":
        return
    if resolved.access.glob and is_root(resolved.location.resource):
        learn_linked_names(output.text, resolved.location.skill, catalog)
    if kind == "list" and resolved.location.folder:
        catalog.add_folder(path, resolved.location)
        if resolved.access.shown:
            learn_listed_names(output.text, path, catalog)
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
            lines = without_numbers(lines, start)
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
