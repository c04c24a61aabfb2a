"""Content that the harness put into the context: Skill bodies, re-injected files, file trees."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from skilljuror.base.skill import is_root
from skilljuror.base.trajectory import Exposed, Message, Via
from skilljuror.events.events.candidate_event import CandidateEvent
from skilljuror.events.evidence.line_index import (
    ContentMatch,
    TextLines,
    front_matter,
    text_digest,
    utf8_size,
)
from skilljuror.events.evidence.loader_text import with_placeholders, without_arguments
from skilljuror.events.evidence.read_evidence import ReadEvidence, first_filled, output_text
from skilljuror.events.paths import name_of
from skilljuror.events.resolution.skill_catalog import ResourceLocation, bare_skill_name
from skilljuror.events.run_context import AnalysedCall, RunContext

_BODY_HEAD = "Base directory for this skill: "
_LISTS_FILES = re.compile(r"<available_resources>")
_REFUSED = re.compile(
    r"^\s*(?:<tool_use_error>|error:|unknown skill|skill not found|failed to)", re.IGNORECASE
)
_LAUNCHING = re.compile(
    r"^\s*(?:Launching skill|Skill loaded|Loading skill|Skill \"[^\"\n]{1,200}\" loaded)\b",
    re.IGNORECASE,
)
"""The body follows in its own message, or is missing in the log."""
_IN_SUB_AGENT = re.compile(
    r"^\s*Skill \"[^\"\n]{1,200}\" (?:completed|launched) \(forked execution", re.IGNORECASE
)
"""The Skill was given to a sub-agent, whose answer was returned."""
_LOADED_BEFORE = re.compile(
    r"^\s*(?:\(Re-invocation of /|Skill /\S+ (?:is already|was) loaded )"
)  # fmt: skip
_BODY_END = re.compile(
    r"\n[^\S\n]*(?:Base directory for this skill: |<skill_files>|</skill_content>)"
)
_CUT_BODY = re.compile(r"\[\.\.\. skill content truncated[^\]\n]*\]\s*\Z")
_SHORTEST_PROMPT = 40
"""Minimum characters of a message that may contain a Skill's text."""
_FEWEST_LINES = 3
"""Minimum distinctive lines of a SKILL.md in such a message."""
_APPENDED = "\nARGUMENTS: "
"""Before the arguments at the end of a body that does not say where they belong."""
_NO_BODY = "no text of the body in the log"
_NAMES_ONLY = "file names only"


def message_events(message: Message, run: RunContext) -> Iterator[CandidateEvent]:
    """Events of a message without a call."""
    if message.kind == "skill_body" and message.call_id not in run.call_ids:
        via: Via = "slash" if message.command_line is not None else "injected"
        location = _skill_root(message.skill or name_of(message.path or ""), run, message.path)
        evidence = _evidence_of_body(message.text, location, run)
        yield CandidateEvent.of_message(message, location, "activate", via, evidence)
    elif message.kind == "reinjected":
        yield from _injected_file(message, run, "reinjected")
    elif message.path and message.kind in {"other", "prompt"}:
        yield from _injected_file(message, run, "injected")
    elif message.kind == "tree":
        yield from _tree(message, run)
    elif message.kind in {"prompt", "system", "other"} and run.catalog.known:
        yield from _skill_text_in_prompt(message, run)


def _skill_root(name: str, run: RunContext, path: str | None = None) -> ResourceLocation:
    """The SKILL.md of a Skill by name, and by path if known."""
    skill = run.catalog.name(name, path or "")
    return ResourceLocation(skill, "SKILL.md", bundled=skill in run.catalog.bundled)


def body_text(text: str) -> str:
    """The Skill's own text in an injected body."""
    if text.startswith(_BODY_HEAD):
        text = text.partition("\n")[2]
    text = text.partition("\n\nCurrent Terminal Screen:")[0]
    if text.lstrip().startswith("<skill_content"):
        text = _BODY_END.split(text.partition("\n")[2], maxsplit=1)[0]
    inside = text.partition("<instructions>")[2].partition("</instructions>")[0]
    return _without_arguments(inside or text).strip("\n")


def _without_arguments(text: str) -> str:
    """A body without the harness's line of arguments at its end."""
    at = text.rfind(_APPENDED)
    last = at >= 0 and not text[at + 1 :].partition("\n")[2].strip()
    return text[:at] if last else text


def _evidence_of_body(
    text: str, location: ResourceLocation, run: RunContext, arguments: str = ""
) -> ReadEvidence:
    """An injected body is the whole SKILL.md, unless its known text differs. `arguments` are those
    that the loader put into it."""
    if _LOADED_BEFORE.match(text):
        note = "loaded before, not shown again"
        return ReadEvidence("none", None, ok=True, witness="content", note=note)
    if not text:
        return ReadEvidence("full", None, ok=True, note=_NO_BODY)
    body = body_text(text)
    lines = body.splitlines()
    if not lines:
        return ReadEvidence("none", None, ok=True, witness="content")
    key = location.skill, location.resource
    quote = first_filled(lines)
    file = run.line_index.files.get(key)
    lines = with_placeholders(lines, file.lines) if file is not None else lines
    arguments = "" if file is not None or _APPENDED in text else arguments
    match = run.line_index.match(key, TextLines.of(lines))
    if match is not None:
        evidence = _evidence_of_match(match, location, run, quote)
        whole = evidence.exposed == "full"
        return replace(evidence, digest=_digest_of_body(text, lines) if whole else None)
    note = "the body is not the text known for this skill" if file is not None else ""
    ranges = ((1, len(lines)),) if front_matter(lines) else None
    exposed: Exposed = "partial" if _CUT_BODY.search(body[-300:]) else "full"
    lines = without_arguments("\n".join(lines), arguments).splitlines()
    digest = _digest_of_body(text, lines) if exposed == "full" else None
    return ReadEvidence(exposed, ranges, True, "content", note, quote, utf8_size(body), digest)


def _digest_of_body(text: str, lines: list[str]) -> str:
    """Claude Code writes the Skill's folder, which differs between machines, for ${CLAUDE_SKILL_DIR}."""
    head = text.partition("\n")[0]
    folder = head.removeprefix(_BODY_HEAD).strip() if head.startswith(_BODY_HEAD) else ""
    if folder:
        lines = [line.replace(folder, "${CLAUDE_SKILL_DIR}") for line in lines]
    return text_digest(lines)


def _evidence_of_match(
    match: ContentMatch, location: ResourceLocation, run: RunContext, quote: str
) -> ReadEvidence:
    """Evidence of a known text in a body; nine tenths count as full."""
    file = run.line_index.files[location.skill, location.resource]
    whole = match.body or match.lines >= 0.9 * max(1, file.filled)
    exposed: Exposed = "full" if whole else "partial"
    lines = ((match.ranges[0][0], match.ranges[-1][1]),) if whole else match.ranges
    size, digest = file.size(match.ranges), file.digest(match)
    return ReadEvidence(exposed, lines, True, "content", quote=quote, size=size, digest=digest)


def _injected_file(message: Message, run: RunContext, via: Via) -> Iterator[CandidateEvent]:
    """A file that the harness put into the context without a call."""
    location = run.catalog.locate(message.path) if message.path else None
    if location is None and message.skill:
        location = _skill_root(message.skill, run, message.path)
    if location is None or not location.skill:
        return
    if location.folder:
        location = ResourceLocation(location.skill, "SKILL.md", location.bundled)
    evidence = _evidence_of_body(message.text, location, run)
    if not is_root(location.resource) and evidence.lines is None and evidence.exposed == "full":
        evidence = replace(evidence, lines=((1, len(message.text.splitlines())),))
    yield CandidateEvent.of_message(message, location, "read", via, evidence)


def _tree(message: Message, run: RunContext) -> Iterator[CandidateEvent]:
    """A tree of the workspace discloses the names of a Skill's files."""
    if "SKILL.md" not in message.text:
        return
    entries = {line.strip(" │├└─|`-+/\t") for line in message.text[:400_000].splitlines()}
    for bare in sorted(run.catalog.names.keys() & entries):
        location = replace(_skill_root(bare, run), resource=".")
        evidence = ReadEvidence("none", None, ok=True, witness="content", note=_NAMES_ONLY)
        yield CandidateEvent.of_message(message, location, "list", "injected", evidence)


def _skill_text_in_prompt(message: Message, run: RunContext) -> Iterator[CandidateEvent]:
    """A prompt with the text of an offered SKILL.md activates it without a call."""
    if len(message.text) < _SHORTEST_PROMPT:
        return
    matches = run.line_index.matches(TextLines.of(message.text.splitlines()))
    for (skill, resource), match in matches.items():
        half = match.lines * 2 >= run.line_index.files[skill, resource].filled
        if is_root(resource) and half and match.distinctive >= _FEWEST_LINES:
            bundled = skill in run.catalog.bundled
            location = ResourceLocation(skill, resource, bundled)
            evidence = _evidence_of_match(match, location, run, match.first[:120])
            yield CandidateEvent.of_message(message, location, "activate", "injected", evidence)


def skill_call_events(analysed: AnalysedCall, run: RunContext) -> Iterator[CandidateEvent]:
    """A call of the skill tool: the body is its result or a separate message. One that runs in a
    sub-agent is activated there, where the body is shown."""
    call = analysed.call
    if not call.skill or call.agent in run.skilled_agents:
        return
    location = _skill_root(call.skill, run)
    evidence = _evidence_of_skill_call(analysed, location, run)
    shown = evidence.exposed != "none"
    evidence = replace(evidence, witness="both" if shown else "command")
    offered = bare_skill_name(location.skill) in run.catalog.names
    yield CandidateEvent.of_call(
        analysed, location, "activate", "skill-tool", evidence,
        missing=evidence.ok is False and not offered,
    )  # fmt: skip
    if call.result is not None and evidence.ok and _LISTS_FILES.search(call.result.text):
        names = ReadEvidence("none", None, ok=True, witness="both", note=_NAMES_ONLY)
        folder = ResourceLocation(location.skill, ".", location.bundled)
        yield CandidateEvent.of_call(analysed, folder, "list", "skill-tool", names, order=1)


def _evidence_of_skill_call(
    analysed: AnalysedCall, location: ResourceLocation, run: RunContext
) -> ReadEvidence:
    result = analysed.call.result
    body = run.skill_bodies.get(analysed.call.call_id or "")
    if body is not None:
        given = analysed.call.arguments.get("args")
        return _evidence_of_body(body.text, location, run, given if isinstance(given, str) else "")
    if result is None:
        return ReadEvidence("none", None, ok=None, note="no answer in the log")
    text = output_text(result)
    if result.ok is False or _REFUSED.match(text):
        return ReadEvidence("none", None, ok=False, note=text.strip()[:120])
    if _IN_SUB_AGENT.match(text):
        return ReadEvidence("none", None, ok=True, note="given to a sub-agent")
    if not text.strip() and result.ok is None:
        return ReadEvidence("none", None, ok=None, note="no result in the log")
    if not text.strip() or _LAUNCHING.match(text):
        return ReadEvidence("full", None, ok=True, note=_NO_BODY)
    return _evidence_of_body(text, location, run)
