"""Match the units of a parent and a variant, without a plan."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from math import ceil
from posixpath import basename
from typing import NamedTuple

from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.same_words import Regrouping, regroupings
from skilljuror.base.skill import Bundle, MappedUnit, Unit, UnitLocation
from skilljuror.skill.critical_tokens import written_out
from skilljuror.skill.generated import MARKER, template_of_heading
from skilljuror.skill.units import units_of

ALIKE = 0.6  # minimum word similarity of two versions of a unit

_CRITICAL_BONUS = 0.25
_PROSE_WORD = re.compile(r"\w[\w'./-]*\w|\w|[<>=≤≥]+")
_CODE_WORD = re.compile(r"\w+|[^\w\s]")
_NUMBERED = re.compile(r"((?:[A-Za-z]+ )?)\d+([.:)]? .+)")
"""A heading such as `Step 2: Dry` or `2. Dry`: the words before its number, the title."""
_FAMILIES = {"item": "prose", "statement": "prose"}
_NEVER_ALIKE = frozenset({"file", "step"})
_BRIEF = 2
"""Number of words up to which one changed word makes units dissimilar, unless they have the same heading."""
_CANDIDATES = 40
_NEAR = 400  # maximum number of units compared with one; of more, those at about the same position
_PAIRED = 20_000
"""Number of pairs of equal words in two units above which their order is ignored, because the time is
proportional to it and some lines have 100,000 words."""


Pairs = list[tuple[Unit, Unit]]


class UnitMatching(NamedTuple):
    """The units of both sides that have a counterpart, each in one list."""

    same: Pairs  # equal after normalisation
    alike: Pairs  # the best pairs among the rest
    regrouped: list[Regrouping]  # equal words in other units, such as a list made a sentence


def match_texts(
    parent: Sequence[Unit], variant: Sequence[Unit], normaliser: TextNormaliser
) -> UnitMatching:
    """Pair the units of two bundles: first equal ones, then the most similar of the rest.

    Equal units with several occurrences are paired by their neighbours and headings. Fields are paired by key,
    numbered headings by title, neighbouring units with equal words whatever their markup. Of the rest, pairs of one
    family with a word similarity of at least `ALIKE` are taken best first; equal critical tokens break ties. Units
    of one or two words, one of them changed, are paired only below one heading. (transforms §5.2)
    """
    old, new = _keyed(parent, normaliser), _keyed(variant, normaliser)
    same: Pairs = []
    for width in range(_WIDTHS):
        taken, old, new = _exact(old, new, width)
        same += taken
    rest = {id(item.unit) for item in (*old, *new)}
    regrouped = list(regroupings(parent, variant, rest, normaliser))
    by_key = list(_keyed_pairs(old, new))
    done = {id(unit) for run in regrouped for units in run for unit in units}
    done |= {id(unit) for pair in by_key for unit in pair}
    old, new = ([item for item in side if id(item.unit) not in done] for side in (old, new))
    return UnitMatching(same, [*by_key, *_fuzzy(old, new, normaliser)], regrouped)


def _keyed_pairs(old: Sequence["_Keyed"], new: Sequence["_Keyed"]) -> Iterator[tuple[Unit, Unit]]:
    """Fields of one key and headings that differ in their number, if each side has one left of it."""
    sides = []
    for side in (old, new):
        units: dict[Hashable, list[Unit]] = defaultdict(list)
        for item in side:
            if key := _own_key(item.unit):
                units[key].append(item.unit)
        sides.append(units)
    for key, left in sides[0].items():
        if len(left) == len(sides[1][key]) == 1:
            yield left[0], sides[1][key][0]


def _own_key(unit: Unit) -> Hashable:
    if unit.kind == "field":
        return unit.kind, field_key(unit)
    numbered = _NUMBERED.fullmatch(unit.text) if unit.kind == "heading" else None
    return numbered and (numbered[1], numbered[2])


def field_key(unit: Unit) -> str:
    """Return the key of a frontmatter field, in lower case."""
    return unit.text.partition(":")[0].strip().strip("\"'").lower()


class _Keyed(NamedTuple):
    unit: Unit
    key: tuple[str, str]
    before: str
    after: str


def _family(unit: Unit) -> str:
    """The kinds that may correspond: a sentence in a paragraph and in a list, a marker and a marker."""
    return MARKER if unit.generated == MARKER else _FAMILIES.get(unit.kind, unit.kind)


def _keyed(units: Sequence[Unit], normaliser: TextNormaliser) -> list[_Keyed]:
    texts = ["", *(normaliser.text(unit) for unit in units), ""]
    return [
        _Keyed(unit, (_family(unit), texts[n]), texts[n - 1], texts[n + 1])
        for n, unit in enumerate(units, 1)
    ]


_WIDTHS = 8


def _identity(item: _Keyed, width: int) -> Hashable:
    """Key of an occurrence; width 0 is the most specific of `_WIDTHS`."""
    if width == _WIDTHS - 1:
        return item.key
    if width == _WIDTHS - 2:
        return item.key, item.before, item.after
    homes = _headings_above(item.unit) or (basename(item.unit.file),)
    home = homes if width < _HOMES else homes[-1:]
    return (item.key, home, item.before, item.after)[: 4 - width % _HOMES]


_HOMES = 3  # number of widths with two headings above a unit, and of widths with one


def _headings_above(unit: Unit) -> tuple[str, ...]:
    """The two nearest headings above a unit, without a table of contents."""
    titles = unit.headings
    while titles and template_of_heading(titles[-1]) == "contents":
        titles = titles[:-1]
    return titles[-2:]


def _exact(
    old: list[_Keyed], new: list[_Keyed], width: int
) -> tuple[Pairs, list[_Keyed], list[_Keyed]]:
    waiting: dict[Hashable, deque[int]] = defaultdict(deque)
    for number, item in enumerate(new):
        waiting[_identity(item, width)].append(number)
    pairs, rest, used = [], [], set()
    for item in old:
        numbers = waiting.get(_identity(item, width))
        if numbers:
            used.add(number := numbers.popleft())
            pairs.append((item.unit, new[number].unit))
        else:
            rest.append(item)
    return pairs, rest, [item for number, item in enumerate(new) if number not in used]


def _fuzzy(old: list[_Keyed], new: list[_Keyed], normaliser: TextNormaliser) -> Pairs:
    scored = sorted((-score, a, b) for a, b, score in _candidates(old, new, normaliser))
    pairs: Pairs = []
    used_old, used_new = set[int](), set[int]()
    for _, a, b in scored:
        if a not in used_old and b not in used_new:
            used_old.add(a)
            used_new.add(b)
            pairs.append((old[a].unit, new[b].unit))
    return sorted(pairs, key=lambda pair: (pair[0].file, pair[0].start))


def _candidates(
    old: list[_Keyed], new: list[_Keyed], normaliser: TextNormaliser
) -> Iterator[tuple[int, int, float]]:
    words = [_words(item) for item in new]
    counted = [Counter(unit_words) for unit_words in words]
    index: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, item in enumerate(new):
        if item.unit.kind not in _NEVER_ALIKE:
            for word in counted[number]:
                index[item.key[0], word].append(number)
    for number, item in enumerate(old):
        own = _words(item)
        position = number * len(new) // len(old)
        for other, most in _sharing(item.key[0], own, index, counted, position):
            ratio = _likeness(own, words[other], most)
            brief = max(len(own), len(words[other])) <= _BRIEF and ratio < 1
            if ratio >= ALIKE and not (
                brief and _headings_above(item.unit)[-1:] != _headings_above(new[other].unit)[-1:]
            ):
                equal = normaliser.critical_tokens(item.unit) == normaliser.critical_tokens(
                    new[other].unit
                )
                yield number, other, ratio + _CRITICAL_BONUS * equal


def _words(item: _Keyed) -> list[str]:
    if item.unit.kind == "code":
        return _CODE_WORD.findall(item.key[1])
    return _PROSE_WORD.findall(written_out(item.key[1]).lower())


def _likeness(old: list[str], new: list[str], most: float) -> float:
    """Share of common words, in order; `most`, in any order, if that is too expensive."""
    counts, other_counts = Counter(old), Counter(new)
    pairs = sum(count * other_counts[word] for word, count in counts.items())
    if pairs > _PAIRED:
        return most
    return SequenceMatcher(None, old, new, autojunk=False).ratio()


def _sharing(
    kind: str,
    own: list[str],
    index: dict[tuple[str, str], list[int]],
    words: list[Counter[str]],
    position: int,
) -> list[tuple[int, float]]:
    """Units with enough common words, the most promising ones first, each with its maximum similarity."""
    counts = Counter(own)
    bound: dict[int, float] = {}
    for other in _near(_touched(kind, counts, index), position):
        other_counts = words[other]
        count = sum(
            min(own_count, other_counts[word])
            for word, own_count in counts.items()
            if word in other_counts
        )
        bound[other] = 2 * count / (len(own) + other_counts.total())
    likely = sorted((n for n in bound if bound[n] >= ALIKE), key=lambda n: (-bound[n], n))
    return [(n, bound[n]) for n in likely[:_CANDIDATES]]


def _near(numbers: set[int], position: int) -> Collection[int]:
    if len(numbers) <= _NEAR:
        return numbers
    ordered = sorted(numbers)
    first = max(0, min(bisect_left(ordered, position) - _NEAR // 2, len(ordered) - _NEAR))
    return ordered[first : first + _NEAR]


def _touched(kind: str, counts: Counter[str], index: dict[tuple[str, str], list[int]]) -> set[int]:
    """A superset of the similar units. A similar unit shares at least ALIKE / (2 - ALIKE) of the words, so as
    many of the most common words as fall short of that can be omitted."""
    omissible = ceil(ALIKE / (2 - ALIKE) * counts.total() - 1e-9) - 1
    holders = {word: index.get((kind, word), []) for word in counts}
    touched: set[int] = set()
    for word in sorted(counts, key=lambda word: (-len(holders[word]), word)):
        if counts[word] <= omissible:
            omissible -= counts[word]
        else:
            touched.update(holders[word])
    return touched


def knowledge_map(source: Bundle, variants: dict[str, Bundle]) -> list[MappedUnit]:
    """Return one row per unit of `source`, in reading order, with its place in every variant.

    Units are located by text alone, without a plan, so this works for variants made elsewhere: equal text
    first, then similar text. If the variant has fewer copies of a text, the remaining occurrences get the place
    of the last one. None means missing.
    """
    units = units_of(source)
    located: dict[str, dict[str, UnitLocation]] = {}
    for name in sorted(variants):
        same = (other for other in located if variants[other].files == variants[name].files)
        twin = next(same, None)
        located[name] = located[twin] if twin else _locate(source, units, variants[name])
    return [
        MappedUnit(unit, {name: where.get(unit.unit) for name, where in located.items()})
        for unit in units
    ]


def _locate(source: Bundle, units: list[Unit], variant: Bundle) -> dict[str, UnitLocation]:
    if source.files == variant.files:
        return {unit.unit: _location(unit) for unit in units}
    others = units_of(variant)
    normaliser = TextNormaliser((source, variant), (units, others))
    matching = match_texts(units, others, normaliser)
    located = {before.unit: _location(after) for before, after in (*matching.same, *matching.alike)}
    located.update({
        unit.unit: _location(run.after[0]) for run in matching.regrouped for unit in run.before
    })
    by_text = {(unit.kind, normaliser.text(unit)): unit for unit in others}
    for unit in units:
        copy = by_text.get((unit.kind, normaliser.text(unit)))
        if copy is not None:
            located.setdefault(unit.unit, _location(copy))
    return located


def _location(unit: Unit) -> UnitLocation:
    return UnitLocation(unit.file, unit.start, unit.end)
