"""How gates tell what they found: one way to make findings, to inherit them and to answer."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from skilljuror.gates.policies import policy
from skilljuror.gates.rules import RULES
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import SEVERITIES, Finding, GateResult

_SHOWN = 300


class Observation(NamedTuple):
    """Something a rule sees in one bundle; the same key in the parent makes it inherited."""

    rule: str
    key: Hashable
    """What stays the same when the thing moves to another file."""
    file: str
    line: int | None = None
    text: str | None = None
    """What stands in the variant."""
    message: str = ""
    """One line for a person; the rule's own words when empty."""


def finding(fact: Observation, before: str | None = None, inherited: bool = False) -> Finding:
    """A finding with the severity and words of its rule; long texts are cut."""
    rule = RULES[fact.rule]
    return Finding(
        rule=fact.rule, severity=rule.severity, file=fact.file, line=fact.line,
        source_text=_cut(before), variant_text=_cut(fact.text), inherited=inherited,
        message=fact.message or rule.what,
    )  # fmt: skip


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def differential(parent: Iterable[Observation], variant: Iterable[Observation]) -> list[Finding]:
    """The facts of the variant; as many of a key as the parent has are inherited."""
    known = Counter((fact.rule, fact.key) for fact in parent)
    found = []
    for fact in variant:
        inherited = known[fact.rule, fact.key] > 0
        known[fact.rule, fact.key] -= inherited
        found.append(finding(fact, inherited=inherited))
    return found


def gate_result(
    gate: str,
    pair: tuple[Bundle, Bundle],
    policy_name: str,
    findings: Iterable[Finding],
    checked: dict[str, int],
) -> GateResult:
    """The result of a gate: findings worst first, verdict by the named policy."""
    ordered = sorted(findings, key=lambda f: (f.inherited, SEVERITIES.index(f.severity)))
    parent, variant = pair
    return GateResult(
        gate=gate, variant=variant.name, parent=parent.name, policy=policy_name,
        verdict=policy(policy_name).verdict(ordered, sum(checked.values())),
        findings=tuple(ordered), checked=checked,
    )  # fmt: skip
