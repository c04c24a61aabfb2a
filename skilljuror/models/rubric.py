"""Rubrics of construction: their items, what a model answers, and how an item stands."""

import hashlib
from typing import Literal

from skilljuror.models.record import Record

RubricLayer = Literal["progressive_disclosure", "semantic_drift"]
ItemAnswer = Literal["yes", "no", "unknown"]
"""unknown is never a yes, and never a no."""
ItemOutcome = Literal["accepted", "overridden", "rejected", "unresolved", "unanswered"]
"""accepted: yes; overridden: no or unknown, and a person lets it stand; rejected: a person does not;
unresolved: waits for a person; unanswered: no model was asked about these texts."""
UnknownReason = Literal["undecided", "quote_not_found", "no_quote", "unparsed", "too_long"]
"""Why a model's verdict is unknown: it said so itself; a quote stands nowhere in the file that it
names; none was given; its answer had another form; the texts were too long to ask."""


class RubricItem(Record):
    """One question about a variant."""

    id: str
    """PD-1 … PD-3, SD-1 … SD-4."""
    layer: RubricLayer
    """What it is about."""
    variants: tuple[str, ...]
    """Layouts that it is asked of."""
    question: str
    """The question, answered by yes or no."""
    acceptance: str
    """When the answer is yes."""
    evidence: str
    """What the answer has to show."""
    quote: bool
    """Whether yes and no need a quote that is found."""
    code: str | None = None
    """How code answers it, too; None where code cannot."""
    requires: str | None = None
    """Another item; where that one is no, this one is no."""


class Rubric(Record):
    """A packaged rubric."""

    format_version: int = 1
    """Version of this record."""
    version: int
    """Version of its words."""
    name: str
    """Name of the rubric."""
    about: str
    """What it is for."""
    policy: str
    """What is drift and what is not."""
    items: tuple[RubricItem, ...]
    """Its items."""

    def items_of(self, variant: str) -> tuple[RubricItem, ...]:
        """The items that a layout is asked."""
        return tuple(item for item in self.items if variant in item.variants)


class RubricQuote(Record):
    """A passage that a verdict points at, found where it is said to stand."""

    side: Literal["source", "candidate"]
    """Which bundle."""
    file: str
    """Path inside it."""
    line: int
    """1-based line at which the passage begins, as found."""
    text: str
    """The passage as quoted."""


class RubricVerdict(Record):
    """What a model answered to one item about one variant; a line of rubric.jsonl."""

    format_version: int = 1
    """Version of this record."""
    variant: str
    """Variant that was judged."""
    item: str
    """Item of the rubric."""
    answer: ItemAnswer
    """The answer, unknown where its proof does not hold."""
    reason: UnknownReason | None = None
    """Why it is unknown; None for yes and no."""
    evidence: str = ""
    """One sentence."""
    quotes: tuple[RubricQuote, ...] = ()
    """The quotes that were found."""
    quotes_not_found: int = 0
    """Quotes that stand nowhere in the file that they name."""
    model: str
    """Model that answered."""
    prompt_sha256: str
    """sha256 of the messages: rubric, source and variant."""
    rubric_digest: str
    """sha256 of the rubric as the model is told it."""
    source_digest: str
    """Tree digest of the source that was shown."""
    variant_digest: str
    """Tree digest of the variant that was shown."""

    @property
    def seen(self) -> str:
        """Digest of what a person decides about: the item, the rubric, both texts."""
        told = (self.item, self.rubric_digest, self.source_digest, self.variant_digest)
        return hashlib.sha256("\0".join(told).encode()).hexdigest()


class ItemState(Record):
    """How one item of one variant stands: what code, a model and people say of it."""

    variant: str
    """Variant that is judged."""
    item: RubricItem
    """The item."""
    code: ItemAnswer | None
    """What code says; None where code cannot, or no gate has looked."""
    verdict: RubricVerdict | None = None
    """What a model says of these very texts; None where none was asked."""
    stale: bool = False
    """Whether a model was asked about other texts, or by another rubric."""
    required: bool = True
    """False where the item that this one requires is no."""
    adjudication: str | None = None
    """The class that a person put it in; None where nobody did."""
    adjudicated_by: str | None = None
    """Who did."""
    adjudication_reason: str | None = None
    """Why."""

    @property
    def seen(self) -> str | None:
        """Digest of what a person decides about; None where no model was asked about these texts."""
        return self.verdict.seen if self.verdict else None

    @property
    def disagrees(self) -> bool:
        """Whether code and model say different things."""
        return self.verdict is not None and self.code not in (None, self.verdict.answer)

    @property
    def answer(self) -> ItemAnswer | None:
        """What code and model say together: unknown where they differ; None before a model was asked."""
        if self.verdict is None:
            return None
        if self.disagrees:
            return "unknown"
        return self.verdict.answer if self.required else "no"

    @property
    def outcome(self) -> ItemOutcome:
        """Where that leads."""
        if self.answer is None:
            return "unanswered"
        if self.answer == "yes":
            return "accepted"
        if self.adjudication is None:
            return "unresolved"
        return "rejected" if self.adjudication == "reject" else "overridden"
