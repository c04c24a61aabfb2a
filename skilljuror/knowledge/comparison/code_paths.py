"""Changed paths in code, which must mean the same in every layout."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from skilljuror.knowledge.comparison.unit_matching import MatchedBundles
from skilljuror.knowledge.units.code_paths import BundlePaths, code_of, is_absolute, path_literals
from skilljuror.models.knowledge import Unit, UnitPair


def changed_code_paths(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield pairs that are equal without their folders, but name other paths in their code.

    A path may follow a moved file: from one that leads nowhere in the variant to one that leads there from a
    working folder. Any other change makes the code another program, even if both paths end in the same name.
    """
    changed = [*_changed(both)]
    if changed:
        paths = BundlePaths(both.parent, both.old), BundlePaths(both.variant, both.new)
        for before, after in changed:
            if not _follows(before, after, *paths):
                yield UnitPair(before, after, change="path")


def _changed(both: MatchedBundles) -> Iterator[tuple[Unit, Unit]]:
    """Pairs whose code differs. Texts that are equal without folders are interchangeable."""
    groups: dict[str, list[tuple[Unit, Unit]]] = defaultdict(list)
    for before, after in both.matching.same:
        if before.text != after.text and code_of(before) != code_of(after):
            groups[both.normaliser.text(before)].append((before, after))
    for pairs in groups.values():
        old, new = [before for before, _ in pairs], [after for _, after in pairs]
        yield from zip(_beyond(old, new), _beyond(new, old), strict=True)


def _beyond(units: Sequence[Unit], others: Sequence[Unit]) -> list[Unit]:
    spare = Counter(map(code_of, others))
    beyond = []
    for unit in units:
        spare[code_of(unit)] -= 1
        if spare[code_of(unit)] < 0:
            beyond.append(unit)
    return beyond


def _follows(before: Unit, after: Unit, parent: BundlePaths, variant: BundlePaths) -> bool:
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
