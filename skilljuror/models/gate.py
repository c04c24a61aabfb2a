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
    """Named policy: strict or llm."""
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
    waived: tuple[str, ...] = ()
    """Ids of findings that a waiver took out of the verdict."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all gates, worst first within each gate."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def own(self) -> tuple[Finding, ...]:
        """The findings that the variant brought in itself."""
        return tuple(finding for finding in self.findings if not finding.inherited)
