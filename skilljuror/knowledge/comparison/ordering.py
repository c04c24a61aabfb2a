"""What became of the order of a parent's steps and lines of code."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from skilljuror.knowledge.comparison.unit_matching import UnitMatching
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.knowledge.units.prose import STEP_ARROW
from skilljuror.models.knowledge import Unit, UnitPair

_GAP = 2
"""Lines between two code lines of one listing, at most."""


def swapped_steps(
    old: Sequence[Unit], new: Sequence[Unit], matching: UnitMatching, normaliser: TextNormaliser
) -> Iterator[UnitPair]:
    """Neighbouring steps that both still stand, but no longer in this order."""
    became = {normaliser.text(before): normaliser.text(after) for before, after in matching.same}
    became |= {normaliser.text(pair.before): normaliser.text(pair.after) for pair in matching.alike}
    remaining = Counter(normaliser.text(unit) for unit in new)
    by_end = {normaliser.text(unit).partition(STEP_ARROW)[2]: unit for unit in new}
    for unit in old:
        first, _, second = normaliser.text(unit).partition(STEP_ARROW)
        if first not in became or second not in became:
            continue
        wanted = f"{became[first]}{STEP_ARROW}{became[second]}"
        if remaining[wanted]:
            remaining[wanted] -= 1
        else:
            yield UnitPair(unit, by_end.get(became[second], unit), change="steps")


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
