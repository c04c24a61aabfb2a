"""What gates find."""

from typing import Literal

from pydantic import Field

from skilljuror.models.record import Record

GateVerdict = Literal["pass", "review", "fail"]
FindingSeverity = Literal["high", "medium", "low", "info"]


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
