"""Measures, judgements and the context of a metric."""

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from skilljuror.base.models.events import Exposure, ResourceEvent, SkillManifest
from skilljuror.base.models.trajectory import Trajectory

if TYPE_CHECKING:
    from skilljuror.base.models.study import TrialRecord


class Measure(Struct, frozen=True, gc=False):
    """One number about one trial; a null has a reason."""

    trial: str
    """Trial (or, in observed mode, trajectory) it is about."""
    metric: str
    """Name of the measure."""
    value: float | None
    """The number; None if it could not be computed."""
    key: str = ""
    """Sub-key, such as a resource or a bin, or ""."""
    reason: str | None = None
    """Why the value is None."""


class Price(Struct, frozen=True):
    """Price of a model's tokens, US dollars per million in each of four disjoint classes."""

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
    """Inputs of a metric for one trial."""

    trial: str
    """Name of the trial, or the trajectory's key in observed mode."""
    record: "TrialRecord | None" = None
    """The trial; None for foreign logs."""
    trajectory: Trajectory | None = None
    """The parsed log; None if missing or unreadable."""
    events: tuple[ResourceEvent, ...] = ()
    """Resource events, in order."""
    exposure: Exposure | None = None
    """Knowledge exposure; None without a knowledge map."""
    unknown_use: bool = False
    """Whether an unknown tool may have opened a Skill."""
    manifest: SkillManifest | None = None
    """Offered Skills."""
    step_tokens: dict[tuple[str, int], int] = field(default_factory=dict)
    """(agent, step) -> tokens of its text, if counted."""
    step_bytes: dict[tuple[str, int], int] = field(default_factory=dict)
    """(agent, step) -> bytes of its text, if already counted."""
    prices: tuple[Price, ...] | None = None
    """Price list; None means the packaged one."""


UptakeLabel = Literal["yes", "no", "unknown"]


class UptakeCategory(StrEnum):
    """Reason for a judge's label, with that label and a legend.

    The store's macro `is_open`, the legend of the command line and the model's prompt are made from it.
    """

    label: UptakeLabel
    """Label of the category."""
    legend: str
    """Meaning in one line."""

    def __new__(
        cls, value: str, label: UptakeLabel = "unknown", legend: str = ""
    ) -> "UptakeCategory":
        """A member with its label and legend; a call with the value alone looks one up."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label, member.legend = label, legend
        return member

    IMPLEMENTATION = (
        "implementation", "yes",
        "the resource's content was carried out in code, files, commands or the product, or a helper"
        " wrote the required output",
    )  # fmt: skip
    VALIDATION = (
        "validation", "yes",
        "the resource's content was used to check the work, or a helper's output was read and assessed",
    )  # fmt: skip
    CORRECTION = (
        "correction", "yes", "the resource's content fixed something that was wrong or had failed",
    )  # fmt: skip
    DIAGNOSIS = (
        "diagnosis", "yes",
        "the resource's content, or an error from it, led to a plausible cause of a problem",
    )  # fmt: skip
    NAVIGATION = (
        "navigation", "yes", "it named another resource, which the agent then opened; not a category of the paper",
    )  # fmt: skip
    BACKGROUND = "background", "no", "it was read, and no later step shows any of it"
    LISTING = "listing", "no", "the agent only looked at file or folder names, and used none"
    FAILED_PROBE = "failed_probe", "no", "the access failed, without consequence"
    ALIAS_CHECK = (
        "alias_check", "no", "the agent only checked whether the same file has another path or name",
    )  # fmt: skip
    NOT_SHOWN = "not_shown", "unknown", "the log does not contain what the agent was shown"
    NOTHING_DISTINCTIVE = (
        "nothing_distinctive", "unknown",
        "the shown content has nothing by which a later use could be recognised",
    )  # fmt: skip
    NOT_SEEN_AGAIN = (
        "not_seen_again", "unknown", "no later step shows any of the shown content",
    )  # fmt: skip
    ALSO_ELSEWHERE = (
        "also_elsewhere", "unknown", "the used content is also in the task or in another resource",
    )  # fmt: skip
    NO_LATER_ACTION = (
        "no_later_action", "unknown", "the log ends before the content could be used",
    )  # fmt: skip
    INSUFFICIENT_CONTEXT = (
        "insufficient_context", "unknown", "the log does not show the model enough to decide",
    )  # fmt: skip
    UNVERIFIED_QUOTE = (
        "unverified_quote", "unknown", "the model said yes with a quote that is not in the log",
    )  # fmt: skip
    UNPARSED = "unparsed", "unknown", "no usable answer from the model, after retries"

    @property
    def open(self) -> bool:
        """Whether uptake is undecided although content was shown; rates become intervals (measures §4)."""
        return self.label == "unknown" and self is not UptakeCategory.NOT_SHOWN


class Verdict(Struct, frozen=True):
    """Did an opened resource become visible work? One judge's answer on one event."""

    event: str
    """Id of the event."""
    trial: str
    """Trial or trajectory it belongs to."""
    judge: str
    """Name and version of the judge."""
    label: UptakeLabel
    """yes, no or unknown; unknown does not mean no (measures §4)."""
    category: UptakeCategory
    """Why."""
    source_quote: str | None = None
    """What the resource said."""
    action_quote: str | None = None
    """What the agent did with it."""
    action_step: int | None = None
    """Step of that action."""
    action_line: int | None = None
    """Place of that action in the raw log."""
    model: str | None = None
    """Model behind an LLM judge; None for the tracing judge."""
    prompt_sha256: str | None = None
    """Digest of the prompt of an LLM judge."""
    note: str = ""
    """Free text."""
    source_line: int | None = None
    """Line of the resource that says it, 1-based; None for a line that its text does not have, as one of
    a script's output."""
    used: tuple[tuple[str, int], ...] = ()
    """For a yes of a judge without a model: (line of the shown text, step that used it), the quoted one
    first. Not stored; see UnitUse."""


class UnitUse(Struct, frozen=True, gc=False):
    """One knowledge unit whose line proves a use."""

    trial: str
    """Trial of the study."""
    judge: str
    """Name and version of the judge."""
    event: str
    """Id of the event that showed the line."""
    unit: str
    """Unit id of the build's knowledge map."""
    step: int
    """Step that used it."""


class JudgeCalls(Struct, frozen=True, gc=False):
    """Model calls made to judge one run."""

    trial: str
    """Trial, or key of a foreign run."""
    judge: str
    """Judge that used the answers."""
    model: str
    """Model that was asked."""
    asked: int
    """Events asked about."""
    calls: int
    """Answers received, including unusable ones."""
    input_tokens: int | None = None
    """Prompt tokens including cached ones; None if unknown."""
    output_tokens: int | None = None
    """Completion tokens."""
    cost_usd: float | None = None
    """Price paid for these answers, US dollars; None if the model's price is unknown."""
