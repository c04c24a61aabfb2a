"""Attribution: which resource of which Skill an agent touched, when, how, and what it saw.

Two witnesses: what commands name, and what outputs show.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.skill import class_of, is_root
from skilljuror.base.trajectory import (
    EventKind,
    Exposed,
    Message,
    Resource,
    ResourceEvent,
    SkillManifest,
    Trajectory,
    UnknownTool,
    Via,
)
from skilljuror.events.access import expand_home, join, name_of
from skilljuror.events.catalog import (
    ResolvedAccess,
    ResourceLocation,
    bare_skill_name,
    discover_catalog,
)
from skilljuror.events.context import MOST_ACCESSES, AnalysedCall, RunContext, build_run_context
from skilljuror.events.evidence import (
    DISAGREE,
    CallOutput,
    ContentMatch,
    ReadEvidence,
    ResourceKey,
    Segments,
    TextLines,
    evidence_of_read,
    evidence_of_run,
    evidence_of_tool_read,
    first_filled,
    front_matter,
    merged_ranges,
    output_text,
    says_file_missing,
    text_digest,
    utf8_size,
)

_HIGHEST_LINE = 2**31 - 1
"""Maximum line number."""
_CUT = f"the call names too many files; only the first {MOST_ACCESSES} are followed"
_UNREAD = "the shell command is not understood to its end; what follows is left to its output"

Position = tuple[int, int, int, int]
"""Number of the file, line, number of the call (-1 for a message), position among its events."""
Placed = tuple[Position, ResourceEvent]
"""An event before its number is known."""


class Attribution(Struct, frozen=True, gc=False):
    """Events of a run with its manifest."""

    events: tuple[ResourceEvent, ...]
    manifest: SkillManifest
    """The given manifest, or the one discovered in the log."""
    unknown_tools: tuple[UnknownTool, ...] = ()
    """Calls of tools of which nobody knows what they do."""
    warnings: tuple[str, ...] = ()
    """One line for each part of the run that was ignored."""


def attribute(trajectory: Trajectory, manifest: SkillManifest | None) -> Attribution:
    """Return the resource events of a run.

    Roots and texts come from the manifest. Without one they are discovered in the log: Skill lists,
    base directories, paths of SKILL.md, known roots; a resource's text is learned when the log
    shows all of it.
    """
    run = build_run_context(trajectory, discover_catalog(trajectory, manifest), manifest)
    placed = [
        event
        for message in trajectory.messages
        if not message.inherited
        for event in message_events(message, run)
    ]
    sharers: dict[int, list[AnalysedCall]] = {}
    for analysed in run.analysed_calls:
        sharers.setdefault(id(analysed.result), []).append(analysed)
    for analysed in run.analysed_calls:
        together = sharers[id(analysed.result)] if analysed.result is not None else [analysed]
        of_call = list(islice(_call_events(analysed, run, together), MOST_ACCESSES + 1))
        placed += of_call[:MOST_ACCESSES]
        if len(of_call) > MOST_ACCESSES:
            run.cut.add(analysed.call.line)
        analysed.cached_output = None
    ordered = _ordered(placed)
    events = tuple(
        replace(event, trajectory=trajectory.trajectory, ordinal=ordinal)
        for ordinal, (_, event) in enumerate(ordered)
    )
    given = manifest if manifest is not None and manifest.known else _discovered(run, events)
    unknown = tuple(unknown_tools(trajectory, ordered, run))
    warnings = sorted([
        *((line, _CUT) for line in run.cut),
        *((line, _UNREAD) for line in run.unread),
    ])
    return Attribution(
        events, given, unknown, tuple(f"at {line}: {text}" for line, text in warnings)
    )


def _ordered(placed: Sequence[Placed]) -> list[Placed]:
    """Events by occurrence. Code written and run in one step is an import, not a mention; a read of
    `ROOT/references/x.md`, without the Skill's folder, belongs to the Skill touched last."""

    def step_of(event: ResourceEvent) -> tuple[str, int, str, str]:
        return event.agent, event.step, event.skill, event.resource

    imported = {step_of(event) for _, event in placed if event.kind == "import"}
    last: dict[str, str] = {}
    ordered: list[Placed] = []
    for position, event in sorted(placed, key=lambda one: one[0]):
        if event.kind == "mention" and step_of(event) in imported:
            continue
        if event.skill:
            last[event.agent] = event.skill
        elif event.agent in last and event.kind == "read":
            note = "the path lacks the skill's folder; the skill touched last is assumed"
            event = replace(event, skill=last[event.agent], phantom=True, note=note)
        else:
            continue
        ordered.append((position, event))
    return ordered


def _event(  # noqa: PLR0913
    run: RunContext, location: ResourceLocation, kind: EventKind, via: Via, evidence: ReadEvidence,
    *, of: Message | AnalysedCall, order: int = 0, missing: bool = False, text: str = "",
) -> Placed:  # fmt: skip
    """An event of a message or a call; `missing` if the log reports the file so, `text` a quote in
    case that the evidence has none."""
    if isinstance(of, AnalysedCall):
        file, line, agent, step = of.step.file, of.call.line, of.step.agent, of.step.index
        call, call_id = of.number, of.call.call_id
    else:
        file, line, agent, step, call, call_id = of.file, of.line, of.agent, of.step, -1, None
    skill, resource = key = location.skill, location.resource
    lines, size = evidence.lines, evidence.size
    if lines and any(not 0 < first <= last <= _HIGHEST_LINE for first, last in lines):
        lines = None
    indexed = run.line_index.files.get(key)
    if indexed is not None and lines and evidence.exposed != "none":
        size = indexed.size(lines)
    excluded = run.catalog.known and not location.bundled and resource != "."
    event = ResourceEvent(
        trajectory="",
        ordinal=0,
        line=line,
        agent=agent,
        step=step,
        skill=skill,
        resource=resource,
        resource_class=run.classes.get(key) or class_of(resource),
        kind=kind,
        via=via,
        ok=evidence.ok,
        content_exposed=evidence.exposed,
        lines=lines,
        witness=evidence.witness,
        call_id=call_id,
        file=run.files[file] if 0 < file < len(run.files) else None,
        phantom=missing or (excluded and not run.catalog.has(*key)),
        bundled=location.bundled,
        quote=(evidence.quote or text)[:160],
        note=evidence.note[:200],
        shown_bytes=size,
        text_digest=evidence.digest if is_root(resource) else None,
    )
    return (file, line, call, order), event


def _discovered(run: RunContext, events: Iterable[ResourceEvent]) -> SkillManifest:
    """Manifest discovered in the log."""
    catalog = run.catalog
    resources = [
        Resource(skill, path, class_of(path), run.texts.get((skill, path)))
        for skill in sorted(catalog.resources)
        for path in sorted(catalog.resources[skill].values())
    ]
    given = {catalog.name(name) for names in catalog.names.values() for name in names}
    touched = {event.skill for event in events if not event.phantom}
    skills = tuple(sorted(given | touched))
    return SkillManifest(tuple(resources), tuple(catalog.roots), skills, known=False)


# Calls.


def _call_events(
    analysed: AnalysedCall, run: RunContext, together: Sequence[AnalysedCall]
) -> Iterator[Placed]:
    """Events of a call; `together` are the calls that share its result."""
    call = analysed.call
    if call.action == "skill" or (call.skill and bare_skill_name(call.skill) in run.catalog.names):
        yield from skill_call_events(analysed, run)
        return
    if analysed.accesses:
        found = [
            *_access_events(analysed, run), *_listed_skills(analysed, run), *search_events(analysed, run),
        ]  # fmt: skip
        found.sort(key=lambda one: one[0])
        told: set[tuple[str, str, str]] = set()
        for position, event in found:
            # Five runs of one script in one command are one event; separate reads stay separate.
            key = event.skill, event.resource, event.kind
            if event.kind == "read" or key not in told:
                yield position, event
            told.add(key)
    if together[-1] is analysed:
        yield from _unclaimed_reads(analysed, run, together)


def _access_events(analysed: AnalysedCall, run: RunContext) -> Iterator[Placed]:
    """Events of a call's accesses except searches."""
    segments = analysed.segments(run.line_index)
    output = analysed.output
    for resolved in analysed.resolved_accesses:
        access, location = resolved.access, resolved.location
        if access.kind == "search":
            continue
        evidence = _evidence(analysed, resolved, run, segments)
        shown_again = not access.shown and any(
            other.key == resolved.key and other.access.shown and other.access.kind == "read"
            for other in analysed.resolved_accesses
        )
        if shown_again and evidence.witness == "both":  # the text is that of a copy
            evidence = ReadEvidence("none", None, output.ok, note=access.note)
        if evidence.witness == "both" and analysed.number in run.taught_by.get(resolved.key, ()):
            evidence = replace(evidence, witness="command")
        unsure = access.needs_evidence or (access.glob and evidence.note == DISAGREE)
        if unsure and evidence.witness != "both":
            continue
        if access.kind == "list" and location.folder:
            location = replace(location, resource=".")
        missing = evidence.ok is False and access.kind in {"read", "exec", "list"}
        if access.kind == "read":
            missing = missing and says_file_missing(evidence.note)
        else:
            missing = missing and output.error_for(access.path) is not None
        yield _event(
            run, location, access.kind, access.via, evidence, of=analysed, order=resolved.order,
            missing=missing, text=access.text,
        )  # fmt: skip


def _listed_skills(analysed: AnalysedCall, run: RunContext) -> Iterator[Placed]:
    """A listing per Skill whose folder heads a part of `ls -R` of its parent, as the demo's agent runs it."""
    for order, access in enumerate(analysed.accesses):
        if access.kind != "list" or not access.shown:
            continue
        bases = analysed.call.workdir or run.cwd, access.path
        for heading in (line[:-1] for line in analysed.output.lines if line.endswith(":")):
            folders = (join(base, heading) for base in bases)
            below = [one for one in folders if one and one.rpartition("/")[0] == access.path]
            location = run.catalog.locate(below[0]) if below else None
            if location is not None and location.skill and location.resource == ".":
                evidence = ReadEvidence("none", None, ok=True, witness="both")
                yield _event(
                    run, location, "list", access.via, evidence, of=analysed, order=order,
                    text=access.text,
                )  # fmt: skip


def _evidence(
    analysed: AnalysedCall, resolved: ResolvedAccess, run: RunContext, segments: Segments
) -> ReadEvidence:
    """Evidence of an access in the output."""
    call, access, output = analysed.call, resolved.access, analysed.output
    if access.kind == "read" and call.action in {"read", "other"} and access.shown:
        evidence = evidence_of_tool_read(call, resolved, run.line_index, trusted=run.catalog.known)
        if len(analysed.resolved_accesses) == 1:
            return evidence
        lines = evidence.lines if evidence.witness == "both" else None
        return replace(evidence, lines=lines, digest=None)
    if access.kind == "read":
        foreign = run.catalog.known and not run.catalog.has(*resolved.key)
        segment = segments.get(resolved.order)
        return evidence_of_read(resolved, output, run.line_index, segment, foreign=foreign)
    if access.kind in {"exec", "import"}:
        return evidence_of_run(access, output)
    exposed: Exposed = "none"
    if access.kind == "edit" and call.action == "edit" and access.via == "read-tool":
        exposed = "partial" if output.ok and len(output.lines) > 3 else "none"
    return ReadEvidence(exposed, None, output.ok, note=access.note)


# Content that the harness put into the context: Skill bodies, re-injected files, file trees.


_BODY_HEAD = "Base directory for this skill: "
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
_SHORTEST_PROMPT = 40
"""Minimum characters of a message that may contain a Skill's text."""
_FEWEST_LINES = 3
"""Minimum distinctive lines of a SKILL.md in such a message."""
_APPENDED = "\nARGUMENTS: "
"""Before the arguments at the end of a body that does not say where they belong."""
_NO_BODY = "no text of the body in the log"
_NAMES_ONLY = "file names only"


def message_events(message: Message, run: RunContext) -> Iterator[Placed]:
    """Events of a message without a call."""
    if message.kind == "skill_body" and message.call_id not in run.call_ids:
        via: Via = "slash" if message.command_line is not None else "injected"
        location = _skill_root(message.skill or name_of(message.path or ""), run)
        evidence = _evidence_of_body(message.text, location, run)
        yield _event(run, location, "activate", via, evidence, of=message)
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
    skill = run.catalog.name(name)
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


def _evidence_of_body(text: str, location: ResourceLocation, run: RunContext) -> ReadEvidence:
    """An injected body is the whole SKILL.md, unless its known text differs."""
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
    match = run.line_index.match(key, TextLines.of(lines))
    if match is not None:
        evidence = _evidence_of_match(match, location, run, quote)
        whole = evidence.exposed == "full"
        return replace(evidence, digest=text_digest(lines) if whole else None)
    note = "the body is not the text known for this skill" if file is not None else ""
    ranges = ((1, len(lines)),) if front_matter(lines) else None
    digest = text_digest(lines)
    return ReadEvidence("full", ranges, True, "content", note, quote, utf8_size(body), digest)


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


def _injected_file(message: Message, run: RunContext, via: Via) -> Iterator[Placed]:
    """A file that the harness put into the context without a call."""
    location = run.catalog.locate(message.path) if message.path else None
    if location is None and message.skill:
        location = _skill_root(message.skill, run)
    if location is None or not location.skill:
        return
    if location.folder:
        location = ResourceLocation(location.skill, "SKILL.md", location.bundled)
    evidence = _evidence_of_body(message.text, location, run)
    if not is_root(location.resource) and evidence.lines is None and evidence.exposed == "full":
        evidence = replace(evidence, lines=((1, len(message.text.splitlines())),))
    yield _event(run, location, "read", via, evidence, of=message)


def _tree(message: Message, run: RunContext) -> Iterator[Placed]:
    """A tree of the workspace discloses the names of a Skill's files."""
    if "SKILL.md" not in message.text:
        return
    entries = {line.strip(" │├└─|`-+/\t") for line in message.text[:400_000].splitlines()}
    for bare in sorted(run.catalog.names.keys() & entries):
        location = replace(_skill_root(bare, run), resource=".")
        evidence = ReadEvidence("none", None, ok=True, witness="content", note=_NAMES_ONLY)
        yield _event(run, location, "list", "injected", evidence, of=message)


def _skill_text_in_prompt(message: Message, run: RunContext) -> Iterator[Placed]:
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
            yield _event(run, location, "activate", "injected", evidence, of=message)


def skill_call_events(analysed: AnalysedCall, run: RunContext) -> Iterator[Placed]:
    """A call of the skill tool: the body is its result or a separate message. One that runs in a
    sub-agent is activated there, where the body is shown."""
    call = analysed.call
    if not call.skill:
        return
    location = _skill_root(call.skill, run)
    evidence = _evidence_of_skill_call(analysed, location, run)
    shown = evidence.exposed != "none"
    evidence = replace(evidence, witness="both" if shown else "command")
    offered = bare_skill_name(location.skill) in run.catalog.names
    missing = evidence.ok is False and not offered
    yield _event(run, location, "activate", "skill-tool", evidence, of=analysed, missing=missing)
    if call.result is not None and evidence.ok and "<available_resources>" in call.result.text:
        names = ReadEvidence("none", None, ok=True, witness="both", note=_NAMES_ONLY)
        folder = ResourceLocation(location.skill, ".", location.bundled)
        yield _event(run, folder, "list", "skill-tool", names, of=analysed, order=1)


def _evidence_of_skill_call(
    analysed: AnalysedCall, location: ResourceLocation, run: RunContext
) -> ReadEvidence:
    result = analysed.call.result
    body = run.skill_bodies.get(analysed.call.call_id or "")
    if body is not None:
        return _evidence_of_body(body.text, location, run)
    if result is None:
        return ReadEvidence("none", None, ok=None, note="no answer in the log")
    text = output_text(result)
    if result.ok is False:
        return ReadEvidence("none", None, ok=False, note=text.strip()[:120])
    if _IN_SUB_AGENT.match(text):
        return ReadEvidence("none", None, ok=True, note="given to a sub-agent")
    if not text.strip() and result.ok is None:
        return ReadEvidence("none", None, ok=None, note="no result in the log")
    if not text.strip() or _LAUNCHING.match(text):
        return ReadEvidence("full", None, ok=True, note=_NO_BODY)
    return _evidence_of_body(text, location, run)


# Searches that print lines.


_FOUND_LINE = re.compile(
    r"^(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^:\s`'\"{}<>|()]{1,500})[:](?:(?P<number>\d{1,7})[:-])?(?P<text>.*)$"
)
"""`path:12:text`, or `path:text`."""
_HEADING = re.compile(r"^(?:File: )?(?P<path>[^:\s`'\"{}<>|()]{1,500}\.\w{1,10}):?$")
"""A path, followed by numbered lines."""
_BELOW_HEADING = re.compile(r"^\s*(?:L|Line )?(?P<number>\d{1,7})[:-] ?(?P<text>.*)$")


_NUMBER = re.compile(r"(\d{1,7})[:-]")
_ASKS_FOR_NUMBERS = re.compile(r"(?<!\S)(?:-\w*n\w*|--line-number)(?!\S)|^rg\b")


def search_events(analysed: AnalysedCall, run: RunContext) -> Iterator[Placed]:
    """One event per file with lines printed by a search; for searches whose output the agent does
    not see (`grep … SKILL.md > found.txt`), the file named."""
    output = analysed.output
    searches = [access for access in analysed.accesses if access.kind == "search"]
    if not searches:
        return
    named = [one for one in analysed.resolved_accesses if one.access.kind == "search"]
    printed = _printed_lines(analysed, run) if output.text.strip() else {}
    for search in named:
        access, location = search.access, search.location
        evidence = None
        if not access.shown and not location.folder and access.via == "shell":
            ok = False if output.error_for(access.path) else output.ok
            evidence = ReadEvidence("none", None, ok)
        elif access.shown and not location.folder and not printed and output.text.strip():
            evidence = _in_one_file(search, output, run)
        if evidence is not None:
            yield _event(
                run, location, "search", access.via, evidence, of=analysed, order=search.order,
                text=access.text,
            )  # fmt: skip
    shown = next((access for access in searches if access.shown), None)
    if shown is None:
        return
    for place, numbers, size in (printed[key] for key in sorted(printed)):
        lines = merged_ranges((number, number) for number in numbers) if numbers else None
        evidence = ReadEvidence("partial", lines, ok=True, witness="both", size=size)
        order = next((one.order for one in named if _covers(one.location, place)), len(named))
        yield _event(
            run, place, "search", shown.via, evidence, of=analysed, order=order, text=shown.text
        )


def _covers(searched: ResourceLocation, place: ResourceLocation) -> bool:
    """Whether a file is the one searched, or below the folder searched."""
    inner = "" if searched.resource == "." else searched.resource
    return searched.skill == place.skill and place.resource.startswith(inner)


def _in_one_file(
    search: ResolvedAccess, output: CallOutput, run: RunContext
) -> ReadEvidence | None:
    """A search in one file prints no path: its line numbers (`grep -n`), or matches of its text."""
    match = output.match(search.key, run.line_index)
    if match is not None:
        lines = [line for line in output.lines if line.strip()]
        numbers = [int(number[1]) for line in lines if (number := _NUMBER.match(line))]
        ranges = merged_ranges((number, number) for number in numbers)
        unshifted = (
            merged_ranges([*ranges, *match.ranges]) == ranges
        )  # not those of a part piped to grep
        asked = _ASKS_FOR_NUMBERS.search(search.access.text)
        if asked and unshifted and len(numbers) == len(lines):
            return ReadEvidence("partial", ranges, True, "both")
        return ReadEvidence("partial", match.ranges, True, "both", quote=match.first[:120])
    unknown = search.key not in run.line_index.files and not output.error_for(search.access.path)
    return ReadEvidence("partial", None, ok=True) if unknown else None


def _printed_lines(
    analysed: AnalysedCall, run: RunContext
) -> dict[ResourceKey, tuple[ResourceLocation, list[int], int]]:
    """Resource -> (place, numbers, bytes) of its lines that an output shows below or after paths."""
    base = analysed.call.workdir or run.cwd
    folders = sorted({access.path for access in analysed.accesses if access.kind == "search"})
    located: dict[str, ResourceLocation | None] = {}

    def locate(path: str) -> ResourceLocation | None:
        if path not in located:
            named = "." in name_of(path) or "/" in path
            places = [run.catalog.locate(join(at, path)) for at in (base, *folders) if named]
            files = [place for place in places if place and place.skill and not place.folder]
            located[path] = files[0] if files else None
        return located[path]

    printed: dict[ResourceKey, tuple[ResourceLocation, list[int], int]] = {}
    under: ResourceLocation | None = None
    for line in analysed.output.lines:
        heading = _HEADING.match(line)
        if heading:
            under = locate(heading["path"])
            continue
        match = _BELOW_HEADING.match(line) if under is not None else None
        place = under
        if match is None:
            match = _FOUND_LINE.match(line)
            place = locate(match["path"]) if match else None
        if match is None or place is None:
            continue
        key = place.skill, place.resource
        _, numbers, size = printed.setdefault(key, (place, [], 0))
        numbers += [int(match["number"])] if match["number"] else []
        printed[key] = place, numbers, size + utf8_size(match["text"]) + 1
    return printed


# Outputs that show a resource although no command names it: content witness only.

_NO_READ = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:diff|log|show|blame|stash|commit|apply)\b|\bdiff\b|\btmux\b|\bscreen\b"
    r"|\bworkmux\b|\bapply_patch\b|\bgh\s+(?:pr|issue|api)\b"
)
"""Differences, and screens of other agents: the agent did not read the file itself. Real logs of
agents that develop a Skill (agentv, read with a bundle) need it."""
_LONGEST_COMMAND = 4000
_LEAST_SHARE = 2 / 3
"""Minimum share of an output's non-blank lines that come from resources. Documents, code and reports
quote a Skill, and files written from its template share its lines, but are not the resource; a copy
of it, or code that prints it, shows it in one piece and little else."""


def _unclaimed_reads(
    analysed: AnalysedCall, run: RunContext, together: Sequence[AnalysedCall]
) -> Iterator[Placed]:
    """Resources that a call's output shows and no access of the calls that share it names."""
    output, action = analysed.output, analysed.call.action
    reads = action in {"shell", "python", "poll", "read", "other"}
    if not reads or not run.line_index.files or len(output.lines) < 2:
        return
    if _NO_READ.search((analysed.call.command or "")[:_LONGEST_COMMAND]):
        return
    matches = run.line_index.matches(output.text_lines)
    explained = {resolved.key for call in together for resolved in call.resolved_accesses}
    taken = {at for key in explained & matches.keys() for at in matches[key].lines_of_text()}
    unclaimed = {
        key: match for key, match in matches.items() if match.unbroken and key not in explained
    }
    shown = taken.union(*(match.lines_of_text() for match in unclaimed.values()))
    bare = output.text_lines.bare
    if sum(bool(bare[at]) for at in shown) < _LEAST_SHARE * sum(map(bool, bare)):
        return
    via: Via = (
        "python" if action == "python" else "read-tool" if action in {"read", "other"} else "shell"
    )
    for key, match in sorted(unclaimed.items(), key=lambda one: (-one[1].lines, one[0])):
        places = match.lines_of_text()
        if len(places & taken) * 2 > len(places):
            continue
        taken |= places
        note = "no command names the file; its text is in the output"
        exposed: Exposed = "full" if match.full else "partial"
        digest = run.line_index.files[key].digest(match)
        evidence = ReadEvidence(
            exposed, match.ranges, True, "content", note, match.first[:120], digest=digest
        )
        location = ResourceLocation(*key, bundled=key[0] in run.catalog.bundled)
        order = len(analysed.resolved_accesses)
        yield _event(run, location, "read", via, evidence, of=analysed, order=order)


# Tools of which nobody knows what they do.


_LONGEST_TEXT = 400_000
"""Characters of a call or an answer to search for paths."""
_PATH = re.compile(r"[^\s\"'`<>|;,(){}\[\]=$\\]{1,500}")


def unknown_tools(
    trajectory: Trajectory, ordered: Iterable[Placed], run: RunContext
) -> Iterator[UnknownTool]:
    """The run's unknown tools, by name."""
    explained: dict[str | int, set[str]] = {}
    for (_, _, number, _), event in ordered:
        explained.setdefault(event.call_id or number, set()).add(event.skill)
    calls: dict[str, int] = {}
    skills: dict[str, set[str]] = {}
    for analysed in run.analysed_calls:
        call, result = analysed.call, analysed.result
        if not call.unknown or (result is not None and result.ok is False):
            continue
        given = json.dumps(call.arguments, ensure_ascii=False, default=str)
        places = [*_named_places(given, analysed, run)]
        answered = _named_places(analysed.output.text, analysed, run)
        places += [place for place in answered if not place.folder and place.resource != "."]
        known = explained.get(call.call_id or analysed.number, set())
        named = {place.skill for place in places} - known
        if named or not known:
            calls[call.name] = calls.get(call.name, 0) + 1
            skills.setdefault(call.name, set()).update(named)
    for tool, count in sorted(calls.items()):
        yield UnknownTool(trajectory.trajectory, tool, count, tuple(sorted(skills[tool])))


def _named_places(text: str, analysed: AnalysedCall, run: RunContext) -> Iterator[ResourceLocation]:
    """Files and folders of known Skills that a text names by their paths."""
    if not run.catalog.named_in(text):
        return
    for token in set(_PATH.findall(text[:_LONGEST_TEXT])):
        path = join(analysed.call.workdir or run.cwd, expand_home(token.rstrip(".:"), None))
        place = run.catalog.locate(path)
        if place and place.skill and bare_skill_name(place.skill) in run.catalog.names:
            yield place
