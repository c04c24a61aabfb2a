"""Records of judgements by people and models: questions, decisions, rubrics and samples."""

import hashlib
import posixpath
import warnings
from typing import Any, Literal, NamedTuple, get_args

import regex
from msgspec import Struct
from pydantic import Field, field_validator, model_validator

from skilljuror.base.build import BuildRecord, Finding, GateResult, GateVerdict, Record

# Questions for people and their possible answers.


ReviewKind = Literal["finding", "rubric", "uptake", "scope", "item", "pattern", "failure"]
Adjudication = Literal["source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject"]
"""Adjudication of a flagged construction (the paper's classes): already in the source, caused by
packaging, a repair that keeps the knowledge, or the variant is rejected."""


class ReviewText(Struct, frozen=True):
    """One of several texts to compare: source, variant, shown content, later action."""

    heading: str
    """Heading, such as `source · SKILL.md`."""
    text: str
    """Untrusted text."""
    marks: tuple[tuple[int, int], ...] = ()
    """(begin, end) characters to highlight: the knowledge units or a quote."""


class ReviewItem(Struct, frozen=True):
    """One question for a person."""

    id: str
    """Stable id: `finding:BUILD/VARIANT/ID`, `rubric:BUILD/VARIANT/ITEM`, `uptake:EVENT`, `scope:SECTION`,
    `item:TRIAL/RUBRIC/ID`, `pattern:TRIAL`, `failure:TRIAL`."""
    kind: ReviewKind
    """Kind of question."""
    title: str
    """Title in one line."""
    question: str
    """Question."""
    answers: tuple[str, ...]
    """Possible answers: yes, no, unknown; the adjudication classes; main and branch; or codes."""
    suspicion: float
    """Priority, 0 to 1; highest first."""
    texts: tuple[ReviewText, ...] = ()
    """Texts shown side by side."""
    machine: str | None = None
    """Verdict of gate or judge; withheld from a blind reviewer."""
    repeats: tuple[str, ...] = ()
    """Ids of equivalent items; one decision answers all of them."""
    decided: str | None = None
    """This reviewer's current answer; None if unanswered."""


def blind_id(item: str) -> str:
    """Opaque id of an item for a blind reviewer; the real id may reveal a rule or a condition."""
    return hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:12]


# Construction rubrics: items, a model's verdicts and the state of each item.


RubricLayer = Literal["progressive_disclosure", "semantic_drift"]
ItemAnswer = Literal["yes", "no", "unknown"]
"""unknown counts neither as yes nor as no."""
ItemOutcome = Literal["accepted", "overridden", "rejected", "unresolved", "unanswered"]
"""accepted: yes; overridden: no or unknown, accepted by a person; rejected: refused by a person;
unresolved: waits for a person; unanswered: no model was asked about these texts."""
UnknownReason = Literal["undecided", "quote_not_found", "no_quote", "unparsed", "too_long"]
"""Why a verdict is unknown: the model said so; a quote is not in the named file; the quote is missing;
the answer could not be parsed; the texts were too long."""


class RubricItem(Record):
    """One question about a variant."""

    id: str
    """PD-1 … PD-3, SD-1 … SD-4."""
    layer: RubricLayer
    """Layer it belongs to."""
    variants: tuple[str, ...]
    """Layouts it applies to."""
    question: str
    """The question, answered by yes or no."""
    acceptance: str
    """When the answer is yes."""
    evidence: str
    """Required evidence."""
    quote: bool
    """Whether yes and no require a quote found in the text."""
    code: str | None = None
    """Check in code that also answers it; None if there is none."""
    requires: str | None = None
    """Another item; if that is no, this is no."""


class Rubric(Record):
    """A packaged rubric."""

    format_version: Literal[1] = 1
    """Version of this record."""
    version: int
    """Version of its wording."""
    name: str
    """Name of the rubric."""
    about: str
    """Purpose."""
    policy: str
    """Definition of drift."""
    items: tuple[RubricItem, ...]
    """Its items."""

    def items_of(self, variant: str) -> tuple[RubricItem, ...]:
        """Items that apply to a layout."""
        return tuple(item for item in self.items if variant in item.variants)


class RubricQuote(Record):
    """A passage quoted by a verdict and found in the text."""

    side: Literal["source", "candidate"]
    """Which bundle."""
    file: str
    """Path inside it."""
    line: int
    """1-based line at which the passage begins."""
    text: str
    """The passage as quoted."""


class RubricVerdict(Record):
    """A model's answer to one item about one variant; a line of rubric.jsonl."""

    format_version: Literal[1] = 1
    """Version of this record."""
    variant: str
    """Variant that was judged."""
    item: str
    """Item of the rubric."""
    answer: ItemAnswer
    """Answer; unknown if its evidence is invalid."""
    reason: UnknownReason | None = None
    """Why it is unknown; None for yes and no."""
    evidence: str = ""
    """One sentence."""
    quotes: tuple[RubricQuote, ...] = ()
    """Quotes that were found."""
    quotes_not_found: int = 0
    """Quotes that are not in the named file."""
    model: str
    """Model that answered."""
    prompt_sha256: str
    """sha256 of the messages: rubric, source and variant."""
    rubric_digest: str
    """sha256 of the rubric in the prompt."""
    source_digest: str
    """Tree digest of the source that was shown."""
    variant_digest: str
    """Tree digest of the variant that was shown."""

    @property
    def seen(self) -> str:
        """Digest of what a person decides on: item, rubric and both texts."""
        parts = (self.item, self.rubric_digest, self.source_digest, self.variant_digest)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class ItemState(Record):
    """State of one item of one variant: answers of code, a model and people."""

    variant: str
    """Judged variant."""
    item: RubricItem
    """The item."""
    code: ItemAnswer | None
    """Answer of code; None if there is no check or no gate ran."""
    verdict: RubricVerdict | None = None
    """A model's verdict on these texts; None if none was asked."""
    stale: bool = False
    """Whether the model saw different texts or another rubric."""
    required: bool = True
    """False if the item that this one requires is no."""
    adjudication: str | None = None
    """Adjudication by a person; None if there is none."""
    adjudicated_by: str | None = None
    """Name of that person."""
    adjudication_reason: str | None = None
    """Reason."""

    @property
    def seen(self) -> str | None:
        """Digest of what a person decides on; None if no model was asked about these texts."""
        return self.verdict.seen if self.verdict else None

    @property
    def disagrees(self) -> bool:
        """Whether code and model disagree."""
        return self.verdict is not None and self.code not in (None, self.verdict.answer)

    @property
    def answer(self) -> ItemAnswer | None:
        """Joint answer of code and model: unknown if they disagree, None before a model was asked."""
        if self.verdict is None:
            return None
        if self.disagrees:
            return "unknown"
        return self.verdict.answer if self.required else "no"

    @property
    def outcome(self) -> ItemOutcome:
        """Outcome of the item."""
        if self.answer is None:
            return "unanswered"
        if self.answer == "yes":
            return "accepted"
        if self.adjudication is None:
            return "unresolved"
        return "rejected" if self.adjudication == "reject" else "overridden"


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
    """sha256 of the trial's record as the person saw it; None in the rows of a database."""
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
    """Time of the answer that is undone."""

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


# A rubric of a task: what a trial's work is judged by, item by item, beside or without a verifier.


RUBRIC_FILE = "rubric.json"
"""Its name in a task's tests/, which no agent's sandbox holds."""
MAX_ITEMS = 500
MAX_BYTES = 1_000_000
"""Bytes of a rubric's file."""


class JsonValue(Record):
    """A value in a JSON file."""

    path: str
    """Keys and 0-based numbers from the root, joined by dots."""
    equals: Any = None
    """The value; of numbers, up to `within`."""
    within: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Largest difference that is accepted."""


class CodeCheck(Record):
    """A check by code: of one kept file, or of the trial's commands."""

    file: str | None = Field(default=None, min_length=1)
    """Path in the agent's working directory."""
    exists: bool | None = None
    """true: the file must exist; false: it must not, though the agent left others."""
    contains: str | None = Field(default=None, min_length=1, max_length=2000)
    """Text that the file must contain."""
    absent: str | None = Field(default=None, min_length=1, max_length=2000)
    """Text that the file must not contain; a file that does not exist does not pass."""
    regex: str | None = Field(default=None, min_length=1, max_length=2000)
    """Regular expression that must match somewhere in the file."""
    value: JsonValue | None = None
    """Value that the file, JSON, must hold."""
    command: str | None = Field(default=None, min_length=1, max_length=2000)
    """Regular expression of a command that the agent must have run, in place of a file."""
    used: bool = True
    """false: it must not have run it."""

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str | None) -> str | None:
        file = file and posixpath.normpath(file)
        if file and (file.startswith("/") or file.split("/")[0] in {".", ".."}):
            raise ValueError("give the path of a file inside the working directory")
        return file

    @field_validator("regex", "command")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                regex.compile(pattern or "")
        except (regex.error, RecursionError, OverflowError) as error:
            raise ValueError(f"invalid regular expression: {error}") from error
        return pattern

    @model_validator(mode="after")
    def _one_kind(self) -> "CodeCheck":
        of_file = (self.exists, self.contains, self.absent, self.regex, self.value)
        kinds = sum(one is not None for one in of_file)
        if (self.command is None) == (self.file is None) or kinds != (self.file is not None):
            raise ValueError(
                "give `command`, or `file` with one of exists, contains, absent, regex, value"
            )
        return self


class TaskRubricItem(Record):
    """One item."""

    id: str = Field(min_length=1, max_length=100)
    """Name, unique in the rubric."""
    text: str = Field(min_length=1, max_length=2000)
    """What the work must show, in one sentence that is true or false of it."""
    points: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Its weight."""
    group: str = Field(default="goal", min_length=1, max_length=100)
    """goal: the task's own aim; following: what the Skill asks for; or a group of the author's."""
    check: CodeCheck | None = None
    """How code decides it; null: a model or a person does."""
    unit: str | None = None
    """Knowledge unit of the Skill that it comes from."""
    criterion: str | None = None
    """Criterion of the task that it stands for, such as AC-3."""


class TaskRubric(Record):
    """tests/rubric.json of a task, or a file given to `judge --rubric`."""

    format_version: Literal[1] = 1
    """Version of this file."""
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)
    """Name, the `source` of its rows in `check_results`."""
    items: tuple[TaskRubricItem, ...] = Field(min_length=1, max_length=MAX_ITEMS)
    """Its items."""

    @model_validator(mode="after")
    def _unique_ids(self) -> "TaskRubric":
        ids = [item.id for item in self.items]
        if again := next((name for name in ids if ids.count(name) > 1), None):
            raise ValueError(f"two items have the id {again!r}")
        return self


class JudgedItem(Record):
    """What one judge said of one item for one trial; a line of judged-items.jsonl."""

    format_version: Literal[1] = 1
    """Version of this record."""
    trial: str
    """Name of the trial."""
    record: str
    """sha256 of the trial's record: the answer is stale once the trial is rerun."""
    rubric: str
    """Name of the rubric."""
    item: str
    """Id of the item."""
    text: str
    """The item."""
    points: float
    """Its weight."""
    group: str
    """Its group."""
    unit: str | None = None
    """Its knowledge unit."""
    criterion: str | None = None
    """Its criterion."""
    seen: str
    """sha256 of the item and of what is judged: a person's answer about another digest is stale."""
    judge: str | None = None
    """code, or the model; null if nobody was asked."""
    answer: Literal["yes", "no"] | None = None
    """Answer; null for none that counts."""
    reason: str = ""
    """Why there is no answer, or why it is no."""
    file: str = ""
    """What is quoted: a file of the work, commands, or last message."""
    line: int | None = None
    """1-based line at which the quote begins."""
    quote: str = ""
    """Quoted passage."""


# Task attributes judged by a model; RQ4 groups by them.


class AttributeQuestion(Record):
    """One attribute of a task."""

    question: str
    """Question."""
    values: dict[str, str]
    """Value -> meaning."""


class AttributeRubric(Record):
    """The packaged rubric of attributes."""

    format_version: Literal[1] = 1
    """Version of this record."""
    version: int
    """Version of its wording."""
    name: str
    """Name of the rubric."""
    about: str
    """Purpose."""
    attributes: dict[str, AttributeQuestion]
    """Attribute -> question."""


class JudgedAttribute(Record):
    """A model's answer about one attribute of one task; a line of task-attributes.jsonl."""

    format_version: Literal[1] = 1
    """Version of this record."""
    task: str
    """Name of the task."""
    attribute: str
    """workflow_type or validation_type."""
    value: str | None
    """A value of the rubric; None if the answer has no valid quote."""
    reason: str | None = None
    """Why there is no value: unparsed, or quote_not_found; None for a value."""
    evidence: str = ""
    """One sentence."""
    file: str = ""
    """File of the task that contains the quote."""
    line: int | None = None
    """1-based line at which it begins."""
    quote: str = ""
    """Quoted passage."""
    model: str
    """Model that answered."""
    prompt_sha256: str
    """sha256 of the messages."""


# A sample of resource uses for people to label.


class SampledUse(Record):
    """One use in the sample."""

    event: str
    """Id of the event."""
    run: str
    """Its trial, or key of the foreign run."""
    task: str
    """Its task; "" for a foreign run without a trial."""
    condition: str
    """Its condition."""
    answer: str
    """The judge's answer: yes, no, not_seen_again, unknown, or not_judged."""
    probability: float
    """Inclusion probability of a use with this condition and answer."""


class LabelSample(Record):
    """A random sample stratified by condition and the judge's answer."""

    format_version: Literal[1] = 1
    """Version of this record."""
    seed: int
    """Seed of the draw."""
    judge: str | None
    """Judge whose answers define the strata; None if nothing was judged."""
    uses: int
    """Size of the population."""
    sample: tuple[SampledUse, ...]
    """Drawn uses in the order of asking; every prefix is a valid sample."""
