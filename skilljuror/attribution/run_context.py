"""First look at a run: every call with its claims, and the texts that the log itself shows."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from skilljuror.attribution.accesses.file_access import Access
from skilljuror.attribution.evidence.line_index import Fingerprints, Key
from skilljuror.attribution.evidence.output_segments import Segment, segments
from skilljuror.attribution.evidence.read_evidence import Output, output_of, succeeded
from skilljuror.attribution.paths import absolute, folder_of, name_of
from skilljuror.attribution.resolution.call_normalisation import typed
from skilljuror.attribution.resolution.file_copies import Copies
from skilljuror.attribution.resolution.resolver import Claim, Claims
from skilljuror.attribution.resolution.resource_names import learn_links, learn_listing
from skilljuror.attribution.resolution.skill_catalog import Catalog, tail_of
from skilljuror.attribution.resolution.skill_discovery import cwd_of
from skilljuror.models.events import SkillManifest
from skilljuror.models.resource_class import is_root
from skilljuror.models.trajectory import Message, Step, ToolCall, ToolResult, Trajectory

_MOST = 400_000
BODY_HEAD = "Base directory for this skill: "


class Touch(Struct):
    """A call with what it claims."""

    step: Step
    call: ToolCall
    result: ToolResult | None
    """Its answer; for keystrokes the screen that several calls share."""
    claims: list[Claim]
    accesses: list[Access]
    number: int = 0
    """0-based position among the calls of the run."""
    more: str = ""
    """What later polls brought of its output."""
    kept: Output | None = None
    """Its output, where it will be asked for again."""

    def output(self) -> Output:
        """Its output with what polls brought."""
        if self.kept is not None:
            return self.kept
        output = Output(self.result, self.call.command or "", self.more)
        if self.accesses:
            self.kept = output
        return output

    def parts(self, output: Output, prints: Fingerprints) -> dict[int, Segment]:
        """The part of the output that is surely one claim's alone."""
        return segments(self.claims, self.accesses, output.lines, prints)


class Gathered(Struct):
    """A run, read once."""

    catalog: Catalog
    prints: Fingerprints
    touches: list[Touch] = field(default_factory=list)
    bodies: dict[str, Message] = field(default_factory=dict)
    """Call id -> the skill body it brought."""
    cwd: str | None = None
    """Folder the agent works in."""
    sources: dict[Key, set[int]] = field(default_factory=dict)
    """Calls whose output taught the text of a resource: it is no second witness for them."""
    texts: dict[Key, str] = field(default_factory=dict)
    """Texts of resources, of the manifest or learned from the log."""


def gather(
    trajectory: Trajectory, catalog: Catalog, manifest: SkillManifest | None, home: str | None
) -> Gathered:
    """Read the calls of a run; learn names and texts of resources where no manifest has them."""
    texts = {
        (catalog.names.get(one.skill, one.skill), one.path): one.text
        for one in (manifest.resources if manifest is not None else ())
        if one.text is not None
    }
    found = Gathered(catalog, Fingerprints.of(sorted(texts.items())), texts=texts)
    found.cwd = cwd_of(trajectory)
    found.bodies = {
        message.call_id: message
        for message in trajectory.messages
        if message.kind == "skill_body" and message.call_id
    }
    _read_calls(trajectory, found, home)
    if not catalog.known:
        _learn(found)
        claims = Claims(catalog, found.cwd, home, Copies(catalog))
        for touch in found.touches:
            if touch.accesses:
                touch.claims = claims.resolved(touch.accesses, touch.output().text)
    return found


def _read_calls(trajectory: Trajectory, found: Gathered, home: str | None) -> None:
    copies, keeps = Copies(found.catalog), _keeps_folder(trajectory)
    claims = Claims(found.catalog, found.cwd, home, copies, keeps_folder=keeps)
    running: dict[tuple[str, str], Touch] = {}
    for step in trajectory.steps:
        for call, result in _answers(step):
            if call.action == "poll" and not typed(call) and _polled(call, step, running):
                continue
            if call.action == "skill" and call.skill and succeeded(result):
                _learn_skill(call.skill, result, found.catalog)
            named, accesses = claims.of(call, step.agent, result.text if result else "")
            touch = Touch(step, call, result, named, accesses, len(found.touches))
            if call.command and result is not None:
                running[step.agent, call.command] = touch
            found.touches.append(touch)


_BASE = re.compile(
    r"^\**Base directory(?: for this skill)?\**: (?:file://)?([^\n]{1,1000})", re.MULTILINE
)


def _learn_skill(name: str, result: ToolResult | None, catalog: Catalog) -> None:
    """A skill that a tool loaded, and where it lies if the answer says so."""
    base = _BASE.search(result.text[:_MOST]) if result and "Base directory" in result.text else None
    folder = base[1].strip().rstrip("/") if base else ""
    if absolute(folder) and name_of(folder) == tail_of(name):
        catalog.add_skill(name, folder)
        catalog.add_root(folder_of(folder))
    else:
        catalog.add_skill(name)


_NEW_SHELLS = ("codex", "mini", "gemini")


def _keeps_folder(trajectory: Trajectory) -> bool:
    """Whether the agent's commands share one shell."""
    names = (trajectory.format, trajectory.agent or "")
    return not any(name.startswith(_NEW_SHELLS) for name in names)


def _answers(step: Step) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """The calls of a step; keystrokes sent together share the screen that answers the last."""
    shared = next((call.result for call in reversed(step.calls) if call.result is not None), None)
    for call in step.calls:
        together = call.result is None and "keystrokes" in call.arguments
        yield call, shared if together else call.result


def _polled(call: ToolCall, step: Step, running: dict[tuple[str, str], Touch]) -> bool:
    """What a poll brings belongs to the command it polls, where that is known."""
    touch = running.get((step.agent, call.command or ""))
    if touch is not None:
        touch.more += output_of(call.result)
        touch.kept = None
    return touch is not None


def _learn(found: Gathered) -> None:
    """Names from every access that worked; texts from outputs that show one file from its start."""
    pieces: dict[Key, dict[int, tuple[Segment, bool]]] = {}
    for touch in found.touches:
        if not touch.claims or touch.result is None:
            continue
        output = touch.output()
        for claim, lines, first, end in _pieces(touch, output, found.prints):
            if first not in pieces.setdefault(claim.key, {}):
                pieces[claim.key][first] = lines, end
                found.sources.setdefault(claim.key, set()).add(touch.number)
        for claim in touch.claims:
            _learn_name(claim, touch, output, found.catalog)
    for key in sorted(pieces):
        text = _assembled(pieces[key])
        if text is not None:
            found.texts[key] = text
            found.prints.learn(key, text)
            if is_root(key[1]):
                learn_links(text, key[0], found.catalog)
    for message in found.bodies.values():
        learn_links(message.text, message.skill or "", found.catalog)


def _learn_name(claim: Claim, touch: Touch, output: Output, catalog: Catalog) -> None:
    path, kind = claim.access.path, claim.access.kind
    if succeeded(touch.result) is False or kind == "mention":
        return
    if kind == "list" and claim.location.folder:
        catalog.add_folder(path, claim.location)
        if claim.access.shown:
            learn_listing(output.text, path, catalog)
    elif not claim.location.folder and kind != "list" and not output.error_for(path):
        catalog.add_resource(*claim.key)
        if catalog.locate(path) is not None:
            catalog.add_folder(path, claim.location)


def _pieces(
    touch: Touch, output: Output, prints: Fingerprints
) -> Iterator[tuple[Claim, Segment, int, bool]]:
    """(claim, lines, number of the first line, whether the file ends there)."""
    parts = touch.parts(output, prints)
    for claim in touch.claims:
        lines = parts.get(claim.order)
        view = claim.access.view
        if (
            claim.access.kind != "read"
            or not lines
            or output.cut
            or output.refused
            or output.error_for(claim.access.path)
        ):
            continue
        if len(view.spans) != 1 or view.picked or view.cut or view.last is not None:
            continue
        start, end = view.spans[0]
        result = touch.result
        if touch.call.action == "read" and result is not None:
            start = result.first_line or start
            ends = result.total_lines is not None and start + len(lines) > result.total_lines
            yield claim, lines, start, ends or end is None
        elif end is None or len(lines) <= end - start + 1:
            yield claim, lines, start, end is None or len(lines) < end - start + 1


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
