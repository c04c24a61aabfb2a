"""What the harness put into the context: skill bodies, re-injected files, trees."""

import re
from collections.abc import Iterator

from skilljuror.attribution.evidence.line_index import (
    ContentMatch,
    TextLines,
    front_matter,
    utf8_size,
)
from skilljuror.attribution.evidence.read_evidence import ReadEvidence, output_text
from skilljuror.attribution.findings.candidate_event import CandidateEvent
from skilljuror.attribution.paths import name_of
from skilljuror.attribution.resolution.skill_catalog import ResourceLocation, bare_skill_name
from skilljuror.attribution.run_context import SKILL_BODY_HEAD, AnalysedCall, RunContext
from skilljuror.models.events import Exposed, Via, Witness
from skilljuror.models.resource_class import is_root
from skilljuror.models.trajectory import Message

_RESOURCES = re.compile(r"<available_resources>")
_REFUSED = re.compile(
    r"^\s*(?:<tool_use_error>|error:|unknown skill|skill not found|failed to)", re.IGNORECASE
)
_LAUNCHING = re.compile(
    r"^\s*(?:Launching skill|Skill loaded|Loading skill|Skill \"[^\"\n]{1,200}\" loaded)\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"^\s*Skill \"[^\"\n]{1,200}\" (?:completed|launched) \(forked execution", re.IGNORECASE
)
"""The skill was given to a sub-agent, and its answer is what came back."""
_AGAIN = re.compile(r"^\s*(?:\(Re-invocation of /|Skill /\S+ (?:is already|was) loaded )")
_LOADED_AT = re.compile(
    r"\n[^\S\n]*(?:Base directory for this skill: |<skill_files>|</skill_content>)"
)
_CUT = re.compile(r"\[\.\.\. skill content truncated[^\]\n]*\]\s*\Z")


def message_events(message: Message, run: RunContext) -> Iterator[CandidateEvent]:
    """The events of a message that no call asked for."""
    if message.kind == "skill_body" and message.call_id not in _answered(run):
        yield _body(message, run)
    elif message.kind == "reinjected":
        yield from _file(message, run, "reinjected")
    elif message.path and message.kind in {"other", "prompt"}:
        yield from _file(message, run, "injected")
    elif message.kind == "tree":
        yield from _tree(message, run)
    elif message.kind in {"prompt", "system", "other"} and run.catalog.known:
        yield from _foreign(message, run)


def _answered(run: RunContext) -> set[str]:
    return {analysed.call.call_id for analysed in run.analysed_calls if analysed.call.call_id}


def _body(message: Message, run: RunContext) -> CandidateEvent:
    via: Via = "slash" if message.command_line is not None else "injected"
    location = _skill_location(message.skill or name_of(message.path or ""), run)
    return CandidateEvent(
        location,
        "activate",
        via,
        _body_shown(message.text, location, run),
        message.agent,
        message.step,
        message.line,
        message.file,
    )


def _skill_location(name: str, run: RunContext) -> ResourceLocation:
    tail = bare_skill_name(name)
    skill = name if ":" in name else run.catalog.names.get(tail, name)
    return ResourceLocation(skill, "SKILL.md", bundled=tail in run.catalog.bundled)


def body_text(text: str) -> str:
    """The skill's own text in an injected body."""
    if text.startswith(SKILL_BODY_HEAD):
        text = text.partition("\n")[2]
    text = text.partition("\n\nCurrent Terminal Screen:")[0]
    if text.lstrip().startswith("<skill_content"):
        text = _LOADED_AT.split(text.partition("\n")[2], maxsplit=1)[0]
    inside = text.partition("<instructions>")[2].partition("</instructions>")[0]
    return _without_arguments(inside or text).strip("\n")


def _without_arguments(text: str) -> str:
    """A body without the line of arguments that the harness put at its end."""
    at = text.rfind("\nARGUMENTS: ")
    last = at >= 0 and not text[at + 1 :].partition("\n")[2].strip()
    return text[:at] if last else text


def _body_shown(text: str, location: ResourceLocation, run: RunContext) -> ReadEvidence:
    """An injected body is the whole SKILL.md, unless its known text says otherwise."""
    if _AGAIN.match(text):
        return ReadEvidence(
            "none", None, ok=True, witness="content", note="loaded before, not shown again"
        )
    body = body_text(text)
    lines = body.splitlines()
    quote = next((line.strip()[:120] for line in lines if line.strip()), "")
    if not lines:
        return ReadEvidence("none", None, ok=True, witness="content")
    match = run.line_index.match((location.skill, location.resource), TextLines.of(lines))
    if match is None:
        known = (location.skill, location.resource) in run.line_index.pages
        note = "the body is not the text known for this skill" if known else ""
        ranges = ((1, len(lines)),) if front_matter(lines) else None
        exposed: Exposed = "partial" if _CUT.search(body[-300:]) else "full"
        return ReadEvidence(exposed, ranges, True, "content", note, quote, utf8_size(body))
    return _matched(match, location, run, quote)


def _matched(
    match: ContentMatch, location: ResourceLocation, run: RunContext, quote: str
) -> ReadEvidence:
    page = run.line_index.pages[location.skill, location.resource]
    share = match.lines / max(1, page.filled)
    whole = match.body or share >= 0.9
    exposed: Exposed = "full" if whole else "partial"
    size = page.size(match.ranges)
    ranges = ((match.ranges[0][0], match.ranges[-1][1]),) if whole else match.ranges
    return ReadEvidence(exposed, ranges, ok=True, witness="content", quote=quote, size=size)


def _file(message: Message, run: RunContext, via: Via) -> Iterator[CandidateEvent]:
    """A file that the harness put into the context without a call."""
    location = run.catalog.locate(message.path) if message.path else None
    if location is None and message.skill:
        location = _skill_location(message.skill, run)
    if location is None or not location.skill:
        return
    if location.folder:
        location = ResourceLocation(location.skill, "SKILL.md", location.bundled)
    shown = _body_shown(message.text, location, run)
    if not is_root(location.resource) and shown.lines is None and shown.exposed == "full":
        count = len(message.text.splitlines())
        shown = ReadEvidence(
            "full", ((1, count),), True, "content", shown.note, shown.quote, shown.size
        )
    yield CandidateEvent(
        location,
        "read",
        via,
        shown,
        message.agent,
        message.step,
        message.line,
        message.file,
    )


def _tree(message: Message, run: RunContext) -> Iterator[CandidateEvent]:
    """A tree of the workspace that names the files of a skill: its names are disclosed."""
    if "SKILL.md" not in message.text:
        return
    entries = {line.strip(" │├└─|`-+/\t") for line in message.text[:400_000].splitlines()}
    for tail in sorted(run.catalog.names):
        if tail in entries:
            location = ResourceLocation(run.catalog.names[tail], ".", tail in run.catalog.bundled)
            shown = ReadEvidence("none", None, ok=True, witness="content", note="file names only")
            yield CandidateEvent(
                location, "list", "injected", shown, message.agent, message.step, message.line,
                message.file,
            )  # fmt: skip


def _foreign(message: Message, run: RunContext) -> Iterator[CandidateEvent]:
    """A prompt that holds the text of an offered SKILL.md: activated without any call."""
    if len(message.text) < 40:
        return
    for key, match in run.line_index.matches(TextLines.of(message.text.splitlines())).items():
        if (
            not is_root(key[1])
            or not match.strong
            or match.lines * 2 < run.line_index.pages[key].filled
        ):
            continue
        location = ResourceLocation(key[0], key[1], bare_skill_name(key[0]) in run.catalog.bundled)
        shown = _matched(match, location, run, match.first[:120])
        yield CandidateEvent(
            location, "activate", "injected", shown, message.agent, message.step, message.line,
            message.file,
        )  # fmt: skip


def skill_call_events(analysed: AnalysedCall, run: RunContext) -> Iterator[CandidateEvent]:
    """A call of the skill tool: the body may be its result or a message of its own."""
    call, step = analysed.call, analysed.step
    name = call.skill or ""
    if not name:
        return
    location = _skill_location(name, run)
    body = run.bodies.get(call.call_id or "")
    shown = _skill_shown(analysed, location, body, run)
    witness: Witness = "both" if shown.exposed != "none" else "command"
    shown = ReadEvidence(
        shown.exposed, shown.lines, shown.ok, witness, shown.note, shown.quote, shown.size
    )
    yield CandidateEvent(
        location, "activate", "skill-tool", shown, step.agent, step.index, call.line, step.file,
        call_id=call.call_id, missing=shown.ok is False and not _offered(name, run),
    )  # fmt: skip
    if call.result is not None and shown.ok and _RESOURCES.search(call.result.text):
        listed = ReadEvidence("none", None, ok=True, witness="both", note="file names only")
        yield CandidateEvent(
            ResourceLocation(location.skill, ".", location.bundled), "list", "skill-tool", listed,
            step.agent, step.index, call.line, step.file, order=1, call_id=call.call_id,
        )  # fmt: skip


def _offered(name: str, run: RunContext) -> bool:
    return bare_skill_name(name) in run.catalog.names


def _skill_shown(
    analysed: AnalysedCall, location: ResourceLocation, body: Message | None, run: RunContext
) -> ReadEvidence:
    result = analysed.call.result
    if body is not None:
        return _body_shown(body.text, location, run)
    if result is None:
        return ReadEvidence("none", None, ok=None, note="no answer in the log")
    text = output_text(result)
    if result.ok is False or _REFUSED.match(text):
        return ReadEvidence("none", None, ok=False, note=text.strip()[:120])
    if _ELSEWHERE.match(text):
        return ReadEvidence("none", None, ok=True, note="given to a sub-agent")
    if not text.strip() and result.ok is None:
        return ReadEvidence("none", None, ok=None, note="the log says nothing of the result")
    if not text.strip() or _LAUNCHING.match(text):
        note = "the log holds no text of the body"
        return ReadEvidence("full", None, ok=True, note=note)
    return _body_shown(text, location, run)
