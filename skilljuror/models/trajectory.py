"""One normalised run of an agent, whatever log it came from.

Steps are agent messages with their calls; everything else that reached the context
(prompts, skill bodies, listings, re-injections) is a Message. Both point back into the
raw file by line, and both carry text only while they are in memory: the database keeps
places, not bodies.

Records of plain values can hold no cycle: `gc=False` keeps them from the cycle collector.
"""

from typing import Any, Literal

from msgspec import Struct, field

Action = Literal[
    "shell", "read", "write", "edit", "search", "list", "skill", "agent", "python", "poll", "other"
]
MessageKind = Literal[
    "prompt",
    "system",
    "skill_body",
    "skill_listing",
    "tree",
    "slash",
    "reinjected",
    "summary",
    "other",
]


class Usage(Struct, frozen=True, gc=False):
    """Tokens of four disjoint classes, plus reasoning; each null unless the log says it."""

    input: int | None = None
    """Input tokens that were neither read from nor written to a cache; below 0 where the log's count
    of input left its cache out, which whatever is computed takes for 0."""
    cache_write: int | None = None
    """Input tokens written to a cache."""
    cache_read: int | None = None
    """Input tokens read from a cache."""
    output: int | None = None
    """Output tokens, reasoning included."""
    reasoning: int | None = None
    """Reasoning tokens, a part of output."""
    cost_usd: float | None = None
    """Cost as the log states it, US dollars."""


class ToolResult(Struct, frozen=True, gc=False):
    """What came back from a call."""

    text: str
    """The text the model saw."""
    line: int
    """1-based raw line of the result."""
    ok: bool | None = None
    """Whether the harness or the exit status says it worked; None when nothing says so."""
    exit_code: int | None = None
    """Exit status of the whole command."""
    clean: str | None = None
    """File text without the harness's decoration (line numbers), where the log has it."""
    first_line: int | None = None
    """Real number of the first file line shown, where the log says so."""
    total_lines: int | None = None
    """Lines of the whole file, where the log says so."""
    unchanged: bool = False
    """The harness said "unchanged" instead of showing content."""
    seconds: float | None = None
    """Duration of the call."""


class ToolCall(Struct, frozen=True):
    """One tool call, with the fields that matter spelled one way for every agent."""

    call_id: str | None
    """The log's id of the call."""
    name: str
    """The tool as the log names it."""
    action: Action
    """What kind of thing it does."""
    line: int
    """1-based raw line of the call."""
    command: str | None = None
    """Shell or Python text (shell, python)."""
    workdir: str | None = None
    """Directory the command runs in, where the log says so; else the trajectory's cwd."""
    path: str | None = None
    """File or folder argument (read, write, edit, search, list)."""
    pattern: str | None = None
    """Pattern argument (search, list by glob)."""
    start: int | None = None
    """First line asked for, 1-based (read)."""
    count: int | None = None
    """Number of lines asked for (read)."""
    skill: str | None = None
    """Skill asked for (skill)."""
    written: str | None = None
    """Text written (write, edit)."""
    agent: str | None = None
    """Id of the sub-agent started (agent), where the log joins them."""
    arguments: dict[str, Any] = {}
    """The arguments as logged."""
    result: ToolResult | None = None
    """What came back; None for a call without an answer."""


class Step(Struct, frozen=True):
    """One agent message with its calls; parallel calls are one step (measures A-18)."""

    agent: str
    """"main" or the sub-agent's native id."""
    index: int
    """1-based number among the steps of that agent."""
    line: int
    """1-based raw line of its first record."""
    text: str = ""
    """What the agent said."""
    reasoning: str = ""
    """Reasoning where the log shows it."""
    calls: tuple[ToolCall, ...] = ()
    """Its calls in order."""
    usage: Usage | None = None
    """Tokens of this step."""
    model: str | None = None
    """Model that made it."""
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    file: int = 0
    """Index into `Trajectory.files` of the file that `line` counts in."""
    key: str | None = None
    """The log's id of the message, where it has one; captures of one run share it."""


class Message(Struct, frozen=True, gc=False):
    """Something that reached the context without a call of the agent."""

    agent: str
    """"main" or the sub-agent's native id."""
    kind: MessageKind
    """What it is."""
    text: str
    """The text the model saw."""
    line: int
    """1-based raw line."""
    step: int
    """Number of that agent's steps before it; 0 = before the first."""
    skill: str | None = None
    """Skill whose body this is."""
    path: str | None = None
    """File whose content this is, or the skill's base directory."""
    call_id: str | None = None
    """Call that caused it (a Skill call and its body)."""
    command_line: int | None = None
    """Raw line of the command that caused it (a slash command), where it differs."""
    file: int = 0
    """Index into `Trajectory.files`."""


class OfferedSkill(Struct, frozen=True, gc=False):
    """A skill that the model was shown."""

    name: str
    """Name as offered; plugin:name kept."""
    path: str | None = None
    """Its SKILL.md as the listing gives it."""
    bundled: bool = False
    """True for a skill that belongs to the agent itself, not to the task."""


class AgentTraits(Struct, frozen=True, gc=False):
    """How an agent program behaves, as far as what its logs mean hangs on it."""

    finds_skills: bool = False
    """It looks for skills by itself, so that a path in a prompt offers none."""
    keeps_folder: bool = False
    """Its commands share one shell, so that the folder one changes to is that of the next."""
    lists_every_skill: bool = False
    """However long its list of skills is, no name is left out."""
    lists_folder_names: bool = False
    """Its list calls a skill by its folder; the lists of others, by the name in its frontmatter."""


class Outcome(Struct, frozen=True):
    """What a harness wrote beside the log about how its trial ended."""

    task: str
    """Task, as the harness names it."""
    reward: float | None = None
    """Reward of its verifier; None when it gave none."""
    exception: str | None = None
    """Class of the end when it was not clean; a trial can hold both."""


class Trajectory(Struct, frozen=True):
    """One run."""

    trajectory: str
    """Key of the run: session id (and document id), else a digest of the raw bytes."""
    format: str
    """Name of the format (events.md list of formats)."""
    files: tuple[str, ...]
    """Raw files read, the first one being the main log."""
    steps: tuple[Step, ...]
    """Agent steps of all agents; per agent in order."""
    messages: tuple[Message, ...] = ()
    """Everything else that reached a context, in file order."""
    agent: str | None = None
    """Name of the agent program."""
    traits: AgentTraits = AgentTraits()
    """How that program behaves."""
    agent_version: str | None = None
    """Its version."""
    model: str | None = None
    """Main model."""
    cwd: str | None = None
    """Working directory at the start."""
    home: str | None = None
    """Home directory of the agent, where the log tells it."""
    offered: tuple[OfferedSkill, ...] | None = None
    """Skills shown to the model; None when the log does not say."""
    skill_roots: tuple[str, ...] = ()
    """Folders that hold skills, as the log names them."""
    usage: Usage | None = None
    """Totals of the run, sub-agents included; None when the log has none."""
    started_at: float | None = None
    """Seconds since the epoch, UTC."""
    finished_at: float | None = None
    """Seconds since the epoch, UTC."""
    compactions: tuple[tuple[str, int], ...] = ()
    """(agent, steps before) of every compaction of the context."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Record types that were counted and not read."""
    warnings: tuple[str, ...] = ()
    """What the parser could not make sense of, one line each."""
    complete: bool = True
    """False when the log is cut off: in the middle of a record, or before the end of the run."""
    session: str | None = None
    """Session id that several captures of one run share."""
    outcome: Outcome | None = None
    """How the trial around the log ended; None where no harness tells it."""

    def steps_of(self, agent: str = "main") -> tuple[Step, ...]:
        """The steps of one agent in order."""
        return tuple(step for step in self.steps if step.agent == agent)
