"""First look at a run: every call with its claims, and the texts that the log itself shows."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.attribution.accesses.file_access import Access
from skilljuror.attribution.evidence.line_index import LineIndex, ResourceKey
from skilljuror.attribution.evidence.output_segments import Segment, segment_output
from skilljuror.attribution.evidence.read_evidence import CallOutput, call_succeeded, output_text
from skilljuror.attribution.paths import absolute, folder_of, name_of
from skilljuror.attribution.resolution.call_normalisation import typed_text
from skilljuror.attribution.resolution.file_copies import FileCopies
from skilljuror.attribution.resolution.resolver import AccessResolver, ResolvedAccess
from skilljuror.attribution.resolution.resource_names import learn_linked_names, learn_listed_names
from skilljuror.attribution.resolution.skill_catalog import SkillCatalog, bare_skill_name
from skilljuror.models.events import SkillManifest
from skilljuror.models.resource_class import is_root
from skilljuror.models.trajectory import Message, Step, ToolCall, ToolResult, Trajectory

_MOST = 400_000
SKILL_BODY_HEAD = "Base directory for this skill: "


class AnalysedCall(Struct):
    """A call with what it claims."""

    step: Step
    call: ToolCall
    result: ToolResult | None
    """Its answer; for keystrokes the screen that several calls share."""
    resolved_accesses: list[ResolvedAccess]
    accesses: list[Access]
    number: int = 0
    """0-based position among the calls of the run."""
    more: str = ""
    """What later polls brought of its output."""
    kept: CallOutput | None = None
    """Its output, where it will be asked for again."""

    def output(self) -> CallOutput:
        """Its output with what polls brought."""
        if self.kept is not None:
            return self.kept
        output = CallOutput(self.result, self.call.command or "", self.more)
        if self.accesses:
            self.kept = output
        return output

    def parts(self, output: CallOutput, line_index: LineIndex) -> dict[int, Segment]:
        """The part of the output that is surely one claim's alone."""
        return segment_output(self.resolved_accesses, self.accesses, output.lines, line_index)


class RunContext(Struct):
    """A run, read once."""

    catalog: SkillCatalog
    line_index: LineIndex
    analysed_calls: list[AnalysedCall] = field(default_factory=list)
    bodies: dict[str, Message] = field(default_factory=dict)
    """Call id -> the skill body it brought."""
    cwd: str | None = None
    """Folder the agent works in."""
    sources: dict[ResourceKey, set[int]] = field(default_factory=dict)
    """Calls whose output taught the text of a resource: it is no second witness for them."""
    texts: dict[ResourceKey, str] = field(default_factory=dict)
    """Texts of resources, of the manifest or learned from the log."""


def build_run_context(
    trajectory: Trajectory, catalog: SkillCatalog, manifest: SkillManifest | None
) -> RunContext:
    """Read the calls of a run; learn names and texts of resources where no manifest has them."""
    texts = {
        (catalog.names.get(one.skill, one.skill), one.path): one.text
        for one in (manifest.resources if manifest is not None else ())
        if one.text is not None
    }
    found = RunContext(catalog, LineIndex.of(sorted(texts.items())), texts=texts)
    found.cwd = trajectory.cwd
    found.bodies = {
        message.call_id: message
        for message in trajectory.messages
        if message.kind == "skill_body" and message.call_id
    }
    _read_calls(trajectory, found)
    if not catalog.known:
        _learn(found)
        resolver = AccessResolver(catalog, found.cwd, trajectory.home, FileCopies(catalog))
        for analysed in found.analysed_calls:
            if analysed.accesses:
                analysed.resolved_accesses = resolver.resolve(
                    analysed.accesses, analysed.output().text
                )
    return found


def _read_calls(trajectory: Trajectory, found: RunContext) -> None:
    copies, keeps = FileCopies(found.catalog), trajectory.traits.keeps_folder
    resolver = AccessResolver(found.catalog, found.cwd, trajectory.home, copies, keeps_folder=keeps)
    running: dict[tuple[str, str], AnalysedCall] = {}
    for step in trajectory.steps:
        for call, result in _answers(step):
            if call.action == "poll" and not typed_text(call) and _polled(call, step, running):
                continue
            if call.action == "skill" and call.skill and call_succeeded(result):
                _learn_skill(call.skill, result, found.catalog)
            named, accesses = resolver.resolve_call(call, step.agent, result.text if result else "")
            analysed = AnalysedCall(step, call, result, named, accesses, len(found.analysed_calls))
            if call.command and result is not None:
                running[step.agent, call.command] = analysed
            found.analysed_calls.append(analysed)


_BASE = re.compile(
    r"^\**Base directory(?: for this skill)?\**: (?:file://)?([^\n]{1,1000})", re.MULTILINE
)


def _learn_skill(name: str, result: ToolResult | None, catalog: SkillCatalog) -> None:
    """A skill that a tool loaded, and where it lies if the answer says so."""
    base = _BASE.search(result.text[:_MOST]) if result and "Base directory" in result.text else None
    folder = base[1].strip().rstrip("/") if base else ""
    if absolute(folder) and name_of(folder) == bare_skill_name(name):
        catalog.add_skill(name, folder)
        catalog.add_root(folder_of(folder))
    else:
        catalog.add_skill(name)


def _answers(step: Step) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """The calls of a step; keystrokes sent together share the screen that answers the last."""
    shared = next((call.result for call in reversed(step.calls) if call.result is not None), None)
    for call in step.calls:
        together = call.result is None and "keystrokes" in call.arguments
        yield call, shared if together else call.result


def _polled(call: ToolCall, step: Step, running: dict[tuple[str, str], AnalysedCall]) -> bool:
    """What a poll brings belongs to the command it polls, where that is known."""
    analysed = running.get((step.agent, call.command or ""))
    if analysed is not None:
        analysed.more += output_text(call.result)
        analysed.kept = None
    return analysed is not None


def _learn(found: RunContext) -> None:
    """Names from every access that worked; texts from outputs that show one file from its start."""
    pieces: dict[ResourceKey, dict[int, tuple[Segment, bool]]] = {}
    for analysed in found.analysed_calls:
        if not analysed.resolved_accesses or analysed.result is None:
            continue
        output = analysed.output()
        for resolved, lines, first, end in _pieces(analysed, output, found.line_index):
            if first not in pieces.setdefault(resolved.key, {}):
                pieces[resolved.key][first] = lines, end
                found.sources.setdefault(resolved.key, set()).add(analysed.number)
        for resolved in analysed.resolved_accesses:
            _learn_name(resolved, analysed, output, found.catalog)
    for key in sorted(pieces):
        text = _assembled(pieces[key])
        if text is not None:
            found.texts[key] = text
            found.line_index.learn(key, text)
            if is_root(key[1]):
                learn_linked_names(text, key[0], found.catalog)
    for message in found.bodies.values():
        learn_linked_names(message.text, message.skill or "", found.catalog)


def _learn_name(
    resolved: ResolvedAccess, analysed: AnalysedCall, output: CallOutput, catalog: SkillCatalog
) -> None:
    path, kind = resolved.access.path, resolved.access.kind
    if call_succeeded(analysed.result) is False or kind == "mention":
        return
    if kind == "list" and resolved.location.folder:
        catalog.add_folder(path, resolved.location)
        if resolved.access.shown:
            learn_listed_names(output.text, path, catalog)
    elif not resolved.location.folder and kind != "list" and not output.error_for(path):
        catalog.add_resource(*resolved.key)
        if catalog.locate(path) is not None:
            catalog.add_folder(path, resolved.location)


def _pieces(
    analysed: AnalysedCall, output: CallOutput, line_index: LineIndex
) -> Iterator[tuple[ResolvedAccess, Segment, int, bool]]:
    """(claim, lines, number of the first line, whether the file ends there)."""
    parts = analysed.parts(output, line_index)
    for resolved in analysed.resolved_accesses:
        lines = parts.get(resolved.order)
        selection = resolved.access.selection
        if (
            resolved.access.kind != "read"
            or not lines
            or output.cut
            or output.refused
            or output.error_for(resolved.access.path)
        ):
            continue
        if (
            len(selection.ranges) != 1
            or selection.by_content
            or selection.cut
            or selection.last is not None
        ):
            continue
        start, end = selection.ranges[0]
        result = analysed.result
        if analysed.call.action == "read" and result is not None:
            start = result.first_line or start
            ends = result.total_lines is not None and start + len(lines) > result.total_lines
            yield resolved, lines, start, ends or end is None
        elif end is None or len(lines) <= end - start + 1:
            yield resolved, lines, start, end is None or len(lines) < end - start + 1


def _assembled(pieces: dict[int, tuple[Segment, bool]]) -> str | None:
    """The whole text from pieces that follow one another; None while something is missing."""
    at = 1
    lines: list[str] = []
    while at in pieces:
        segment, ends = pieces[at]
        lines.extend(segment)
        if ends:
            return "\n".join(lines) + "\n"
        at += len(segment)
    return None
