"""Trigger sentences: generated lines whose words a model may choose.

A trigger says when and why to open a file, in the row of a routing table. It cannot add requirements: its
critical tokens (numbers, comparators, modals, code spans, paths, flags) must be in the file it leads to. It
cannot mislead: "when" has a word of the file's title or opening, "because" a word of the file.
"""

import re
from collections.abc import Iterable

from skilljuror.skill.critical_tokens import critical_tokens

TRIGGER_ROW = "row-trigger"
MAX_TRIGGER = 200  # maximum characters of a trigger, "when" and "because" included
OPENING = 3  # number of texts of a file, its title first, that say what it is about
FILE_WORDS = 10
"""Distinct words of a file up to which one shared word is enough; a text in another script has none."""
MAX_SHOWN = 60  # maximum characters of a title in a message
SHOWN = 4

_SHAPE = re.compile(r"[Ww]hen (.+?),? because (.+)")
_IN_ROW = re.compile(r": open this file when (.+?), because (.+)\.$")
_MARKS = re.compile(r"[`*\[\]<>|#{}\\~^]|(?<!\w)_|_(?!\w)|://|--|&#?\w+;")
_BREAK = re.compile(r"[.!?;:]\s")
_WORD = re.compile(r"[A-Za-z]{3,}")
_ENDING = re.compile(
    r"(?<=[a-z]{4})(?:ings?|ers?|ed|es|ions?|e|y)$|(?<=[a-z]{3}e)d$|(?<=[a-z]{3})s$"
)
"""Endings by which forms of a word differ, such as "field" and "fields", "sign" and "signed"."""
_EVERYDAY = frozenset({
    "when", "because", "this", "that", "file", "with", "from", "into", "they", "them", "have",
    "then", "task", "skill", "need", "agent", "work", "step", "which", "what", "read", "open",
    "your", "the", "and", "for", "are", "was", "its", "not", "you", "can", "has", "all", "any",
    "how", "use", "used", "using", "one", "two", "per", "via", "let", "get", "set", "new", "may",
    "will", "does", "did", "out", "off", "but", "too", "also", "only", "other", "there", "here",
    "these", "those",
})  # fmt: skip
"""Words that do not describe a file."""


def split_trigger(sentence: str) -> tuple[str, str] | None:
    """Return both halves of "when … because …" without full stop; None for any other sentence."""
    match = _SHAPE.fullmatch(sentence.strip().removesuffix("."))
    return (match[1].strip(), match[2].strip()) if match else None


def trigger_in(row: str) -> tuple[str, str] | None:
    """Return both halves of the trigger in a row of the template; None if there is none."""
    match = _IN_ROW.search(row)
    return (match[1], match[2]) if match else None


def trigger_problem(when: str, why: str, texts: Iterable[str]) -> str | None:
    """Return why a trigger may not lead to a file with `texts`; None if it may."""
    sentence = f"when {when}, because {why}."
    form_problem = _form_problem(sentence)
    if form_problem:
        return form_problem
    texts = list(texts)
    known = {token for text in texts for token in critical_tokens(text)}
    unknown = dict.fromkeys(
        t.partition(":")[2] for t in critical_tokens(sentence) if t not in known
    )
    if unknown:
        shown = [repr(value.replace("|", " ").strip()) for value in unknown]
        return f"says {', '.join(shown[:SHOWN])}, which its file does not say"
    file_stems = {stem for text in texts for stem in _stems(text)}
    if len(file_stems) < FILE_WORDS:
        foreign = bool(file_stems) and not _stems(sentence) & file_stems
        return "has no word of its file" if foreign else None
    about = {stem for text in texts[:OPENING] for stem in _stems(text)}
    if about and not _stems(when) & about:
        title = texts[0] if len(texts[0]) <= MAX_SHOWN else f"{texts[0][:MAX_SHOWN]}…"
        return f"says a 'when' that its file is not about: {title!r}"
    return None if _stems(why) & file_stems else "says a 'because' without a word of its file"


def _form_problem(sentence: str) -> str | None:
    if len(sentence) > MAX_TRIGGER:
        return f"is longer than {MAX_TRIGGER} characters"
    if not sentence.isprintable():
        return "is not one line of printable characters"
    if _MARKS.search(sentence):
        return "contains Markdown, markup or a URL; use plain words"
    if _BREAK.search(sentence):
        return "is more than one plain sentence"
    return None


def _stems(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(text)} - _EVERYDAY
    return {_ENDING.sub("", _ENDING.sub("", word)) for word in words} - _EVERYDAY
