"""Resource events: one access of the agent to one resource in one call."""

from typing import Literal

from msgspec import Struct, field

from skilljuror.base.models.bundle import ResourceClass

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
    """One event; the fields are those of `skilljuror events`, of DuckDB and of the labels."""

    trajectory: str
    """Key of the trajectory."""
    ordinal: int
    """0-based number inside the trajectory, in order of occurrence."""
    line: int
    """Place of the call or injection: 1-based raw line, or number of the element in a log that is one
    JSON document."""
    agent: str
    """"main" or the sub-agent's native id."""
    step: int
    """1-based agent step of that agent; 0 before the first."""
    skill: str
    """Skill: its folder if a manifest lists it, else its name as offered."""
    resource: str
    """Canonical path inside the skill; "SKILL.md"; "." for a bare listing."""
    resource_class: ResourceClass
    """root, support, code or data."""
    kind: EventKind
    """What happened."""
    via: Via
    """How."""
    ok: bool | None
    """True if content was returned or the whole command exited with 0; None if unknown."""
    content_exposed: Exposed
    """How much of the file the model saw; exec and import expose none."""
    lines: tuple[tuple[int, int], ...] | None = None
    """File lines shown, as inclusive ranges; None if unknown."""
    witness: Witness = "command"
    """Evidence for it."""
    call_id: str | None = None
    """The log's id of the call."""
    file: str | None = None
    """Raw file of `line` if it is not the trajectory's first file."""
    phantom: bool = False
    """True for a path under a skill root that the bundle does not have."""
    bundled: bool = False
    """True for a skill that belongs to the agent itself."""
    quote: str = ""
    """A short piece of the evidence."""
    note: str = ""
    """Free text; names any disagreement between the witnesses."""
    shown_bytes: int | None = None
    """Bytes of the resource's text that were shown; None if unknown."""
    text_digest: str | None = None
    """Version of a SKILL.md that was shown in full: sha256 of its lines, without front matter, blank
    lines and blanks at their ends; None for anything else, or if the text cannot be told apart."""

    @property
    def event(self) -> str:
        """Id of the event: trajectory and ordinal."""
        return f"{self.trajectory}#{self.ordinal}"

    @property
    def counts(self) -> bool:
        """Whether it counts as a use of a resource."""
        return self.kind not in UNCOUNTED


class UnknownTool(Struct, frozen=True, gc=False):
    """Calls of a tool of which nobody knows what it does."""

    trajectory: str
    """Key of the trajectory."""
    tool: str
    """Name of the tool in the log."""
    calls: int
    """Its calls that were neither refused nor gave an event."""
    skills: tuple[str, ...] = ()
    """Skills that a call or its answer names a file of, without an event that explains it: whether
    they were opened is unknown."""


class Resource(Struct, frozen=True):
    """One file of the offered bundle."""

    skill: str
    """Folder name of the skill; the name that the log gives it where a manifest is discovered."""
    path: str
    """Path inside the skill."""
    resource_class: ResourceClass
    """root, support, code or data."""
    text: str | None = None
    """Its text; None for binary or if only the name is known."""
    tokens: int | None = None
    """Tokens of the text; None if not counted."""


class SkillManifest(Struct, frozen=True):
    """The Skills that a trial offered, or that a log shows as offered."""

    resources: tuple[Resource, ...] = ()
    """Every file of every skill."""
    roots: tuple[str, ...] = ()
    """Folders of the skills as the agent saw them; aliases of one another."""
    skills: tuple[str, ...] = ()
    """Names of the skills, as those of the resources."""
    known: bool = True
    """False when discovered from the log alone."""
    variant: str | None = None
    """Variant of the build; None outside a study."""


class UnitExposure(Struct, frozen=True, gc=False):
    """One showing of a knowledge unit to an agent."""

    trajectory: str
    """Key of the trajectory."""
    unit: str
    """Unit id of the build's knowledge map."""
    agent: str
    """Whose context."""
    step: int
    """Step at which it arrived; 0 before the first."""
    ordinal: int
    """Number of the event that showed it."""
    tokens: int | None = None
    """Tokens of the unit's text."""


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
    """Further totals by name."""
