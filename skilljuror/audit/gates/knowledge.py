"""The variant says what its parent says and nothing else, in any layout."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from skilljuror.audit.comparison.diff import diff
from skilljuror.audit.comparison.lead_lines import weight
from skilljuror.audit.comparison.remarks import is_remark
from skilljuror.audit.comparison.same_words import plain_words
from skilljuror.audit.comparison.shell_syntax import is_syntax
from skilljuror.audit.comparison.unit_matching import field_key
from skilljuror.audit.gates.findings import Observation, cut_text, finding, gate_result
from skilljuror.audit.gates.loader import lost_loader_text
from skilljuror.base.build import Finding, GateResult
from skilljuror.base.skill import (
    CONTENT_KINDS,
    Bundle,
    Unit,
    UnitDiff,
    UnitPair,
    is_licence,
    is_root_name,
)
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.units import units_of

_FILE_CHANGES = {
    "content": "knowledge.file-changed",
    "renamed": "knowledge.file-renamed",
    "executable": "knowledge.file-mode",
}
_ALWAYS_CRITICAL = frozenset({"code", "row", "field"})
_INFORMING = frozenset({
    "author", "authors", "category", "date", "homepage", "keywords", "last-updated", "license",
    "licence", "metadata", "repository", "tags", "updated", "version",
})  # fmt: skip
"""Keys of a frontmatter that say nothing to an agent; any other decides whether or how it opens the skill."""
_DUTIES = frozenset({
    "must", "shall", "should", "always", "never", "do not", "must not", "should not", "shall not",
    "may not", "need to", "needs to", "have to", "has to", "mandatory", "forbidden", "prohibited",
    "avoid", "ensure", "verify", "validate",
})  # fmt: skip
"""Words of a text that obliges or forbids."""
_CODE = re.compile(r"`[^`]*`")
_REWRITTEN = 0.5  # share of a duty's words in one new sentence from which it is rewritten, not lost
_DIFF_CHARS = 4_000  # longest shown part of a script's diff
_LOST_SHARE = 0.5
_LOUD = ("critical", "warning", "caution", "important", "valid", "required", "must")


class KnowledgeGate:
    """Compare knowledge units; every loss and every gain is a finding."""

    name: ClassVar[str] = "knowledge"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        comparison = diff(parent, variant)
        lost = comparison.missing
        if policy == "strict":  # the plan engine keeps every copy of a text
            lost = (*lost, *comparison.kept)
        findings = [
            *_altered(comparison.altered),
            *_lost_files(comparison, parent),
            *_missing(lost, _new_text(comparison)),
            *(
                finding(*lost)
                for lost in lost_loader_text(parent, variant, every=policy == "strict")
            ),
            *_lines("knowledge.copy-lost", comparison.copies, lost=True),
            *_added(comparison.added),
            *_lines("knowledge.repeated", comparison.repeated),
            *_lines("knowledge.lead", comparison.routing),
            *(_pair("knowledge.moved", pair, _moved_message(pair)) for pair in comparison.moved),
            *(_pair("knowledge.reworded", pair) for pair in comparison.reworded),
        ]
        checked = {
            k: n for k, n in comparison.compared.items() if k in CONTENT_KINDS or k == "file"
        }
        return gate_result(self.name, (parent, variant), policy, findings, checked)


def _lines(rule: str, units: Iterable[Unit], *, lost: bool = False) -> Iterator[Finding]:
    for unit in units:
        text = None if lost else unit.text
        yield finding(
            Observation(rule, None, unit.file, unit.start, text), unit.text if lost else None
        )


def _new_text(comparison: UnitDiff) -> list[frozenset[str]]:
    """The words of each sentence that the parent does not have."""
    new = (*comparison.added, *comparison.routing)
    changed = (*comparison.altered, *comparison.reworded)
    units = (*new, *(pair.after for pair in changed if pair.change not in _FILE_CHANGES))
    return [frozenset(plain_words(unit.text)) for unit in units]


def _altered(pairs: Sequence[UnitPair]) -> Iterator[Finding]:
    for pair in sorted(pairs, key=lambda pair: (-_weight(pair.before), pair.before.file)):
        if pair.change == "content":
            yield _changed_file(pair)
        elif pair.change == "field" and field_key(pair.before) in _INFORMING:
            yield _pair("knowledge.metadata", pair)
        else:
            yield _pair(_FILE_CHANGES.get(pair.change or "", f"knowledge.{pair.change}"), pair)


def _changed_file(pair: UnitPair) -> Finding:
    licence = is_licence(_shown_text(pair.after))
    found = _pair("knowledge.licence" if licence else "knowledge.file-changed", pair)
    if pair.lines:
        texts = ("\n".join(x[1:] for x in pair.lines if x[:1] == sign) for sign in "-+")
    else:  # no text: its digests
        texts = (unit.text.rpartition(" ")[2] for unit in (pair.before, pair.after))
    removed, added = (cut_text(text, _DIFF_CHARS) or None for text in texts)
    return found.model_copy(update={"source_text": removed, "variant_text": added})


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
    if unit.kind == "code" and is_syntax(unit.text):
        return False
    return unit.kind in _ALWAYS_CRITICAL or bool(unit.criticals and weight(unit.text))


def is_duty(unit: Unit) -> bool:
    """Whether a text obliges or forbids."""
    if unit.kind not in {"item", "row", "statement"}:
        return False
    tokens = critical_tokens(_CODE.sub("", unit.text)) if "`" in unit.text else unit.criticals
    return not _DUTIES.isdisjoint(token.removeprefix("mod:").lower() for token in tokens)


def _missing_rule(unit: Unit, new_text: Sequence[frozenset[str]]) -> str:
    if unit.kind == "field" and field_key(unit) in _INFORMING:
        return "knowledge.metadata"
    if is_duty(unit):
        words = set(plain_words(unit.text))
        rewritten = any(len(words & text) >= _REWRITTEN * len(words) for text in new_text)
        return "knowledge.critical-missing" if rewritten else "knowledge.duty-lost"
    return "knowledge.critical-missing" if _critical(unit) else "knowledge.missing"


def _missing(units: Iterable[Unit], new_text: Sequence[frozenset[str]]) -> Iterator[Finding]:
    for unit in sorted(units, key=lambda unit: -_weight(unit)):
        if unit.kind == "file":
            yield finding(Observation("knowledge.file-lost", None, unit.file), _shown_text(unit))
        else:
            rule = _missing_rule(unit, new_text)
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
    if unit.kind == "field" and field_key(unit) in _INFORMING:
        return "knowledge.metadata"
    if _critical(unit):
        return "knowledge.critical-added"
    remark = unit.kind in {"statement", "item"} and is_remark(unit.text)
    return "knowledge.remark" if remark else "knowledge.added"


def _lost_files(comparison: UnitDiff, parent: Bundle) -> Iterator[Finding]:
    missing: dict[str, int] = Counter(u.file for u in comparison.missing if u.kind != "file")
    if not missing:
        return
    copies = Counter(unit.file for unit in comparison.copies)  # a title of one word is in any text
    sizes: dict[str, int] = defaultdict(int)
    for unit in units_of(parent):
        sizes[unit.file] += unit.kind in CONTENT_KINDS
    for path, count in sorted(missing.items()):
        lost = count + copies[path]
        if lost > _LOST_SHARE * sizes[path]:
            message = f"{lost} of the {sizes[path]} units of {path!r} are missing"
            yield finding(Observation("knowledge.file-lost", None, path, message=message), path)
