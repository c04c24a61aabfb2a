"""Database rows of one parsed source, without message bodies."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from skilljuror.base.models.events import Exposure, ResourceEvent, UnknownTool
from skilljuror.base.models.measure import Measure

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


class SeenFile(Struct, frozen=True, gc=False):
    """A file that ingest examined, or a folder that is read as a whole."""

    path: str
    """Path as found."""
    size: int
    """Bytes; of a folder, of all its files."""
    mtime_ns: int
    """Last change, nanoseconds since the epoch; for a folder, the latest of its files."""
    inode: int
    """Inode number."""
    content: str | None
    """Digest of a folder's tree, or of a file if requested."""
    reader: str
    """Digest of the code and options it was read with; "" if it must be read again."""
    format: str | None
    """Format that claims it."""
    session: str | None
    """Session named in its first bytes."""
    link: str | None
    """Its position among the files of its session, JSON."""
    problem: str | None
    """Why it cannot be read."""
    names: tuple[str, ...]
    """Names that it shares with related files."""
    read_with: str | None = None
    """Digest of the group of files that it was read with."""


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
