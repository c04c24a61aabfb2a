"""Observations of a gate, the findings made of them, and the gate's result."""

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import ClassVar, NamedTuple, Protocol

from skilljuror.audit.gates.policies import policy
from skilljuror.audit.gates.rules import RULES
from skilljuror.base.build import SEVERITIES, Finding, GateResult
from skilljuror.base.skill import Bundle

_SHOWN = 300


class Observation(NamedTuple):
    """A match of a rule in one bundle; the same key in the parent makes it inherited."""

    rule: str  # id of the rule in `RULES`
    key: Hashable  # identity that survives a move to another file
    file: str  # path inside the bundle; "" for the bundle as a whole
    line: int | None = None  # 1-based line
    text: str | None = None
    message: str = ""
    """What is wrong, in one line; the rule's `what` if empty. The finding adds the fix."""


def finding(
    observation: Observation, before: str | None = None, inherited: bool = False
) -> Finding:
    """Return a finding with the severity and message of its rule; long texts are cut."""
    rule = RULES[observation.rule]
    return Finding(
        rule=observation.rule, severity=rule.severity, file=observation.file, line=observation.line,
        source_text=cut_text(before), variant_text=cut_text(observation.text), inherited=inherited,
        message=f"{observation.message or rule.what}; {rule.fix}",
    )  # fmt: skip


def cut_text(text: str | None) -> str | None:
    """Cut a long text, with a digest of all of it, so that every change changes a finding's id."""
    if text is None or len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN - 10]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def differential(parent: Iterable[Observation], variant: Iterable[Observation]) -> list[Finding]:
    """Return the variant's findings; as many of each key as the parent has are inherited."""
    known = Counter((observation.rule, observation.key) for observation in parent)
    findings = []
    for observation in variant:
        inherited = known[observation.rule, observation.key] > 0
        known[observation.rule, observation.key] -= inherited
        findings.append(finding(observation, inherited=inherited))
    return findings


def gate_result(
    gate: str,
    pair: tuple[Bundle, Bundle],
    policy_name: str,
    findings: Iterable[Finding],
    checked: dict[str, int],
) -> GateResult:
    """Return a gate's result: findings worst first, verdict by the named policy."""
    ordered = sorted(findings, key=lambda f: (f.inherited, SEVERITIES.index(f.severity)))
    parent, variant = pair
    return GateResult(
        gate=gate, variant=variant.name, parent=parent.name, policy=policy_name,
        verdict=policy(policy_name).verdict(ordered, sum(checked.values())),
        findings=tuple(ordered), checked=checked,
    )  # fmt: skip


class Gate(Protocol):
    """Compare a variant with its parent; findings already present in the parent are inherited."""

    name: ClassVar[str]

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair. `kind` is the layout that the variant claims (baseline, pd, …); `policy`
        is "strict" (for the plan engine's variants) or "rewritten" (for text by any author)."""
        ...
