"""What an edit did to a Skill: each text of two versions in one record, and each difference of two texts with a type.

The units of both versions are matched once. A text is kept, moved (equal, in another file or below another heading),
merged (one of several copies came or went), reworded, lost or added. Of a reworded text the words are compared, so that a change says what it is: a number, a
negation, an argument. Rules (`edited`) read these records and nothing else.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from skilljuror.audit.changes import Change, changes_of, likeness
from skilljuror.audit.comparison.file_matching import FilePairs, pair_files
from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.same_words import WordStream, is_as_often, is_copy, plain_words
from skilljuror.audit.comparison.unit_matching import field_key, match_texts
from skilljuror.base.skill import CONTENT_KINDS, Bundle, ChangeKind, Unit
from skilljuror.skill.critical_tokens import critical_change
from skilljuror.skill.units import units_of

EditKind = Literal["kept", "moved", "merged", "reworded", "lost", "added"]
_GAP_ALIKE = 0.4  # least likeness of the only two texts left between the same two


class Edit(NamedTuple):
    """What became of one text."""

    kind: EditKind
    before: Unit | None
    after: Unit | None
    changes: tuple[Change, ...] = ()
    """What differs, for a reworded text."""
    in_place: bool = False
    """Whether the texts around it on both sides are the same, so that it is the same place of the Skill."""
    critical: ChangeKind | None = None
    """The worst difference in its numbers, names, paths, comparisons and duties, folders apart."""

    @property
    def unit(self) -> Unit:
        """The text as it is now, or was."""
        unit = self.after or self.before
        assert unit is not None
        return unit


class Edits(NamedTuple):
    """All edits between two versions."""

    before: Bundle
    after: Bundle
    edits: tuple[Edit, ...]
    """One for each text with content, in the order of the version after; lost texts last, in theirs."""
    files: FilePairs
    """Files of the two versions, by name and content."""
    elsewhere: tuple[Unit, ...] = ()
    """Texts of other Skills that may hold what this one lost."""


def edits_between(before: Bundle, after: Bundle, elsewhere: Sequence[Bundle] = ()) -> Edits:
    """Match two versions of a Skill and type what differs.

    Text that stands in a bundle of `elsewhere`, such as another Skill of the same change, is moved, not lost.
    Linear in the size of both but for texts that share words.
    """
    old, new = units_of(before), units_of(after)
    normaliser = TextNormaliser((before, after), (old, new))
    files = pair_files(*([unit for unit in side if unit.kind == "file"] for side in (old, new)))
    old, new = ([unit for unit in side if unit.kind in CONTENT_KINDS] for side in (old, new))
    matching = match_texts(old, new, normaliser)
    same = list(matching.same)
    for run in matching.regrouped:
        same += zip(run.before, [run.after[0]] * len(run.before), strict=True)
    places = _Places(old, new, same)
    alike = [pair for pair in matching.alike if pair[0].kind != "code" or places.is_same(*pair)]
    taken = {id(unit) for pair in (*same, *alike) for unit in pair}
    taken |= {id(unit) for run in matching.regrouped for unit in run.after}
    rest = [[unit for unit in side if id(unit) not in taken] for side in (old, new)]
    alike += _labelled(rest[0], rest[1], places)
    taken |= {id(unit) for pair in alike for unit in pair}
    lost, added = ([unit for unit in side if id(unit) not in taken] for side in rest)
    others = [
        unit for bundle in elsewhere for unit in units_of(bundle) if unit.kind in CONTENT_KINDS
    ]
    words, words_now = WordStream(old, normaliser), WordStream([*new, *others], normaliser)
    edits = [_equal(pair) for pair in same]
    edits += [_reworded(first, second, places, normaliser) for first, second in alike]
    edits += [Edit(_copied(unit, words_now, words, "added"), None, unit) for unit in added]
    order = {id(unit): place for place, unit in enumerate(new)}
    edits.sort(key=lambda edit: order[id(edit.after)])
    edits += [Edit(_copied(unit, words, words_now, "lost"), unit, None) for unit in lost]
    return Edits(before, after, tuple(edits), files, tuple(others))


def _copied(unit: Unit, own: WordStream, other: WordStream, alone: EditKind) -> EditKind:
    """What became of a text without a partner; `alone` if the other side does not say it at all."""
    if is_as_often(unit, own, other):
        return "moved"
    return "merged" if is_copy(unit, other) else alone


def _reworded(before: Unit, after: Unit, places: "_Places", normaliser: TextNormaliser) -> Edit:
    changes = tuple(changes_of(before.kind, normaliser.text(before), normaliser.text(after)))
    in_place = places.is_same(before, after)
    tokens = normaliser.critical_tokens(before), normaliser.critical_tokens(after)
    critical = critical_change(*tokens) if changes else None
    return Edit("reworded" if changes else "moved", before, after, changes, in_place, critical)


def _equal(pair: tuple[Unit, Unit]) -> Edit:
    before, after = pair
    place = before.file == after.file and before.headings[-1:] == after.headings[-1:]
    return Edit("kept" if place else "moved", before, after, in_place=True)


# ---- the same place -------------------------------------------------------------------------------


class _Places:
    """Where texts of the two versions stand, by the equal texts next to them."""

    def __init__(
        self, old: Sequence[Unit], new: Sequence[Unit], same: Iterable[tuple[Unit, Unit]]
    ) -> None:
        self._partner = {id(before): id(after) for before, after in same}
        self._partner_of = {after: before for before, after in self._partner.items()}
        self._here = self._neighbours(old, set(self._partner))
        self._there = self._neighbours(new, set(self._partner.values()))

    @staticmethod
    def _neighbours(
        units: Sequence[Unit], paired: set[int]
    ) -> dict[int, tuple[int | None, int | None]]:
        """Unit -> the nearest paired units of its file above and below it."""
        around: dict[int, list[int | None]] = {}
        for side, ordered in enumerate((units, units[::-1])):
            last: int | None = None
            file = ""
            for unit in ordered:
                if unit.file != file:
                    file, last = unit.file, None
                around.setdefault(id(unit), [None, None])[side] = last
                if id(unit) in paired:
                    last = id(unit)
        return {key: (above, below) for key, (above, below) in around.items()}

    def gap(self, unit: Unit, side: int) -> Hashable:
        """The paired texts above and below an unpaired one, named as those of the version before."""
        above, below = (self._there if side else self._here)[id(unit)]
        if side:
            above, below = (self._partner_of.get(near or 0) for near in (above, below))
        return (unit.kind, above, below) if above and below else None

    def is_same(self, before: Unit, after: Unit) -> bool:
        """Whether the nearest equal text above or below is the same on both sides."""
        here, there = self._here[id(before)], self._there[id(after)]
        return any(
            near is not None and self._partner[near] == other
            for near, other in zip(here, there, strict=True)
        )


_LABEL = re.compile(r"^(?:\d+[.)]\s+)?([^:|=]{2,60}?)\s*[:|=]")


def _label(unit: Unit) -> Hashable:
    """What names a text in its list, table or listing: first cell, key, or words before a colon."""
    if unit.kind == "field":
        return "field", field_key(unit)
    if unit.kind == "row":  # its first cell, with the title of the column
        return unit.kind, plain_words(unit.text.lstrip("| ").partition("|")[0])
    match = _LABEL.match(unit.text)
    return match and (unit.kind, plain_words(match[1]))


def _labelled(
    lost: Sequence[Unit], added: Sequence[Unit], places: _Places
) -> Iterator[tuple[Unit, Unit]]:
    """Pair the rest where exactly one is left on each side: of a label, or between the same two texts."""
    done = set[int]()
    for key_of, least in ((lambda unit, side: _label(unit), 0.0), (places.gap, _GAP_ALIKE)):
        for before, after in _single_pairs(lost, added, key_of):
            alike = likeness(before.text, after.text, code=before.kind == "code") >= least
            if alike and places.is_same(before, after) and not done & {id(before), id(after)}:
                done |= {id(before), id(after)}
                yield before, after


def _single_pairs(
    lost: Sequence[Unit], added: Sequence[Unit], key_of: Callable[[Unit, int], Hashable]
) -> Iterator[tuple[Unit, Unit]]:
    """The units of a key that only one of each side has."""
    sides: list[dict[Hashable, list[Unit]]] = []
    for side, units in enumerate((lost, added)):
        named: dict[Hashable, list[Unit]] = defaultdict(list)
        for unit in units:
            if key := key_of(unit, side):
                named[key].append(unit)
        sides.append(named)
    for key, units in sides[0].items():
        others = sides[1].get(key, [])
        if len(units) == len(others) == 1:
            yield units[0], others[0]
