"""Construction rubrics: items, a model's verdicts and the state of each item."""

import hashlib
from typing import Literal

from skilljuror.base.models.record import Record

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
