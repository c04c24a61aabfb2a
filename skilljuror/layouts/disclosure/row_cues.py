"""Choose the sentence of the source that a row quotes as its reason: complete, about one file alone, with a
condition or a purpose."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skilljuror.layouts.disclosure.sections import LineRange
from skilljuror.layouts.disclosure.trigger_cues import Mention, sentences, without_file_name
from skilljuror.skill.generated import template_of_line
from skilljuror.skill.markdown import MarkdownIndex, visible_text

LEAST = 3  # minimum words of a cue besides the file's name
LEAST_LEAD = 4  # minimum words of an informative line before a colon
LEAST_BEFORE_COMMAND = 8  # minimum words of a sentence that is quoted without the command after it
SHORT = 15  # words above which parentheses are left out
_BOLD = re.compile(r"\*\*|__")
_POINTS_ON = re.compile(
    r"\b(?:following|below|these|this|here|include[sd]?|are|is|when|if)\b", re.IGNORECASE
)
_POINTS_BACK = re.compile(
    r"(?:they|it|that|these|those|both|here|this (?!file|guide|skill|section|document|page"
    r"|reference|script|tool|template|workflow|chapter)\w+)\b",
    re.IGNORECASE,
)
_SITUATION = re.compile(
    r"\b(?:when|whenever|if|unless|until|while|once|because|so that|instead of|only for|needs?"
    r"|requires?|before|after|(?:to|for) (?!(?:the|an?|this|that|these|it|its|your|our|their|be)\b)[a-z]+)\b",
    re.IGNORECASE,
)
"""A condition or a purpose."""
_SITUATION_FIRST = re.compile(
    r"^(?:use|read|for|to|only for|before|after|once|in order to)\b|\b(?:when|whenever|if|unless)\b",
    re.IGNORECASE,
)
_NO_REASON = re.compile(
    r"\b(?:e\.g\.|for (?:example|instance)|(?:contents|overview)$)|^(?:user|assistant|input|output|bad|good"
    r"|before|after|example|note|q|a)s?\s*[:：]|^[\"“❌✅({<]",
    re.IGNORECASE,
)
"""Examples, speech, anti-examples and data."""
_ENDED = re.compile(r"[.!。！][\"'”’)*_`]{0,3}$")
_OPEN_END = re.compile(
    r"\b(?:a|an|the|of|to|in|on|at|by|for|with|from|into|as|that|which|who|when|if|and|or|but|not"
    r"|is|are|was|be|its|their|your|than|via|see|using)$|\.\.\.$|…$",
    re.IGNORECASE,
)
"""The end of an incomplete sentence."""
_ASIDE = re.compile(r" ?\([^()]*\)")
_STATES_FIRST = re.compile(r"\w [—–-] |\w[:;] ")  # a question after a statement
_CODE = re.compile(r"`[^`]*`")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a row could quote."""

    source: str  # as written
    cue: str  # as quoted in the row
    named: bool = False  # whether it names the file, and so describes that file in any place


def whole_cue(source: str, names: Sequence[str] = ()) -> str:
    """Return a sentence as a row quotes it; "" if it is incomplete, a question, or refers to text that is not quoted.

    A command after it, the file's name in front of it and, if it is long, parentheses are left out.
    """
    head, mark, _ = source.partition(": `")
    cut = mark and len(head.split()) >= LEAST_LEAD and head.count("(") == head.count(")")
    text = visible_text(_BOLD.sub("", head if cut else source)).strip()
    if cut and len(text.split()) < LEAST_BEFORE_COMMAND and _POINTS_ON.search(text):
        return ""
    if text.endswith(":") and not _is_complete(text, names):
        return ""
    text = without_file_name(text, names).rstrip(" :")
    text = text if len(text.split()) <= SHORT else " ".join(_ASIDE.sub("", text).split())
    asks = text.endswith("?") and not _STATES_FIRST.search(text)
    return "" if asks or _OPEN_END.search(text) else text


def states_situation(cue: str) -> bool:
    """Whether a sentence states a condition or a purpose, and is no example or data."""
    return bool(_SITUATION.search(cue)) and not _NO_REASON.search(cue)


def _is_complete(lead: str, names: Sequence[str]) -> bool:
    words = len(_ASIDE.sub("", lead).split())
    named = any(name in lead for name in names)
    return named or (words >= LEAST_LEAD and not _POINTS_ON.search(lead))


def cues_of_mentions(mentions: Sequence[Mention], names: Sequence[str]) -> Iterator[Candidate]:
    """Yield the sentences that name a file and say when or what for it is needed."""
    for mention in mentions:
        if template_of_line(mention.sentence):
            continue  # said by this project, not by the source
        cue = whole_cue(mention.sentence, names)
        rest = visible_text(_CODE.sub(" ", mention.sentence))
        for name in names:
            rest = rest.replace(name, " ").replace(PurePosixPath(name).stem.replace("-", " "), " ")
        said = states_situation(rest) and states_situation(cue)
        if cue and said and len(_LETTERS.findall(rest)) >= LEAST:
            yield Candidate(mention.sentence, cue, named=True)


def cues_in_file(markdown: MarkdownIndex, ranges: Sequence[LineRange]) -> Iterator[Candidate]:
    """Yield the sentence with which a file opens, if it states when or what for the file is needed."""
    passages = [passage for lines in ranges for passage in markdown.passages_in(*lines)][:1]
    for passage in passages:
        source = next(iter(sentences(passage.text)), "")
        cue = whole_cue(source)
        opens = _SITUATION_FIRST.search(cue) and not passage.is_item
        if (
            opens
            and _ENDED.search(source)
            and states_situation(cue)
            and not _POINTS_BACK.match(cue)
        ):
            yield Candidate(source, cue)


def chosen_cues(candidates: Mapping[str, Sequence[Candidate]]) -> dict[str, list[str]]:
    """Return path -> the sentences about that file alone, the best first.

    A sentence that fits several rows is not used, unless it names a file: then it belongs to that file, not
    to the one that holds it.
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
    return {
        path: [one.cue for one in every if all(owners[key] == {path} for key in _keys(one))]
        for path, every in candidates.items()
    }


def _keys(candidate: Candidate) -> set[str]:
    return {" ".join(text.casefold().split()) for text in (candidate.source, candidate.cue)}
