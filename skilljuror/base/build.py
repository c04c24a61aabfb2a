"""Records of builds: findings and results of gates, audits, variants and what they were made from."""

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# The base of every stored record with a contract.


class Record(BaseModel):
    """Frozen, closed to unknown keys; the string under a field gives its meaning and unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


GateVerdict = Literal["pass", "review", "fail"]
FindingSeverity = Literal["high", "medium", "low", "info"]

LEAK_RULE = "leak.skill"
"""Rule of a finding about a task: its Skill has text of its solution or verifier."""
VERDICTS: tuple[GateVerdict, ...] = ("pass", "review", "fail")
"""From best to worst."""
SEVERITIES: tuple[FindingSeverity, ...] = ("high", "medium", "low", "info")
"""From worst to best."""


class Finding(Record):
    """One thing a gate found; printed by `skilljuror audit --json`.

    The columns of `findings` say what its fields mean."""

    rule: str
    severity: FindingSeverity
    file: str
    line: int | None = None
    source_text: str | None = None
    variant_text: str | None = None
    inherited: bool = False
    message: str = ""
    waived: str | None = None

    @property
    def id(self) -> str:
        """Id that waivers use: the rule and a digest of the texts, so that it survives a move."""
        key = "\0".join((self.rule, self.source_text or "", self.variant_text or ""))
        place = "" if self.source_text or self.variant_text else self.file
        return f"{self.rule}:{hashlib.sha256(f'{key}{place}'.encode()).hexdigest()[:12]}"


class GateResult(Record):
    """The answer of one gate on one pair; a line of gates.jsonl.

    The columns of `gate_results` say what its fields mean."""

    format_version: Literal[1] = 1
    gate: str
    variant: str
    parent: str
    policy: str
    verdict: GateVerdict
    findings: tuple[Finding, ...] = ()
    checked: dict[str, int] = Field(default_factory=dict)


class AuditResult(Record):
    """The answer of every gate on one pair."""

    verdict: GateVerdict
    kind: str
    """Declared layout of the variant."""
    policy: str
    results: tuple[GateResult, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all gates, worst first within each gate."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def own(self) -> tuple[Finding, ...]:
        """Findings that the variant introduced."""
        return tuple(finding for finding in self.findings if not finding.inherited)

    @property
    def waived(self) -> tuple[str, ...]:
        """Ids of waived findings."""
        return tuple(sorted({finding.id for finding in self.findings if finding.waived}))


class AssayRow(Record):
    """Verdicts on the mutants of one kind."""

    mutation: str
    drift: bool
    """Whether it changes what an agent must do, unlike a benign mutation."""
    mutants: int
    equivalent: int
    """Mutants equal to the original apart from white space, list markers and emphasis."""
    flagged: int
    failed: int
    rate: float | None
    """flagged / mutants; None without a mutant."""
    low: float | None
    """Lower end of Wilson's 95 % interval of the rate, as if all changes were independent."""
    high: float | None
    """Upper end of Wilson's 95 % interval of the rate."""
    rules: dict[str, int] = Field(default_factory=dict)
    """rule -> mutants in which it raised a new finding."""


class AssaySlip(Record):
    """A mutant that the gates judged wrongly: drift that passed, or a benign change that did not."""

    mutation: str
    variant: str
    file: str
    """File that was changed; "" for all."""
    line: int
    """1-based line; 0 for a whole file."""
    before: str
    after: str
    verdict: GateVerdict
    rules: tuple[str, ...] = ()


class AssayReport(Record):
    """Measured power of the gates: how much drift they catch, and how many benign changes they flag."""

    format_version: Literal[1] = 1
    name: str
    """Source whose variants were changed, or how many for a pooled report."""
    policy: str
    """Named policy the verdicts follow; comma-separated if there are several."""
    seed: int
    sites: int
    """Maximum sites per mutation and variant."""
    rows: tuple[AssayRow, ...]
    slips: tuple[AssaySlip, ...] = ()


# The sections of a Skill that an audit is about.


# The audit record of one build: build.json.


PdWorth = Literal["none", "small"]


class FileDigest(Record):
    """One file of a bundle.

    The columns of `variant_files` say what its fields mean."""

    path: str
    sha256: str
    size: int
    resource_class: Literal["root", "support", "code", "data"]
    executable: bool = False
    lines: int | None = None
    tokens: int | None = None


class VariantManifest(Record):
    """One variant of a build: a bundle that carries the knowledge of the source in one layout.

    The columns of `variants` say what its fields mean."""

    variant: str
    parent: str | None
    tree_digest: str
    skills: tuple[str, ...]
    files: tuple[FileDigest, ...]
    tokens: int
    root_lines: int
    root_tokens: int
    verdict: GateVerdict | None
    feasibility: Literal["ok", "over_read_limit", "over_context"] | None = None
    pd_worth: PdWorth | None = None
    announced: tuple[str, ...] = ()
    expected_findings: tuple[str, ...] = ()
    same_as: str | None = None
    """An earlier variant of the build with the same files."""


class VariantRound(Record):
    """One text that a model wrote for a variant, and its verdict; a line of rounds.jsonl."""

    variant: str
    round: int
    verdict: GateVerdict
    taken: bool
    """Whether it became the variant; the others are in rounds/<variant>/<round>/."""
    tree_digest: str
    answers: tuple[str, ...]
    """sha256 of the prompts of this round, in calls.jsonl; the last one gave the text."""
    findings: tuple[Finding, ...] = ()
    """Findings, worst first; those of a rejected round are sent to the model."""
    rubric: dict[str, Literal["yes", "no", "unknown"]] = Field(default_factory=dict)
    """Rubric item -> a model's answer; empty if no model was asked."""


class BuildRecord(Record):
    """Inputs, options and digests of a build, sufficient to verify it.

    The columns of `builds` say what its fields mean."""

    format_version: Literal[2] = 2
    name: str
    skilljuror_version: str
    code_digest: str | None = None
    """sha256 over the package's code, the libraries that read text and Python."""
    engine: str
    options: dict[str, Any] = Field(default_factory=dict)
    transforms: tuple[str, ...] = ()
    """Transforms in order of use: registered names or module:attribute."""
    gates: tuple[str, ...] = ()
    """Additional gates, as module:attribute."""
    tokenizer: str
    source: VariantManifest
    variants: tuple[VariantManifest, ...]
    not_built: dict[str, str] = Field(default_factory=dict)
    """Variant -> why the build has none."""
    parts: dict[str, str] = Field(default_factory=dict)
    """sha256 of every other file of the build, so that this record covers all of it."""
    plans: dict[str, Any] = Field(default_factory=dict)
    issues: tuple[dict[str, Any], ...] = ()
    waivers: tuple[dict[str, str], ...] = ()
    """Always empty: waivers are in reviews.jsonl."""
    assay: dict[str, Any] | None = None
