"""Compare the order of steps and lines of code."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from skilljuror.knowledge.comparison.unit_matching import MatchedBundles
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.knowledge.units.prose import STEP_ARROW
from skilljuror.knowledge.units.sequences import in_order
from skilljuror.models.knowledge import Unit, UnitPair

_GAP = 2
"""Maximum distance of two code lines of one listing."""

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
    """Join pairs of neighbours where one ends with the start of another."""
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


def _sequential(units: Sequence[Unit]) -> Iterator[_Neighbours]:
    """Neighbouring sections, items and sentences of which one must come first."""
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
