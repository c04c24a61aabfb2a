"""Detect text away from its heading or lead, and steps and lines of code in another order."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from skilljuror.audit.comparison.generated_lines import GeneratedLineProvenance
from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.sequences import in_order
from skilljuror.audit.comparison.unit_matching import (
    MatchedBundles,
    heading_above,
    headings_above,
)
from skilljuror.base.skill import Unit, UnitPair
from skilljuror.skill.units import STEP_ARROW

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
        if own is None or over is None or own.text == over.text:
            continue
        if (own.file, above[own.unit]) == (over.file, above[over.unit]):
            yield UnitPair(before, after)


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


_GAP = 2  # maximum distance of two code lines of one listing

_Neighbours = tuple[Unit, Unit]


def swapped_steps(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield neighbouring steps that are reversed on one page of the variant.

    Steps are items of ordered lists, and items, sections and sentences in a sequence without numbers. They
    have no order across files. If a list occurs twice, its copies may be matched crosswise: two steps that
    follow each other as often as in the parent are not swapped.
    """
    swapped, normaliser = list(_reversed(both)), both.normaliser
    before, after = (
        Counter(_texts(pair, normaliser) for pair in _steps(units) if swapped)
        for units in (both.old, both.new)
    )
    for pair, now in swapped:
        texts = _texts(pair, normaliser)
        if not 0 < before[texts] <= after[texts]:
            yield UnitPair(_step(*pair), _step(*now), change="steps")


def _reversed(both: MatchedBundles) -> Iterator[tuple[_Neighbours, _Neighbours]]:
    """Neighbouring steps, and their counterparts, if the second precedes the first."""
    became = {before.unit: after for before, after in both.matching.same}
    became |= {pair.before.unit: pair.after for pair in both.matching.alike}
    places = {unit.unit: place for place, unit in enumerate(both.new)}
    for chain in _chains(_steps(both.old)):
        pages: dict[str, list[_Neighbours]] = defaultdict(list)
        for step in chain:
            if now := became.get(step.unit):
                pages[now.file].append((step, now))
        neighbours = (pair for steps in pages.values() for pair in pairwise(steps))
        for (first, first_now), (second, second_now) in neighbours:
            if places[second_now.unit] < places[first_now.unit]:
                yield (first, second), (second_now, first_now)


def _steps(units: Sequence[Unit]) -> Iterable[_Neighbours]:
    return dict.fromkeys((*_numbered(units), *_sequential(units)))


def _texts(pair: _Neighbours, normaliser: TextNormaliser) -> tuple[str, str]:
    return normaliser.text(pair[0]), normaliser.text(pair[1])


def _chains(pairs: Iterable[_Neighbours]) -> Iterable[list[Unit]]:
    by_end: dict[str, list[Unit]] = {}
    chains: list[list[Unit]] = []
    for first, second in pairs:
        chain = by_end.pop(first.unit, None)
        if chain is None:
            chains.append(chain := [first])
        chain.append(second)
        by_end[second.unit] = chain
    return chains


def _step(first: Unit, second: Unit) -> Unit:
    text = f"{first.text}{STEP_ARROW}{second.text}"
    start, end = first.start, max(first.end, second.end)
    return Unit(first.unit, "step", first.file, start, end, first.headings, text)


def _numbered(units: Sequence[Unit]) -> Iterator[_Neighbours]:
    items = {(unit.file, unit.text, unit.start): unit for unit in units if unit.kind == "item"}
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for file, text, start in items:
        places[file, text].append(start)
    for step in units:
        if step.kind == "step":
            first, _, second = step.text.partition(STEP_ARROW)
            below = [line for line in places[step.file, second] if step.start < line <= step.end]
            if below and (step.file, first, step.start) in items:
                yield items[step.file, first, step.start], items[step.file, second, below[-1]]


def _sequential(units: Sequence[Unit]) -> Iterator[_Neighbours]:
    for group in _siblings(units):
        above = group[0].lead or "".join(group[0].headings[-1:])
        above = "" if group[0].kind == "statement" else above
        ordered = in_order(above, [unit.text for unit in group])
        yield from (pair for pair, first in zip(pairwise(group), ordered, strict=True) if first)


def _siblings(units: Sequence[Unit]) -> Iterable[list[Unit]]:
    """Units of one kind below one heading and one lead. Headings of the same text are distinct."""
    siblings: dict[tuple[object, ...], list[Unit]] = defaultdict(list)
    headings: dict[tuple[str, tuple[str, ...]], str] = {}
    for unit in units:
        if unit.kind in {"heading", "item", "statement"} and not unit.generated:
            above = headings.get((unit.file, unit.headings), "")
            siblings[unit.kind, unit.file, unit.headings, above, unit.lead].append(unit)
        if unit.kind == "heading":
            below = () if unit.generated else (*unit.headings, unit.text)
            headings[unit.file, below] = unit.unit
    return siblings.values()


def swapped_lines(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield neighbouring lines of a listing that are reversed.

    Lines that occur more than once in the parent are ignored, because copies cannot be distinguished.
    """
    code = [unit for unit in both.old if unit.kind == "code"]
    occurrences = Counter(unit.text for unit in code)
    became = {before.unit: after for before, after in both.matching.same if before.kind == "code"}
    for first, second in pairwise(code):
        adjacent = first.file == second.file and second.start - first.end <= _GAP
        if adjacent and occurrences[first.text] == occurrences[second.text] == 1:
            first_now, second_now = became.get(first.unit), became.get(second.unit)
            if (
                first_now
                and second_now
                and first_now.file == second_now.file
                and second_now.start < first_now.start
            ):
                yield UnitPair(second, second_now, change="lines")
