"""Attribution: which resource of which Skill an agent touched, when, how, and what it saw."""

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.skill import class_of, is_root
from skilljuror.base.trajectory import (
    Resource,
    ResourceEvent,
    SkillManifest,
    Trajectory,
    UnknownTool,
    Via,
)
from skilljuror.events.events.candidate_event import CandidateEvent
from skilljuror.events.events.injected_content import message_events, skill_call_events
from skilljuror.events.events.search_output import (
    events_of_wide_search,
    listed_skills,
    search_events,
)
from skilljuror.events.events.unclaimed_content import (
    SharedScreens,
    may_show,
    unclaimed_reads,
)
from skilljuror.events.events.unknown_tools import unknown_tools
from skilljuror.events.evidence.error_messages import says_file_missing
from skilljuror.events.evidence.line_index import LineRanges, ResourceKey
from skilljuror.events.evidence.output_segments import Segments, has_file_headers, prints
from skilljuror.events.evidence.read_evidence import (
    DISAGREE,
    CallOutput,
    ReadEvidence,
    evidence_of_read,
    evidence_of_run,
    evidence_of_tool_read,
)
from skilljuror.events.resolution.resolver import MOST_ACCESSES, ResolvedAccess
from skilljuror.events.resolution.skill_catalog import ResourceLocation, bare_skill_name
from skilljuror.events.resolution.skill_discovery import discover_catalog
from skilljuror.events.run_context import AnalysedCall, RunContext, build_run_context

_HIGHEST_LINE = 2**31 - 1
"""Maximum line number."""


_CUT = f"the call names too many files; only the first {MOST_ACCESSES} are followed"
_UNREAD = "the shell command is too long; its end is ignored"


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
    candidates = [
        event
        for message in trajectory.messages
        if not message.inherited
        for event in message_events(message, run)
    ]
    screens = SharedScreens.of(run.analysed_calls)
    for analysed in run.analysed_calls:
        found = list(islice(_call_events(analysed, run, screens), MOST_ACCESSES + 1))
        candidates.extend(found[:MOST_ACCESSES])
        if len(found) > MOST_ACCESSES:
            run.cut.add(analysed.call.line)
        analysed.cached_output = None
    ordered = _with_lost_skills(_without_mentions_of_run_code(candidates))
    events = tuple(_resource_events(trajectory, ordered, run, manifest))
    given = manifest if manifest is not None and manifest.known else _discovered(run, events)
    unknown = tuple(unknown_tools(trajectory, ordered, run))
    warnings = [
        *((line, _CUT) for line in run.cut),
        *((line, _UNREAD) for line in run.unread),
    ]
    return Attribution(
        events, given, unknown, tuple(f"at {at}: {what}" for at, what in sorted(warnings))
    )


def _call_events(
    analysed: AnalysedCall, run: RunContext, screens: SharedScreens
) -> Iterator[CandidateEvent]:
    listed = bare_skill_name(analysed.call.skill or "") in run.catalog.names
    if analysed.call.action == "skill" or (analysed.call.skill and listed):
        yield from skill_call_events(analysed, run)
        return
    if not analysed.accesses and not may_show(analysed, run):
        return
    if analysed.accesses:
        found = [
            *_access_events(analysed, run),
            *listed_skills(analysed, run),
            *_search_events(analysed, run),
        ]
        found.sort(key=lambda event: event.order)
        yield from _without_repeats(_without_looks_before_use(found))
    for location, evidence in unclaimed_reads(analysed, run, screens):
        via: Via = "read-tool" if analysed.call.action in {"read", "other"} else "shell"
        via = "python" if analysed.call.action == "python" else via
        order = len(analysed.resolved_accesses)
        yield CandidateEvent.of_call(analysed, location, "read", via, evidence, order=order)


def _access_events(analysed: AnalysedCall, run: RunContext) -> Iterator[CandidateEvent]:
    """Events of a call's accesses except searches."""
    output, segments = analysed.output, analysed.segments(run.line_index)
    done: set[ResourceKey] = set()
    failed = False
    for resolved in analysed.resolved_accesses:
        access, location = resolved.access, resolved.location
        if access.kind == "search" or _is_unseen_listing(resolved):
            continue
        evidence = _evidence(analysed, resolved, run, segments)
        if evidence.witness == "both" and _is_shown_by_another(resolved, analysed):
            evidence = ReadEvidence("none", None, output.ok, note=access.note)
        if evidence.witness == "both" and analysed.number in run.taught_by.get(resolved.key, ()):
            evidence = replace(evidence, witness="command")
        if _is_unconfirmed_guess(resolved, evidence, output, run, segments):
            continue
        if access.guarded and (
            resolved.key in done or not (failed or _has_run(analysed, resolved, evidence, segments))
        ):
            continue
        failed = evidence.ok is False
        done.update(() if failed else (resolved.key,))
        if access.kind == "list" and location.folder:
            location = replace(location, resource=".")
        yield CandidateEvent.of_call(
            analysed, location, access.kind, access.via, evidence, order=resolved.order,
            missing=evidence.ok is False and _says_missing(resolved, evidence, output),
            quote=evidence.quote or access.text,
        )  # fmt: skip


def _is_unseen_listing(resolved: ResolvedAccess) -> bool:
    """Whether names were listed into another command, unseen by the agent."""
    access = resolved.access
    return access.kind == "list" and access.via == "shell" and not access.shown


def _is_unconfirmed_guess(
    resolved: ResolvedAccess, evidence: ReadEvidence, output: CallOutput, run: RunContext,
    segments: Segments,
) -> bool:  # fmt: skip
    """Whether only a glob names a file and the output does not confirm it: another program selected
    among its matches, headings name other files, or the file's known text is missing."""
    access, known = resolved.access, run.catalog.known
    if not access.glob or evidence.witness == "both":
        return False
    if access.needs_evidence and known:
        return True
    if access.kind != "read":
        return False
    if resolved.order not in segments and has_file_headers(output.lines):
        return True
    hidden = output.cut or output.screen or access.selection.by_content
    return evidence.note == DISAGREE and ((known and not hidden) or evidence.exposed == "none")


def _has_run(
    analysed: AnalysedCall, resolved: ResolvedAccess, evidence: ReadEvidence, segments: Segments
) -> bool:
    """Whether the output shows that an access happened that depends on a test, or on the failure of
    another one: text or an error of its own, or any text if nothing else prints."""
    output = analysed.output
    if resolved.access.kind in {"edit", "write"} or evidence.witness == "both":
        return True
    if segments.get(resolved.order) or output.error_for(resolved.access.path):
        return True
    return bool(output.text.strip()) and not any(
        prints(one) for one in analysed.accesses if one is not resolved.access
    )


def _is_shown_by_another(resolved: ResolvedAccess, analysed: AnalysedCall) -> bool:
    """Whether the output's text belongs to another access of the call, such as a copy."""
    return not resolved.access.shown and any(
        other.access.shown and other.access.kind == "read" and other.key == resolved.key
        for other in analysed.resolved_accesses
    )


def _says_missing(resolved: ResolvedAccess, evidence: ReadEvidence, output: CallOutput) -> bool:
    """Whether the log reports a failed access's path as missing."""
    if resolved.access.kind == "read":
        return says_file_missing(evidence.note)
    used = resolved.access.kind in {"exec", "list"}
    return used and output.error_for(resolved.access.path) is not None


def _evidence(
    analysed: AnalysedCall, resolved: ResolvedAccess, run: RunContext, segments: Segments
) -> ReadEvidence:
    """Evidence of an access in the output."""
    call, access, known = analysed.call, resolved.access, run.catalog.known
    output = analysed.output
    segment = segments.get(resolved.order)
    if access.kind == "read":
        several = call.action == "other" and has_file_headers(output.lines)
        if call.action in {"read", "other"} and access.shown and not several:
            evidence = evidence_of_tool_read(call, resolved, run.line_index, trusted=known)
            alone = len(analysed.resolved_accesses) == 1
            if alone or evidence.witness == "both":
                return evidence if alone else replace(evidence, digest=None)
            return replace(evidence, lines=None, digest=None)
        foreign = known and not several and not run.catalog.has(*resolved.key)
        return evidence_of_read(resolved, output, run.line_index, segment, foreign=foreign)
    if access.kind in {"exec", "import"}:
        return evidence_of_run(resolved, output)
    if access.kind == "edit" and call.action == "edit" and access.via == "read-tool":
        snippet = output.ok and len(output.lines) > 3
        return ReadEvidence("partial" if snippet else "none", None, output.ok, note=access.note)
    ok = output.ok
    if access.kind == "list" and ok is None and output.text.strip():
        ok = output.error_for(access.path) is None
    return ReadEvidence("none", None, ok, note=access.note)


def _search_events(analysed: AnalysedCall, run: RunContext) -> Iterator[CandidateEvent]:
    """One event per file with lines printed by a search."""
    for resolved, location, evidence in search_events(analysed, run):
        access = resolved.access
        yield CandidateEvent.of_call(
            analysed, location, "search", access.via, evidence, order=resolved.order,
            quote=evidence.quote or access.text,
        )  # fmt: skip
    known = {id(resolved.access) for resolved in analysed.resolved_accesses}
    searches = [access for access in analysed.accesses if access.kind == "search"]
    wide = [access for access in searches if id(access) not in known]
    if any(access.shown for access in wide) and run.catalog.named_in(analysed.output.text):
        for location, evidence in events_of_wide_search(analysed, run):
            yield CandidateEvent.of_call(
                analysed, location, "search", wide[0].via, evidence,
                order=len(analysed.resolved_accesses), quote=evidence.quote or wide[0].text,
            )  # fmt: skip


def _without_looks_before_use(events: list[CandidateEvent]) -> list[CandidateEvent]:
    """`wc -l file && cat file` is one access: printing the name or size is not a second one."""
    used = {event.location for event in events if event.kind != "list"}
    return [event for event in events if event.kind != "list" or event.location not in used]


_TOLD_ONCE = frozenset({"exec", "import", "list", "search", "edit", "write", "mention"})


def _without_repeats(events: Iterable[CandidateEvent]) -> Iterator[CandidateEvent]:
    """Five runs of one script in one command are one event; separate reads stay separate."""
    seen: set[tuple[str, str, str]] = set()
    for event in events:
        key = event.location.skill, event.location.resource, event.kind
        if event.kind not in _TOLD_ONCE or key not in seen:
            yield event
        seen.add(key)


def _without_mentions_of_run_code(events: Iterable[CandidateEvent]) -> list[CandidateEvent]:
    """Code written and run in one step is an import, not a mention."""

    def place(event: CandidateEvent) -> tuple[str, int, str, str]:
        return event.agent, event.step, event.location.skill, event.location.resource

    events = list(events)
    imported = {place(event) for event in events if event.kind == "import"}
    return [event for event in events if event.kind != "mention" or place(event) not in imported]


def _place(event: CandidateEvent) -> tuple[int, int, int, int]:
    return event.file, event.line, event.call, event.order


def _with_lost_skills(events: Iterable[CandidateEvent]) -> list[CandidateEvent]:
    """Sort by occurrence; a read of `ROOT/references/x.md`, without the Skill's folder, belongs to
    the Skill touched last."""
    last: dict[str, str] = {}
    placed = []
    for event in sorted(events, key=_place):
        if event.location.skill:
            last[event.agent] = event.location.skill
        elif event.agent in last and event.kind == "read":
            note = "the path lacks the skill's folder; the skill touched last is assumed"
            event = replace(
                event,
                location=replace(event.location, skill=last[event.agent]),
                missing=True,
                evidence=replace(event.evidence, note=note),
            )
        else:
            continue
        placed.append(event)
    return placed


def _resource_events(
    trajectory: Trajectory, ordered: list[CandidateEvent], run: RunContext,
    manifest: SkillManifest | None,
) -> Iterator[ResourceEvent]:  # fmt: skip
    resources = manifest.resources if manifest is not None else ()
    classes = {(one.skill, one.path): one.resource_class for one in resources}
    for ordinal, event in enumerate(ordered):
        place, evidence = event.location, event.evidence
        lines = evidence.lines
        if lines and any(not 0 < first <= last <= _HIGHEST_LINE for first, last in lines):
            lines = None
        yield ResourceEvent(
            trajectory=trajectory.trajectory,
            ordinal=ordinal,
            line=event.line,
            agent=event.agent,
            step=event.step,
            skill=place.skill,
            resource=place.resource,
            resource_class=classes.get((place.skill, place.resource)) or class_of(place.resource),
            kind=event.kind,
            via=event.via,
            ok=evidence.ok,
            content_exposed=evidence.exposed,
            lines=lines,
            witness=evidence.witness,
            call_id=event.call_id,
            file=trajectory.files[event.file] if 0 < event.file < len(trajectory.files) else None,
            phantom=event.missing or _is_foreign(place, run),
            bundled=place.bundled,
            quote=(evidence.quote or event.quote)[:160],
            note=evidence.note[:200],
            shown_bytes=_shown_bytes(run, event, lines),
            text_digest=evidence.digest if is_root(place.resource) else None,
        )


def _is_foreign(place: ResourceLocation, run: RunContext) -> bool:
    """Whether the manifest excludes such a file."""
    if not run.catalog.known or place.bundled or place.resource == ".":
        return False
    return not run.catalog.has(place.skill, place.resource)


def _shown_bytes(run: RunContext, event: CandidateEvent, lines: LineRanges | None) -> int | None:
    """Bytes of the lines shown if the file is known, else of its part of the output."""
    file = run.line_index.files.get((event.location.skill, event.location.resource))
    if file is not None and lines and event.evidence.exposed != "none":
        return file.size(lines)
    return event.evidence.size


def _discovered(run: RunContext, events: Iterable[ResourceEvent]) -> SkillManifest:
    """Manifest discovered in the log."""
    catalog = run.catalog
    resources = []
    for skill in sorted(catalog.resources):
        for path in sorted(catalog.resources[skill].values()):
            text = run.texts.get((skill, path))
            resources.append(Resource(skill, path, class_of(path), text))
    given = {catalog.name(name) for names in catalog.names.values() for name in names}
    touched = {event.skill for event in events if not event.phantom}
    return SkillManifest(
        resources=tuple(resources),
        roots=tuple(catalog.roots),
        skills=tuple(sorted(given | touched)),
        known=False,
    )
