"""What gates find."""

import hashlib
from typing import Literal

from pydantic import Field

from skilljuror.models.record import Record

GateVerdict = Literal["pass", "review", "fail"]
FindingSeverity = Literal["high", "medium", "low", "info"]

VERDICTS: tuple[GateVerdict, ...] = ("pass", "review", "fail")
"""From best to worst."""
SEVERITIES: tuple[FindingSeverity, ...] = ("high", "medium", "low", "info")
"""From worst to best."""


class Finding(Record):
    """One thing a gate found; printed by `skilljuror audit --json`."""

    rule: str
    """Stable rule id; `skilljuror explain RULE` tells more."""
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
    """Why it decides nothing and who says so; None for a finding that counts."""

    @property
    def id(self) -> str:
        """What a waiver names: the rule and a digest of the texts, so that it outlives a move."""
        told = "\0".join((self.rule, self.source_text or "", self.variant_text or ""))
        place = "" if self.source_text or self.variant_text else self.file
        return f"{self.rule}:{hashlib.sha256(f'{told}{place}'.encode()).hexdigest()[:12]}"


class GateResult(Record):
    """The answer of one gate on one pair; a line of gates.jsonl."""

    format_version: int = 1
    """Version of this record."""
    gate: str
    """Name in the registry of gates."""
    variant: str
    """Variant that was judged."""
    parent: str
    """What it was judged against."""
    policy: str
    """Named policy: strict or edited."""
    verdict: GateVerdict
    """pass, review (a person must look) or fail."""
    findings: tuple[Finding, ...] = ()
    """Everything found, worst first."""
    checked: dict[str, int] = Field(default_factory=dict)
    """How many things of each kind were compared, so that silence can be weighed."""


class AuditResult(Record):
    """The answer of every gate on one pair."""

    verdict: GateVerdict
    """The worst verdict of the gates."""
    kind: str
    """Layout that the variant claims."""
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
        """The findings that the variant brought in itself."""
        return tuple(finding for finding in self.findings if not finding.inherited)

    @property
    def waived(self) -> tuple[str, ...]:
        """Ids of the findings that were accepted and decide nothing."""
        return tuple(sorted({finding.id for finding in self.findings if finding.waived}))


class AssayRow(Record):
    """What the gates did with the mutants of one kind."""

    mutation: str
    """Name of the mutation."""
    drift: bool
    """Whether it changes what an agent must do; a benign one does not."""
    mutants: int
    """Mutants judged, equivalent ones left out."""
    equivalent: int
    """Mutants that say the same line by line without white space, list markers and emphasis."""
    flagged: int
    """Mutants with a verdict other than pass."""
    failed: int
    """Mutants with the verdict fail."""
    rate: float | None
    """flagged / mutants; None without a mutant."""
    low: float | None
    """Lower end of Wilson's 95 % interval of the rate."""
    high: float | None
    """Upper end of Wilson's 95 % interval of the rate."""
    rules: dict[str, int] = Field(default_factory=dict)
    """rule -> mutants in which it brought a finding of its own."""


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
    """What stood there."""
    after: str
    """What stood there then."""
    verdict: GateVerdict
    """What the gates said."""
    rules: tuple[str, ...] = ()
    """Rules that brought a finding of their own."""


class AssayReport(Record):
    """The measured power of the gates: how much drift they catch, how much else they flag."""

    format_version: int = 1
    """Version of this record."""
    name: str
    """Source whose variants were changed, or how many for a pooled report."""
    policy: str
    """Named policy the verdicts follow; several, with commas, where variants were judged under
    several."""
    seed: int
    """Seed of the choice of sites."""
    sites: int
    """Most sites per mutation and variant."""
    rows: tuple[AssayRow, ...]
    """One row per mutation, drift first."""
    slips: tuple[AssaySlip, ...] = ()
    """The mutants that were judged wrongly."""
