"""Which sentence of the source a row tells: whole, telling, and of one file alone."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.block_index import MarkdownIndex, Passage, visible_text
from skilljuror.transforms.disclosure.sections import LineRange
from skilljuror.transforms.disclosure.trigger_cues import (
    Mention,
    sentences,
    without_file_name,
)

MAX_CUE = 240
"""Characters of a cue. A longer sentence is not told: half of one is worse than none."""
LEAST_CHARS = 20
"""Characters of a sentence that a file opens with, from which it can stand alone."""
LEAST = 3
"""Words beside the file's name without which a mention tells nothing."""
LEAST_BACK = 6
"""The same for a sentence that points back to what was said before it."""
LEAST_LEAD = 4
"""Words from which a line before a colon can tell something."""
LEAST_ITEM = 6
"""Words from which a list item without a full stop is a sentence."""
LEAST_BEFORE_COMMAND = 8
"""Words from which a sentence that points to a command tells something without it."""
PASSAGES = 16
"""Paragraphs of a file whose sentences may be told."""
EARLIER = 0.25
"""What each paragraph before it takes from a sentence's rank."""

NAMED = 10.0
"""What a sentence that names the file is worth beside all others."""

_BOLD = re.compile(r"\*\*|__")
_POINTS_ON = re.compile(
    r"\b(?:following|below|these|this|here|include[sd]?|are|is|when|if)\b", re.IGNORECASE
)
_POINTS_BACK = re.compile(
    r"(?:they|it|that|these|those|both|here|this (?!file|guide|skill|section|document|page"
    r"|reference|script|tool|template|workflow|chapter)\w+)\b",
    re.IGNORECASE,
)
_TRIGGER = re.compile(
    r"\b(when|if|for|before|after|see|read|use|consult|refer|follow|load|run|needs?|contains?)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:use (?:this|it|when|for|if)|when|whenever|if|before|after|for|unless|while|once|to)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says when."""
_ENDED = re.compile(r"[.!。！][\"'”’)*_`]{0,3}$")
_OPEN_END = re.compile(
    r"\b(?:a|an|the|of|to|in|on|at|by|for|with|from|into|as|that|which|who|when|if|and|or|but|not"
    r"|is|are|was|be|its|their|your|than|via|see|using)$|\.\.\.$|…$",
    re.IGNORECASE,
)
"""A sentence ends so only where something of it is missing."""
_ASIDE = re.compile(r" ?\([^()]*\)")
_STATES_FIRST = re.compile(r"\w [—–-] |\w[:;] ")
"""A question after a statement."""
_LABELLED = re.compile(r"(?<![^\s*])[A-Z][\w ]{1,24}:\s")
_CODE = re.compile(r"`[^`]*`")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_LONGER = re.compile(r"[^\W\d_]{4,}")
_STEM = 5
"""Letters by which two words are one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a row could tell."""

    source: str
    """As it stands."""
    cue: str
    """As the row would say it."""
    rank: float
    named: bool = False
    """Whether it names the file: what it says is of that file, wherever it stands."""


class Vocabulary:
    """How telling a word is: the fewer files have it, the more."""

    def __init__(self, texts: Iterable[str]) -> None:
        stems = [_stems(text) for text in texts]
        self._files = len(stems)
        self._having = Counter(stem for one in stems for stem in one)

    def share(self, sentence: str) -> float:
        """From 0, words of every file, to 1, words of one file alone; the mean of its words."""
        stems = _stems(sentence)
        if self._files < 2 or not stems:
            return 0.0
        rare = (log(self._files / max(1, self._having[stem])) for stem in sorted(stems))
        return sum(rare) / len(stems) / log(self._files)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM].lower() for word in _LONGER.findall(text))


def whole_cue(source: str, names: Sequence[str] = (), limit: int = MAX_CUE) -> str:
    """A sentence as a row can say it; "" where it is no whole one, asks, or leads to what is not
    told. A command after it is left out, the file's name where the row gives it already, and of a
    sentence that is too long what stands in parentheses."""
    head, mark, _ = source.partition(": `")
    cut = mark and len(head.split()) >= LEAST_LEAD and head.count("(") == head.count(")")
    text = visible_text(_BOLD.sub("", head if cut else source)).strip()
    if cut and len(text.split()) < LEAST_BEFORE_COMMAND and _POINTS_ON.search(text):
        return ""
    if text.endswith(":") and not _tells_alone(text, names):
        return ""
    text = without_file_name(text, names).rstrip(" :")
    text = text if len(text) <= limit else " ".join(_ASIDE.sub("", text).split())
    asks = text.endswith("?") and not _STATES_FIRST.search(text)
    return "" if asks or _OPEN_END.search(text) or len(text) > limit else text


def _tells_alone(lead: str, names: Sequence[str]) -> bool:
    """Whether a line before a colon says something without what follows it."""
    words = len(_ASIDE.sub("", lead).split())
    named = any(name in lead for name in names)
    return named or (words >= LEAST_LEAD and not _POINTS_ON.search(lead))


def said_of_file(
    mentions: Sequence[Mention], names: Sequence[str], limit: int
) -> Iterator[Candidate]:
    """What the text says of a file where it names it."""
    for number, mention in enumerate(mentions):
        cue = whole_cue(mention.sentence, names, limit)
        if not cue:
            continue
        rest = visible_text(_CODE.sub(" ", mention.sentence))
        for name in names:
            rest = rest.replace(name, " ").replace(PurePosixPath(name).stem.replace("-", " "), " ")
        words = _LETTERS.findall(rest)
        if len(words) >= (LEAST_BACK if _POINTS_BACK.match(rest) else LEAST):
            hints = len(_TRIGGER.findall(rest))
            rank = min(hints, 3) + min(len(words), 6) / 6
            yield Candidate(mention.sentence, cue, NAMED + rank - number / 1000, named=True)


def said_in_file(
    markdown: MarkdownIndex, ranges: Sequence[LineRange], vocabulary: Vocabulary, limit: int
) -> Iterator[Candidate]:
    """What the first paragraphs of a file say of its matter, the telling and the early ones first."""
    passages = [passage for lines in ranges for passage in markdown.passages_in(*lines)]
    for number, passage in enumerate(passages[:PASSAGES]):
        source = next(iter(sentences(passage.text)), "")
        cue = whole_cue(source, limit=limit)
        if len(cue) < LEAST_CHARS or not _is_sentence(cue, source, passage):
            continue
        rank = vocabulary.share(cue) - EARLIER * number
        rank += 0.5 * bool(_CONDITION.match(cue)) + 0.5 * bool(_ENDED.search(source))
        yield Candidate(source, cue, rank - 0.5 * passage.is_item)


def _is_sentence(cue: str, source: str, passage: Passage) -> bool:
    """Whether what a paragraph opens with says something: no speech, no list of labels, no
    aside, no tag, no fragment."""
    speech = any(mark in cue[:16] for mark in '"“') or cue.startswith("User:")
    labels = len(_LABELLED.findall(cue)) > 1
    if speech or labels or cue.startswith(("(", "<")) or _POINTS_BACK.match(cue):
        return False
    ended = _ENDED.search(source) or _CONDITION.match(cue)
    return bool(ended) or not passage.is_item or len(_ASIDE.sub("", cue).split()) >= LEAST_ITEM


def chosen_cues(
    candidates: Mapping[str, Sequence[Candidate]], told: Collection[str] = ()
) -> dict[str, str]:
    """Path -> the best sentence that is told of that file alone.

    A sentence that several rows could tell tells none of them from the others, unless it names a
    file: then it is that file's, and not the one's in which it stands. Of the files `told` the page
    says already what names them.
    """
    every = [
        (path, one, key) for path, said in candidates.items() for one in said for key in _keys(one)
    ]
    named = {key for _, one, key in every if one.named}
    owners: dict[str, set[str]] = defaultdict(set)
    for path, one, key in every:
        if one.named or key not in named:
            owners[key].add(path)
    chosen = {}
    for path, said in candidates.items():
        own = [one for one in said if all(owners[key] == {path} for key in _keys(one))]
        own = [one for one in own if not (one.named and path in told)]
        best = max(own, key=lambda one: one.rank, default=None)
        if best:
            chosen[path] = best.cue
    return chosen


def _keys(candidate: Candidate) -> set[str]:
    return {" ".join(text.casefold().split()) for text in (candidate.source, candidate.cue)}
