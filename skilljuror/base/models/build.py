"""The audit record of one build: build.json."""

from typing import Any, Literal

from pydantic import Field

from skilljuror.base.models.gate import Finding, GateVerdict
from skilljuror.base.models.record import Record

PdWorth = Literal["none", "small"]


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
    """One variant of a build: a bundle that carries the knowledge of the source in one layout."""

    variant: str
    """Name."""
    parent: str | None
    """Variant it was made from; None for the source."""
    tree_digest: str
    """sha256 over paths, execute bits and contents."""
    skills: tuple[str, ...]
    """Names of the skill folders under variants/<variant>/."""
    files: tuple[FileDigest, ...]
    """Every file, paths relative to variants/<variant>/."""
    tokens: int
    """Total tokens of its text."""
    root_lines: int
    """Total lines of its SKILL.md files."""
    root_tokens: int
    """Total tokens of its SKILL.md files."""
    verdict: GateVerdict | None
    """Worst verdict of its gates; None for the source."""
    feasibility: Literal["ok", "over_read_limit", "over_context"] | None = None
    """Whether an agent can read its flat file in one call (flat layouts only)."""
    pd_worth: PdWorth | None = None
    """none where Progressive Disclosure has nothing to open on demand, small where it has little to gain: a
    root of under 800 tokens, and no file opened on demand of more than 400 (pd only). Scripts are run, so
    they do not count."""
    announced: tuple[str, ...] = ()
    """Files that its pages embed and instruct the agent to create; none is on disk. Paths as in `files`."""
    expected_findings: tuple[str, ...] = ()
    """Rules that a control breaks by design (placebo variants). Their findings are listed in
    gates.jsonl but do not affect the verdict. "gate.*" means every rule of a gate."""


class VariantRound(Record):
    """One text that a model wrote for a variant, and its verdict; a line of rounds.jsonl."""

    variant: str
    """The variant."""
    round: int
    """Its number, from 1."""
    verdict: GateVerdict
    """Worst verdict of its gates."""
    taken: bool
    """Whether it became the variant; the others are in rounds/<variant>/<round>/."""
    tree_digest: str
    """sha256 over paths, execute bits and contents of its files."""
    answers: tuple[str, ...]
    """sha256 of the prompts of this round, in calls.jsonl; the last one gave the text."""
    findings: tuple[Finding, ...] = ()
    """Findings, worst first; those of a rejected round are sent to the model."""
    rubric: dict[str, Literal["yes", "no", "unknown"]] = Field(default_factory=dict)
    """Rubric item -> a model's answer; empty if no model was asked."""


class BuildRecord(Record):
    """Inputs, options and digests of a build, sufficient to verify it."""

    format_version: Literal[2] = 2
    """Version of this record."""
    name: str
    """Slug of the source."""
    skilljuror_version: str
    """Version of the package that built it."""
    code_digest: str | None = None
    """sha256 over the package's code, the libraries that read text and Python."""
    engine: str
    """plan (deterministic), assign or rewrite."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the transforms, and of the model if one took part."""
    transforms: tuple[str, ...] = ()
    """Transforms in order of use: registered names or module:attribute."""
    gates: tuple[str, ...] = ()
    """Additional gates, as module:attribute."""
    tokenizer: str
    """Name and version of the tokenizer used for every token count."""
    source: VariantManifest
    """The source as loaded."""
    variants: tuple[VariantManifest, ...]
    """Every variant built."""
    parts: dict[str, str] = Field(default_factory=dict)
    """sha256 of every other file of the build, so that this record covers all of it."""
    plans: dict[str, Any] = Field(default_factory=dict)
    """variant -> Plan, as JSON."""
    issues: tuple[dict[str, Any], ...] = ()
    """Issues found while the source was read."""
    waivers: tuple[dict[str, str], ...] = ()
    """Always empty: waivers are in reviews.jsonl."""
    assay: dict[str, Any] | None = None
    """Measured power of the gates on this build; None if not measured."""
