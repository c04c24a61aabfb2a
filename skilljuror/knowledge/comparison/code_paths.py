"""Paths in code that were changed: code means the same in every layout, so that they may not be."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from skilljuror.knowledge.comparison.unit_matching import UnitMatching
from skilljuror.knowledge.units.code_paths import BundlePaths, code_of, is_absolute, path_literals
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import Unit, UnitPair


def changed_code_paths(
    pair: tuple[Bundle, Bundle],
    units: tuple[Sequence[Unit], Sequence[Unit]],
    matching: UnitMatching,
    normaliser: TextNormaliser,
) -> Iterator[UnitPair]:
    """Pairs that are equal without their folders, and name other paths in their code.

    A path may follow a file that was moved: from one that leads nowhere in the variant to one that
    leads there from a folder that its commands are run from. Any other change makes the code of
    one layout another program, even where both paths end in the same name.
    """
    changed = [*_changed(matching, normaliser)]
    if changed:
        paths = tuple(BundlePaths(bundle, side) for bundle, side in zip(pair, units, strict=True))
        for before, after in changed:
            if not _follows(before, after, *paths):
                yield UnitPair(before, after, change="path")


def _changed(matching: UnitMatching, normaliser: TextNormaliser) -> Iterator[tuple[Unit, Unit]]:
    """The pairs whose code differs; of texts that are equal without their folders any may stand
    for any."""
    groups: dict[str, list[tuple[Unit, Unit]]] = defaultdict(list)
    for before, after in matching.same:
        if before.text != after.text and code_of(before) != code_of(after):
            groups[normaliser.text(before)].append((before, after))
    for pairs in groups.values():
        old, new = [before for before, _ in pairs], [after for _, after in pairs]
        yield from zip(_beyond(old, new), _beyond(new, old), strict=True)


def _beyond(units: Sequence[Unit], others: Sequence[Unit]) -> list[Unit]:
    """The units whose code is not that of one of the others."""
    spare = Counter(map(code_of, others))
    beyond = []
    for unit in units:
        spare[code_of(unit)] -= 1
        if spare[code_of(unit)] < 0:
            beyond.append(unit)
    return beyond


def _follows(before: Unit, after: Unit, parent: BundlePaths, variant: BundlePaths) -> bool:
    """Whether every path that changed follows its file."""
    old, new = (
        [path for code in code_of(unit) for path in path_literals(code)] for unit in (before, after)
    )
    return (
        old != new
        and len(old) == len(new)
        and all(
            not is_absolute(path)
            and not is_absolute(other)
            and parent.place(path, before.file) is not None
            and variant.place(path, after.file) is None
            and variant.place(other, after.file) is not None
            for path, other in zip(old, new, strict=True)
            if path != other
        )
    )
