"""Decisions of people: reviews.jsonl, append-only, one row per decision."""

import hashlib
from typing import Literal, NamedTuple, get_args

from skilljuror.base.models.build import BuildRecord
from skilljuror.base.models.gate import Finding, GateResult, GateVerdict
from skilljuror.base.models.record import Record
from skilljuror.base.models.review_queue import Adjudication
from skilljuror.base.models.rubric import ItemState

Answer = Literal[
    "yes", "no", "unknown",
    "source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject",
    "main", "branch",
    "heavy_pipeline", "displaced_strategy", "undebuggable_solver",
    "asset", "runtime", "interface", "numeric", "rule", "none",
]  # fmt: skip
"""A label, an adjudication, the scope of a section, or a code of rubrics/harm.yaml."""
ADJUDICATIONS: tuple[Adjudication, ...] = get_args(Adjudication)
"""Adjudication classes; all but the last accept the variant."""


class Waiver(Record):
    """A person accepts a finding, which then no longer affects the verdict."""

    format_version: Literal[1] = 1
    """Version of this record."""
    kind: Literal["waiver"] = "waiver"
    """Kind of row."""
    build: str
    """Folder name of the build; of an accepted change, path of the Skill in its repository."""
    finding: str
    """Id of the finding."""
    about: Finding
    """The finding as the person saw it."""
    reason: str
    """Reason."""
    by: str
    """Who decided."""
    at: str
    """When: UTC, ISO 8601."""

    def covers(self, finding: Finding) -> bool:
        """Return whether it still applies: the texts that the person saw are unchanged, or the message
        if the finding has no texts."""
        has_texts = finding.source_text is not None or finding.variant_text is not None
        same = has_texts or finding.message == self.about.message
        return same and finding.id == self.finding


class Acceptance(Record):
    """A person accepts a trial's result as final although it has no reward or is contaminated."""

    format_version: Literal[1] = 1
    """Version of this record."""
    kind: Literal["acceptance"] = "acceptance"
    """Kind of row."""
    trial: str
    """Name of the trial."""
    seen: str | None = None
    """sha256 of the trial's record as the person saw it; None in an accepted.json of
    earlier versions."""
    reason: str
    """Reason."""
    by: str
    """Who decided."""
    at: str
    """When: UTC, ISO 8601."""


class Decision(Record):
    """A person's answer to one question of the queue."""

    format_version: Literal[1] = 1
    """Version of this record."""
    kind: Literal["decision"] = "decision"
    """Kind of row."""
    item: str
    """Id of the question: `finding:BUILD/VARIANT/ID`, `rubric:BUILD/VARIANT/ITEM`, `uptake:EVENT`,
    `scope:SECTION`, `item:TRIAL/RUBRIC/ID`, `pattern:TRIAL` or `failure:TRIAL`."""
    repeats: tuple[str, ...] = ()
    """Ids of equivalent questions, which it answers as well."""
    answer: Answer
    """Answer."""
    reason: str = ""
    """Reason, or ""."""
    by: str
    """Who decided; may be a pseudonym."""
    at: str
    """When: UTC, ISO 8601."""
    blind: bool = False
    """Whether verdicts of gate and judge were withheld."""
    seen: str
    """sha256 of the subject of the question; if it has changed, the answer is stale."""
    undone: bool = False
    """True if this row undoes the person's earlier answer."""
    takes_back: str | None = None
    """Time of the answer that is undone; None (earlier versions) means the last one."""

    @property
    def adjudication(self) -> Adjudication | None:
        """Adjudication; None for a label."""
        return next((one for one in ADJUDICATIONS if one == self.answer), None)


def seen_in(finding: Finding) -> str:
    """Return the digest of a finding as a person saw it: rule and texts, or the message if it has no
    texts."""
    has_texts = finding.source_text is not None or finding.variant_text is not None
    seen = finding.id if has_texts else f"{finding.id}\0{finding.message}"
    return hashlib.sha256(seen.encode()).hexdigest()


class WaiverState(NamedTuple):
    """A waiver and its current effect."""

    waiver: Waiver
    """The decision."""
    stale: bool
    """True if the waived finding has changed or no longer exists."""


class DecisionState(NamedTuple):
    """A decision on one question about a build and its current effect."""

    decision: Decision
    """The decision."""
    kind: Literal["finding", "rubric"]
    """Kind of question."""
    variant: str
    """Variant that the question is about."""
    subject: str
    """Id of the finding, or name of the rubric's item."""
    stale: bool
    """True if the question has changed since."""
    counts: bool
    """Whether the verdict of the variant depends on it."""


def verdict_with(verdict: GateVerdict | None, note: str | None) -> str:
    """Return a verdict in words, with the waivers that it depends on."""
    words = {"pass": "passed", "review": "waits for a person", "fail": "failed"}
    if note is None or verdict is None:
        return verdict or "not judged"
    return f"{words[verdict]} with {note}"


class JudgedBuild(NamedTuple):
    """A build with the results of gates and the decisions of people."""

    record: BuildRecord
    """Build record with verdicts after waivers."""
    results: list[GateResult]
    """Gate results after waivers."""
    waivers: tuple[WaiverState, ...] = ()
    """Waivers."""
    decisions: tuple[DecisionState, ...] = ()
    """Decisions."""
    items: tuple[ItemState, ...] = ()
    """State of each rubric item of each variant."""

    @property
    def layers(self) -> dict[str, tuple[str, ...]]:
        """Variant -> layers that its verdict depends on: deterministic gates, the rubric, people."""
        notes = self.review_notes
        layers = {}
        for entry in self.record.variants:
            mine = [state for state in self.items if state.variant == entry.variant]
            ran = {
                "deterministic": entry.verdict is not None,
                "rubric": any(state.verdict for state in mine),
                "people": entry.variant in notes,
            }
            layers[entry.variant] = tuple(name for name, did in ran.items() if did)
        return layers

    @property
    def review_notes(self) -> dict[str, str]:
        """Variant -> waivers and decisions that its verdict depends on, such as `1 waiver by Ann`."""
        notes = {}
        for entry in self.record.variants:
            mine = [result for result in self.results if result.variant == entry.variant]
            own = [one for result in mine for one in result.findings if not one.inherited]
            waived = [waiver.by for waiver, _ in self.waivers if any(map(waiver.covers, own))]
            decided = [
                one.decision.by
                for one in self.decisions
                if one.counts and one.variant == entry.variant
            ]
            parts = [_by("waiver", waived), _by("decision", decided)]
            if waived or decided:
                notes[entry.variant] = " and ".join(filter(None, parts))
        return notes

    @property
    def stale_notes(self) -> list[str]:
        """One line for each stale waiver, decision and rubric verdict."""
        old = [("waiver", one.waiver.finding, one.waiver.by) for one in self.waivers if one.stale]
        old += [
            ("decision", f"{one.variant}/{one.subject}", one.decision.by)
            for one in self.decisions
            if one.stale
        ]
        judged = dict.fromkeys(state.variant for state in self.items if state.stale)
        return [
            f"the {what} of {about} by {by} is stale: its subject changed or no longer exists"
            for what, about, by in old
        ] + [
            f"the rubric verdicts on {variant} are stale: the texts or the rubric changed; rerun skilljuror"
            " rubric"
            for variant in judged
        ]


def _by(what: str, people: list[str]) -> str:
    """Format as `2 waivers by Ann, Bob`, or ""."""
    names = ", ".join(sorted(set(people)))
    return f"{len(people)} {what}{'s' if len(people) > 1 else ''} by {names}" if people else ""
