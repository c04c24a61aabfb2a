"""What people decide: reviews.jsonl, one row a decision, only ever added to."""

import hashlib
from typing import Literal, NamedTuple, get_args

from skilljuror.models.build import BuildRecord
from skilljuror.models.gate import Finding, GateResult, GateVerdict
from skilljuror.models.record import Record
from skilljuror.models.review_queue import Adjudication
from skilljuror.models.rubric import ItemState

Answer = Literal[
    "yes", "no", "unknown",
    "source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject",
]  # fmt: skip
"""What a person may answer: a label, or a class of adjudication."""
ADJUDICATIONS: tuple[Adjudication, ...] = get_args(Adjudication)
"""The classes of adjudication; all but the last let a variant stand."""


class Waiver(Record):
    """A person accepts a finding: it stands as it was found, and decides nothing."""

    format_version: int = 1
    """Version of this record."""
    kind: Literal["waiver"] = "waiver"
    """What was decided."""
    build: str
    """Folder name of the build."""
    finding: str
    """Id of the finding."""
    about: Finding
    """The finding as the person saw it."""
    reason: str
    """Why it may stand."""
    by: str
    """Who decided."""
    at: str
    """When: UTC, ISO 8601."""

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding still: with the texts that the person saw, or, where the
        finding has none of its own, with the words that told it."""
        has_texts = finding.source_text is not None or finding.variant_text is not None
        same = has_texts or finding.message == self.about.message
        return same and finding.id == self.finding


class Acceptance(Record):
    """A person takes the end of a trial as final, though it has no reward or does not belong to its
    arm."""

    format_version: int = 1
    """Version of this record."""
    kind: Literal["acceptance"] = "acceptance"
    """What was decided."""
    trial: str
    """Name of the trial."""
    seen: str | None = None
    """sha256 of the trial's record as the person saw it; None in an accepted.json of earlier versions,
    which lies beside that record."""
    reason: str
    """Why it may stand."""
    by: str
    """Who decided."""
    at: str
    """When: UTC, ISO 8601."""


class Decision(Record):
    """A person's answer to one question of the queue."""

    format_version: int = 1
    """Version of this record."""
    kind: Literal["decision"] = "decision"
    """What was decided."""
    item: str
    """Id of the question: `finding:BUILD/VARIANT/ID`, `rubric:BUILD/VARIANT/ITEM` or `uptake:EVENT`."""
    repeats: tuple[str, ...] = ()
    """Ids of questions that say the same, which it answers as well."""
    answer: Answer
    """What was answered."""
    reason: str = ""
    """Why; "" where nobody said."""
    by: str
    """Who decided; may be a pseudonym."""
    at: str
    """When: UTC, ISO 8601."""
    blind: bool = False
    """Whether what gate or judge said was withheld."""
    seen: str
    """sha256 of what the question was about; where it is another one today the answer is stale."""
    undone: bool = False
    """True where this row takes the person's earlier answer to the question back."""
    takes_back: str | None = None
    """Time of the answer that an undone row takes back; None in rows of earlier versions: the last one."""

    @property
    def adjudication(self) -> Adjudication | None:
        """The class of adjudication; None for a label."""
        return next((one for one in ADJUDICATIONS if one == self.answer), None)


def seen_in(finding: Finding) -> str:
    """Digest of what a person decides about a finding: its rule and texts, as a waiver has it, and,
    where it has no texts of its own, the words that told it."""
    has_texts = finding.source_text is not None or finding.variant_text is not None
    told = finding.id if has_texts else f"{finding.id}\0{finding.message}"
    return hashlib.sha256(told.encode()).hexdigest()


class WaiverState(NamedTuple):
    """A waiver and what it does today."""

    waiver: Waiver
    """The decision."""
    stale: bool
    """True when no finding is the one that was waived: a text of it changed, or it is gone."""


class DecisionState(NamedTuple):
    """A standing decision on one question about a build, and what it does today."""

    decision: Decision
    """The decision."""
    kind: Literal["finding", "rubric"]
    """What the question is about."""
    variant: str
    """Variant that the question is about."""
    subject: str
    """Id of the finding, or name of the rubric's item."""
    stale: bool
    """True when what was decided is no longer what is asked."""
    counts: bool
    """Whether the verdict of the variant rests on it."""


def verdict_with(verdict: GateVerdict | None, note: str | None) -> str:
    """A verdict in words, with the waivers that it rests on."""
    words = {"pass": "passed", "review": "waits for a person", "fail": "failed"}
    if note is None or verdict is None:
        return verdict or "not judged"
    return f"{words[verdict]} with {note}"


class JudgedBuild(NamedTuple):
    """A build with what gates and people say of it."""

    record: BuildRecord
    """What was built; the verdicts are those after the waivers."""
    results: list[GateResult]
    """The answers of the gates, after the waivers."""
    waivers: tuple[WaiverState, ...] = ()
    """What people accepted."""
    decisions: tuple[DecisionState, ...] = ()
    """What people answered."""
    items: tuple[ItemState, ...] = ()
    """How each item of the rubric stands, of each variant that it is asked of."""

    @property
    def layers(self) -> dict[str, tuple[str, ...]]:
        """Variant -> which layers its verdict rests on: deterministic gates, the rubric, people."""
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
        """Variant -> whose waivers and decisions its verdict rests on, such as `1 waiver by Ann`; a
        variant without any is left out."""
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
            told = [_by("waiver", waived), _by("decision", decided)]
            if waived or decided:
                notes[entry.variant] = " and ".join(filter(None, told))
        return notes

    @property
    def stale_notes(self) -> list[str]:
        """One line for each waiver and decision that is about nothing any more, and for each variant of
        which a model was asked about other texts."""
        old = [("waiver", one.waiver.finding, one.waiver.by) for one in self.waivers if one.stale]
        old += [
            ("decision", f"{one.variant}/{one.subject}", one.decision.by)
            for one in self.decisions
            if one.stale
        ]
        judged = dict.fromkeys(state.variant for state in self.items if state.stale)
        return [
            f"the {what} of {about} by {by} is stale: what it was about changed, or is gone"
            for what, about, by in old
        ] + [
            f"the rubric's verdicts on {variant} are stale: a model was asked about other texts, or by"
            " another rubric; ask again with skilljuror rubric"
            for variant in judged
        ]


def _by(what: str, people: list[str]) -> str:
    """Such as `2 waivers by Ann, Bob`; "" for none."""
    names = ", ".join(sorted(set(people)))
    return f"{len(people)} {what}{'s' if len(people) > 1 else ''} by {names}" if people else ""
