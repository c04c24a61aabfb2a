"""Detect text that moved away from the headings and the lead that say when it applies."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from skilljuror.knowledge.comparison.generated_lines import GeneratedLineProvenance
from skilljuror.knowledge.comparison.unit_matching import (
    MatchedBundles,
    heading_above,
    headings_above,
)
from skilljuror.models.knowledge import Unit, UnitPair

_Units = Sequence[Unit]


def below_other_headings(
    both: MatchedBundles, provenance: GeneratedLineProvenance
) -> Iterator[UnitPair]:
    """Yield equal text below another heading of the parent, if its own heading still exists."""
    old, new, matching = both.old, both.new, both.matching
    variant_headings = {unit.text for unit in new if unit.kind == "heading"} | {""}
    renamed = {p.before.text: p.after.text for p in matching.alike if p.before.kind == "heading"}
    parent_headings, variant_parents = _headings_with_parent(old), _headings_with_parent(new)
    for before, after in matching.same:
        old_heading, new_heading = heading_above(before), heading_above(after)
        if before.kind in {"heading", "field"}:
            continue
        if old_heading == new_heading:
            old_headings, new_headings = headings_above(before), headings_above(after)
            if (
                old_headings != new_headings
                and old_headings in variant_parents
                and new_headings in parent_headings
            ):
                yield UnitPair(before, after)
        elif new_heading in {"", renamed.get(old_heading)} or old_heading not in variant_headings:
            continue
        elif not provenance.is_generated_heading(new_heading, old_heading):
            yield UnitPair(before, after)


def _headings_with_parent(units: Sequence[Unit]) -> frozenset[tuple[str, ...]]:
    """Headings with the one above them, because equal headings are ambiguous."""
    titles = [unit for unit in units if unit.kind == "heading" and unit.headings]
    return frozenset((unit.headings[-1], unit.text) for unit in titles)


def sections_below_siblings(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield headings below a heading that was their sibling.

    A file may be titled by its first section and hold the next ones below it.
    """
    above, above_now = (_headings_over(side) for side in (both.old, both.new))
    same = [pair for pair in both.matching.same if pair[0].kind == "heading"]
    alike = [(p.before, p.after) for p in both.matching.alike if p.before.kind == "heading"]
    was = {after.unit: before for before, after in (*same, *alike)}
    present = {before.unit for before in was.values()}
    for before, after in same:
        own = next((one for one in above[before.unit][-1:] if one.unit in present), None)
        over = next((was.get(one.unit) for one in above_now[after.unit][-1:]), None)
        if own and over and own.text != over.text and _are_siblings(own, over, above):
            yield UnitPair(before, after)


def _are_siblings(one: Unit, other: Unit, above: Mapping[str, Sequence[Unit]]) -> bool:
    return one.file == other.file and above[one.unit] == above[other.unit]


def _headings_over(units: _Units) -> dict[str, list[Unit]]:
    """Id of each heading -> the headings above it, outermost first."""
    over: dict[str, list[Unit]] = {}
    path: list[Unit] = []
    for unit in units:
        if unit.kind == "heading":
            path = [one for one in path[: len(unit.headings)] if one.file == unit.file]
            over[unit.unit] = path
            path = [*path, unit]
    return over


def below_other_skills(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield the first text below a skill's name, on a page of several skills, if it is of another skill.

    Text that occurs more than once in the parent is ignored.
    """
    parent, matching = both.parent, both.matching
    if len(parent.skills) < 2:
        return
    folders = defaultdict[str, list[str]](list)
    for skill in parent.skills:
        folders[skill.name].append(f"{skill.directory}/")
    roots = {skill.path for skill in both.variant.skills}
    written = {unit.unit for unit in matching.added if unit.kind == "heading"}
    counts = Counter(unit.text for unit in both.old)
    was = {after.unit: before for before, after in matching.same if counts[before.text] == 1}
    named: list[str] = []
    for unit in (one for one in both.new if one.file in roots):
        before = was.get(unit.unit)
        if unit.kind == "heading" and not unit.headings:
            named = folders[unit.text] if unit.unit in written else []
        elif named and before:
            if not before.file.startswith(tuple(named)):
                yield UnitPair(before, unit)
            named = []


def led_by_others(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield equal text below another lead of the parent, if its own lead still exists: the first unit per lead.

    Occurrences below a lead are counted, because equal lines cannot be distinguished.
    """
    matching, normaliser, sides = both.matching, both.normaliser, (both.old, both.new)
    texts = dict.fromkeys(unit.lead for side in sides for unit in side)
    seen = {lead: normaliser.normalised(lead) for lead in texts}
    old, new = (
        Counter((normaliser.text(unit), seen[unit.lead]) for unit in side if unit.lead)
        for side in sides
    )
    leads, leads_now = ({lead for _, lead in counts} for counts in (old, new))
    renamed = {normaliser.text(pair.before): normaliser.text(pair.after) for pair in matching.alike}
    reported = set[tuple[str, str, str]]()
    other = (pair for pair in matching.same if pair[0].lead != pair[1].lead)
    for before, after in sorted(other, key=lambda pair: (pair[0].file, pair[0].start)):
        lead, lead_now = seen[before.lead], seen[after.lead]
        key = normaliser.text(after), lead_now
        stays = lead == lead_now or heading_above(before) != heading_above(after)
        if stays or lead not in leads_now or lead_now not in leads or new[key] <= old[key]:
            continue
        if renamed.get(lead) != lead_now and (lead, lead_now, after.file) not in reported:
            reported.add((lead, lead_now, after.file))
            yield UnitPair(before, after)
