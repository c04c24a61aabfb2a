"""Cues: the words of the source that say when a file is wanted and why."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from skilljuror.knowledge.generated.embedded_files import is_marker_heading
from skilljuror.knowledge.markdown.block_index import MarkdownIndex, visible_text
from skilljuror.transforms.disclosure.sections import FlatSkill

MAX_CUE = 220
MAX_TOPICS = 5
MAX_TOPIC_CHARS = 180
MAX_HEADING = 90
LEAST = 3
"""Words beside the file's name without which a sentence tells nothing."""
LEAST_BACK = 6
"""The same for a sentence that points back to what was said before it."""
GENERIC = frozenset({
    "overview", "introduction", "quick reference", "quick start", "getting started", "summary",
    "usage", "example", "examples", "setup", "installation", "notes", "note", "references",
    "reference", "resources", "see also", "conclusion", "purpose", "description", "contents",
    "table of contents", "background", "general", "appendix", "faq", "related", "other", "added",
    "fixed", "changed", "removed",
})  # fmt: skip
"""Headings that say nothing about when a file is wanted."""
LEAST_LEAD = 4
"""Words from which a line before a colon can tell something."""
_POINTS_ON = re.compile(
    r"\b(?:following|below|these|this|here|include[sd]?|are|is|when|if)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)[*_]{0,3}\s"
)
_BOLD = re.compile(r"\*\*|__")
_POINTS_BACK = re.compile(r"(?:they|it|this|that|these|those|both|here)\b", re.IGNORECASE)
_LIST_MARK = re.compile(r"^\s*(?:>\s?)*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")
_TRIGGER = re.compile(
    r"\b(when|if|for|before|after|see|read|use|consult|refer|follow|load|run|needs?|contains?)\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"^\s{0,8}(?:#|//|--|;|\*|/\*\*?)+!?\s?(.*?)\s*(?:\*/)?$")
_LABEL = re.compile(
    r"(?:usage|examples?|returns?|arg(?:ument)?s?|options|author|version|licen[cs]e|copyright"
    r"|requires?|requirements|dependencies)\b[^.]{0,20}:",
    re.IGNORECASE,
)
"""Lines of a leading comment that follow what the script is for, and do not tell it."""
_DEFINES = re.compile(
    r"^(?:export\s)?(?:async\s)?(?:def|class|function|func|fn|theorem|lemma)\s+(\w+)", re.MULTILINE
)


_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where the text names a file."""

    sentence: str
    """The sentence, without its marks; "" for code."""
    heading: str
    """Title of the section it stands in; "" before the first."""


def topics(titles: Iterable[str], limit: int = MAX_TOPIC_CHARS, count: int = MAX_TOPICS) -> str:
    """The distinct headings that tell something, joined; cut to whole headings."""
    told = [title for title in dict.fromkeys(_topic(title) for title in titles) if title]
    chosen: list[str] = []
    for title in [one for one in told if one.lower() not in GENERIC] or told:
        size = sum(len(one) + 2 for one in chosen) + len(title)
        if len(chosen) < count and (not chosen or size <= limit):
            chosen.append(title)
    return ", ".join(chosen)


def _topic(title: str) -> str:
    told = "" if is_marker_heading(title) else visible_text(title).strip().rstrip(".:;,")
    return clip(told, MAX_HEADING)


def without_brackets(text: str) -> str:
    """A cue without square brackets, which could catch a label of the page."""
    return text.translate(_ROUND)


def clip(text: str, limit: int = MAX_CUE) -> str:
    """The text up to the last whole word that fits."""
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    return folded[: limit + 1].rsplit(" ", 1)[0][:limit].rstrip(" ,;:-")


def first_sentence(
    markdown: MarkdownIndex, ranges: Sequence[tuple[int, int]] | None = None, least: int = 20
) -> str:
    """The first sentence of prose that stands on its own, of so many characters at least; "" when
    there is none. With `ranges` only their lines (0-based, half-open) are read."""
    looked = ranges if ranges is not None else [(0, len(markdown.lines))]
    found = next(filter(None, (markdown.first_paragraph(*lines) for lines in looked)), None)
    found = found or next(filter(None, (markdown.first_item(*lines) for lines in looked)), None)
    told = visible_text(found) if found else ""
    sentence = _SENTENCE_END.split(told, maxsplit=1)[0]
    speech = any(mark in sentence[:16] for mark in '"“') or sentence.startswith("User:")
    leads = sentence.endswith(":") and (least > 1 and not _tells_alone(sentence))
    return "" if len(sentence) < least or leads or speech else clip(sentence.rstrip(":"))


def _tells_alone(lead: str) -> bool:
    """Whether a line before a colon says something without what follows it."""
    return len(lead.split()) >= LEAST_LEAD and not _POINTS_ON.search(lead)


def without_file_name(sentence: str, names: Iterable[str]) -> str:
    """The sentence without a file's name before a dash or a colon, or after one at its end: its row
    already gives it."""
    if not sentence:
        return ""
    told = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    rest = re.sub(rf"^(?:{told})\s*(?:[-–—:]|\s-)\s+(?=\S)", "", sentence, flags=re.IGNORECASE)
    rest = re.sub(rf"(?:\s+[-–—]|:)\s+(?:[\w./-]*/)?(?:{told})[.]?$", "", rest, flags=re.IGNORECASE)
    return rest if len(rest.split()) >= LEAST else sentence


def below_heading(parent: str, topics: str) -> str:
    """Topics below the heading that they stood under, unless they name it themselves."""
    told = _topic(parent)
    if not told or told.lower() in GENERIC or told.lower() in topics.lower():
        return topics
    return f"{told}: {topics}" if topics else told


def code_cue(path: str, text: str) -> str:
    """What a script says of itself: docstring or leading comment; "" when it says nothing."""
    told = _docstring(path, text) or _leading_comment(text)
    return clip(_SENTENCE_END.split(told, maxsplit=1)[0]) if told else ""


def defined_names(text: str) -> str:
    """The first names a script defines."""
    return ", ".join(list(dict.fromkeys(_DEFINES.findall(text)))[:4])


def _docstring(path: str, text: str) -> str:
    if PurePosixPath(path).suffix != ".py" or len(text) > 200_000:
        return ""
    try:
        found = ast.get_docstring(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return _untitled((found or "").strip().split("\n\n")[0].split("\n"))


def _untitled(lines: Sequence[str]) -> str:
    """The lines as one, without a first line that only repeats a title."""
    told = [" ".join(line.split()) for line in lines if any(char.isalpha() for char in line)]
    labels = (number for number, line in enumerate(told) if number and _LABEL.match(line))
    told = told[: next(labels, len(told))]
    title = len(told) > 1 and told[0][-1] not in ".,:;" and told[1][0].isupper()
    return " ".join(told[1:] if title else told)


def _leading_comment(text: str) -> str:
    said: list[str] = []
    for line in text.split("\n")[:30]:
        match = _COMMENT.match(line)
        told = match[1].strip() if match and not line.startswith("#!") else ""
        told = told if any(char.isalnum() for char in told) else ""
        if told:
            said.append(told)
        elif said or not (match or not line.strip()):
            break
    part_of = _untitled(said)
    return part_of if len(part_of) >= 10 and any(char.isalpha() for char in part_of) else ""


def mentions(
    flat: FlatSkill, names: Sequence[str], own: tuple[int, int], skill: str = ""
) -> list[Mention]:
    """Where the text outside `own` (the file's section) names the file, or links to its section,
    in order.

    The first name is the file's whole path and counts everywhere; the others count in the text of
    the same source skill only. Carried code never counts: only what a reader is told.
    """
    anchor = flat.markdown.anchor_at.get(own[0])
    links = [f"](#{anchor})"] if anchor else []
    found: list[Mention] = []
    for line in flat.lines_naming([*names, *links]):
        if own[0] <= line < own[1]:
            continue
        text = flat.lines[line]
        pattern = _named(tuple(names if flat.skill_at(line) == skill else names[:1]))
        if pattern.search(text) or any(link in text for link in links):
            found += _mention(flat, line, pattern, links)
    return found


@lru_cache(maxsize=8)
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    told = "|".join(re.escape(name) for name in names)
    return re.compile(rf"(?<![\w.-])(?:{told})(?![\w-]|\.\w)", re.IGNORECASE)


def _mention(
    flat: FlatSkill, line: int, pattern: re.Pattern[str], links: Sequence[str]
) -> Iterator[Mention]:
    parent_heading = [one for one in flat.markdown.headings if one.start <= line]
    if (
        parent_heading
        and parent_heading[-1].start == line
        and is_marker_heading(parent_heading[-1].title)
    ):
        return
    start, _ = flat.embedded_range_at(line)
    heading = next((one.title for one in reversed(parent_heading) if one.start > start), "")
    heading = "" if is_marker_heading(heading) else heading
    if line not in flat.markdown.prose_lines or (
        parent_heading and parent_heading[-1].start == line
    ):
        yield Mention("", heading)
        return
    passage = flat.markdown.paragraph_at.get(line) or flat.lines[line].strip().strip("|")
    told = " ".join(_LIST_MARK.sub("", passage, count=1).split())
    if line not in flat.markdown.paragraph_at:
        yield Mention(
            clip(visible_text(" – ".join(cell.strip() for cell in told.split("|")))), heading
        )
        return
    sentences = _SENTENCE_END.split(told)
    names = (one for one in sentences if pattern.search(one) or any(link in one for link in links))
    sentence = next(names, told)
    own = flat.lines[line].strip()
    if len(sentence) > MAX_CUE and not own.lstrip("`*_[(\"'")[:1].islower():
        sentence = _LIST_MARK.sub("", own, count=1)
    yield Mention(clip(visible_text(_BOLD.sub("", sentence))), heading)


def best_sentence(found: Sequence[Mention], names: Sequence[str]) -> str:
    """The sentence that tells most about when to open the file; "" when none tells anything."""
    told = []
    for number, mention in enumerate(found):
        rest = mention.sentence
        for name in names:
            rest = rest.replace(name, " ").replace(PurePosixPath(name).stem.replace("-", " "), " ")
        words = re.findall(r"[^\W\d_]{2,}", rest)
        if len(words) >= (LEAST_BACK if _POINTS_BACK.match(rest) else LEAST):
            hints = len(_TRIGGER.findall(rest))
            told.append((min(hints, 3) + min(len(words), 8) / 8, -number, mention.sentence))
    return max(told)[2] if told else ""
