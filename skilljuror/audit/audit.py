"""Judge a variant against its parent with every gate."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from skilljuror.audit.edited import judge_edit
from skilljuror.audit.gates import GATES
from skilljuror.audit.gates.findings import Gate, gate_result
from skilljuror.audit.gates.knowledge import KnowledgeGate, proved_texts
from skilljuror.audit.gates.policies import policy as load_policy
from skilljuror.audit.gates.policies import worst
from skilljuror.audit.gates.style import StyleGate
from skilljuror.base.build import SEVERITIES, AuditResult, Finding, GateResult
from skilljuror.base.errors import resolve
from skilljuror.base.skill import Bundle

DECLARED = "declared: the control breaks this rule on purpose"
EDITED, STRICT = "edited", "strict"
"""Policies for a change of a Skill by its author, and for the plan engine's variants."""


def audit(
    parent: Bundle,
    variant: Bundle,
    kind: str,
    policy: str = "strict",
    waivers: Mapping[str, str] | None = None,
    gates: Sequence[str] = (),
) -> AuditResult:
    """Judge `variant` against `parent` with the registered gates and with `gates`; as `audit_edit` under `EDITED`.

    `kind` is the claimed layout: origin, origin-flat, baseline or pd; any other has no layout rules.
    Findings already present in the parent are ignored, and so are those in `waivers` (id -> reason).
    Raises UsageError for an unknown policy.
    """
    load_policy(policy)
    if policy == EDITED:
        return audit_edit(parent, variant, kind, gates)
    results = [gate.check(parent, variant, kind, policy) for gate in load_gates(gates)]
    if waivers:
        results = [waive(result, lambda found: waivers.get(found.id)) for result in results]
    return _result(kind, policy, results)


def audit_proved(
    parent: Bundle, variant: Bundle, kind: str, gates: Sequence[str] = ()
) -> AuditResult:
    """As `audit` under `strict`, for a variant from which its parent was rebuilt: its texts are not compared again, and
    it has no new text to read."""
    results = []
    for gate in load_gates(gates):
        if gate.name == KnowledgeGate.name:
            results.append(proved_texts(parent, variant))
        elif gate.name == StyleGate.name:
            results.append(gate_result(gate.name, (parent, variant), STRICT, [], {"new text": 0}))
        else:
            results.append(gate.check(parent, variant, kind, STRICT))
    return _result(kind, STRICT, results)


def _result(kind: str, policy: str, results: Sequence[GateResult]) -> AuditResult:
    verdict = worst(result.verdict for result in results)
    return AuditResult(verdict=verdict, kind=kind, policy=policy, results=tuple(results))


def audit_edit(
    parent: Bundle, variant: Bundle, kind: str = "", gates: Sequence[str] = (),
    elsewhere: Sequence[Bundle] = (),
) -> AuditResult:  # fmt: skip
    """Judge a change of a Skill by its author: what a maintainer wants to be told, and no gate but `gates`.

    Text that `elsewhere` has, such as other Skills of the same change, is not lost.
    """
    edits, findings = judge_edit(parent, variant, elsewhere)
    checked = dict[str, int](Counter(edit.kind for edit in edits.edits))
    results = [gate_result("edit", (parent, variant), EDITED, findings, checked)]
    for name in gates:
        results.append(resolve(GATES, name, "gate", Gate)().check(parent, variant, kind, EDITED))
    return _result(kind, EDITED, results)


def waive(result: GateResult, reason_of: Callable[[Finding], str | None]) -> GateResult:
    """Waive each finding for which `reason_of` returns a reason, and judge again.

    Used for waivers, decisions, declared findings of controls, and findings that precede an assay.
    """
    findings = tuple(
        found.model_copy(update={"waived": found.waived or reason_of(found)})
        for found in result.findings
    )
    if findings == result.findings:
        return result
    return _judged_again(result, findings)


def _judged_again(result: GateResult, findings: tuple[Finding, ...]) -> GateResult:
    verdict = load_policy(result.policy).verdict(findings, sum(result.checked.values()))
    return result.model_copy(update={"findings": findings, "verdict": verdict})


def load_gates(further: Sequence[str] = ()) -> list[Gate]:
    """Load the registered gates and `further` ones. Raises UsageError for an unknown gate."""
    return [resolve(GATES, name, "gate", Gate)() for name in dict.fromkeys([*GATES, *further])]


def reasons(judged: AuditResult) -> tuple[str, ...]:
    """Return the broken rules behind the verdict; () for a pass."""
    found: list[str] = []
    for result in judged.results:
        if result.verdict == judged.verdict:
            compared = sum(result.checked.values())
            found += load_policy(result.policy).reasons(result.findings, compared)
    return tuple(dict.fromkeys(found))


def waive_findings(judged: AuditResult, reason_of: Callable[[Finding], str | None]) -> AuditResult:
    """Waive each finding for which `reason_of` returns a reason, in the results of all gates."""
    return _with_results(judged, (waive(result, reason_of) for result in judged.results))


def waive_declared(judged: AuditResult, rules: Collection[str]) -> AuditResult:
    """Waive findings of a control's expected rules; "gate.*" matches all rules of a gate."""

    def declared(found: Finding) -> str | None:
        return DECLARED if is_declared(found.rule, rules) else None

    return waive_findings(judged, declared)


def _with_results(judged: AuditResult, results: Iterable[GateResult]) -> AuditResult:
    results = tuple(results)
    verdict = worst(result.verdict for result in results)
    return judged.model_copy(update={"results": results, "verdict": verdict})


def is_declared(rule: str, rules: Collection[str]) -> bool:
    """Whether `rules` name a rule or its whole gate."""
    return rule in rules or f"{rule.partition('.')[0]}.*" in rules


def inherit_from_source(judged: AuditResult, against_source: AuditResult) -> AuditResult:
    """Mark findings that the source has as inherited too: a flat parent can fix a broken anchor of the
    source by chance, and its `pd` breaks it again."""
    known = {_key(found) for found in against_source.findings if found.inherited}
    return _with_results(judged, (_inherited(result, known) for result in judged.results))


def with_findings_of(judged: AuditResult, against_source: AuditResult) -> AuditResult:
    """Add findings against the source: rewritten text may repeat a drift of its parent, which a
    comparison with the parent cannot show."""
    of_gate = {result.gate: result.findings for result in against_source.results}
    joined = (_joined(result, of_gate.get(result.gate, ())) for result in judged.results)
    return _with_results(judged, joined)


def _joined(result: GateResult, against_source: Sequence[Finding]) -> GateResult:
    known = {_key(one) for one in result.findings} | {one.id for one in result.findings}
    more = [
        one.model_copy(update={"message": f"{one.message} (compared with the source)"})
        for one in against_source
        if not one.inherited and not known & {_key(one), one.id}
    ]
    if not more:
        return result
    findings = sorted((*result.findings, *more), key=lambda one: SEVERITIES.index(one.severity))
    return _judged_again(result, tuple(findings))


_FindingKey = tuple[str, str, int | None, str | None]  # (rule, file, line, text in the variant)


def _key(found: Finding) -> _FindingKey:
    return found.rule, found.file, found.line, found.variant_text


def _inherited(result: GateResult, known: Collection[_FindingKey]) -> GateResult:
    findings = tuple(
        found.model_copy(update={"inherited": found.inherited or _key(found) in known})
        for found in result.findings
    )
    return _judged_again(result, findings)
