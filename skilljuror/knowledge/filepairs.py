"""Files of two bundles compared by path and digest, so that a rename or a changed byte is seen."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from skilljuror.models.knowledge import Change, Unit, UnitPair


class FilePairs(NamedTuple):
    """Every file of both sides in exactly one place."""

    same: list[tuple[Unit, Unit]]
    """Same bytes, fitting path."""
    altered: list[UnitPair]
    """Changed or renamed."""
    missing: list[Unit]
    """Files of the parent that are gone."""
    added: list[Unit]
    """Files that the parent does not have."""


def pair_files(old: Sequence[Unit], new: Sequence[Unit]) -> FilePairs:
    """Pair the file units of both sides.

    A path may gain or lose leading folders, for variants keep files below other roots. Rounds:
    same digest and fitting path; fitting path (changed); same digest (renamed).
    """
    left, right = list(old), list(new)
    same = _take(left, right, lambda a, b: a.text == b.text)
    same += _take(left, right, lambda a, b: _digest(a) == _digest(b) and _fits(a, b))
    changed = _take(left, right, lambda a, b: _path(a) == _path(b))
    changed += _take(left, right, _fits)
    renamed = _take(left, right, lambda a, b: _digest(a) == _digest(b))
    altered = _altered(changed, "content") + _altered(renamed, "renamed")
    return FilePairs(same, altered, left, right)


def _altered(pairs: list[tuple[Unit, Unit]], change: Change) -> list[UnitPair]:
    return [UnitPair(before, after, change=change) for before, after in pairs]


def _take(
    left: list[Unit], right: list[Unit], fits: Callable[[Unit, Unit], bool]
) -> list[tuple[Unit, Unit]]:
    """Pairs that fit, taken out of both lists."""
    pairs = []
    for before in list(left):
        after = next((unit for unit in right if fits(before, unit)), None)
        if after is not None:
            left.remove(before)
            right.remove(after)
            pairs.append((before, after))
    return pairs


def _path(unit: Unit) -> str:
    return unit.text.rpartition(" ")[0]


def _digest(unit: Unit) -> str:
    return unit.text.rpartition(" ")[2]


def _fits(a: Unit, b: Unit) -> bool:
    """Whether one path is the tail of the other, folder by folder."""
    one, two = f"/{_path(a)}", f"/{_path(b)}"
    return one.endswith(two) or two.endswith(one)
