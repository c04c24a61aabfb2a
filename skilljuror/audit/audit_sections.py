"""Sort the findings of an audit by section: one line each, for a reader in a hurry."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from skilljuror.audit.comparison.unit_matching import knowledge_map
from skilljuror.audit.gates.findings import cut_text
from skilljuror.audit.gates.knowledge import is_duty
from skilljuror.audit.gates.policies import policy as load_policy
from skilljuror.base.build import SEVERITIES, VERDICTS, AuditResult, Finding, SectionChange
from skilljuror.base.skill import CONTENT_KINDS, Bundle, MappedUnit, Unit
from skilljuror.skill.units import units_of

_ANY_SIZE = 1 << 30  # compared units at which no share of them is exceeded
_COUNTED = frozenset({"item", "statement", "row", "code"})


class _Place(NamedTuple):
    file: str
    headings: tuple[str, ...]  # with the section's own; () above all headings and for a file


class _Outline:
    """The section of each line and text of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._starts: dict[str, list[int]] = defaultdict(list)
        self._places: dict[str, list[_Place]] = defaultdict(list)
        self.of_text: dict[str, _Place] = {}
        for unit in units_of(bundle):
            if unit.kind in CONTENT_KINDS:
                place = _place_of(unit)
                self._starts[unit.file].append(unit.start)
                self._places[unit.file].append(place)
                self.of_text.setdefault(cut_text(unit.text) or "", place)

    def at(self, file: str, line: int | None) -> _Place:
        number = bisect_right(self._starts[file], line) if line else 0
        return self._places[file][number - 1] if number else _Place(file, ())

    def __contains__(self, place: _Place) -> bool:
        return place in self._places[place.file]


def _place_of(unit: Unit) -> _Place:
    own = (unit.text,) if unit.kind == "heading" else ()
    return _Place(unit.file, (*unit.headings, *own))


def section_changes(
    parent: Bundle, variant: Bundle, judged: AuditResult
) -> tuple[SectionChange, ...]:
    """Return the sections with findings and those that moved, worst first."""
    before, after = _Outline(parent), _Outline(variant)
    found: dict[_Place, list[Finding]] = defaultdict(list)
    for one in judged.own:
        found[_section_of(one, before, after)].append(one)
    texts: dict[_Place, list[MappedUnit]] = defaultdict(list)
    for row in knowledge_map(parent, {"variant": variant}):
        if row.unit.kind in _COUNTED:
            texts[_place_of(row.unit)].append(row)
    places = dict.fromkeys((*texts, *found))
    changes = [_change(place, texts[place], found[place], after, judged.policy) for place in places]
    shown = [change for change in changes if change.findings or change.moved_to]
    return tuple(sorted(shown, key=lambda change: -VERDICTS.index(change.verdict)))


def _section_of(finding: Finding, before: _Outline, after: _Outline) -> _Place:
    """The section of the source that a finding is about; of the variant for what the source has not."""
    if finding.source_text is not None and finding.variant_text is None:
        return before.at(finding.file, finding.line)
    known = before.of_text.get(finding.source_text or "")
    return known or after.at(finding.file, finding.line)


def _change(
    place: _Place,
    texts: Sequence[MappedUnit],
    findings: Sequence[Finding],
    after: _Outline,
    policy: str,
) -> SectionChange:
    duties = [row for row in texts if is_duty(row.unit)]
    counted = duties or texts
    homes = [where.file for row in counted if (where := row.places["variant"])]
    elsewhere = [home for home in homes if home != place.file]
    worst_first = sorted(findings, key=lambda one: SEVERITIES.index(one.severity))
    lost = bool(texts) and place not in after
    first = next((one.line for one in worst_first if _is_lost(one) == lost), None)
    return SectionChange(
        title="".join(place.headings[-1:]),
        file=place.file,
        line=first or (texts[0].unit.start if lost else None),
        lost=lost,
        verdict=load_policy(policy).verdict(findings, _ANY_SIZE),
        findings=tuple(worst_first),
        counted=len(counted),
        moved=len(elsewhere),
        noun="duties" if duties else "texts",
        moved_to=tuple(sorted(set(elsewhere))) if lost or 2 * len(elsewhere) > len(counted) else (),
    )


def _is_lost(finding: Finding) -> bool:
    return finding.source_text is not None and finding.variant_text is None
