"""Attribution: which resource of which skill an agent touched, when, how, and what it saw."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.evidence.error_messages import says_file_missing
from skilljuror.attribution.evidence.line_index import LineRanges
from skilljuror.attribution.evidence.output_segments import Segments, has_file_headers
from skilljuror.attribution.evidence.read_evidence import (
    DISAGREE,
    CallOutput,
    ReadEvidence,
    evidence_of_read,
    evidence_of_run,
    evidence_of_tool_read,
)
from skilljuror.attribution.findings.candidate_event import CandidateEvent
from skilljuror.attribution.findings.injected_content import message_events, skill_call_events
from skilljuror.attribution.findings.search_output import events_of_wide_search, search_events
from skilljuror.attribution.findings.silenced_errors import evidence_of_missing_file, missing_file
from skilljuror.attribution.findings.unclaimed_content import (
    SharedScreens,
    may_show,
    unclaimed_reads,
)
from skilljuror.attribution.resolution.resolver import ResolvedAccess
from skilljuror.attribution.resolution.skill_catalog import (
    ResourceLocation,
    SkillCatalog,
    bare_skill_name,
)
from skilljuror.attribution.resolution.skill_discovery import discover_catalog
from skilljuror.attribution.run_context import AnalysedCall, RunContext, build_run_context
from skilljuror.models.bundle import ResourceClass
from skilljuror.models.events import Resource, ResourceEvent, SkillManifest, Via
from skilljuror.models.resource_class import class_of
from skilljuror.models.trajectory import Trajectory

_LAST = 2**31 - 1
"""The highest number that a line of a file can have."""


class Attribution(Struct, frozen=True, gc=False):
    """The events of a run, and what it was offered."""

    events: tuple[ResourceEvent, ...]
    """In order of occurrence."""
    manifest: SkillManifest
    """The manifest given, or the one discovered from the log."""


def attribute(trajectory: Trajectory, manifest: SkillManifest | None) -> Attribution:
    """The resource events of a run.

    With a manifest, its roots and texts are what counts. Without one they are discovered from
    the log: skill lists, base directories, paths of SKILL.md, roots known from real logs; a
    resource's text is learned when the log shows the whole of it.
    """
    catalog = discover_catalog(trajectory, manifest)
    gathered = build_run_context(trajectory, catalog, manifest)
    findings = [one for message in trajectory.messages for one in message_events(message, gathered)]
    screens = SharedScreens.of(gathered.analysed_calls)
    for analysed in gathered.analysed_calls:
        findings.extend(_touch_findings(analysed, gathered, screens))
    classes = _Classes(manifest)
    events = tuple(_events(trajectory, _placed(findings), gathered, classes))
    found = manifest if manifest is not None and manifest.known else _discovered(gathered, events)
    return Attribution(events, found)


def _touch_findings(
    analysed: AnalysedCall, run: RunContext, screens: SharedScreens
) -> Iterator[CandidateEvent]:
    """The events of one call."""
    if analysed.call.action == "skill":
        yield from skill_call_events(analysed, run)
        return
    if not analysed.accesses and not may_show(analysed, run):
        return
    output = analysed.output()
    if analysed.accesses:
        found = [*_claimed(analysed, run, output), *_searched(analysed, run, output)]
        found.sort(key=lambda one: one.order)
        yield from _once(_unchecked(found))
    for location, shown in unclaimed_reads(analysed, run, output, screens):
        yield _finding(analysed, location, shown, order=len(analysed.resolved_accesses))


def _finding(
    analysed: AnalysedCall, location: ResourceLocation, shown: ReadEvidence, order: int
) -> CandidateEvent:
    via: Via = "read-tool" if analysed.call.action in {"read", "other"} else "shell"
    return CandidateEvent(
        location, "read", "python" if analysed.call.action == "python" else via, shown,
        analysed.step.agent, analysed.step.index, analysed.call.line, analysed.step.file, order,
        analysed.call.call_id,
    )  # fmt: skip


def _claimed(
    analysed: AnalysedCall, run: RunContext, output: CallOutput
) -> Iterator[CandidateEvent]:
    parts = analysed.parts(output, run.line_index)
    lost = missing_file(analysed, output, run.line_index) if output.ok is False else None
    for resolved in analysed.resolved_accesses:
        if resolved.access.kind == "search" or _unseen_listing(resolved):
            continue
        shown = (
            evidence_of_missing_file()
            if resolved is lost
            else _shown(analysed, resolved, output, run, parts)
        )
        if shown.witness == "both" and _shown_by_another(resolved, analysed):
            shown = ReadEvidence("none", None, output.ok, note=resolved.access.note)
        if shown.witness == "both" and analysed.number in run.sources.get(resolved.key, ()):
            shown = replace(shown, witness="command")
        if shown.witness != "both" and _unproven(resolved, parts, output, known=run.catalog.known):
            continue
        if shown.note == DISAGREE and shown.exposed == "none" and _only_guessed(resolved):
            continue
        location = resolved.location
        if resolved.access.kind == "list" and location.folder:
            location = replace(location, resource=".")
        missing = resolved is lost or (shown.ok is False and _missing(resolved, shown, output))
        yield CandidateEvent(
            location, resolved.access.kind, resolved.access.via, shown, analysed.step.agent,
            analysed.step.index, analysed.call.line, analysed.step.file, resolved.order, analysed.call.call_id,
            missing, shown.quote or resolved.access.text,
        )  # fmt: skip


def _unseen_listing(resolved: ResolvedAccess) -> bool:
    """Whether names were listed into another command, and nobody saw them."""
    access = resolved.access
    return access.kind == "list" and access.via == "shell" and not access.shown


def _unproven(
    resolved: ResolvedAccess, parts: Segments, output: CallOutput, *, known: bool
) -> bool:
    """Whether an access that is a guess lacks its proof: a path known in part, or one that a glob
    may have meant although the output names each of its files and not this one. Where no manifest
    is known a guess is a file that the output names."""
    if resolved.access.needs_evidence:
        return known
    guessed = (
        resolved.access.glob and resolved.access.kind == "read" and resolved.order not in parts
    )
    return guessed and has_file_headers(output.lines)


def _only_guessed(resolved: ResolvedAccess) -> bool:
    """Whether a glob alone names the file, and the whole of it would have been printed."""
    return resolved.access.glob and resolved.access.selection.whole


def _shown_by_another(resolved: ResolvedAccess, analysed: AnalysedCall) -> bool:
    """Whether the text in the output is that of another access of the call: of a copy, say."""
    return not resolved.access.shown and any(
        one.access.shown and one.access.kind == "read" and one.key == resolved.key
        for one in analysed.resolved_accesses
    )


def _missing(resolved: ResolvedAccess, shown: ReadEvidence, output: CallOutput) -> bool:
    """Whether the log says that the path is not there."""
    if resolved.access.kind == "read":
        return says_file_missing(shown.note)
    lost = resolved.access.kind in {"exec", "list"}
    return lost and output.error_for(resolved.access.path) is not None


def _shown(
    analysed: AnalysedCall,
    resolved: ResolvedAccess,
    output: CallOutput,
    run: RunContext,
    parts: Segments,
) -> ReadEvidence:
    call, alone = analysed.call, len(analysed.resolved_accesses) == 1
    kind = resolved.access.kind
    if kind == "read":
        if call.action == "other" and has_file_headers(output.lines):
            return evidence_of_read(resolved, output, run.line_index, parts.get(resolved.order))
        if call.action in {"read", "other"} and resolved.access.shown:
            shown = evidence_of_tool_read(call, resolved, run.line_index, trusted=run.catalog.known)
            return shown if alone or shown.witness == "both" else replace(shown, lines=None)
        known = run.catalog.known
        foreign = known and not run.catalog.has(*resolved.key)
        segment = parts.get(resolved.order)
        return evidence_of_read(
            resolved, output, run.line_index, segment, trusted=known, foreign=foreign
        )
    if kind in {"exec", "import"}:
        return evidence_of_run(resolved, output)
    note = resolved.access.note
    if kind == "edit" and call.action == "edit" and resolved.access.via == "read-tool":
        snippet = output.ok and len(output.lines) > 3
        return ReadEvidence("partial" if snippet else "none", None, output.ok, note=note)
    ok = output.ok
    if kind == "list" and ok is None and output.text.strip():
        ok = output.error_for(resolved.access.path) is None
    return ReadEvidence("none", None, ok, note=note)


def _searched(
    analysed: AnalysedCall, run: RunContext, output: CallOutput
) -> Iterator[CandidateEvent]:
    resolved_accesses = {id(resolved.access) for resolved in analysed.resolved_accesses}
    for resolved, location, shown in search_events(analysed, run, output):
        yield _search(
            analysed, location, shown, resolved.access.via, resolved.order, resolved.access.text
        )
    wide = [
        one
        for one in analysed.accesses
        if one.kind == "search" and id(one) not in resolved_accesses
    ]
    if any(one.shown for one in wide) and run.catalog.named_in(output.text):
        for location, shown in events_of_wide_search(analysed, run, output):
            yield _search(
                analysed,
                location,
                shown,
                wide[0].via,
                len(analysed.resolved_accesses),
                wide[0].text,
            )


def _search(
    analysed: AnalysedCall,
    location: ResourceLocation,
    shown: ReadEvidence,
    via: Via,
    order: int,
    text: str,
) -> CandidateEvent:
    return CandidateEvent(
        location, "search", via, shown, analysed.step.agent, analysed.step.index, analysed.call.line,
        analysed.step.file, order, analysed.call.call_id, quote=shown.quote or text,
    )  # fmt: skip


def _unchecked(found: list[CandidateEvent]) -> list[CandidateEvent]:
    """`wc -l file && cat file` is one access to the file: its name or size beside it is none."""
    used = {one.location for one in found if one.kind != "list"}
    return [one for one in found if one.kind != "list" or one.location not in used]


_REPEATED = frozenset({"exec", "import", "list", "search", "edit", "write", "mention"})


def _once(found: list[CandidateEvent]) -> Iterator[CandidateEvent]:
    """Five runs of one script in one command are one event; separate reads stay separate."""
    seen: set[tuple[str, str, str]] = set()
    for one in found:
        key = one.location.skill, one.location.resource, one.kind
        if one.kind in _REPEATED and key in seen:
            continue
        seen.add(key)
        yield one


def _placed(findings: Iterable[CandidateEvent]) -> list[CandidateEvent]:
    """In order of occurrence; a path that lacks its skill belongs to the one touched last."""
    ordered = sorted(_unmentioned(findings), key=lambda one: (one.file, one.line, one.order))
    last: dict[str, str] = {}
    placed = []
    for one in ordered:
        if one.location.skill:
            last[one.agent] = one.location.skill
        elif one.agent in last and one.kind == "read":
            note = "the path lacks the skill's folder; meant is the skill touched last"
            location = replace(one.location, skill=last[one.agent])
            one = replace(one, location=location, missing=True, shown=replace(one.shown, note=note))
        else:
            continue
        placed.append(one)
    return placed


def _unmentioned(findings: Iterable[CandidateEvent]) -> list[CandidateEvent]:
    """Code that is written and run in one step is an import and no mention."""
    found = list(findings)
    loaded = {
        (one.agent, one.step, one.location.skill, one.location.resource)
        for one in found
        if one.kind == "import"
    }
    return [
        one
        for one in found
        if one.kind != "mention"
        or (one.agent, one.step, one.location.skill, one.location.resource) not in loaded
    ]


class _Classes(Struct):
    """Classes of resources: the manifest's, else told from the path."""

    manifest: SkillManifest | None
    known: dict[tuple[str, str], ResourceClass] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the manifest."""
        for one in self.manifest.resources if self.manifest else ():
            self.known[one.skill, one.path] = one.resource_class

    def of(self, skill: str, path: str) -> ResourceClass:
        """The class of a resource."""
        return self.known.get((bare_skill_name(skill), path)) or class_of(path)


def _events(
    trajectory: Trajectory, findings: list[CandidateEvent], run: RunContext, classes: _Classes
) -> Iterator[ResourceEvent]:
    for ordinal, one in enumerate(findings):
        place, shown = one.location, one.shown
        path = place.resource
        lines = _possible(shown.lines)
        phantom = one.missing
        if run.catalog.known and not place.bundled and path != ".":
            phantom = phantom or not run.catalog.has(place.skill, path)
        yield ResourceEvent(
            trajectory=trajectory.trajectory,
            ordinal=ordinal,
            line=one.line,
            agent=one.agent,
            step=one.step,
            skill=place.skill,
            resource=path,
            resource_class=classes.of(place.skill, path),
            kind=one.kind,
            via=one.via,
            ok=shown.ok,
            content_exposed=shown.exposed,
            lines=lines,
            witness=shown.witness,
            call_id=one.call_id,
            file=trajectory.files[one.file] if 0 < one.file < len(trajectory.files) else None,
            phantom=phantom,
            bundled=place.bundled,
            quote=(shown.quote or one.quote)[:160],
            note=shown.note[:200],
            shown_bytes=_shown_bytes(run, one, lines),
        )


def _shown_bytes(run: RunContext, one: CandidateEvent, lines: LineRanges | None) -> int | None:
    """Bytes of the lines shown where the file is known, else of what the answer holds of it."""
    page = run.line_index.pages.get((one.location.skill, one.location.resource))
    return page.size(lines) if page and lines and one.shown.exposed != "none" else one.shown.size


def _possible(lines: LineRanges | None) -> LineRanges | None:
    """Ranges that a file can have; what an odd log makes of others is not known."""
    odd = lines and any(not 0 < first <= last <= _LAST for first, last in lines)
    return None if odd else lines


def _discovered(run: RunContext, events: tuple[ResourceEvent, ...]) -> SkillManifest:
    """The manifest that a log itself shows."""
    catalog: SkillCatalog = run.catalog
    resources = []
    for tail in sorted(catalog.resources):
        skill = catalog.names.get(tail, tail)
        for path in sorted(catalog.resources[tail].values()):
            text = run.texts.get((skill, path))
            resources.append(Resource(tail, path, class_of(path), text))
    touched = {bare_skill_name(event.skill) for event in events if not event.phantom}
    return SkillManifest(
        resources=tuple(resources),
        roots=tuple(catalog.roots),
        skills=tuple(sorted({*catalog.names, *touched})),
        known=False,
    )
