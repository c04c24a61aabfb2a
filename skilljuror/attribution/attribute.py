"""Attribution: which resource of which skill an agent touched, when, how, and what it saw."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.evidence.error_messages import says_missing
from skilljuror.attribution.evidence.line_index import Ranges
from skilljuror.attribution.evidence.output_segments import Parts, headed
from skilljuror.attribution.evidence.read_evidence import (
    DISAGREE,
    Output,
    Shown,
    ran_shown,
    read_shown,
    tool_read,
)
from skilljuror.attribution.findings.injected_content import message_findings, skill_findings
from skilljuror.attribution.findings.model import Finding
from skilljuror.attribution.findings.search_output import outside, search_findings
from skilljuror.attribution.findings.silenced_errors import missing_one, not_there
from skilljuror.attribution.findings.unclaimed_content import Screens, may_show, unexplained
from skilljuror.attribution.resolution.resolver import Claim
from skilljuror.attribution.resolution.skill_catalog import Catalog, Location, tail_of
from skilljuror.attribution.resolution.skill_discovery import catalog_of, home_of
from skilljuror.attribution.run_context import Gathered, Touch, gather
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
    catalog = catalog_of(trajectory, manifest)
    gathered = gather(trajectory, catalog, manifest, home_of(trajectory, catalog))
    findings = [
        one for message in trajectory.messages for one in message_findings(message, gathered)
    ]
    screens = Screens.of(gathered.touches)
    for touch in gathered.touches:
        findings.extend(_touch_findings(touch, gathered, screens))
    classes = _Classes(manifest)
    events = tuple(_events(trajectory, _placed(findings), gathered, classes))
    found = manifest if manifest is not None and manifest.known else _discovered(gathered, events)
    return Attribution(events, found)


def _touch_findings(touch: Touch, run: Gathered, screens: Screens) -> Iterator[Finding]:
    """The events of one call."""
    if touch.call.action == "skill":
        yield from skill_findings(touch, run)
        return
    if not touch.accesses and not may_show(touch, run):
        return
    output = touch.output()
    if touch.accesses:
        found = [*_claimed(touch, run, output), *_searched(touch, run, output)]
        found.sort(key=lambda one: one.order)
        yield from _once(_unchecked(found))
    for location, shown in unexplained(touch, run, output, screens):
        yield _finding(touch, location, shown, order=len(touch.claims))


def _finding(touch: Touch, location: Location, shown: Shown, order: int) -> Finding:
    via: Via = "read-tool" if touch.call.action in {"read", "other"} else "shell"
    return Finding(
        location, "read", "python" if touch.call.action == "python" else via, shown,
        touch.step.agent, touch.step.index, touch.call.line, touch.step.file, order,
        touch.call.call_id,
    )  # fmt: skip


def _claimed(touch: Touch, run: Gathered, output: Output) -> Iterator[Finding]:
    parts = touch.parts(output, run.prints)
    lost = missing_one(touch, output, run.prints) if output.ok is False else None
    for claim in touch.claims:
        if claim.access.kind == "search" or _unseen_listing(claim):
            continue
        shown = not_there() if claim is lost else _shown(touch, claim, output, run, parts)
        if shown.witness == "both" and _shown_by_another(claim, touch):
            shown = Shown("none", None, output.ok, note=claim.access.note)
        if shown.witness == "both" and touch.number in run.sources.get(claim.key, ()):
            shown = replace(shown, witness="command")
        if shown.witness != "both" and _unproven(claim, parts, output):
            continue
        if shown.note == DISAGREE and shown.exposed == "none" and _only_guessed(claim):
            continue
        location = claim.location
        if claim.access.kind == "list" and location.folder:
            location = replace(location, resource=".")
        missing = claim is lost or (shown.ok is False and _missing(claim, shown, output))
        yield Finding(
            location, claim.access.kind, claim.access.via, shown, touch.step.agent,
            touch.step.index, touch.call.line, touch.step.file, claim.order, touch.call.call_id,
            missing, shown.quote or claim.access.text,
        )  # fmt: skip


def _unseen_listing(claim: Claim) -> bool:
    """Whether names were listed into another command, and nobody saw them."""
    access = claim.access
    return access.kind == "list" and access.via == "shell" and not access.shown


def _unproven(claim: Claim, parts: Parts, output: Output) -> bool:
    """Whether a claim that is a guess lacks its proof: a path known in part, or one that a glob
    may have meant although the output names each of its files and not this one."""
    if claim.access.proof:
        return True
    guessed = claim.access.glob and claim.access.kind == "read" and claim.order not in parts
    return guessed and headed(output.lines)


def _only_guessed(claim: Claim) -> bool:
    """Whether a glob alone names the file, and the whole of it would have been printed."""
    return claim.access.glob and claim.access.view.whole


def _shown_by_another(claim: Claim, touch: Touch) -> bool:
    """Whether the text in the output is that of another access of the call: of a copy, say."""
    return not claim.access.shown and any(
        one.access.shown and one.access.kind == "read" and one.key == claim.key
        for one in touch.claims
    )


def _missing(claim: Claim, shown: Shown, output: Output) -> bool:
    """Whether the log says that the path is not there."""
    if claim.access.kind == "read":
        return says_missing(shown.note)
    lost = claim.access.kind in {"exec", "list"}
    return lost and output.error_for(claim.access.path) is not None


def _shown(touch: Touch, claim: Claim, output: Output, run: Gathered, parts: Parts) -> Shown:
    call, alone = touch.call, len(touch.claims) == 1
    kind = claim.access.kind
    if kind == "read":
        if call.action == "other" and headed(output.lines):
            return read_shown(claim, output, run.prints, parts.get(claim.order))
        if call.action in {"read", "other"} and claim.access.shown:
            shown = tool_read(call, claim, run.prints, trusted=run.catalog.known)
            return shown if alone or shown.witness == "both" else replace(shown, lines=None)
        known = run.catalog.known
        foreign = known and not run.catalog.has(*claim.key)
        segment = parts.get(claim.order)
        return read_shown(claim, output, run.prints, segment, trusted=known, foreign=foreign)
    if kind in {"exec", "import"}:
        return ran_shown(claim, output)
    note = claim.access.note
    if kind == "edit" and call.action == "edit" and claim.access.via == "read-tool":
        snippet = output.ok and len(output.lines) > 3
        return Shown("partial" if snippet else "none", None, output.ok, note=note)
    ok = output.ok
    if kind == "list" and ok is None and output.text.strip():
        ok = output.error_for(claim.access.path) is None
    return Shown("none", None, ok, note=note)


def _searched(touch: Touch, run: Gathered, output: Output) -> Iterator[Finding]:
    claims = {id(claim.access) for claim in touch.claims}
    for claim, location, shown in search_findings(touch, run, output):
        yield _search(touch, location, shown, claim.access.via, claim.order, claim.access.text)
    wide = [one for one in touch.accesses if one.kind == "search" and id(one) not in claims]
    if any(one.shown for one in wide) and run.catalog.named_in(output.text):
        for location, shown in outside(touch, run, output):
            yield _search(touch, location, shown, wide[0].via, len(touch.claims), wide[0].text)


def _search(
    touch: Touch, location: Location, shown: Shown, via: Via, order: int, text: str
) -> Finding:
    return Finding(
        location, "search", via, shown, touch.step.agent, touch.step.index, touch.call.line,
        touch.step.file, order, touch.call.call_id, quote=shown.quote or text,
    )  # fmt: skip


def _unchecked(found: list[Finding]) -> list[Finding]:
    """`wc -l file && cat file` is one access to the file: its name or size beside it is none."""
    used = {one.location for one in found if one.kind != "list"}
    return [one for one in found if one.kind != "list" or one.location not in used]


_REPEATED = frozenset({"exec", "import", "list", "search", "edit", "write", "mention"})


def _once(found: list[Finding]) -> Iterator[Finding]:
    """Five runs of one script in one command are one event; separate reads stay separate."""
    seen: set[tuple[str, str, str]] = set()
    for one in found:
        key = one.location.skill, one.location.resource, one.kind
        if one.kind in _REPEATED and key in seen:
            continue
        seen.add(key)
        yield one


def _placed(findings: Iterable[Finding]) -> list[Finding]:
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


def _unmentioned(findings: Iterable[Finding]) -> list[Finding]:
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
        return self.known.get((tail_of(skill), path)) or class_of(path)


def _events(
    trajectory: Trajectory, findings: list[Finding], run: Gathered, classes: _Classes
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


def _shown_bytes(run: Gathered, one: Finding, lines: Ranges | None) -> int | None:
    """Bytes of the lines shown where the file is known, else of what the answer holds of it."""
    page = run.prints.pages.get((one.location.skill, one.location.resource))
    return page.size(lines) if page and lines and one.shown.exposed != "none" else one.shown.size


def _possible(lines: Ranges | None) -> Ranges | None:
    """Ranges that a file can have; what an odd log makes of others is not known."""
    odd = lines and any(not 0 < first <= last <= _LAST for first, last in lines)
    return None if odd else lines


def _discovered(run: Gathered, events: tuple[ResourceEvent, ...]) -> SkillManifest:
    """The manifest that a log itself shows."""
    catalog: Catalog = run.catalog
    resources = []
    for tail in sorted(catalog.resources):
        skill = catalog.names.get(tail, tail)
        for path in sorted(catalog.resources[tail].values()):
            text = run.texts.get((skill, path))
            resources.append(Resource(tail, path, class_of(path), text))
    touched = {tail_of(event.skill) for event in events if not event.phantom}
    return SkillManifest(
        resources=tuple(resources),
        roots=tuple(catalog.roots),
        skills=tuple(sorted({*catalog.names, *touched})),
        known=False,
    )
