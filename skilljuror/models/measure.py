"""Measures are rows, and what a metric may look at."""

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from skilljuror.models.events import Exposure, ResourceEvent, SkillManifest
from skilljuror.models.trajectory import Trajectory

if TYPE_CHECKING:
    from skilljuror.models.study import TrialRecord


class Measure(Struct, frozen=True, gc=False):
    """One number about one trial; a null carries its reason."""

    trial: str
    """Trial (or, in observed mode, trajectory) it is about."""
    metric: str
    """Name of the measure."""
    value: float | None
    """The number; None when it could not be computed."""
    key: str = ""
    """Sub-key, such as a resource or a bin; "" for none."""
    reason: str | None = None
    """Why the value is None."""


class Price(Struct, frozen=True):
    """What a model's tokens cost, US dollars per million of each of the four disjoint classes."""

    model: str
    """Model, without provider prefix and date."""
    input: float
    """Input tokens that were neither read from nor written to a cache."""
    cache_write: float
    """Input tokens written to a cache."""
    cache_read: float
    """Input tokens read from a cache."""
    output: float
    """Output tokens."""
    as_of: str
    """Date of the price list, YYYY-MM-DD."""


class TrialContext(Struct, frozen=True):
    """Everything a metric may use about one trial."""

    trial: str
    """Name of the trial, or the trajectory's key in observed mode."""
    record: "TrialRecord | None" = None
    """The trial; None for foreign logs."""
    trajectory: Trajectory | None = None
    """The parsed log; None when there was none or it could not be read."""
    events: tuple[ResourceEvent, ...] = ()
    """Resource events, in order."""
    exposure: Exposure | None = None
    """Knowledge exposure; None without a knowledge map."""
    manifest: SkillManifest | None = None
    """What was offered."""
    step_tokens: dict[tuple[str, int], int] = field(default_factory=dict)
    """(agent, step) -> tokens of its text, where they were counted."""
    step_bytes: dict[tuple[str, int], int] = field(default_factory=dict)
    """(agent, step) -> bytes of its text, where they were counted already."""
    prices: tuple[Price, ...] | None = None
    """Price list to use; None takes the packaged one."""


UptakeLabel = Literal["yes", "no", "unknown"]
UptakeCategory = Literal[
    "implementation",
    "validation",
    "correction",
    "diagnosis",
    "navigation",
    "failed_probe",
    "background",
    "listing",
    "alias_check",
    "nothing_distinctive",
    "not_shown",
    "not_seen_again",
    "also_elsewhere",
    "no_later_action",
    "insufficient_context",
    "unverified_quote",
    "unparsed",
]
"""yes: implementation, validation, correction, diagnosis, navigation (it led to another resource);
no: failed_probe, background, listing, alias_check (the same file by another name); unknown:
nothing_distinctive, not_shown, also_elsewhere (what was used stood in other places too),
no_later_action (the log ends), not_seen_again (it was shown and could be recognised, and nothing later
repeats it: work that leaves no words is not ruled out); of a model: insufficient_context (it could not
tell), unverified_quote (its quote is not in the log), unparsed (no usable answer)."""


class Verdict(Struct, frozen=True):
    """Did an opened resource become visible work? One judge's answer on one event."""

    event: str
    """Id of the event."""
    trial: str
    """Trial or trajectory it belongs to."""
    judge: str
    """Name and version of the judge."""
    label: UptakeLabel
    """yes, no or unknown; unknown stays outside the rate (measures §4)."""
    category: UptakeCategory
    """Why."""
    source_quote: str | None = None
    """What the resource said."""
    action_quote: str | None = None
    """What the agent then did with it."""
    action_step: int | None = None
    """Step of that action."""
    action_line: int | None = None
    """Raw line of that action."""
    model: str | None = None
    """Model behind an LLM judge; None for the tracing judge."""
    prompt_sha256: str | None = None
    """Digest of the prompt of an LLM judge."""
    note: str = ""
    """Free text."""


Effect = Literal["failed", "error_gone", "wrote", "worked"]
"""What came of a call; error_gone: a command that had failed before it works when it is run again after it."""


class LocalEffect(Struct, frozen=True, gc=False):
    """What came of an agent's call, as the log tells it."""

    trial: str
    """Trial, or key of a foreign run."""
    agent: str
    """Whose call."""
    step: int
    """Step of the call."""
    line: int
    """Raw line of the call."""
    effect: Effect
    """What came of it."""
    effect_step: int
    """Step that shows it."""
    quote: str | None = None
    """The line that shows it: of the result, or the path of the file that was written."""


class RepeatedVerdict(Struct, frozen=True, gc=False):
    """What a judge's model said of one event when it was asked again."""

    event: str
    """Id of the event."""
    trial: str
    """Trial or trajectory it belongs to."""
    judge: str
    """Name and version of the judge."""
    probe: Literal["repeat", "order", "length"]
    """The same question, its accesses in another order, or padded with text that says nothing."""
    repeat: int
    """Number of the asking; 0 is the first."""
    label: UptakeLabel
    """yes, no or unknown."""
    category: UptakeCategory
    """Why."""
    model: str
    """Model that was asked."""
    prompt_sha256: str | None = None
    """Digest of the question."""


class JudgeCalls(Struct, frozen=True, gc=False):
    """What it took to ask a model about one run."""

    trial: str
    """Trial, or key of a foreign run."""
    judge: str
    """Judge that the answers made."""
    model: str
    """Model that was asked."""
    asked: int
    """Events that it was asked about."""
    calls: int
    """Answers that it took, those that could not be used included."""
    input_tokens: int | None = None
    """Prompt tokens, those of a cache included; None where a server did not say."""
    output_tokens: int | None = None
    """Completion tokens."""
    cost_usd: float | None = None
    """What these answers cost when they were paid; None for a model of unknown price."""
