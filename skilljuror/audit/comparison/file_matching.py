"""Pair the files of two bundles by path and digest, to detect renames and changed bytes."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from skilljuror.base.skill import ChangeKind, Unit, UnitPair


class FilePairs(NamedTuple):
    """Every file of both sides in exactly one list."""

    same: list[tuple[Unit, Unit]]  # same bytes, fitting path
    altered: list[UnitPair]  # changed or renamed
    missing: list[Unit]
    added: list[Unit]


def pair_files(old: Sequence[Unit], new: Sequence[Unit]) -> FilePairs:
    """Pair the file units of both sides.

    A path may gain or lose leading folders, because variants have other roots. Rounds: same digest and fitting
    path; fitting path (changed); same digest (renamed). Two files that exist on both sides are never paired.
    """
    left, right = list(old), list(new)
    before, after = {file_path(unit) for unit in old}, {file_path(unit) for unit in new}

    def may_have_moved(a: Unit, b: Unit) -> bool:
        """Whether one path became the other; not if both exist on both sides."""
        return _fits(a, b) and not (file_path(a) in after and file_path(b) in before)

    same, left, right = _pair_by(left, right, lambda unit: unit.text)
    moved_same, left, right = _pair_by(
        left, right, lambda unit: (_digest(unit), _name(unit)), may_have_moved
    )
    changed, left, right = _pair_by(left, right, file_path)
    moved_changed, left, right = _pair_by(left, right, _name, _fits)
    renamed, left, right = _pair_by(left, right, _digest)
    altered = _altered(changed + moved_changed, "content") + _altered(renamed, "renamed")
    return FilePairs(same + moved_same, altered, left, right)


def _altered(pairs: list[tuple[Unit, Unit]], change: ChangeKind) -> list[UnitPair]:
    return [UnitPair(before, after, change=change) for before, after in pairs]


_Pairs = list[tuple[Unit, Unit]]


def _pair_by(
    left: Sequence[Unit],
    right: Sequence[Unit],
    key: Callable[[Unit], Hashable],
    fits: Callable[[Unit, Unit], bool] = lambda _a, _b: True,
) -> tuple[_Pairs, list[Unit], list[Unit]]:
    waiting: dict[Hashable, list[Unit]] = defaultdict(list)
    for unit in reversed(right):
        waiting[key(unit)].append(unit)
    pairs: _Pairs = []
    rest: list[Unit] = []
    for before in left:
        there = waiting.get(key(before), [])
        place = next((n for n in range(len(there) - 1, -1, -1) if fits(before, there[n])), None)
        if place is None:
            rest.append(before)
        else:
            pairs.append((before, there.pop(place)))
    used = {id(after) for _, after in pairs}
    return pairs, rest, [unit for unit in right if id(unit) not in used]


def file_path(unit: Unit) -> str:
    """Return the path of a file unit."""
    return unit.text.rpartition(" ")[0]


def _name(unit: Unit) -> str:
    return file_path(unit).rpartition("/")[2]


def _digest(unit: Unit) -> str:
    return unit.text.rpartition(" ")[2]


def _fits(a: Unit, b: Unit) -> bool:
    return is_tail(file_path(a), file_path(b))


def is_tail(path: str, other: str) -> bool:
    """Whether one of two paths is the other without leading folders."""
    first, second = f"/{path}", f"/{other}"
    return first.endswith(second) or second.endswith(first)
