"""What differs in two versions of a text, each difference with a type: a number, a negation, an argument."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from posixpath import basename
from typing import Literal, NamedTuple

import yaml

from skilljuror.base.files import data_dir
from skilljuror.skill.critical_tokens import straight_quotes, written_out

ChangeType = Literal[
    "number", "unit", "comparator", "default", "negation", "opposite", "permission", "modal",
    "quantifier", "conjunction", "condition", "agent", "name", "path", "argument", "pointer", "words",
]  # fmt: skip

_WHOLE = 5  # words of one difference above which a text says another thing in that place
_BRIEF = 2  # words of a name or argument
_TOKEN = re.compile(
    r"https?://[^\s<>()\[\]\"'`|]+|~~|\d{4}-\d\d-\d\d|--?[A-Za-z][\w-]*|\d+(?:,\d{3})*(?:\.\d+)*"
    r"|(?:(?:~|\.{1,2})?/)?[A-Za-z_$][\w'$-]*(?:[./][\w$-]+)*/?|<=|>=|==|!=|[^\w\s]|\w+"
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
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|--\s).*$")
_SPAN = re.compile(r"`[^`\n]+`")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@lru_cache(maxsize=1)
def words_named() -> dict[str, frozenset[str]]:
    """The packaged lists of words, by their names."""
    path = data_dir("rubrics") / "words-of-edits.yaml"
    return {
        name: frozenset(text.split()) for name, text in yaml.safe_load(path.read_bytes()).items()
    }


class Change(NamedTuple):
    """Words that differ in a text that is otherwise the same."""

    type: ChangeType
    old: str
    """The words before; "" where words were only added."""
    new: str


def words_of(text: str, *, code: bool) -> list[str]:
    """The words and signs that carry meaning: in code all but the comment, elsewhere in lower case."""
    if code:
        return _TOKEN.findall(_COMMENT.sub("", text))
    text = written_out(straight_quotes(text))
    for pattern, spelling in _SAID_ALIKE:
        text = pattern.sub(spelling, text)
    return [word.lower() for word in _TOKEN.findall(text) if word not in _DROPPED]


def likeness(before: str, after: str, *, code: bool) -> float:
    """Share of the words of two texts that are equal, in order."""
    words = words_of(before, code=code), words_of(after, code=code)
    return SequenceMatcher(None, *words, autojunk=False).ratio()


class _Difference(NamedTuple):
    """Words in one place of two texts, and what its type depends on."""

    old: Sequence[str]
    new: Sequence[str]
    before: Sequence[str]
    """The last words above the place."""
    kind: str
    """Kind of the unit."""
    quoted: bool
    """Whether both sides are words of code spans or addresses."""

    def sides(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """The words of each side that a list has."""
        known = words_named()[name]
        return known.intersection(self.old), known.intersection(self.new)

    def swaps(self, name: str, other: str) -> bool:
        """Whether a word of one list became one of another, in either direction."""
        (old, new), (old_too, new_too) = self.sides(name), self.sides(other)
        return bool((old and new_too) or (old_too and new))

    @property
    def prose(self) -> bool:
        return self.kind != "code" and not self.quoted

    @property
    def numbers(self) -> tuple[list[str], list[str]]:
        old, new = ([word for word in side if is_number(word)] for side in (self.old, self.new))
        return (old, new) if old and new and old != new else ([], [])

    def only(self, *names: str) -> bool:
        """Whether every word of both sides is in one of the lists."""
        known = frozenset().union(*(words_named()[name] for name in names))
        return known.issuperset((*self.old, *self.new))


def is_number(word: str) -> bool:
    """Whether a word is a number, in digits or letters, and no date."""
    return (word[:1].isdigit() and not _DATE.fullmatch(word)) or word in words_named()["numbers"]


def _is_negation(one: _Difference) -> bool:
    old, new = one.sides("negations")
    return one.prose and bool(old) != bool(new) and one.only("negations", "negating")


def _is_permission(one: _Difference) -> bool:
    return one.prose and (one.swaps("obliging", "advising") or one.swaps("obliging", "permitting"))


def _is_opposite(one: _Difference) -> bool:
    single = len(one.old) == len(one.new) == 1
    return one.prose and single and has_opposites(one.old[0], one.new[0])


def _is_comparator(one: _Difference) -> bool:
    old, new = one.sides("comparators")
    return bool(old and new and old != new) and (one.kind != "code" or one.only("comparators"))


def _is_pointer(one: _Difference) -> bool:
    near = {*one.before[-1:], *one.old, *one.new}
    counts = one.kind == "heading" or (one.kind == "row" and not one.before)
    return bool(one.numbers[0] and (counts or near & words_named()["pointed"]))


def _is_name(one: _Difference) -> bool:
    words = [
        word
        for side in (one.old, one.new)
        for word in side
        if word[0].isalnum() or word[0] in "_$/"
    ]
    single = len(one.old) == len(one.new) == 1 and len(words) == 2
    return single and not one.prose and not any(map(_DATE.fullmatch, words))


def _is_argument(one: _Difference) -> bool:
    brief = one.old and max(len(one.old), len(one.new)) <= _BRIEF
    return bool(not one.prose and brief) and any(word[0] == "-" < word for word in one.old)


def _is_path(one: _Difference) -> bool:
    names = [basename(word.rstrip("/")) for word in (*one.old, *one.new)]
    return (
        _is_name(one) and any("/" in word for word in (*one.old, *one.new)) and names[0] == names[1]
    )


def _is_condition(one: _Difference) -> bool:
    old, new = one.sides("conditions")
    return one.prose and bool(old) != bool(new)


_TYPES: tuple[tuple[ChangeType, Callable[[_Difference], bool]], ...] = (
    ("negation", _is_negation),
    ("permission", _is_permission),
    ("modal", lambda one: one.prose and one.swaps("advising", "permitting")),
    ("opposite", _is_opposite),
    ("comparator", _is_comparator),
    ("pointer", _is_pointer),
    ("default", lambda one: "default" in one.before and bool(one.old and one.new)),
    ("number", lambda one: bool(one.numbers[0])),
    ("unit", lambda one: len(one.old) == len(one.new) == 1 and one.only("units")),
    ("path", _is_path),
    ("argument", _is_argument),
    ("name", _is_name),
    ("quantifier", lambda one: one.prose and one.swaps("all", "some")),
    ("agent", lambda one: one.prose and one.swaps("people", "agents")),
    ("conjunction", lambda one: bool(one.old and one.new) and one.prose and one.only("joined")),
    ("condition", _is_condition),
)
"""Types of a difference, the first that fits; a difference of many words, or none of them, is of words."""


def changes_of(kind: str, before: str, after: str) -> Iterator[Change]:
    """Yield the differences of two texts of a kind of unit, in order; nothing where both say the same."""
    code = kind == "code"
    old, new = words_of(before, code=code), words_of(after, code=code)
    spans = _quoted(before), _quoted(after)
    types = set[ChangeType]()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        sides = old[i:j], new[k:m]
        quoted = all(span.issuperset(side) for span, side in zip(spans, sides, strict=True))
        types.add(type_ := _type_of(_Difference(*sides, old[max(0, i - 4) : i], kind, quoted)))
        yield Change(type_, " ".join(sides[0]), " ".join(sides[1]))
    numbers = [[word for word in side if is_number(word)] for side in (old, new)]
    if types == {"words"} and numbers[0] != numbers[1] and sorted(numbers[0]) == sorted(numbers[1]):
        yield Change("number", " ".join(numbers[0]), " ".join(numbers[1]))


def _type_of(one: _Difference) -> ChangeType:
    if max(len(one.old), len(one.new)) > _WHOLE:
        cut = not (one.old and one.new) and one.prose
        clause = _is_condition(one) or any(map(is_number, one.old))
        return "condition" if cut and clause else "words"
    return next((type_ for type_, fits in _TYPES if fits(one)), "words")


def _quoted(text: str) -> frozenset[str]:
    """The words of the code spans and addresses of a text."""
    words = {word for span in _SPAN.findall(text) for word in _TOKEN.findall(span[1:-1])}
    words |= {word for word in _TOKEN.findall(text) if word.startswith("http")}
    return frozenset(word.lower() for word in words) - _DROPPED


# ---- opposites ---------------------------------------------------------------------------------

_SCALES = """
always reliably consistently often frequently commonly regularly usually typically common frequent regular
| rarely seldom hardly scarcely sometimes occasionally sporadically rare infrequent occasional
large big great high long many much most more wide broad deep tall huge heavy thick
| small little tiny low short few less least fewer narrow shallow minor light thin
early first begin start top oldest earliest | late last end finish bottom newest latest
fast quick rapid immediate | slow gradual
strong strict rigid firm hard | weak lax loose lenient soft
easy simple plain | difficult hard complex complicated elaborate
good best better right correct proper safe | bad worst worse wrong incorrect faulty dangerous unsafe harmful
new fresh recent young | old stale outdated ancient
true yes | false no
full fill complete whole entire all every | empty partial incomplete none
open enable allow accept permit grant approve | close disable forbid reject deny refuse block disallow
add insert include append attach join merge combine | remove delete exclude omit drop detach split separate
increase raise grow expand extend maximise maximize rise widen upgrade | decrease lower reduce shrink shorten
  minimise minimize fall narrow downgrade
keep retain preserve save | discard delete drop lose
pass succeed success win | fail failure lose
show display reveal visible | hide conceal hidden invisible
public external outer outside global remote shared | private internal inner inside local own
left | right
input | output
up upward above forward ahead onward | down downward below backward behind back
read load download pull receive fetch | write store upload push send
online active live running busy on | offline inactive dead stopped idle off
static constant fixed | dynamic variable
manual | automatic
synchronous sequential serial | asynchronous parallel concurrent
ascending | descending
positive plus gain profit | negative minus loss
cold cool | hot warm
dry | wet
clean | dirty
before earlier previously | after later afterwards
together jointly | separately apart alone individually
same equal identical similar | different unequal distinct opposite
explicit clear obvious | implicit vague unclear hidden
specific narrow exact precise | general generic broad vague rough approximate
lock encrypt encode compress | unlock decrypt decode decompress
trust believe | doubt distrust suspect
prefer favour favor seek encourage | avoid shun discourage
required mandatory necessary | optional unnecessary
cause source origin | effect symptom consequence
"""
_PREFIXES = (
    ("", "un"), ("", "in"), ("", "im"), ("", "ir"), ("", "dis"), ("", "non"), ("", "mis"),
    ("up", "down"), ("over", "under"), ("pre", "post"), ("en", "de"), ("en", "dis"), ("in", "ex"),
    ("im", "ex"), ("in", "out"), ("in", "de"), ("multi", "single"), ("as", "des"), ("maxi", "mini"),
)  # fmt: skip
_SUFFIXES = (
    ("ies", "y"), ("ied", "y"), ("ier", "y"), ("iest", "y"), ("ily", "y"), ("ly", "le"),
    ("est", ""), ("est", "e"), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("er", ""),
    ("er", "e"), ("es", ""), ("ly", ""), ("s", ""),
)  # fmt: skip
_LEAST = 4
"""Minimum letters of a word without its prefix; one less if the other word has a prefix too."""
_LETTERS = re.compile(r"[^\W\d_]+")


def has_opposites(before: str, after: str) -> bool:
    """Whether a word was replaced by its opposite: on a scale (smallest, largest; reliably, rarely), or by a prefix
    (safe, unsafe; upstream, downstream)."""
    old, new = Counter(_plain(before)), Counter(_plain(after))
    removed, added = list(old - new), list(new - old)
    return any(_are_opposite(first, second) for first in removed for second in added)


def _plain(text: str) -> list[str]:
    return [word.lower() for word in _LETTERS.findall(text)]


@lru_cache(maxsize=1 << 12)
def _are_opposite(first: str, second: str) -> bool:
    scales = _poles(first)
    reversed_scales = {(scale, not end) for scale, end in _poles(second)}
    return bool(scales & reversed_scales) or any(
        _differ_by(first, second, *pair) or _differ_by(second, first, *pair) for pair in _PREFIXES
    )


def _differ_by(first: str, second: str, prefix: str, other: str) -> bool:
    if not first.startswith(prefix) or not second.startswith(other):
        return False
    roots, others = _forms(first[len(prefix) :]), _forms(second[len(other) :])
    return any(len(root) >= _LEAST - bool(prefix) for root in roots & others)


def _poles(word: str) -> set[tuple[int, bool]]:
    """(scale, which end) of a word in any of its forms."""
    return {pole for form in _forms(word) for pole in _POLES.get(form, ())}


@lru_cache(maxsize=1 << 14)
def _forms(word: str) -> frozenset[str]:
    """A word and its possible base forms: smallest, small; running, run; reliably, reliable."""
    return frozenset({word, *_stems(word)})


def _stems(word: str) -> Iterator[str]:
    for suffix, ending in _SUFFIXES:
        stem = word.removesuffix(suffix)
        if stem != word and len(stem) > 1:
            yield stem + ending
            if stem[-1:] == stem[-2:-1]:
                yield stem[:-1] + ending


def _read_scales() -> dict[str, set[tuple[int, bool]]]:
    poles: dict[str, set[tuple[int, bool]]] = {}
    joined = re.sub(r"\n(?=\||  )", " ", _SCALES.strip())
    for number, line in enumerate(joined.split("\n")):
        for end, words in enumerate(line.split("|")):
            for word in words.split():
                poles.setdefault(word, set()).add((number, bool(end)))
    return poles


_POLES = _read_scales()
