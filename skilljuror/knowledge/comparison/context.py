"""Whether a text still stands below the headings and the lead that say when it holds."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from skilljuror.knowledge.comparison.generated_lines import GeneratedLineProvenance
from skilljuror.knowledge.comparison.unit_matching import (
    UnitMatching,
    heading_above,
    headings_above,
)
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import Unit, UnitPair

_Units = Sequence[Unit]


def below_other_headings(
    matching: UnitMatching, provenance: GeneratedLineProvenance, sides: tuple[_Units, _Units]
) -> Iterator[UnitPair]:
    """Same text below another heading of the parent, though its own heading still stands."""
    old, new = sides
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
    """Headings with the one above them, for headings of one name tell nothing by themselves."""
    titles = [unit for unit in units if unit.kind == "heading" and unit.headings]
    return frozenset((unit.headings[-1], unit.text) for unit in titles)


def sections_below_siblings(
    matching: UnitMatching, sides: tuple[_Units, _Units]
) -> Iterator[UnitPair]:
    """Headings below the heading beside the one that they stood below. A file may be titled by its
    first section and hold the next ones below it; that one stood beside them."""
    above, above_now = (_headings_over(side) for side in sides)
    same = [pair for pair in matching.same if pair[0].kind == "heading"]
    alike = [(p.before, p.after) for p in matching.alike if p.before.kind == "heading"]
    was = {after.unit: before for before, after in (*same, *alike)}
    standing = {before.unit for before in was.values()}
    for before, after in same:
        own = next((one for one in above[before.unit][-1:] if one.unit in standing), None)
        over = next((was.get(one.unit) for one in above_now[after.unit][-1:]), None)
        if own and over and own.text != over.text and _are_siblings(own, over, above):
            yield UnitPair(before, after)


def _are_siblings(one: Unit, other: Unit, above: Mapping[str, Sequence[Unit]]) -> bool:
    return one.file == other.file and above[one.unit] == above[other.unit]


def _headings_over(units: _Units) -> dict[str, list[Unit]]:
    """Id of each heading -> the headings that it stands below, outermost first."""
    over: dict[str, list[Unit]] = {}
    path: list[Unit] = []
    for unit in units:
        if unit.kind == "heading":
            path = [one for one in path[: len(unit.headings)] if one.file == unit.file]
            over[unit.unit] = path
            path = [*path, unit]
    return over


def below_other_skills(
    matching: UnitMatching, pair: tuple[Bundle, Bundle], sides: tuple[_Units, _Units]
) -> Iterator[UnitPair]:
    """What stands first below the name of a skill, on a page that holds several, and is of another
    one. Text that the parent has more than once tells no skill."""
    (parent, variant), (old, new) = pair, sides
    if len(parent.skills) < 2:
        return
    folders = defaultdict[str, list[str]](list)
    for skill in parent.skills:
        folders[skill.name].append(f"{skill.directory}/")
    roots = {skill.path for skill in variant.skills}
    written = {unit.unit for unit in matching.added if unit.kind == "heading"}
    counts = Counter(unit.text for unit in old)
    was = {after.unit: before for before, after in matching.same if counts[before.text] == 1}
    named: list[str] = []
    for unit in (one for one in new if one.file in roots):
        before = was.get(unit.unit)
        if unit.kind == "heading" and not unit.headings:
            named = folders[unit.text] if unit.unit in written else []
        elif named and before:
            if not before.file.startswith(tuple(named)):
                yield UnitPair(before, unit)
            named = []


def led_by_others(
    matching: UnitMatching, sides: tuple[_Units, _Units], normaliser: TextNormaliser
) -> Iterator[UnitPair]:
    """Same text below another lead of the parent, though its own lead still stands: the first unit
    of those that went from one lead to another. How often a text stands below a lead is counted, for
    of equal lines nobody knows which is which."""
    texts = dict.fromkeys(unit.lead for side in sides for unit in side)
    seen = {lead: normaliser.normalised(lead) for lead in texts}
    old, new = (
        Counter((normaliser.text(unit), seen[unit.lead]) for unit in side if unit.lead)
        for side in sides
    )
    leads, leads_now = ({lead for _, lead in counts} for counts in (old, new))
    renamed = {normaliser.text(pair.before): normaliser.text(pair.after) for pair in matching.alike}
    told = set[tuple[str, str, str]]()
    other = (pair for pair in matching.same if pair[0].lead != pair[1].lead)
    for before, after in sorted(other, key=lambda pair: (pair[0].file, pair[0].start)):
        lead, lead_now = seen[before.lead], seen[after.lead]
        key = normaliser.text(after), lead_now
        stays = lead == lead_now or heading_above(before) != heading_above(after)
        if stays or lead not in leads_now or lead_now not in leads or new[key] <= old[key]:
            continue
        if renamed.get(lead) != lead_now and (lead, lead_now, after.file) not in told:
            told.add((lead, lead_now, after.file))
            yield UnitPair(before, after)
