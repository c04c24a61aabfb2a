"""Choose the sentence of the source that a row quotes: complete, informative, and about one file alone."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.block_index import MarkdownIndex, Passage, visible_text
from skilljuror.transforms.disclosure.sections import LineRange
from skilljuror.transforms.disclosure.trigger_cues import Mention, sentences, without_file_name

MAX_CUE = 240  # maximum characters of a cue; a longer sentence is not quoted in part
LEAST_CHARS = 20  # minimum characters of a cue from the file itself
LEAST = 3  # minimum words of a mention besides the file's name
LEAST_BACK = 6  # the same for a sentence that refers to the text before it
LEAST_LEAD = 4  # minimum words of an informative line before a colon
LEAST_ITEM = 6  # minimum words of a list item without a full stop that counts as a sentence
LEAST_BEFORE_COMMAND = 8  # minimum words of a sentence that is quoted without the command after it
PASSAGES = 16  # paragraphs of a file whose sentences may be quoted
EARLIER = 0.25  # loss of a sentence's rank for each paragraph before it
NAMED = 10.0  # rank of a sentence that names the file, above all others
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
"""The beginning of a sentence that states a condition."""
_ENDED = re.compile(r"[.!。！][\"'”’)*_`]{0,3}$")
_OPEN_END = re.compile(
    r"\b(?:a|an|the|of|to|in|on|at|by|for|with|from|into|as|that|which|who|when|if|and|or|but|not"
    r"|is|are|was|be|its|their|your|than|via|see|using)$|\.\.\.$|…$",
    re.IGNORECASE,
)
"""The end of an incomplete sentence."""
_ASIDE = re.compile(r" ?\([^()]*\)")
_STATES_FIRST = re.compile(r"\w [—–-] |\w[:;] ")  # a question after a statement
_LABELLED = re.compile(r"(?<![^\s*])[A-Z][\w ]{1,24}:\s")
_CODE = re.compile(r"`[^`]*`")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_LONGER = re.compile(r"[^\W\d_]{4,}")
_STEM = 5  # leading letters by which two words count as equal


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a row could quote."""

    source: str  # as written
    cue: str  # as quoted in the row
    rank: float
    named: bool = False  # whether it names the file, and so describes that file in any place


class Vocabulary:
    """The rarity of words across files."""

    def __init__(self, texts: Iterable[str]) -> None:
        stems = [_stems(text) for text in texts]
        self._files = len(stems)
        self._having = Counter(stem for one in stems for stem in one)

    def rarity(self, sentence: str) -> float:
        """Return the mean rarity of a sentence's words: 0 for words of every file, 1 for words of one file."""
        stems = _stems(sentence)
        if self._files < 2 or not stems:
            return 0.0
        rare = (log(self._files / max(1, self._having[stem])) for stem in sorted(stems))
        return sum(rare) / len(stems) / log(self._files)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM].lower() for word in _LONGER.findall(text))


def whole_cue(source: str, names: Sequence[str] = (), limit: int = MAX_CUE) -> str:
    """Return a sentence as a row quotes it; "" if it is incomplete, a question, or refers to text that is not quoted.

    A command after it, the file's name in front of it and, if it is too long, parentheses are left out.
    """
    head, mark, _ = source.partition(": `")
    cut = mark and len(head.split()) >= LEAST_LEAD and head.count("(") == head.count(")")
    text = visible_text(_BOLD.sub("", head if cut else source)).strip()
    if cut and len(text.split()) < LEAST_BEFORE_COMMAND and _POINTS_ON.search(text):
        return ""
    if text.endswith(":") and not _is_complete(text, names):
        return ""
    text = without_file_name(text, names).rstrip(" :")
    text = text if len(text) <= limit else " ".join(_ASIDE.sub("", text).split())
    asks = text.endswith("?") and not _STATES_FIRST.search(text)
    return "" if asks or _OPEN_END.search(text) or len(text) > limit else text


def _is_complete(lead: str, names: Sequence[str]) -> bool:
    words = len(_ASIDE.sub("", lead).split())
    named = any(name in lead for name in names)
    return named or (words >= LEAST_LEAD and not _POINTS_ON.search(lead))


def cues_of_mentions(
    mentions: Sequence[Mention], names: Sequence[str], limit: int
) -> Iterator[Candidate]:
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


def cues_in_file(
    markdown: MarkdownIndex, ranges: Sequence[LineRange], vocabulary: Vocabulary, limit: int
) -> Iterator[Candidate]:
    """Yield the first sentence of each of a file's first paragraphs."""
    passages = [passage for lines in ranges for passage in markdown.passages_in(*lines)]
    for number, passage in enumerate(passages[:PASSAGES]):
        source = next(iter(sentences(passage.text)), "")
        cue = whole_cue(source, limit=limit)
        if len(cue) < LEAST_CHARS or not _is_sentence(cue, source, passage):
            continue
        rank = vocabulary.rarity(cue) - EARLIER * number
        rank += 0.5 * bool(_CONDITION.match(cue)) + 0.5 * bool(_ENDED.search(source))
        yield Candidate(source, cue, rank - 0.5 * passage.is_item)


def _is_sentence(cue: str, source: str, passage: Passage) -> bool:
    """Whether the opening of a paragraph is a statement: no speech, label list, aside, tag or fragment."""
    speech = any(mark in cue[:16] for mark in '"“') or cue.startswith("User:")
    labels = len(_LABELLED.findall(cue)) > 1
    if speech or labels or cue.startswith(("(", "<")) or _POINTS_BACK.match(cue):
        return False
    ended = _ENDED.search(source) or _CONDITION.match(cue)
    return bool(ended) or not passage.is_item or len(_ASIDE.sub("", cue).split()) >= LEAST_ITEM


def chosen_cues(
    candidates: Mapping[str, Sequence[Candidate]], described: Collection[str] = ()
) -> dict[str, str]:
    """Return path -> the best sentence about that file alone.

    A sentence that fits several rows is not used, unless it names a file: then it belongs to that file, not
    to the one that holds it. For `described` files, the page already has the sentences that name them.
    """
    keyed = [
        (path, one, key)
        for path, every in candidates.items()
        for one in every
        for key in _keys(one)
    ]
    named = {key for _, one, key in keyed if one.named}
    owners: dict[str, set[str]] = defaultdict(set)
    for path, one, key in keyed:
        if one.named or key not in named:
            owners[key].add(path)
    chosen = {}
    for path, every in candidates.items():
        own = [one for one in every if all(owners[key] == {path} for key in _keys(one))]
        own = [one for one in own if not (one.named and path in described)]
        best = max(own, key=lambda one: one.rank, default=None)
        if best:
            chosen[path] = best.cue
    return chosen


def _keys(candidate: Candidate) -> set[str]:
    return {" ".join(text.casefold().split()) for text in (candidate.source, candidate.cue)}
