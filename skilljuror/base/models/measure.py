"""Measures, judgements and the context of a metric."""

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from skilljuror.base.models.events import Exposure, ResourceEvent, SkillManifest
from skilljuror.base.models.trajectory import Trajectory

if TYPE_CHECKING:
    from skilljuror.base.models.study import TrialRecord


class Measure(Struct, frozen=True, gc=False):
    """One number about one trial; a null has a reason.

    The columns of `measures` say what its fields mean."""

    trial: str
    metric: str
    value: float | None
    key: str = ""
    reason: str | None = None


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
    """Did an opened resource become visible work? One judge's answer on one event.

    The columns of `verdicts` say what its fields mean."""

    event: str
    trial: str
    judge: str
    label: UptakeLabel
    category: UptakeCategory
    source_quote: str | None = None
    action_quote: str | None = None
    action_step: int | None = None
    action_line: int | None = None
    model: str | None = None
    prompt_sha256: str | None = None
    note: str = ""
    source_line: int | None = None
    used: tuple[tuple[str, int], ...] = ()
    """For a yes of a judge without a model: (line of the shown text, step that used it), the quoted one
    first. Not stored; see UnitUse."""


class UnitUse(Struct, frozen=True, gc=False):
    """One knowledge unit whose line proves a use.

    The columns of `unit_uses` say what its fields mean."""

    trial: str
    judge: str
    event: str
    unit: str
    step: int


Effect = Literal["failed", "error_gone", "wrote", "worked"]
"""Effect of a call; error_gone: a command that failed before the call succeeds after it."""


class LocalEffect(Struct, frozen=True, gc=False):
    """Effect of an agent's call according to the log."""

    trial: str
    """Trial, or key of a foreign run."""
    agent: str
    """Whose call."""
    step: int
    """Step of the call."""
    line: int
    """Place of the call in the raw log."""
    effect: Effect
    """Effect."""
    effect_step: int
    """Step that shows it."""
    quote: str | None = None
    """Line of the result that shows it, or the path of the written file."""


class RepeatedVerdict(Struct, frozen=True, gc=False):
    """A model's answer about one event when asked again."""

    event: str
    """Id of the event."""
    trial: str
    """Trial or trajectory it belongs to."""
    judge: str
    """Name and version of the judge."""
    probe: Literal["repeat", "order", "length"]
    """The same question, with accesses reordered, or padded with neutral text."""
    repeat: int
    """Number of the repetition; 0 is the first question."""
    label: UptakeLabel
    """yes, no or unknown."""
    category: UptakeCategory
    """Why."""
    model: str
    """Model that was asked."""
    prompt_sha256: str | None = None
    """Digest of the question."""


class JudgeCalls(Struct, frozen=True, gc=False):
    """Model calls made to judge one run.

    The columns of `judge_calls` say what its fields mean."""

    trial: str
    judge: str
    model: str
    asked: int
    calls: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
