"""The variant says what its parent says and nothing else, in any layout."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from skilljuror.gates.findings import Observation, finding, gate_result
from skilljuror.knowledge.comparison.diff import diff
from skilljuror.knowledge.units.extract import units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import Finding, GateResult
from skilljuror.models.knowledge import CONTENT_KINDS, Unit, UnitDiff, UnitPair
from skilljuror.models.resource_class import is_root_name

_FILE_CHANGES = {
    "content": "knowledge.file-changed",
    "renamed": "knowledge.file-renamed",
    "executable": "knowledge.file-mode",
}
_ALWAYS_CRITICAL = frozenset({"code", "row", "field"})
_LOST_SHARE = 0.5
_LOUD = ("critical", "warning", "caution", "important", "valid", "required", "must")


class KnowledgeGate:
    """Compare knowledge units; every loss and every gain is a finding."""

    name: ClassVar[str] = "knowledge"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        comparison = diff(parent, variant)
        findings = [
            *_altered(comparison.altered),
            *_lost_files(comparison, parent),
            *_missing(comparison.missing),
            *_added(comparison.added),
            *(
                finding(Observation("knowledge.lead", None, unit.file, unit.start, unit.text))
                for unit in comparison.routing
            ),
            *(_pair("knowledge.moved", pair, _moved_message(pair)) for pair in comparison.moved),
            *(_pair("knowledge.reworded", pair) for pair in comparison.reworded),
        ]
        checked = {
            k: n for k, n in comparison.compared.items() if k in CONTENT_KINDS or k == "file"
        }
        return gate_result(self.name, (parent, variant), policy, findings, checked)


def _altered(pairs: Sequence[UnitPair]) -> Iterator[Finding]:
    for pair in sorted(pairs, key=lambda pair: (-_weight(pair.before), pair.before.file)):
        rule = _FILE_CHANGES.get(pair.change or "", f"knowledge.{pair.change}")
        yield _pair(rule, pair)


def _pair(rule: str, pair: UnitPair, message: str = "") -> Finding:
    after = pair.after
    return finding(
        Observation(rule, None, after.file, after.start, _shown_text(after), message),
        _shown_text(pair.before),
    )


def _shown_text(unit: Unit) -> str:
    return unit.text.rpartition(" ")[0] if unit.kind == "file" else unit.text


def _moved_message(pair: UnitPair) -> str:
    old_heading, new_heading = ("".join(one.headings[-1:]) for one in (pair.before, pair.after))
    if old_heading == new_heading and pair.before.lead != pair.after.lead:
        return f"text moved from below {pair.before.lead!r} to below {pair.after.lead!r}"
    home = f"below {old_heading!r}" if old_heading else "above all headings"
    return f"text moved from {home} to below {new_heading!r}"


def _weight(unit: Unit) -> int:
    """Risk: doubled in a root, below a heading that warns, and inside code. (transforms §5.2)"""
    loud = any(word in unit.headings[-1].lower() for word in _LOUD) if unit.headings else False
    return 1 << (is_root_name(unit.file) + loud + (unit.kind == "code"))


def _critical(unit: Unit) -> bool:
    return unit.kind in _ALWAYS_CRITICAL or bool(unit.criticals)


def _missing(units: Iterable[Unit]) -> Iterator[Finding]:
    for unit in sorted(units, key=lambda unit: -_weight(unit)):
        if unit.kind == "file":
            yield finding(Observation("knowledge.file-lost", None, unit.file), _shown_text(unit))
        else:
            rule = "knowledge.critical-missing" if _critical(unit) else "knowledge.missing"
            yield finding(Observation(rule, None, unit.file, unit.start), unit.text)


def _added(units: Iterable[Unit]) -> Iterator[Finding]:
    for unit in sorted(units, key=lambda unit: -_weight(unit)):
        yield finding(
            Observation(_added_rule(unit), None, unit.file, unit.start, _shown_text(unit))
        )


def _added_rule(unit: Unit) -> str:
    if unit.kind == "file":
        return "knowledge.file-added"
    if unit.generated is not None:
        return "knowledge.routing"
    return "knowledge.critical-added" if _critical(unit) else "knowledge.added"


def _lost_files(comparison: UnitDiff, parent: Bundle) -> Iterator[Finding]:
    missing: dict[str, int] = Counter(u.file for u in comparison.missing if u.kind != "file")
    if not missing:
        return
    sizes: dict[str, int] = defaultdict(int)
    for unit in units_of(parent):
        sizes[unit.file] += unit.kind in CONTENT_KINDS
    for path, count in sorted(missing.items()):
        if count > _LOST_SHARE * sizes[path]:
            message = f"{count} of the {sizes[path]} units of {path!r} are missing"
            yield finding(Observation("knowledge.file-lost", None, path, message=message), path)
