"""Trigger sentences: generated lines whose words a model may choose.

A trigger says when and why to open a file, in the row of a routing table. It cannot add requirements: its
critical tokens (numbers, comparators, modals, code spans, paths, flags) must be in the file it leads to.
"""

import re
from collections.abc import Iterable, Iterator

from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.knowledge.units.extract import units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Generated, Plan

TRIGGER_ROW = "row-trigger"
MAX_TRIGGER = 200  # maximum characters of a trigger, "when" and "because" included
SHARED_WORDS = 2  # minimum number of words that a trigger shares with its file
FILE_WORDS = 20
"""Distinct longer words of a file up to which one shared word is enough; a text in another script has none."""
SHOWN = 4

_SHAPE = re.compile(r"[Ww]hen (.+?),? because (.+)")
_IN_ROW = re.compile(r": open this file when (.+?), because (.+)\.$")
_MARKS = re.compile(r"[`*\[\]<>|#{}\\~^]|(?<!\w)_|_(?!\w)|://|--|&#?\w+;")
_BREAK = re.compile(r"[.!?;:]\s")
_LONG = re.compile(r"[A-Za-z]{4,}")
_STEM = 4  # leading letters by which two words count as equal, such as "field" and "fields"
_EVERYDAY = frozenset({
    "when", "beca", "this", "that", "file", "with", "from", "into", "they", "them", "have", "then",
    "task", "skil", "need", "agen", "work", "step", "whic", "what", "read", "open", "your",
})  # fmt: skip
"""Stems that do not describe a file."""


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
    shared = _stems(sentence) & file_stems
    needed = SHARED_WORDS if len(file_stems) >= FILE_WORDS else min(1, len(file_stems))
    if len(shared) < needed:
        return f"shares fewer than {needed} specific words with its file"
    return None


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
    return {word[:_STEM].lower() for word in _LONG.findall(text)} - _EVERYDAY


def file_texts(bundle: Bundle, path: str) -> list[str]:
    return [unit.text for unit in units_of(bundle) if unit.file == path]


def trigger_rows(plan: Plan) -> Iterator[tuple[str, Generated]]:
    """Yield (page, row) of every row with a trigger."""
    for planned in plan.files:
        for piece in planned.pieces:
            if isinstance(piece, Generated) and piece.template == TRIGGER_ROW:
                yield planned.path, piece


def trigger_problems(plan: Plan, variant: Bundle) -> Iterator[tuple[str, str]]:
    """Yield (path in the row, problem) of every invalid trigger."""
    for page, row in trigger_rows(plan):
        shown = row.params["path"]
        same_page = row.params["link"].startswith("#")
        path = page if same_page else f"{page.rpartition('/')[0]}/{shown}"
        texts = file_texts(variant, path)
        problem = trigger_problem(row.params["when"], row.params["why"], texts)
        if path not in variant.files:
            problem = "leads to no file"
        if problem:
            yield shown, problem
