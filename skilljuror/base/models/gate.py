"""Findings and results of gates."""

import hashlib
from typing import Literal

from pydantic import Field

from skilljuror.base.models.record import Record

GateVerdict = Literal["pass", "review", "fail"]
FindingSeverity = Literal["high", "medium", "low", "info"]

LEAK_RULE = "leak.skill"
"""Rule of a finding about a task: its Skill has text of its solution or verifier."""
VERDICTS: tuple[GateVerdict, ...] = ("pass", "review", "fail")
"""From best to worst."""
SEVERITIES: tuple[FindingSeverity, ...] = ("high", "medium", "low", "info")
"""From worst to best."""


class Finding(Record):
    """One thing a gate found; printed by `skilljuror audit --json`."""

    rule: str
    """Stable rule id; see `skilljuror audit --rules RULE`."""
    severity: FindingSeverity
    """Risk: high decides the verdict, info never does."""
    file: str
    """Path inside the variant, or inside the source for something missing."""
    line: int | None = None
    """1-based line in `file`."""
    source_text: str | None = None
    """The text in the source; None for something added."""
    variant_text: str | None = None
    """The text in the variant; None for something missing."""
    inherited: bool = False
    """True when the source already had it; inherited findings never decide a verdict."""
    message: str = ""
    """One line for a person."""
    waived: str | None = None
    """Why it is ignored and by whom; None for a finding that counts."""

    @property
    def id(self) -> str:
        """Id that waivers use: the rule and a digest of the texts, so that it survives a move."""
        key = "\0".join((self.rule, self.source_text or "", self.variant_text or ""))
        place = "" if self.source_text or self.variant_text else self.file
        return f"{self.rule}:{hashlib.sha256(f'{key}{place}'.encode()).hexdigest()[:12]}"


class GateResult(Record):
    """The answer of one gate on one pair; a line of gates.jsonl."""

    format_version: Literal[1] = 1
    """Version of this record."""
    gate: str
    """Name in the registry of gates."""
    variant: str
    """Variant that was judged."""
    parent: str
    """Variant or source that it was compared with."""
    policy: str
    """Named policy: strict or edited."""
    verdict: GateVerdict
    """pass, review (a person must look) or fail."""
    findings: tuple[Finding, ...] = ()
    """Everything found, worst first."""
    checked: dict[str, int] = Field(default_factory=dict)
    """Number of things compared, by kind."""


class AuditResult(Record):
    """The answer of every gate on one pair."""

    verdict: GateVerdict
    """The worst verdict of the gates."""
    kind: str
    """Declared layout of the variant."""
    policy: str
    """Named policy the verdicts follow."""
    results: tuple[GateResult, ...]
    """One answer per gate, in the order of the registry."""

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
    """Name of the mutation."""
    drift: bool
    """Whether it changes what an agent must do, unlike a benign mutation."""
    mutants: int
    """Mutants judged, without equivalent ones."""
    equivalent: int
    """Mutants equal to the original apart from white space, list markers and emphasis."""
    flagged: int
    """Mutants with a verdict other than pass."""
    failed: int
    """Mutants with the verdict fail."""
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
    """Name of the mutation."""
    variant: str
    """Variant that was changed."""
    file: str
    """File that was changed; "" for all."""
    line: int
    """1-based line; 0 for a whole file."""
    before: str
    """Original text."""
    after: str
    """Changed text."""
    verdict: GateVerdict
    """Verdict of the gates."""
    rules: tuple[str, ...] = ()
    """Rules that raised a new finding."""


class AssayReport(Record):
    """Measured power of the gates: how much drift they catch, and how many benign changes they flag."""

    format_version: Literal[1] = 1
    """Version of this record."""
    name: str
    """Source whose variants were changed, or how many for a pooled report."""
    policy: str
    """Named policy the verdicts follow; comma-separated if there are several."""
    seed: int
    """Seed for choosing sites."""
    sites: int
    """Maximum sites per mutation and variant."""
    rows: tuple[AssayRow, ...]
    """One row per mutation, drift first."""
    slips: tuple[AssaySlip, ...] = ()
    """Misjudged mutants."""
