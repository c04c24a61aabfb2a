"""Cues: the words of the source that say what a file is for."""

import ast
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown import Document, plain
from skilljuror.knowledge.markers import is_marker

MAX_CUE = 200
MAX_TOPICS = 6
MAX_TOPIC_CHARS = 220
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_COMMENT = re.compile(r"^\s{0,8}(?:#|//|--|;|\*|/\*\*?)+!?\s?(.*?)\s*(?:\*/)?$")
_DEFINES = re.compile(
    r"^(?:export\s)?(?:async\s)?(?:def|class|function|func|fn|theorem|lemma)\s+(\w+)", re.MULTILINE
)


def topics(titles: Sequence[str]) -> str:
    """The distinct headings, joined; cut to whole headings."""
    seen = list(dict.fromkeys(_topic(title) for title in titles))
    chosen: list[str] = []
    for title in seen:
        size = sum(len(one) + 2 for one in chosen) + len(title)
        if title and len(chosen) < MAX_TOPICS and (not chosen or size <= MAX_TOPIC_CHARS):
            chosen.append(title)
    return ", ".join(chosen)[: 2 * MAX_TOPIC_CHARS]


def _topic(title: str) -> str:
    return "" if is_marker(title) else plain(title).strip().rstrip(".:;,")


def first_sentence(document: Document, start: int = 0, end: int | None = None) -> str:
    """The first sentence of prose that stands on its own; "" when there is none."""
    stop = len(document.lines) if end is None else end
    found = document.paragraph(start, stop)
    told = plain(found) if found else ""
    sentence = _SENTENCE_END.split(told, maxsplit=1)[0] if told else ""
    return "" if len(sentence) < 20 or sentence.endswith(":") else clip(sentence)


def clip(text: str, limit: int = MAX_CUE) -> str:
    """The text up to the last whole word that fits."""
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    return folded[: limit + 1].rsplit(" ", 1)[0][:limit].rstrip(" ,;:")


def code_cue(path: str, text: str) -> str:
    """What a script says of itself: docstring, leading comment, or the names it defines."""
    told = _docstring(path, text) or _leading_comment(text)
    if told:
        return clip(_SENTENCE_END.split(told, maxsplit=1)[0])
    names = list(dict.fromkeys(_DEFINES.findall(text)))[:4]
    return ", ".join(names)


def _docstring(path: str, text: str) -> str:
    if PurePosixPath(path).suffix != ".py" or len(text) > 200_000:
        return ""
    try:
        found = ast.get_docstring(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return " ".join((found or "").strip().split("\n\n")[0].split())


def _leading_comment(text: str) -> str:
    said: list[str] = []
    for line in text.split("\n")[:30]:
        match = _COMMENT.match(line)
        if line.startswith("#!") or (match and not match[1].strip() and not said):
            continue
        if match is None or not match[1].strip():
            if said or line.strip():
                break
            continue
        said.append(match[1].strip())
    told = " ".join(said)
    return told if len(told) >= 10 and any(char.isalpha() for char in told) else ""


def mention(flat: Document, name: str) -> str:
    """The first sentence of prose that names the file."""
    for number in sorted(flat.prose):
        line = flat.lines[number]
        if name in line and not is_marker(line.lstrip("# ").strip()):
            told = plain(line.strip().lstrip("#>-*+0123456789. |").replace("|", " "))
            sentence = next((one for one in _SENTENCE_END.split(told) if name in one), told)
            if len(sentence) > len(name) + 12:
                return clip(sentence)
    return ""
