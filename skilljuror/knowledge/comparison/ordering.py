"""What became of the order of a parent's steps and lines of code."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from skilljuror.knowledge.comparison.unit_matching import UnitMatching
from skilljuror.knowledge.units.prose import STEP_ARROW
from skilljuror.knowledge.units.sequences import in_order
from skilljuror.models.knowledge import Unit, UnitPair

_GAP = 2
"""Lines between two code lines of one listing, at most."""

_Neighbours = tuple[Unit, Unit]


def swapped_steps(
    old: Sequence[Unit], new: Sequence[Unit], matching: UnitMatching
) -> Iterator[UnitPair]:
    """Steps of a process that stand the other way round on one page of the variant, where they are
    neighbours.

    Steps are the items of ordered lists, and items, sections and sentences that are to be done one
    after another without being numbered. Parted between files they have no order of their own.
    """
    became = {before.unit: after for before, after in matching.same}
    became |= {pair.before.unit: pair.after for pair in matching.alike}
    places = {unit.unit: place for place, unit in enumerate(new)}
    for chain in _chains(dict.fromkeys((*_numbered(old), *_told_in_order(old)))):
        pages: dict[str, list[_Neighbours]] = defaultdict(list)
        for step in chain:
            if now := became.get(step.unit):
                pages[now.file].append((step, now))
        neighbours = (pair for steps in pages.values() for pair in pairwise(steps))
        for (first, first_now), (second, second_now) in neighbours:
            if places[second_now.unit] < places[first_now.unit]:
                yield UnitPair(_step(first, second), _step(second_now, first_now), change="steps")


def _chains(pairs: Iterable[_Neighbours]) -> Iterable[list[Unit]]:
    """Pairs of neighbours put together where one ends with what another begins with."""
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
    """The first sentences of neighbouring items of ordered lists."""
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


def _told_in_order(units: Sequence[Unit]) -> Iterator[_Neighbours]:
    """Neighbouring sections, items and sentences of which one must come first."""
    siblings: dict[tuple[object, ...], list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.kind in {"heading", "item", "statement"} and not unit.generated:
            siblings[unit.kind, unit.file, unit.headings, unit.lead].append(unit)
    for (kind, *_), group in siblings.items():
        above = group[0].lead or "".join(group[0].headings[-1:])
        ordered = in_order("" if kind == "statement" else above, [unit.text for unit in group])
        yield from (pair for pair, told in zip(pairwise(group), ordered, strict=True) if told)


def swapped_lines(old: Sequence[Unit], matching: UnitMatching) -> Iterator[UnitPair]:
    """Neighbouring lines of a listing that stand the other way round.

    Lines that the parent holds more than once are left out: which copy is which is not known.
    """
    code = [unit for unit in old if unit.kind == "code"]
    occurrences = Counter(unit.text for unit in code)
    became = {before.unit: after for before, after in matching.same if before.kind == "code"}
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
