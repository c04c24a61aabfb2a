"""What differs in two versions of a text, each difference with a type: a number, a negation, an argument."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from posixpath import basename
from typing import Literal, NamedTuple

import yaml

from skilljuror.audit.comparison.opposites import has_opposites
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
    pointed = one.kind == "heading" or not one.before or near & words_named()["pointed"]
    return bool(one.numbers[0] and pointed)


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
