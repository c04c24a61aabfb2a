"""One normalised run of an agent, whatever log it came from.

Steps are agent messages with their calls; everything else that reached the context
(prompts, skill bodies, listings, re-injections) is a Message. Both refer to places in the raw
file; the database stores places, not text. A place is a 1-based line of the raw file; where the file is one JSON document,
the 1-based number of the element in its list (a message, a step, an event), however it is written.

Times are seconds since the epoch, UTC; `agent` is "main" or a sub-agent's native id, `file` an index into `Trajectory.files`.
Records of plain values can hold no cycle: `gc=False` keeps them from the cycle collector."""

import json
from typing import Any, Literal

from msgspec import Struct, field

from skilljuror.base.skill import ResourceClass

Action = Literal[
    "shell", "read", "write", "edit", "search", "list", "skill", "agent", "python", "poll", "other"
]
MessageKind = Literal[
    "prompt", "system", "skill_body", "skill_listing", "tree", "slash", "reinjected", "summary",
    "other",
]  # fmt: skip


class Usage(Struct, frozen=True, gc=False):
    """Tokens of four disjoint classes, plus reasoning; null if unknown."""

    input: int | None = None
    """Input tokens that were neither read from nor written to a cache; below 0 if the log counts
    more cached tokens than input, so that the total is unknown."""
    cache_write: int | None = None
    cache_read: int | None = None
    output: int | None = None
    """Output tokens, reasoning included."""
    reasoning: int | None = None
    """Reasoning tokens, a part of output."""
    cost_usd: float | None = None
    """Cost stated in the log, US dollars."""
    hour_write: int | None = None
    """The part of cache_write that is kept for an hour, which costs more than five minutes; None if unknown."""


class ToolResult(Struct, frozen=True, gc=False):
    """Result of a call."""

    text: str
    """The text the model saw."""
    line: int
    """Place of the result."""
    ok: bool | None = None
    """Whether it succeeded according to the harness or the exit status; None if unknown."""
    exit_code: int | None = None
    clean: str | None = None
    """File text without the harness's line numbers, if the log has it."""
    first_line: int | None = None
    """Number of the first file line shown, if known."""
    total_lines: int | None = None
    unchanged: bool = False
    """The harness said "unchanged" instead of showing content."""
    seconds: float | None = None
    """Duration of the call."""
    partial: bool = False
    """The text is what a program made of the tool's result: it may lack lines."""


class ToolCall(Struct, frozen=True):
    """One tool call in the same form for every agent."""

    call_id: str | None
    name: str
    action: Action
    line: int
    """Place of the call."""
    command: str | None = None
    """Shell or Python text (shell, python)."""
    workdir: str | None = None
    """Working directory of the command, if logged; else the trajectory's cwd."""
    path: str | None = None
    """File or folder argument (read, write, edit, search, list)."""
    pattern: str | None = None
    start: int | None = None
    """First requested line, 1-based (read)."""
    count: int | None = None
    """Number of requested lines (read)."""
    skill: str | None = None
    written: str | None = None
    agent: str | None = None
    """Id of the started sub-agent (agent), if logged."""
    arguments: dict[str, Any] = {}
    unknown: bool = False
    """Nobody knows what a tool of this name does."""
    result: ToolResult | None = None

    @property
    def asked(self) -> str:
        """The request as one text."""
        if self.command is not None:
            return self.command
        parts = (self.skill, self.path, self.pattern, self.written)
        return " ".join(part for part in parts if part) or json.dumps(self.arguments, default=str)


class Step(Struct, frozen=True):
    """One agent message with its calls; parallel calls are one step (measures A-18)."""

    agent: str
    """"main" or the sub-agent's native id."""
    index: int
    """1-based number among the steps of that agent."""
    line: int
    """Place of its first record."""
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    model: str | None = None
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    file: int = 0
    """Index into `Trajectory.files` of the file that `line` counts in."""
    key: str | None = None
    """The log's id of the message; captures of one run share it."""


class Message(Struct, frozen=True, gc=False):
    """Content that reached the context without a call of the agent."""

    agent: str
    kind: MessageKind
    text: str
    line: int
    step: int
    """Number of that agent's steps before it; 0 = before the first."""
    skill: str | None = None
    """Skill whose body this is."""
    path: str | None = None
    """File with this content, or the skill's base directory."""
    call_id: str | None = None
    """Call that caused it (a Skill call and its body)."""
    command_line: int | None = None
    """Place of the slash command that caused it, if different."""
    file: int = 0
    inherited: bool = False
    """Repeated from another session: it is in the context, but no event of this run."""


class Compaction(Struct, frozen=True, gc=False):
    """A compaction: it replaces an agent's context before it, except for what it keeps."""

    agent: str
    step: int
    """Number of that agent's steps before it."""
    line: int
    """Place in the raw file; 0 = before the first element."""
    kept: tuple[tuple[int, int], ...] | None = None
    """Earlier places of the same file whose text stays in the context, as inclusive ranges; None if
    the log does not say."""
    file: int = 0


class OfferedSkill(Struct, frozen=True, gc=False):
    """A skill shown to the model."""

    name: str
    """Name as offered; plugin:name kept."""
    path: str | None = None
    bundled: bool = False
    """True for a skill that belongs to the agent itself, not to the task."""
    listing_bytes: int | None = None
    """Bytes of its entry in the listing, where the log shows that."""


class AgentTraits(Struct, frozen=True, gc=False):
    """Behaviour of an agent program that affects the meaning of its logs."""

    finds_skills: bool = False
    """It discovers skills itself, so a path in a prompt offers none."""
    keeps_folder: bool = False
    """Its commands share one shell, so cd affects later commands."""
    lists_every_skill: bool = False
    """Its list of skills is never shortened."""
    lists_folder_names: bool = False
    """Its list uses folder names instead of frontmatter names."""


class Outcome(Struct, frozen=True):
    """End of a trial according to the harness."""

    task: str
    reward: float | None = None
    exception: str | None = None
    """Exception class if it did not end normally; a trial can have both."""


class Trajectory(Struct, frozen=True):
    """One run of an agent, as normalised steps and messages."""

    trajectory: str
    """Key of the run: session id (and document id), else a digest of the raw bytes."""
    format: str
    files: tuple[str, ...]
    """Raw files; the first is the main log."""
    steps: tuple[Step, ...]
    """Agent steps of all agents; per agent in order."""
    messages: tuple[Message, ...] = ()
    """Other content that reached a context, in file order."""
    agent: str | None = None
    traits: AgentTraits = AgentTraits()
    agent_version: str | None = None
    model: str | None = None
    cwd: str | None = None
    home: str | None = None
    offered: tuple[OfferedSkill, ...] | None = None
    """Skills shown to the model; None if unknown."""
    skill_roots: tuple[str, ...] = ()
    """Folders of skills in the log."""
    usage: Usage | None = None
    """Totals of the run, sub-agents included; None if unknown."""
    started_at: float | None = None
    finished_at: float | None = None
    compactions: tuple[Compaction, ...] = ()
    skipped: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    complete: bool = True
    """False if the log is truncated within a record or before the end of the run."""
    session: str | None = None
    """Session id that several captures of one run share."""
    outcome: Outcome | None = None
    inherited: int = 0
    """Steps of the main agent in the log that repeat another session; they are not among `steps`."""
    fault: str | None = None
    """Provider error that is not followed by an answer to the main agent; None if there is none."""

    @property
    def answered(self) -> bool:
        """Whether the main agent was ever answered: one of its steps says, thinks or calls something. In a
        log that keeps no texts every step counts."""
        steps = self.steps_of()
        if not any(one.text for one in self.messages):
            return bool(steps)
        return any(step.text.strip() or step.reasoning.strip() or step.calls for step in steps)

    @property
    def awaits_answer(self) -> bool:
        """Whether the main agent's last request has no answer in the log: nothing follows a prompt, or
        the result of every call of its last step."""
        steps = self.steps_of()
        if not steps:
            return True
        prompted = any(
            one.agent == "main" and one.kind == "prompt" and one.step == len(steps)
            for one in self.messages
        )
        calls = steps[-1].calls
        return prompted or (bool(calls) and all(call.result is not None for call in calls))

    def steps_of(self, agent: str = "main") -> tuple[Step, ...]:
        """The steps of one agent in order."""
        return tuple(step for step in self.steps if step.agent == agent)


# Resource events: one access of the agent to one resource in one call.


EventKind = Literal[
    "activate", "read", "list", "search", "exec", "import", "edit", "write", "mention"
]
Via = Literal["skill-tool", "read-tool", "shell", "injected", "slash", "reinjected", "python"]
Exposed = Literal["full", "partial", "none"]
Witness = Literal["content", "command", "both"]

UNCOUNTED = frozenset({"edit", "write", "mention"})
"""Kinds that do not count as a use of a resource: authoring and naming."""
FANOUT = frozenset({"activate", "read", "search", "exec", "import"})
"""Kinds that count for fanout."""
OPENING = FANOUT - {"search"}
"""Kinds that open a resource; a search does not."""


class ResourceEvent(Struct, frozen=True, gc=False):
    """One event; the fields are those of `skilljuror events`, of DuckDB and of the labels.

    The columns of `events` say what its fields mean."""

    trajectory: str
    ordinal: int
    line: int
    agent: str
    step: int
    skill: str
    resource: str
    resource_class: ResourceClass
    kind: EventKind
    via: Via
    ok: bool | None
    content_exposed: Exposed
    """How much of the file the model saw; exec and import expose none."""
    lines: tuple[tuple[int, int], ...] | None = None
    witness: Witness = "command"
    call_id: str | None = None
    file: str | None = None
    phantom: bool = False
    """True for a path under a skill root that the bundle does not have."""
    bundled: bool = False
    quote: str = ""
    note: str = ""
    shown_bytes: int | None = None
    text_digest: str | None = None

    @property
    def event(self) -> str:
        """Id of the event: trajectory and ordinal."""
        return f"{self.trajectory}#{self.ordinal}"

    @property
    def counts(self) -> bool:
        """Whether it counts as a use of a resource."""
        return self.kind not in UNCOUNTED


class UnknownTool(Struct, frozen=True, gc=False):
    """Calls of a tool of which nobody knows what it does.

    The columns of `unknown_tools` say what its fields mean."""

    trajectory: str
    tool: str
    calls: int
    skills: tuple[str, ...] = ()


class Resource(Struct, frozen=True):
    """One file of the offered bundle."""

    skill: str
    """Folder name of the skill; the name that the log gives it where a manifest is discovered."""
    path: str
    resource_class: ResourceClass
    text: str | None = None
    """Its text; None for binary or if only the name is known."""
    tokens: int | None = None
    """Tokens of the text; None if not counted."""


class SkillManifest(Struct, frozen=True):
    """The Skills that a trial offered, or that a log shows as offered."""

    resources: tuple[Resource, ...] = ()
    roots: tuple[str, ...] = ()
    """Folders of the skills as the agent saw them; aliases of one another."""
    skills: tuple[str, ...] = ()
    known: bool = True
    """False when discovered from the log alone."""
    variant: str | None = None
    """Variant of the build; None outside a study."""


class UnitExposure(Struct, frozen=True, gc=False):
    """One showing of a knowledge unit to an agent.

    The columns of `exposure` say what its fields mean."""

    trajectory: str
    unit: str
    agent: str
    step: int
    ordinal: int
    tokens: int | None = None


class Exposure(Struct, frozen=True):
    """Which knowledge units reached the agent."""

    units: int
    """Units of the map that this variant contains."""
    seen: tuple[UnitExposure, ...] = ()
    """One row per unit and event that showed it, in order of arrival."""
    shown_bytes: int = 0
    """Bytes of skill text shown, repeats included."""
    shown_tokens: int | None = None
    """Tokens of the same text; None if not counted."""
    extra: dict[str, float] = field(default_factory=dict)
