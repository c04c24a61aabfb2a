"""Differences between two versions of a sentence in the words that say who, how many, when, and joined how.

The words of these classes are few and closed. Two versions are aligned word by word, so that an exchange counts only in
one place: an "and" that goes at one end and an "or" that comes at the other are two edits of the wording.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from skilljuror.base.skill import ChangeKind
from skilljuror.skill.critical_tokens import written_out

_CLASSES: tuple[tuple[ChangeKind, frozenset[str], frozenset[str]], ...] = (
    ("conjunction", frozenset({"and"}), frozenset({"or"})),
    (
        "quantifier",
        frozenset({
            "all",
            "every",
            "each",
            "both",
            "whole",
            "entire",
            "everything",
            "everyone",
            "everybody",
        }),
        frozenset({
            "some",
            "few",
            "several",
            "certain",
            "many",
            "most",
            "something",
            "someone",
            "somebody",
        }),
    ),
    (
        "agent",
        frozenset({
            "user",
            "human",
            "person",
            "people",
            "partner",
            "customer",
            "developer",
            "operator",
            "owner",
        }),
        frozenset({"agent", "subagent", "assistant", "model", "bot"}),
    ),
)
"""Change -> words of one end and of the other."""
_CONDITIONS = frozenset({
    "if",
    "when",
    "whenever",
    "unless",
    "until",
    "except",
    "once",
    "while",
    "provided",
    "where",
})
_SCOPES = _CONDITIONS | {"for"}
_CLAUSE = 3  # minimum words of a clause that no such word opens
_WORD = re.compile(r"`[^`]*`|\w[\w'./-]*\w|\w|[<>=≤≥]+")
_EDGE = re.compile(r"[.,;:!?()—–]| - ")
_ALIGNED = 250_000  # maximum product of two lengths; longer texts count as wholly replaced


class _Run(NamedTuple):
    """Words of one version, from `start` up to `end`, and the words in their place in the other."""

    start: int
    end: int
    others: Sequence[str]


class _Words(NamedTuple):
    """A text's words in lower case, and the places between them where a clause may begin or end."""

    words: Sequence[str]
    edges: frozenset[int]


def function_word_change(before: str, after: str) -> ChangeKind | None:
    """Return the change of a conjunction, a quantifier, an agent or a condition; None if there is none."""
    old, new = _read(before), _read(after)
    runs = list(_runs(old.words, new.words))
    for change, one_end, other_end in _CLASSES:
        for removed, _ in runs:
            gone = _members(old.words[removed.start : removed.end])
            come = _members(removed.others)
            if _turned(gone, come, one_end, other_end) or _turned(gone, come, other_end, one_end):
                return change
    cut = any(_is_clause(old, one[0]) or _is_clause(new, one[1]) for one in runs)
    return "condition" if cut else None


def _read(text: str) -> _Words:
    text = written_out(text).lower()
    words: list[str] = []
    edges, last = {0}, 0
    for match in _WORD.finditer(text):
        if _EDGE.search(text[last : match.start()]):
            edges.add(len(words))
        words.append(match[0])
        last = match.end()
    return _Words(words, frozenset({*edges, len(words)}))


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[_Run, _Run]]:
    """Each place that differs, as seen from both versions."""
    if len(old) * len(new) > _ALIGNED:
        yield _Run(0, len(old), new), _Run(0, len(new), old)
        return
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield _Run(a, b, new[c:d]), _Run(c, d, old[a:b])


def _members(words: Sequence[str]) -> frozenset[str]:
    """The words and their singular forms."""
    bare = [word.removesuffix("'s").removesuffix("s'") for word in words]
    return frozenset(form for word in bare for form in (word, word.removesuffix("s")))


def _turned(
    gone: frozenset[str], come: frozenset[str], one_end: frozenset[str], other_end: frozenset[str]
) -> bool:
    return bool(gone & one_end and come & other_end) and not come & one_end


def _is_clause(text: _Words, run: _Run) -> bool:
    """Whether a run of words is a condition that has no counterpart, or begins or ends where clauses do."""
    own, size = set(text.words[run.start : run.end]), run.end - run.start
    if run.others:
        lost = _CONDITIONS & own and not _CONDITIONS & set(run.others)
        return bool(lost) and size - len(run.others) >= _CLAUSE
    if _SCOPES & own:
        return size > 1
    places = ((run.start + shift, run.end + shift) for shift in _shifts(text.words, run))
    return size >= _CLAUSE and any(text.edges & {*place} for place in places)


def _shifts(words: Sequence[str], run: _Run) -> Iterator[int]:
    """The places at which the same text is left if a run as long is cut there: "the a b | the c"."""
    yield 0
    for step in (-1, 1):
        shift = 0
        while True:
            first, last = run.start + shift, run.end + shift
            if step < 0 and not (first > 0 and words[first - 1] == words[last - 1]):
                break
            if step > 0 and not (last < len(words) and words[first] == words[last]):
                break
            shift += step
            yield shift
