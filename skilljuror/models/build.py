"""The audit record of one build: build.json."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from skilljuror.models.gate import Finding, GateVerdict
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
    pd_worth: Literal["small"] | None = None
    """small where Progressive Disclosure has little to gain: a root of under 800 tokens, and no file
    opened on demand of more than 400 (pd only); scripts are run, so they do not count."""
    announced: tuple[str, ...] = ()
    """Files that its pages carry and say to write out, none of which it has on disk; paths as in files."""
    expected_findings: tuple[str, ...] = ()
    """Rules that a control is declared to break (placebo variants); their findings stand in
    gates.jsonl and decide no verdict. "gate.*" stands for all of a gate."""


class VariantRound(Record):
    """One text that a model wrote for a variant, and what became of it; a line of rounds.jsonl."""

    variant: str
    """The variant."""
    round: int
    """Its number, from 1."""
    verdict: GateVerdict
    """Worst verdict of its gates."""
    taken: bool
    """Whether it became the variant; the others lie in rounds/<variant>/<round>/."""
    tree_digest: str
    """sha256 over paths, execute bits and contents of its files."""
    answers: tuple[str, ...]
    """sha256 of the prompts of this round, in calls.jsonl; the last one gave the text."""
    findings: tuple[Finding, ...] = ()
    """What counted against it, worst first; of a round that was not taken the model was told."""
    rubric: dict[str, Literal["yes", "no", "unknown"]] = Field(default_factory=dict)
    """Item of the rubric -> answer of a model; empty where none was asked."""


class BuildRecord(Record):
    """What was built from what, and how it can be proved again."""

    readable: ClassVar[tuple[int, ...]] = (1, 2)
    """Versions of this record that are read; 1 keeps no source, and can be proved from itself alone."""
    format_version: int = 2
    """Version of this record."""
    name: str
    """Slug of the source."""
    skilljuror_version: str
    """Version of the package that built it."""
    code_digest: str | None = None
    """sha256 over the package's code, the libraries that read text and Python; None in version 1."""
    engine: str
    """plan (deterministic), assign or rewrite."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the transforms."""
    transforms: tuple[str, ...] = ()
    """What made the variants, in that order: registered names, or module:attribute."""
    gates: tuple[str, ...] = ()
    """Gates that judged it beside the registered ones, as module:attribute."""
    tokenizer: str
    """Name and version of the tokenizer behind every token count."""
    source: VariantManifest
    """The source as loaded."""
    variants: tuple[VariantManifest, ...]
    """Every variant built."""
    parts: dict[str, str] = Field(default_factory=dict)
    """sha256 of every other file beside the variants, so that this record stands for all of it."""
    plans: dict[str, Any] = Field(default_factory=dict)
    """variant -> Plan, as JSON."""
    issues: tuple[dict[str, Any], ...] = ()
    """What the reader noticed in the source."""
    waivers: tuple[dict[str, str], ...] = ()
    """Always empty, and kept so that records of version 1 are read: what people waive stands in
    reviews.jsonl."""
    assay: dict[str, Any] | None = None
    """Measured power of the gates on this build; None when not measured."""
