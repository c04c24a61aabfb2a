"""Judge one pair of bundles with every gate."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from skilljuror.gates import GATES
from skilljuror.gates.base import Gate
from skilljuror.gates.policies import policy as load_policy
from skilljuror.gates.policies import worst
from skilljuror.knowledge.comparison.unit_map import knowledge_map
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import AuditResult, Finding, GateResult
from skilljuror.models.knowledge import CONTENT_KINDS
from skilljuror.registry import resolve

DECLARED = "declared: the control is made to break this rule"
"""Why a finding of a control decides nothing."""


class Move(NamedTuple):
    """Part of a parent that its variant says in another file."""

    source: str
    """File of the parent."""
    section: str
    """Its last headings; "" above all headings."""
    target: str
    """File of the variant."""
    units: int
    """How many knowledge units went there."""


def audit(
    parent: Bundle,
    variant: Bundle,
    kind: str,
    policy: str = "strict",
    waivers: Mapping[str, str] | None = None,
    gates: Sequence[str] = (),
) -> AuditResult:
    """Judge `variant` against `parent` with every gate of the registry, and with further `gates`.

    `kind` is the layout that the variant claims: origin, origin-flat, baseline or pd; any other
    promises nothing. What the parent already had is inherited and decides nothing. `waivers` maps
    ids of accepted findings to the reason; they too decide nothing. Raises UsageError for an
    unknown policy.
    """
    load_policy(policy)
    results = [gate.check(parent, variant, kind, policy) for gate in load_gates(gates)]
    if waivers:
        results = [waive(result, lambda found: waivers.get(found.id)) for result in results]
    return AuditResult(
        verdict=worst(result.verdict for result in results),
        kind=kind,
        policy=policy,
        results=tuple(results),
    )


def waive(result: GateResult, reason_of: Callable[[Finding], str | None]) -> GateResult:
    """The same answer with a reason on each finding that `reason_of` gives one; those decide nothing.

    The one way in which a finding is taken out of a verdict: by a person's waiver, by what a control
    is declared to break, by an assay for what stood there before it planted anything.
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
    """Every gate of the registry and those of `further` names. Raises UsageError for an unknown one."""
    return [resolve(GATES, name, "gate", Gate)() for name in dict.fromkeys([*GATES, *further])]


def reasons(judged: AuditResult) -> tuple[str, ...]:
    """Which broken rules made the verdict what it is; () for a pass."""
    found: list[str] = []
    for result in judged.results:
        if result.verdict == judged.verdict:
            compared = sum(result.checked.values())
            found += load_policy(result.policy).reasons(result.findings, compared)
    return tuple(dict.fromkeys(found))


def moves(parent: Bundle, variant: Bundle) -> tuple[Move, ...]:
    """The sections of the parent that stand in another file of the variant, in reading order."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in knowledge_map(parent, {"variant": variant}):
        place = row.places.get("variant")
        if place is not None and place.file != row.unit.file and row.unit.kind in CONTENT_KINDS:
            section = " › ".join(row.unit.headings[-2:])
            counted[row.unit.file, section, place.file] += 1
    return tuple(Move(*key, units) for key, units in counted.items())


def waive_declared(judged: AuditResult, rules: Collection[str]) -> AuditResult:
    """The same answer, with findings of the rules that a control is declared to break waived; a rule
    "gate.*" stands for all of a gate."""

    def declared(found: Finding) -> str | None:
        return DECLARED if is_declared(found.rule, rules) else None

    results = tuple(waive(result, declared) for result in judged.results)
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
    return _judged_again(result, findings)
