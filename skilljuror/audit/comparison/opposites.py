"""Words that reverse the meaning of a sentence when one replaces the other."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

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
_WORD = re.compile(r"[^\W\d_]+")


def has_opposites(before: str, after: str) -> bool:
    """Whether a word was replaced by its opposite: on a scale (smallest, largest; reliably, rarely), or by a prefix
    (safe, unsafe; upstream, downstream)."""
    old, new = Counter(_words(before)), Counter(_words(after))
    removed, added = list(old - new), list(new - old)
    return any(_are_opposite(first, second) for first in removed for second in added)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


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
