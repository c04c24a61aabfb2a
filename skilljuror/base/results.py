"""Records of what was read and measured: rows of the database, measures, verdicts."""

import tomllib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct, field

from skilljuror.base.trajectory import (
    Exposure,
    ResourceEvent,
    SkillManifest,
    Trajectory,
    UnknownTool,
)

if TYPE_CHECKING:
    from skilljuror.base.study import TrialRecord


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
    cache_write: float
    cache_read: float
    output: float
    as_of: str
    """Date of the price list, YYYY-MM-DD."""
    long_above: int | None = None
    """Tokens of a prompt above which the answer has the price of `long_price`; None if no prompt has."""


class TrialContext(Struct, frozen=True):
    """Inputs of a metric for one trial."""

    trial: str
    """Name of the trial, or the trajectory's key in observed mode."""
    record: "TrialRecord | None" = None
    trajectory: Trajectory | None = None
    events: tuple[ResourceEvent, ...] = ()
    exposure: Exposure | None = None
    unknown_use: bool = False
    """Whether an unknown tool may have opened a Skill."""
    manifest: SkillManifest | None = None
    step_tokens: dict[tuple[str, int], int] = field(default_factory=dict)
    """(agent, step) -> tokens of its text, if counted."""
    step_bytes: dict[tuple[str, int], int] = field(default_factory=dict)
    """(agent, step) -> bytes of its text, if already counted."""
    prices: tuple[Price, ...] | None = None
    """Price list; None means the packaged one."""


UptakeLabel = Literal["yes", "no", "unknown"]


class UptakeCategory(StrEnum):
    """Reason for a judge's label; `uptake.toml` has the label and the meaning of each.

    The store's macro `is_open`, the legend of the command line and the model's prompt are made from it.
    """

    IMPLEMENTATION = "implementation"
    VALIDATION = "validation"
    CORRECTION = "correction"
    DIAGNOSIS = "diagnosis"
    NAVIGATION = "navigation"
    BACKGROUND = "background"
    LISTING = "listing"
    FAILED_PROBE = "failed_probe"
    ALIAS_CHECK = "alias_check"
    NOT_SHOWN = "not_shown"
    NOTHING_DISTINCTIVE = "nothing_distinctive"
    NOT_SEEN_AGAIN = "not_seen_again"
    ALSO_ELSEWHERE = "also_elsewhere"
    NO_LATER_ACTION = "no_later_action"
    INSUFFICIENT_CONTEXT = "insufficient_context"
    UNVERIFIED_QUOTE = "unverified_quote"
    UNPARSED = "unparsed"

    @property
    def label(self) -> UptakeLabel:
        """Label of the category."""
        return cast("UptakeLabel", _uptake()[self][0])

    @property
    def legend(self) -> str:
        """Meaning in one line."""
        return _uptake()[self][1]

    @property
    def open(self) -> bool:
        """Whether uptake is undecided although content was shown; rates become intervals (measures §4)."""
        return self.label == "unknown" and self is not UptakeCategory.NOT_SHOWN


@cache
def _uptake() -> dict[str, tuple[str, str]]:
    return tomllib.loads((Path(__file__).parent / "uptake.toml").read_text(encoding="utf-8"))


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


# What one test of a verifier, or one item of a rubric, said of a trial.


CheckOutcome = Literal["passed", "failed", "error", "skipped", "unjudged"]
FailureLabel = Literal["asset", "runtime", "interface", "numeric", "rule"]


class CheckResult(Struct, frozen=True):
    """One row of `check_results`; its columns say what the fields mean."""

    trial: str
    source: str
    name: str
    outcome: CheckOutcome
    points: float = 1.0
    award: float | None = None
    label: FailureLabel | None = None
    said: str | None = None
    judge: str | None = None
    item_group: str | None = None
    criterion: str | None = None
    unit: str | None = None


# How a Skill was generated: one line of generation.jsonl.


Generator = Literal["creator", "prompt", "outline", "command"]


class Generation(Struct, frozen=True, kw_only=True):
    """One row of `generations`; its columns say what the fields mean."""

    skill: str
    task: str | None = None
    trial: str | None = None
    by: Generator
    agent: str | None = None
    model: str | None = None
    version: str | None = None
    scripted: bool = False
    source: str
    source_digest: str
    source_commit: str | None = None
    order_digest: str
    token_limit: int | None = None
    refused: str | None = None
    tree_digest: str | None = None
    skills: tuple[str, ...] = ()
    tokens: int | None = None
    source_tokens: int | None = None
    units: int | None = None
    grounded: int | None = None
    source_units: int | None = None
    carried: int | None = None
    leak: str | None = None
    leak_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    usage_reason: str | None = None


# Database rows of one parsed source, without message bodies.


SourceStatus = Literal["parsed", "part", "duplicate", "skipped", "error"]


class SourceRow(Struct, frozen=True, gc=False):
    """One file or folder that ingest examined.

    The columns of `sources` say what its fields mean."""

    path: str
    status: SourceStatus
    format: str | None = None
    reason: str | None = None
    size: int | None = None
    passing: bool = False
    """Whether a retry may succeed because the file could not be opened. Not stored."""


class TrajectoryRow(Struct, frozen=True, gc=False):
    """One run without its text.

    The columns of `trajectories` say what its fields mean."""

    trajectory: str
    trial: str | None
    source: str
    format: str
    session: str | None
    agent: str | None
    agent_version: str | None
    model: str | None
    started_at: float | None
    finished_at: float | None
    steps: int
    sub_agents: int
    sub_steps: int
    inherited_steps: int
    input: int | None
    cache_write: int | None
    cache_read: int | None
    output: int | None
    reasoning: int | None
    hour_write: int | None
    cost_usd: float | None
    compactions: int
    complete: bool
    skipped_records: int
    warnings: tuple[str, ...] = ()
    task: str | None = None
    reward: float | None = None
    exception: str | None = None
    lists_every_skill: bool = False
    lists_folder_names: bool = False
    project: str | None = None
    person: str | None = None
    plain_model: str | None = None
    model_date: str | None = None
    other_models: tuple[str, ...] = ()


class StepRow(Struct, frozen=True, gc=False):
    """One agent step without its text.

    The columns of `steps` say what its fields mean."""

    trajectory: str
    agent: str
    step: int
    file: str | None
    line: int
    timestamp: float | None
    actions: tuple[str, ...]
    failed_calls: int
    skill_related: bool
    text_bytes: int
    preview: str
    input: int | None = None
    cache_write: int | None = None
    cache_read: int | None = None
    output: int | None = None


class CompactionRow(Struct, frozen=True, gc=False):
    """One compaction of an agent's context.

    The columns of `compactions` say what its fields mean."""

    trajectory: str
    position: int
    agent: str
    after_step: int
    file: str | None
    line: int
    had: tuple[int, ...]
    kept: tuple[int, ...] | None


class OfferedRow(Struct, frozen=True, gc=False):
    """One skill shown to the model.

    The columns of `offered` say what its fields mean."""

    trajectory: str
    skill: str
    bundled: bool
    listing_bytes: int | None = None


class UnloggedTrial(Struct, frozen=True, gc=False):
    """One foreign trial with a result but no log.

    The columns of `unlogged_trials` say what its fields mean."""

    trial: str
    name: str
    source: str
    format: str
    task: str
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    reward: float | None = None
    exception: str | None = None
    message: str | None = None


class LeakSearch(Struct, frozen=True, gc=False):
    """Search for one kind of text that no agent of the arm should have seen.

    The columns of `leak_searches` say what its fields mean."""

    trajectory: str
    kind: str
    searched: int
    found: int
    contaminated: bool
    sources: tuple[str, ...]
    agent: str | None
    step: int | None
    excerpt: str
    null_searched: int | None
    null_found: int | None


class Ingested(Struct, frozen=True):
    """All rows of one run."""

    trajectory: TrajectoryRow | None
    """The run; None for a trial without a readable log (its measures are null with a reason)."""
    steps: tuple[StepRow, ...] = ()
    offered: tuple[OfferedRow, ...] | None = None
    """Skills shown; None if unknown."""
    events: tuple[ResourceEvent, ...] = ()
    measures: tuple[Measure, ...] = ()
    exposure: Exposure | None = None
    compactions: tuple[CompactionRow, ...] = ()
    unknown_tools: tuple[UnknownTool, ...] = ()
    leaks: tuple[LeakSearch, ...] = ()


def unknown_tools_note(tools: Sequence[tuple[str, int, int]]) -> str:
    """Say which tools are unknown; each is (tool, its calls, runs in which it may have opened a
    Skill)."""
    names = ", ".join(f"{tool} {calls}" for tool, calls, _ in tools[:5])
    more = f" and {len(tools) - 5} more" if len(tools) > 5 else ""
    note = f"calls of tools that skilljuror does not know: {names}{more}"
    runs = sum(runs for _, _, runs in tools)
    return (
        f"{note}; in {runs} runs they may have opened a Skill, whose use is unknown"
        if runs
        else note
    )
