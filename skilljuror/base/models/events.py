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
    """Evidence for it."""
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
    """Further totals by name."""
