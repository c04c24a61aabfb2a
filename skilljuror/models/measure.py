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
    "nothing_distinctive",
    "not_shown",
    "not_seen_again",
    "also_elsewhere",
    "no_later_action",
]
"""yes: implementation, validation, correction, diagnosis, navigation (it led to another resource);
no: failed_probe, background, listing; unknown: nothing_distinctive, not_shown, also_elsewhere (what
was used stood in other places too), no_later_action (the log ends), not_seen_again (it was shown and
could be recognised, and nothing later repeats it: work that leaves no words is not ruled out)."""


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
