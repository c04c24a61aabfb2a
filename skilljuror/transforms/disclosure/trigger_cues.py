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
    telling = [title for title in dict.fromkeys(_topic(title) for title in titles) if title]
    chosen: list[str] = []
    for title in [one for one in telling if one.lower() not in GENERIC] or telling:
        size = sum(len(other) + 2 for other in chosen) + len(title)
        if len(chosen) < count and (not chosen or size <= limit):
            chosen.append(title)
    return ", ".join(chosen)


def _topic(title: str) -> str:
    topic = "" if is_marker_heading(title) else visible_text(title).strip().rstrip(".:;,")
    return clip(topic, MAX_HEADING)


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
    source = next(filter(None, (markdown.first_paragraph(*lines) for lines in looked)), None)
    source = source or next(filter(None, (markdown.first_item(*lines) for lines in looked)), None)
    text = visible_text(source) if source else ""
    sentence = _SENTENCE_END.split(text, maxsplit=1)[0]
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
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    before = rf"^(?:{alternatives})\s*(?:[-–—:]|\s-)\s+(?=\S)"
    after = rf"(?:\s+[-–—]|:)\s+(?:[\w./-]*/)?(?:{alternatives})[.]?$"
    rest = re.sub(before, "", sentence, flags=re.IGNORECASE)
    rest = re.sub(after, "", rest, flags=re.IGNORECASE)
    return rest if len(rest.split()) >= LEAST else sentence


def below_heading(parent: str, topics: str) -> str:
    """Topics below the heading that they stood under, unless they name it themselves."""
    topic = _topic(parent)
    if not topic or topic.lower() in GENERIC or topic.lower() in topics.lower():
        return topics
    return f"{topic}: {topics}" if topics else topic


def code_cue(path: str, text: str) -> str:
    """What a script says of itself: docstring or leading comment; "" when it says nothing."""
    description = _docstring(path, text) or _leading_comment(text)
    return clip(_SENTENCE_END.split(description, maxsplit=1)[0]) if description else ""


def defined_names(text: str) -> str:
    """The first names a script defines."""
    return ", ".join(list(dict.fromkeys(_DEFINES.findall(text)))[:4])


def _docstring(path: str, text: str) -> str:
    if PurePosixPath(path).suffix != ".py" or len(text) > 200_000:
        return ""
    try:
        docstring = ast.get_docstring(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return _untitled((docstring or "").strip().split("\n\n")[0].split("\n"))


def _untitled(lines: Sequence[str]) -> str:
    """The lines as one, without a first line that only repeats a title."""
    texts = [" ".join(line.split()) for line in lines if any(char.isalpha() for char in line)]
    labels = (number for number, line in enumerate(texts) if number and _LABEL.match(line))
    texts = texts[: next(labels, len(texts))]
    title = len(texts) > 1 and texts[0][-1] not in ".,:;" and texts[1][0].isupper()
    return " ".join(texts[1:] if title else texts)


def _leading_comment(source: str) -> str:
    said: list[str] = []
    for line in source.split("\n")[:30]:
        match = _COMMENT.match(line)
        comment = match[1].strip() if match and not line.startswith("#!") else ""
        comment = comment if any(char.isalnum() for char in comment) else ""
        if comment:
            said.append(comment)
        elif said or not (match or not line.strip()):
            break
    text = _untitled(said)
    return text if len(text) >= 10 and any(char.isalpha() for char in text) else ""


def mentions(
    flat: FlatSkill, names: Sequence[str], own: tuple[int, int], skill: str = ""
) -> list[Mention]:
    """Where the text outside `own` (the file's section) names the file, or links to its section,
    in order.

    The first name is the file's whole path and counts everywhere; the others count in the text of
    the same source skill only. Embedded code never counts: only what a reader is told.
    """
    anchor = flat.markdown.anchor_at.get(own[0])
    links = [f"](#{anchor})"] if anchor else []
    mentions_found: list[Mention] = []
    for line in flat.lines_naming([*names, *links]):
        if own[0] <= line < own[1]:
            continue
        text = flat.lines[line]
        pattern = _named(tuple(names if flat.skill_at(line) == skill else names[:1]))
        if pattern.search(text) or any(link in text for link in links):
            mentions_found += _mention(flat, line, pattern, links)
    return mentions_found


@lru_cache(maxsize=8)
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(name) for name in names)
    return re.compile(rf"(?<![\w.-])(?:{alternatives})(?![\w-]|\.\w)", re.IGNORECASE)


def _mention(
    flat: FlatSkill, line: int, pattern: re.Pattern[str], links: Sequence[str]
) -> Iterator[Mention]:
    headings_above = [heading for heading in flat.markdown.headings if heading.start <= line]
    in_heading = bool(headings_above) and headings_above[-1].start == line
    if in_heading and is_marker_heading(headings_above[-1].title):
        return
    start, _ = flat.embedded_range_at(line)
    titles = (heading.title for heading in reversed(headings_above) if heading.start > start)
    title = next(titles, "")
    title = "" if is_marker_heading(title) else title
    if in_heading or line not in flat.markdown.prose_lines:
        yield Mention("", title)
        return
    passage = flat.markdown.paragraph_at.get(line) or flat.lines[line].strip().strip("|")
    text = " ".join(_LIST_MARK.sub("", passage, count=1).split())
    if line not in flat.markdown.paragraph_at:
        cells = " – ".join(cell.strip() for cell in text.split("|"))
        yield Mention(clip(visible_text(cells)), title)
        return
    naming = (
        sentence
        for sentence in _SENTENCE_END.split(text)
        if pattern.search(sentence) or any(link in sentence for link in links)
    )
    sentence = next(naming, text)
    own = flat.lines[line].strip()
    if len(sentence) > MAX_CUE and not own.lstrip("`*_[(\"'")[:1].islower():
        sentence = _LIST_MARK.sub("", own, count=1)
    yield Mention(clip(visible_text(_BOLD.sub("", sentence))), title)


def best_sentence(candidates: Sequence[Mention], names: Sequence[str]) -> str:
    """The sentence that tells most about when to open the file; "" when none tells anything."""
    ranked = []
    for number, mention in enumerate(candidates):
        rest = mention.sentence
        for name in names:
            rest = rest.replace(name, " ").replace(PurePosixPath(name).stem.replace("-", " "), " ")
        words = re.findall(r"[^\W\d_]{2,}", rest)
        if len(words) >= (LEAST_BACK if _POINTS_BACK.match(rest) else LEAST):
            hints = len(_TRIGGER.findall(rest))
            ranked.append((min(hints, 3) + min(len(words), 8) / 8, -number, mention.sentence))
    return max(ranked)[2] if ranked else ""
