"""What an edit did to a Skill: each text of two versions in one record, and each difference of two texts with a type.

The units of both versions are matched once. A text is kept, moved (equal, in another file or below another heading),
reworded, lost or added. Of a reworded text the words are compared, so that a change says what it is: a number, a
negation, an argument. Rules (`edited`) read these records and nothing else.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from posixpath import basename
from typing import Literal, NamedTuple

from skilljuror.audit.comparison.file_matching import FilePairs, pair_files
from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.opposites import has_opposites
from skilljuror.audit.comparison.same_words import WordStream, is_as_often, plain_words
from skilljuror.audit.comparison.unit_matching import ALIKE, field_key, match_texts
from skilljuror.base.skill import CONTENT_KINDS, Bundle, Unit
from skilljuror.skill.critical_tokens import straight_quotes, written_out
from skilljuror.skill.units import units_of

EditKind = Literal["kept", "moved", "reworded", "lost", "added"]
ChangeType = Literal[
    "number", "unit", "comparator", "default", "negation", "opposite", "permission", "modal",
    "quantifier", "conjunction", "condition", "agent", "name", "path", "argument", "pointer", "words",
]  # fmt: skip


class Change(NamedTuple):
    """Words that differ in a text that is otherwise the same."""

    type: ChangeType
    old: str
    """The words before; "" where words were only added."""
    new: str


class Edit(NamedTuple):
    """What became of one text."""

    kind: EditKind
    before: Unit | None
    after: Unit | None
    changes: tuple[Change, ...] = ()
    """What differs, for a reworded text."""
    in_place: bool = False
    """Whether the texts around it on both sides are the same, so that it is the same place of the Skill."""

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


def edits_between(before: Bundle, after: Bundle) -> Edits:
    """Match two versions of a Skill and type what differs. Linear in their size but for texts that share words."""
    old, new = units_of(before), units_of(after)
    normaliser = TextNormaliser((before, after), (old, new))
    files = pair_files(*([unit for unit in side if unit.kind == "file"] for side in (old, new)))
    old, new = ([unit for unit in side if unit.kind in CONTENT_KINDS] for side in (old, new))
    matching = match_texts(old, new, normaliser)
    same = list(matching.same)
    for run in matching.regrouped:
        same += zip(run.before, [run.after[0]] * len(run.before), strict=True)
    places = _Places(old, new, same)
    alike = [
        (pair.before, pair.after)
        for pair in matching.alike
        if pair.before.kind != "code" or places.is_same(pair.before, pair.after)
    ]
    taken = {id(unit) for pair in (*same, *alike) for unit in pair}
    taken |= {id(unit) for run in matching.regrouped for unit in run.after}
    rest = [[unit for unit in side if id(unit) not in taken] for side in (old, new)]
    alike += _labelled(rest[0], rest[1], places)
    taken |= {id(unit) for pair in alike for unit in pair}
    lost, added = ([unit for unit in side if id(unit) not in taken] for side in rest)
    words, words_now = WordStream(old, normaliser), WordStream(new, normaliser)
    edits = [_equal(pair) for pair in same]
    edits += [_reworded(first, second, places, normaliser) for first, second in alike]
    edits += [Edit("added", None, unit) for unit in added]
    order = {id(unit): place for place, unit in enumerate(new)}
    edits.sort(key=lambda edit: order[id(edit.after)])
    for unit in lost:
        elsewhere = is_as_often(unit, words, words_now) or words_now.count(unit)
        edits.append(Edit("moved" if elsewhere else "lost", unit, None))
    return Edits(before, after, tuple(edits), files)


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
            above, below = self._partner_of.get(above), self._partner_of.get(below)
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
    match = _LABEL.match(unit.text.lstrip("| "))
    return match and (unit.kind, plain_words(match[1]))


def _labelled(
    lost: Sequence[Unit], added: Sequence[Unit], places: _Places
) -> Iterator[tuple[Unit, Unit]]:
    """Pair the rest where exactly one is left on each side: of a label, or between the same two texts."""
    done = set[int]()
    for key_of in (lambda unit, side: _label(unit), places.gap):
        sides: list[dict[Hashable, list[Unit]]] = []
        for side, units in enumerate((lost, added)):
            named: dict[Hashable, list[Unit]] = defaultdict(list)
            for unit in units:
                if id(unit) not in done and (key := key_of(unit, side)):
                    named[key].append(unit)
            sides.append(named)
        for key, units in sides[0].items():
            others = sides[1].get(key, [])
            if len(units) != 1 or len(others) != 1 or not places.is_same(units[0], others[0]):
                continue
            if key_of == places.gap and _ratio(units[0], others[0]) < _GAP_ALIKE:
                continue
            done |= {id(units[0]), id(others[0])}
            yield units[0], others[0]


_GAP_ALIKE = 0.4  # least similarity of the only two texts left between the same two


def _ratio(before: Unit, after: Unit) -> float:
    code = before.kind == "code"
    words = words_of(before.text, code=code), words_of(after.text, code=code)
    return SequenceMatcher(None, *words, autojunk=False).ratio()


# ---- what differs in two texts --------------------------------------------------------------------

_TOKEN = re.compile(
    r"https?://[^\s<>()\[\]\"'`|]+|~~|\d{4}-\d\d-\d\d|--?[A-Za-z][\w-]*|\d[\d,]*(?:\.\d+)*|(?:(?:~|\.{1,2})?/)?[A-Za-z_$][\w'$-]*(?:[./][\w$-]+)*/?|<=|>=|==|!=|[^\w\s]"
)
_DROPPED = frozenset("`*_\"'’.,;:()[]{}|—–·•✓")
_SAID_ALIKE = (
    (re.compile(r"\be\.g\.,?|\bfor example,?|\bfor instance,?", re.IGNORECASE), "eg"),
    (re.compile(r"\bi\.e\.,?|\bthat is,", re.IGNORECASE), "ie"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"([a-z])is(e[ds]?|ing|ation)\b"), r"\1iz\2"),
    (re.compile(r"\b(col|behavi|fav|hon|lab)our"), r"\1or"),
)
"""Spellings of one text."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER_WORDS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred".split()
)
_POINTED = frozenset(
    "step steps phase phases section sections chapter part figure table appendix rule gate stage § #".split()
)
"""Words after which a number names a place."""
_UNITS = frozenset(
    "% ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month months"
    " year years b kb mb gb tb kib mib gib px pt em rem mm cm m km g kg mg token tokens line lines row rows column"
    " columns char chars character characters word words byte bytes item items".split()
)
_UP = frozenset("> >= ≥ least more greater above over exceeds after minimum min longer larger".split())
_DOWN = frozenset(
    "< <= ≤ most fewer less smaller below under within before until maximum max shorter".split()
)
_EXACT = frozenset("= == != ≠ exactly only".split())
_COMPARATORS = _UP | _DOWN | _EXACT
_NEGATIONS = frozenset("~~ not never no none neither nor without cannot".split())
_NEGATING = _NEGATIONS | frozenset(
    "do does did be to always ever any longer a an the can will should must may is are".split()
)
"""Words of a difference that turns a text round and says nothing else."""
_OBLIGING = frozenset("must shall required requires mandatory always".split())
_ADVISING = frozenset("should recommended prefer preferably usually ought".split())
_PERMITTING = frozenset("may can could might optional optionally allowed".split())
_ALL = frozenset("all every each both any".split())
_SOME = frozenset("some few several most one".split())
_CONDITIONS = frozenset("unless except if only when whenever until while where once".split())
_PEOPLE = frozenset("user users human person people developer operator owner customer".split())
_AGENTS = frozenset("agent agents subagent assistant model bot".split())
_JOINED = frozenset({"and", "or"})
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|--\s).*$")
_SPAN = re.compile(r"`[^`\n]+`")
_BRIEF = 2  # words of a name or argument
_WHOLE = 5  # words of one difference above which a text says another thing in that place


def words_of(text: str, *, code: bool) -> list[str]:
    """The words and signs that carry meaning: in code all but the comment, elsewhere in lower case."""
    if code:
        return _TOKEN.findall(_COMMENT.sub("", text))
    text = written_out(straight_quotes(text))
    for pattern, spelling in _SAID_ALIKE:
        text = pattern.sub(spelling, text)
    return [word.lower() for word in _TOKEN.findall(text) if word not in _DROPPED]


def _reworded(before: Unit, after: Unit, places: _Places, normaliser: TextNormaliser) -> Edit:
    texts = normaliser.text(before), normaliser.text(after)
    changes = tuple(_changes(before, *texts))
    in_place = places.is_same(before, after)
    return Edit("reworded" if changes else "moved", before, after, changes, in_place)


def _changes(unit: Unit, before: str, after: str) -> Iterator[Change]:
    code = unit.kind == "code"
    old, new = words_of(before, code=code), words_of(after, code=code)
    spans = _words_in_spans(before), _words_in_spans(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    types = set[ChangeType]()
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            context = old[max(0, i - 4) : i]
            types.add(type_ := _type_of(unit, context, old[i:j], new[k:m], spans))
            yield Change(type_, " ".join(old[i:j]), " ".join(new[k:m]))
    numbers = [[word for word in side if _is_number(word)] for side in (old, new)]
    if types == {"words"} and numbers[0] != numbers[1] and sorted(numbers[0]) == sorted(numbers[1]):
        yield Change("number", " ".join(numbers[0]), " ".join(numbers[1]))


def _words_in_spans(text: str) -> frozenset[str]:
    words = {word for span in _SPAN.findall(text) for word in _TOKEN.findall(span[1:-1])}
    words |= {word for word in _TOKEN.findall(text) if word.startswith("http")}
    return frozenset(word.lower() for word in words) - _DROPPED


def _is_number(word: str) -> bool:
    return (word[:1].isdigit() and not _DATE.fullmatch(word)) or word in _NUMBER_WORDS


def _type_of(
    unit: Unit,
    context: Sequence[str],
    old: Sequence[str],
    new: Sequence[str],
    spans: tuple[frozenset[str], frozenset[str]],
) -> ChangeType:
    """What a difference is, the worst first."""
    if max(len(old), len(new)) > _WHOLE:
        cut = not (old and new) and _CONDITIONS & {*old, *new}
        return "condition" if cut and unit.kind != "code" else "words"
    code = unit.kind == "code"
    was, now = set(old), set(new)
    in_spans = bool(old and new) and was <= spans[0] and now <= spans[1]
    if not code and not in_spans:
        if bool(was & _NEGATIONS) != bool(now & _NEGATIONS) and was | now <= _NEGATING:
            return "negation"
        strength = _strength(was), _strength(now)
        if strength[0] != strength[1] and all(strength):
            return "permission" if "obliging" in strength else "modal"
        if len(old) == len(new) == 1 and has_opposites(old[0], new[0]):
            return "opposite"
    if was & _COMPARATORS and now & _COMPARATORS and was != now:
        if not code or was | now <= _COMPARATORS:
            return "comparator"
    numbers = [[word for word in side if _is_number(word)] for side in (old, new)]
    if all(numbers) and numbers[0] != numbers[1]:
        near = {*context[-1:], *was, *now}
        if unit.kind == "heading" or not context or near & _POINTED:
            return "pointer"
        return "default" if "default" in context else "number"
    if len(old) == len(new) == 1 and was | now <= _UNITS:
        return "unit"
    if old and new and "default" in context:
        return "default"
    if code or in_spans:
        return _type_in_code(old, new)
    if was & _ALL and now & _SOME or was & _SOME and now & _ALL:
        return "quantifier"
    if was & _PEOPLE and now & _AGENTS or was & _AGENTS and now & _PEOPLE:
        return "agent"
    if was <= _JOINED and now <= _JOINED and was and now:
        return "conjunction"
    if bool(was & _CONDITIONS) != bool(now & _CONDITIONS):
        return "condition"
    return "words"


def _type_in_code(old: Sequence[str], new: Sequence[str]) -> ChangeType:
    if not old or max(len(old), len(new)) > _BRIEF:
        return "words"  # more is said, or another thing
    if any(word.startswith("-") and len(word) > 1 for word in old):
        return "argument"
    words = [word for side in (old, new) for word in side if word[0].isalnum() or word[0] in "_$"]
    if len(old) == len(new) == 1 and len(words) == 2 and not any(map(_DATE.fullmatch, words)):
        return "path" if basename(old[0].rstrip("/")) == basename(new[0].rstrip("/")) else "name"
    return "words"


def _strength(words: set[str]) -> str:
    for name, known in (
        ("obliging", _OBLIGING), ("advising", _ADVISING), ("permitting", _PERMITTING),
    ):  # fmt: skip
        if words & known:
            return name
    return ""
