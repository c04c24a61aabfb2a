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
    old: Sequence[Unit], new: Sequence[Unit], matching: UnitMatching, normal: TextNormaliser
) -> Iterator[UnitPair]:
    """Neighbouring steps that both still stand, but no longer in this order."""
    became = {normal.text(before): normal.text(after) for before, after in matching.same}
    became |= {normal.text(pair.before): normal.text(pair.after) for pair in matching.alike}
    standing = Counter(normal.text(unit) for unit in new)
    by_end = {normal.text(unit).partition(STEP_ARROW)[2]: unit for unit in new}
    for unit in old:
        first, _, second = normal.text(unit).partition(STEP_ARROW)
        if first not in became or second not in became:
            continue
        wanted = f"{became[first]}{STEP_ARROW}{became[second]}"
        if standing[wanted]:
            standing[wanted] -= 1
        else:
            yield UnitPair(unit, by_end.get(became[second], unit), change="steps")


def swapped_lines(old: Sequence[Unit], matching: UnitMatching) -> Iterator[UnitPair]:
    """Neighbouring lines of a listing that stand the other way round.

    Lines that the parent holds more than once are left out: which copy is which is not known.
    """
    code = [unit for unit in old if unit.kind == "code"]
    times = Counter(unit.text for unit in code)
    became = {before.unit: after for before, after in matching.same if before.kind == "code"}
    for one, two in pairwise(code):
        near = one.file == two.file and two.start - one.end <= _GAP
        if near and times[one.text] == times[two.text] == 1:
            here, there = became.get(one.unit), became.get(two.unit)
            if here and there and here.file == there.file and there.start < here.start:
                yield UnitPair(two, there, change="lines")
