"""What one parsed source leaves behind: rows without message bodies, ready for the database."""

from typing import Literal

from msgspec import Struct

from skilljuror.models.events import Exposure, ResourceEvent
from skilljuror.models.measure import Measure

SourceStatus = Literal["parsed", "duplicate", "skipped", "error"]


class SourceRow(Struct, frozen=True, gc=False):
    """One file or folder that ingest looked at."""

    path: str
    """Path as found."""
    status: SourceStatus
    """parsed; duplicate (another capture of the same run won); skipped (no format claims it);
    error (a format claims it, or the user named it, and it cannot be read; or nobody may look at it,
    or it is JSON lines with a line that is none)."""
    format: str | None = None
    """Format that claims it."""
    reason: str | None = None
    """Why it was skipped, is an error, or lost to another capture."""
    size: int | None = None
    """Bytes."""
    passing: bool = False
    """Whether another attempt may end otherwise: it could not be opened. Not kept."""


class TrajectoryRow(Struct, frozen=True, gc=False):
    """One run, without its text."""

    trajectory: str
    """Key of the run."""
    trial: str | None
    """Trial of a study; None in observed mode."""
    source: str
    """Path of the main raw log: the provenance of every line number."""
    format: str
    """Format it was read with."""
    session: str | None
    """Session id."""
    agent: str | None
    """Agent program."""
    agent_version: str | None
    """Its version."""
    model: str | None
    """Main model."""
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
    """Cost as the log states it."""
    compactions: int
    """Compactions of the context."""
    complete: bool
    """False when the log is cut off."""
    skipped_records: int
    """Records of types that are not read."""
    warnings: tuple[str, ...] = ()
    """What the parser could not make sense of."""
    task: str | None = None
    """Task of the foreign trial around the log."""
    reward: float | None = None
    """Reward of its verifier."""
    exception: str | None = None
    """Class of its end when it was not clean."""
    lists_every_skill: bool = False
    """Whether the agent never leaves a name out of its list of skills."""
    lists_folder_names: bool = False
    """Whether that list calls skills by their folders."""


class StepRow(Struct, frozen=True, gc=False):
    """One agent step, without its text."""

    trajectory: str
    """Key of the run."""
    agent: str
    """"main" or the sub-agent's id."""
    step: int
    """1-based number of that agent's step."""
    file: str | None
    """Raw file of `line` where it is not the trajectory's main log."""
    line: int
    """1-based raw line."""
    timestamp: float | None
    """Seconds since the epoch, UTC."""
    actions: tuple[str, ...]
    """Actions of its calls, in order."""
    failed_calls: int
    """Calls whose result says it did not work."""
    skill_related: bool
    """Whether a counted resource event falls into it."""
    text_bytes: int
    """Bytes of its text, call arguments and results."""
    preview: str
    """The first 160 characters of what it says or runs."""
    input: int | None = None
    """Input tokens, uncached."""
    cache_write: int | None = None
    """Input tokens written to a cache."""
    cache_read: int | None = None
    """Input tokens read from a cache."""
    output: int | None = None
    """Output tokens."""


class OfferedRow(Struct, frozen=True, gc=False):
    """One skill shown to the model."""

    trajectory: str
    """Key of the run."""
    skill: str
    """Name as offered."""
    bundled: bool
    """Belongs to the agent itself."""


class UnloggedTrial(Struct, frozen=True, gc=False):
    """One foreign trial whose result stands alone; what a log would tell is not known."""

    trial: str
    """The harness's id of the trial: the key that its run would have."""
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
    """Reward of its verifier; None when it gave none."""
    exception: str | None = None
    """Class of its end when it was not clean."""
    message: str | None = None
    """First line of the exception's message."""


class LeakSearch(Struct, frozen=True, gc=False):
    """What was found of one kind of text that no agent of the arm should have seen."""

    trajectory: str
    """Key of the run."""
    kind: str
    """skill, layout (peculiar to another layout), verifier or solution."""
    searched: int
    """Fingerprints that were looked for."""
    found: int
    """Those of them that the agent was shown."""
    contaminated: bool
    """Whether they are enough to prove it."""
    sources: tuple[str, ...]
    """Files that they are of, the one with the most first."""
    agent: str | None
    """Agent that was shown the first of them."""
    step: int | None
    """Its step."""
    excerpt: str
    """The words of the first of them and what followed."""
    null_searched: int | None
    """Fingerprints of another task's text of the kind; None where no other task has any."""
    null_found: int | None
    """Those of them that were shown."""


class Ingested(Struct, frozen=True):
    """Everything one run leaves for the database."""

    trajectory: TrajectoryRow | None
    """The run; None for a trial that left no readable log (its measures are nulls with reasons)."""
    steps: tuple[StepRow, ...] = ()
    """Its steps."""
    offered: tuple[OfferedRow, ...] | None = None
    """Skills shown; None when the log does not say."""
    events: tuple[ResourceEvent, ...] = ()
    """Its resource events."""
    measures: tuple[Measure, ...] = ()
    """Its measures."""
    exposure: Exposure | None = None
    """Its knowledge exposure."""
    leaks: tuple[LeakSearch, ...] = ()
    """What was looked for and found of texts that it should not have seen."""


class SeenFile(Struct, frozen=True, gc=False):
    """A file that ingest looked at, or a folder that is read as a whole."""

    path: str
    """Path as found."""
    size: int
    """Bytes; of a folder, of all its files."""
    mtime_ns: int
    """Last change, nanoseconds since the epoch; of a folder, that of any of its files."""
    inode: int
    """Number that its file system gives it."""
    content: str | None
    """Digest of a folder's tree, or of what stands in a file where that was asked for."""
    reader: str
    """Digest of the code and the options that it was read with; "" where it is to be read again."""
    format: str | None
    """Format that claims it."""
    session: str | None
    """The session that its first bytes name."""
    link: str | None
    """Its place among the files of its session, JSON."""
    problem: str | None
    """Why it is not read."""
    names: tuple[str, ...]
    """Names that tie it to others, which have one of them too."""
    read_with: str | None = None
    """Digest of the group of files that it was read with."""
