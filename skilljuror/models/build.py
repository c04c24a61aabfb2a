"""The audit record of one build: build.json."""

from typing import Any, Literal

from pydantic import Field

from skilljuror.models.gate import GateVerdict
from skilljuror.models.record import Record


class FileDigest(Record):
    """One file of a bundle."""

    path: str
    """Posix path."""
    sha256: str
    """Digest of its bytes."""
    size: int
    """Bytes."""
    resource_class: Literal["root", "support", "code", "data"]
    """root (SKILL.md), support (other text), code (executable or importable), data."""
    executable: bool = False
    """Execute bit."""
    lines: int | None = None
    """Lines of text; None for binary."""
    tokens: int | None = None
    """Tokens of text by the record's tokenizer; None for binary."""


class VariantManifest(Record):
    """One variant of a build."""

    variant: str
    """Name."""
    parent: str | None
    """The variant it was made from; None for the source itself."""
    tree_digest: str
    """sha256 over paths, execute bits and contents."""
    skills: tuple[str, ...]
    """Names of the skill folders under variants/<variant>/."""
    files: tuple[FileDigest, ...]
    """Every file, paths relative to variants/<variant>/."""
    tokens: int
    """Tokens of all its text."""
    root_lines: int
    """Lines of all its SKILL.md files."""
    root_tokens: int
    """Tokens of all its SKILL.md files."""
    verdict: GateVerdict | None
    """Worst verdict of its gates; None for the source itself."""
    feasibility: Literal["ok", "over_read_limit", "over_context"] | None = None
    """Whether one read of a flat file can carry it (baseline and origin-flat only)."""
    expected_findings: tuple[str, ...] = ()
    """Rules that a control is declared to break (placebo variants); their findings stand in
    gates.jsonl and decide no verdict. "gate.*" stands for all of a gate."""


class BuildRecord(Record):
    """What was built from what, and how it can be proved again."""

    format_version: int = 1
    """Version of this record."""
    name: str
    """Slug of the source."""
    skilljuror_version: str
    """Version of the package that built it."""
    engine: str
    """plan (deterministic), assign or rewrite."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the transforms."""
    gates: tuple[str, ...] = ()
    """Gates that judged it beside the registered ones, as module:attribute."""
    tokenizer: str
    """Name and version of the tokenizer behind every token count."""
    source: VariantManifest
    """The source as loaded."""
    variants: tuple[VariantManifest, ...]
    """Every variant built."""
    plans: dict[str, Any] = Field(default_factory=dict)
    """variant -> Plan, as JSON."""
    issues: tuple[dict[str, Any], ...] = ()
    """What the reader noticed in the source."""
    waivers: tuple[dict[str, str], ...] = ()
    """Findings waived by a person: id and reason."""
    assay: dict[str, Any] | None = None
    """Measured power of the gates on this build; None when not measured."""
