"""Judge one pair of bundles with every gate."""

from collections.abc import Collection, Sequence

from skilljuror.gates import GATES
from skilljuror.gates.base import Gate
from skilljuror.gates.policies import policy as load_policy
from skilljuror.gates.policies import worst
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import AuditResult, Finding, GateResult
from skilljuror.registry import resolve


def audit(
    parent: Bundle,
    variant: Bundle,
    kind: str,
    policy: str = "strict",
    waivers: Collection[str] = (),
    gates: Sequence[str] = (),
) -> AuditResult:
    """Judge `variant` against `parent` with every gate of the registry, and with further `gates`.

    `kind` is the layout that the variant claims: origin, origin-flat, baseline or pd; any other
    promises nothing. What the parent already had is inherited and decides nothing. `waivers` are
    ids of findings that a person accepted; they too decide nothing. Raises UsageError for an
    unknown policy.
    """
    load_policy(policy)
    results = [
        _waive(gate.check(parent, variant, kind, policy), waivers) for gate in load_gates(gates)
    ]
    findings = [finding for result in results for finding in result.findings]
    return AuditResult(
        verdict=worst(result.verdict for result in results),
        kind=kind,
        policy=policy,
        results=tuple(results),
        waived=tuple(sorted({finding.id for finding in findings if finding.id in waivers})),
    )


def load_gates(further: Sequence[str] = ()) -> list[Gate]:
    """Every gate of the registry and those of `further` names. Raises UsageError for an unknown one."""
    return [resolve(GATES, name, "gate", Gate)() for name in dict.fromkeys([*GATES, *further])]


def waive_declared(judged: AuditResult, rules: Collection[str]) -> AuditResult:
    """The same answer, with findings of the rules that a control is declared to break waived; a rule
    "gate.*" stands for all of a gate."""
    results = tuple(
        _waive(result, {found.id for found in result.findings if is_declared(found.rule, rules)})
        for result in judged.results
    )
    verdict = worst(result.verdict for result in results)
    return judged.model_copy(update={"results": results, "verdict": verdict})


def is_declared(rule: str, rules: Collection[str]) -> bool:
    """Whether a rule is among those declared."""
    return rule in rules or f"{rule.partition('.')[0]}.*" in rules


def inherit_from_source(judged: AuditResult, against_source: AuditResult) -> AuditResult:
    """The same answer, with what the source already had inherited too: a flat parent can mend a
    source's broken anchor by chance, and a layout made of it breaks it again."""
    known = {_key(found) for found in against_source.findings if found.inherited}
    results = tuple(_inherited(result, known) for result in judged.results)
    verdict = worst(result.verdict for result in results)
    return judged.model_copy(update={"results": results, "verdict": verdict})


_FindingKey = tuple[str, str, int | None, str | None]
"""(rule, file, line, text in the variant)."""


def _key(found: Finding) -> _FindingKey:
    return found.rule, found.file, found.line, found.variant_text


def _inherited(result: GateResult, known: Collection[_FindingKey]) -> GateResult:
    findings = tuple(
        found.model_copy(update={"inherited": found.inherited or _key(found) in known})
        for found in result.findings
    )
    verdict = load_policy(result.policy).verdict(findings, sum(result.checked.values()))
    return result.model_copy(update={"findings": findings, "verdict": verdict})


def _waive(result: GateResult, waivers: Collection[str]) -> GateResult:
    if not waivers:
        return result
    kept: list[Finding] = [found for found in result.findings if found.id not in waivers]
    verdict = load_policy(result.policy).verdict(kept, sum(result.checked.values()))
    return result.model_copy(update={"verdict": verdict})
