"""Database rows of one parsed source, without message bodies."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from skilljuror.base.models.events import Exposure, ResourceEvent, UnknownTool
from skilljuror.base.models.measure import Measure

SourceStatus = Literal["parsed", "part", "duplicate", "skipped", "error"]


class SourceRow(Struct, frozen=True, gc=False):
    """One file or folder that ingest examined."""

    path: str
    """Path as found."""
    status: SourceStatus
    """parsed; part (of the run of the file that the reason names: a sub-agent's log, a continuation);
    duplicate (another capture of the same run won); skipped (no format claims it);
    error (a format claims it, or the user named it, and it cannot be read; or nobody may look at it,
    or it is JSON lines with a line that is none)."""
    format: str | None = None
    """Format that claims it."""
    reason: str | None = None
    """Why it was skipped, is an error, or lost to another capture; what it is a part of."""
    size: int | None = None
    """Bytes."""
    passing: bool = False
    """Whether a retry may succeed because the file could not be opened. Not stored."""


class TrajectoryRow(Struct, frozen=True, gc=False):
    """One run without its text."""

    trajectory: str
    """Key of the run."""
    trial: str | None
    """Trial of a study; None in observed mode."""
    source: str
    """Path of the main raw log, in which line numbers count."""
    format: str
    """Format it was read with."""
    session: str | None
    """Session id."""
    agent: str | None
    """Agent program."""
    agent_version: str | None
    """Its version."""
    model: str | None
    """Model that gave the main agent most answers."""
    started_at: float | None
    """Seconds since the epoch, UTC."""
    finished_at: float | None
    """Seconds since the epoch, UTC."""
    steps: int
    """Steps of the main agent."""
    sub_agents: int
    """Number of sub-agents with steps."""
    sub_steps: int
    """Steps of sub-agents."""
    inherited_steps: int
    """Further steps of the main agent in the log, which repeat another session and count there."""
    input: int | None
    """Input tokens, neither read from nor written to a cache."""
    cache_write: int | None
    """Input tokens written to a cache."""
    cache_read: int | None
    """Input tokens read from a cache."""
    output: int | None
    """Output tokens, reasoning included."""
    reasoning: int | None
    """Reasoning tokens."""
    cost_usd: float | None
    """Cost stated in the log."""
    compactions: int
    """Compactions of the context."""
    complete: bool
    """False if the log is truncated."""
    skipped_records: int
    """Records of unsupported types."""
    warnings: tuple[str, ...] = ()
    """Warnings of the parser."""
    task: str | None = None
    """Task of the foreign trial around the log."""
    reward: float | None = None
    """Reward of its verifier."""
    exception: str | None = None
    """Exception class if it did not end normally."""
    lists_every_skill: bool = False
    """Whether the agent always lists every skill."""
    lists_folder_names: bool = False
    """Whether that list uses folder names."""
    project: str | None = None
    """Name of the working folder, if asked for."""
    person: str | None = None
    """Name of the home folder, if asked for."""
    plain_model: str | None = None
    """The model without provider, date and punctuation of its name."""
    model_date: str | None = None
    """Date in its name, as YYYYMMDD."""
    other_models: tuple[str, ...] = ()
    """Other models that answered the main agent, without these either."""


class StepRow(Struct, frozen=True, gc=False):
    """One agent step without its text."""

    trajectory: str
    """Key of the run."""
    agent: str
    """"main" or the sub-agent's id."""
    step: int
    """1-based number of that agent's step."""
    file: str | None
    """Raw file of `line` if it is not the trajectory's main log."""
    line: int
    """Place of its first record in the raw log."""
    timestamp: float | None
    """Seconds since the epoch, UTC."""
    actions: tuple[str, ...]
    """Actions of its calls, in order."""
    failed_calls: int
    """Calls whose result reports a failure."""
    skill_related: bool
    """Whether it contains a counted resource event."""
    text_bytes: int
    """Bytes of its text, call arguments and results."""
    preview: str
    """First 160 characters of its text or command."""
    input: int | None = None
    """Input tokens, uncached."""
    cache_write: int | None = None
    """Input tokens written to a cache."""
    cache_read: int | None = None
    """Input tokens read from a cache."""
    output: int | None = None
    """Output tokens."""


class CompactionRow(Struct, frozen=True, gc=False):
    """One compaction of an agent's context."""

    trajectory: str
    """Key of the run."""
    position: int
    """0-based number in the run."""
    agent: str
    """"main" or the sub-agent's id."""
    after_step: int
    """Number of that agent's steps before it."""
    file: str | None
    """Raw file of `line` if it is not the trajectory's main log."""
    line: int
    """Place of its record; 0 = before the first element."""
    had: tuple[int, ...]
    """Ordinals of the events whose Skill text was in the context, or may have been."""
    kept: tuple[int, ...] | None
    """Of these, the events whose text stayed; None if the log does not say."""


class OfferedRow(Struct, frozen=True, gc=False):
    """One skill shown to the model."""

    trajectory: str
    """Key of the run."""
    skill: str
    """Name as offered."""
    bundled: bool
    """Whether it belongs to the agent itself."""


class UnloggedTrial(Struct, frozen=True, gc=False):
    """One foreign trial with a result but no log."""

    trial: str
    """The harness's id of the trial; the key that its run would have."""
    name: str
    """The harness's name of the trial."""
    source: str
    """Folder of the trial."""
    format: str
    """Format of the folder."""
    task: str
    """Task of the trial."""
    agent: str | None = None
    """Agent program."""
    agent_version: str | None = None
    """Its version."""
    model: str | None = None
    """Model."""
    started_at: float | None = None
    """Start of the trial, seconds since the epoch, UTC."""
    finished_at: float | None = None
    """End of the trial, seconds since the epoch, UTC."""
    reward: float | None = None
    """Reward of its verifier; None if missing."""
    exception: str | None = None
    """Exception class if it did not end normally."""
    message: str | None = None
    """First line of the exception's message."""


class LeakSearch(Struct, frozen=True, gc=False):
    """Search for one kind of text that no agent of the arm should have seen."""

    trajectory: str
    """Key of the run."""
    kind: str
    """skill, layout (peculiar to another layout), verifier or solution."""
    searched: int
    """Fingerprints searched for."""
    found: int
    """Fingerprints that the agent was shown."""
    contaminated: bool
    """Whether they suffice as proof of contamination."""
    sources: tuple[str, ...]
    """Files they come from, the one with the most first."""
    agent: str | None
    """Agent that was shown the first one."""
    step: int | None
    """Its step."""
    excerpt: str
    """Words of the first one and the text that follows."""
    null_searched: int | None
    """Fingerprints of the same kind from another task; None if no other task has any."""
    null_found: int | None
    """Number of those that were shown."""


class Ingested(Struct, frozen=True):
    """All rows of one run."""

    trajectory: TrajectoryRow | None
    """The run; None for a trial without a readable log (its measures are null with a reason)."""
    steps: tuple[StepRow, ...] = ()
    """Its steps."""
    offered: tuple[OfferedRow, ...] | None = None
    """Skills shown; None if unknown."""
    events: tuple[ResourceEvent, ...] = ()
    """Its resource events."""
    measures: tuple[Measure, ...] = ()
    """Its measures."""
    exposure: Exposure | None = None
    """Its knowledge exposure."""
    compactions: tuple[CompactionRow, ...] = ()
    """Its compactions."""
    unknown_tools: tuple[UnknownTool, ...] = ()
    """Its calls of unknown tools."""
    leaks: tuple[LeakSearch, ...] = ()
    """Searches for texts that it should not have seen."""


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
