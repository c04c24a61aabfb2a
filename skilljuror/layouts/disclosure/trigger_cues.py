"""Cues: words of the source that say when and why to open a file."""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from skilljuror.layouts.disclosure.sections import FlatSkill
from skilljuror.skill.generated import is_marker_heading
from skilljuror.skill.markdown import visible_text

MAX_TOPICS = 5
MAX_TOPIC_CHARS = 180
MAX_HEADING = 90
LEAST = 3  # minimum words of a sentence besides the file's name
GENERIC = frozenset({
    "overview", "introduction", "quick reference", "quick start", "getting started", "summary",
    "usage", "example", "examples", "setup", "installation", "notes", "note", "references",
    "reference", "resources", "see also", "conclusion", "purpose", "description", "contents",
    "table of contents", "background", "general", "appendix", "faq", "related", "other", "added",
    "fixed", "changed", "removed",
})  # fmt: skip
"""Headings that do not say when a file is needed."""
CONTENTS = frozenset({"contents", "table of contents"})
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)[*_]{0,3}\s|(?<=[。！？])"
)
_LIST_MARK = re.compile(r"^\s*(?:>\s?)*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")
_COMMENT = re.compile(r"^\s{0,8}(?:#|//|--|;|\*|/\*\*?)+!?\s?(.*?)\s*(?:\*/)?$")
_LABEL = re.compile(
    r"(?:usage|examples?|returns?|arg(?:ument)?s?|options|author|version|licen[cs]e|copyright"
    r"|requires?|requirements|dependencies|from|context|note|date)\b[^.]{0,20}:",
    re.IGNORECASE,
)
"""Lines of a leading comment that do not describe the script's purpose."""
_ASIDE = re.compile(r"\s*\([^()]*\)")
_TITLE_TAIL = re.compile(r"\s+[-–—]\s+|\s*[:—–]\s*")
_COUNTED = re.compile(r"\W*(?:[a-z]+ )?(?:\d{1,3}|[A-Z])", re.IGNORECASE)
_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in the text that names a file."""

    sentence: str  # the sentence as written, or the cells of a row; "" for code
    heading: str  # title of its section; "" before the first


def topics(titles: Iterable[str], limit: int = MAX_TOPIC_CHARS, count: int = MAX_TOPICS) -> str:
    """Return distinct, specific headings, joined; cut to whole headings."""
    named = [title for title in dict.fromkeys(_topic(title) for title in titles) if title]
    specific = [one for one in named if one.lower() not in GENERIC] or named
    return ", ".join(_within(specific, limit)[:count])


def first_topics(titles: Iterable[str], words: int) -> str:
    """Return the first distinct headings but "Contents", joined, up to so many words and at least one."""
    named = dict.fromkeys(_topic(title) for title in titles)
    chosen: list[str] = []
    for title in named:
        if title and title.lower() not in CONTENTS:
            if chosen and len(" ".join([*chosen, title]).split()) > words:
                break
            chosen.append(title)
    return ", ".join(chosen)


def short_title(title: str) -> str:
    """Return a heading without what follows a dash, colon or bracket; of "Template 1: Pinecone", "Pinecone"."""
    parts = [part for part in _TITLE_TAIL.split(_ASIDE.sub("", _topic(title))) if part]
    first = len(parts) > 1 and (_COUNTED.fullmatch(parts[0]) or parts[0].lower() in GENERIC)
    return parts[1 if first else 0] if parts else ""


def _within(titles: Sequence[str], limit: int) -> list[str]:
    chosen: list[str] = []
    size = 0
    for title in titles:
        if not chosen or size + len(title) <= limit:
            chosen.append(title)
            size += len(title) + 2
    return chosen


def _topic(title: str) -> str:
    topic = "" if is_marker_heading(title) else visible_text(title).strip().rstrip(".:;,")
    return clip(topic, MAX_HEADING)


def without_brackets(text: str) -> str:
    """Replace square brackets, which could match a link label of the page."""
    return text.translate(_ROUND)


def clip(text: str, limit: int) -> str:
    """Cut the text after the last whole word that fits."""
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    return folded[: limit + 1].rsplit(" ", 1)[0][:limit].rstrip(" ,;:-")


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph, with punctuation."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence]


def opening_sentences(text: str, limit: int) -> str:
    """Return as many whole sentences as fit, at least one."""
    opening, *rest = sentences(" ".join(text.split())) or [""]
    for sentence in rest:
        if len(opening) + len(sentence) >= limit:
            break
        opening = f"{opening} {sentence}"
    return opening


def without_file_name(sentence: str, names: Iterable[str]) -> str:
    """Remove a file's name before a dash or colon, or after one at the end: its row already has it."""
    if not sentence:
        return ""
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    before = rf"^(?:{alternatives})\s*(?:[-–—:]|\s-)\s+(?=\S)"
    after = rf"(?:\s+[-–—]|:)\s+(?:[\w./-]*/)?(?:{alternatives})[.]?$"
    rest = re.sub(before, "", sentence, flags=re.IGNORECASE)
    rest = re.sub(after, "", rest, flags=re.IGNORECASE)
    return rest if len(rest.split()) >= LEAST else sentence


def below_heading(parent: str, topics: str) -> str:
    """Prefix topics with the heading above them, unless they contain it."""
    topic = _topic(parent)
    if not topic or topic.lower() in GENERIC or topic.lower() in topics.lower():
        return topics
    return f"{topic}: {topics}" if topics else topic


def code_cue(path: str, text: str) -> str:
    """Return the first sentence of a script's docstring or leading comment, or ""."""
    description = _docstring(path, text) or _leading_comment(text)
    return sentences(description)[0] if description else ""


def _docstring(path: str, text: str) -> str:
    if PurePosixPath(path).suffix != ".py" or len(text) > 200_000:
        return ""
    try:
        docstring = ast.get_docstring(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return _untitled((docstring or "").strip().split("\n\n")[0].split("\n"))


def _untitled(lines: Sequence[str]) -> str:
    """Join the lines, without a first line that is only a title."""
    texts = [" ".join(line.split()) for line in lines if any(char.isalpha() for char in line)]
    labels = (number for number, line in enumerate(texts) if number and _LABEL.match(line))
    texts = texts[: next(labels, len(texts))]
    title = len(texts) > 1 and texts[0][-1] not in ".,:;" and texts[1][0].isupper()
    return " ".join(texts[1:] if title else texts)


def _leading_comment(source: str) -> str:
    comments: list[str] = []
    for line in source.split("\n")[:30]:
        match = _COMMENT.match(line)
        comment = match[1].strip() if match and not line.startswith("#!") else ""
        comment = comment if any(char.isalnum() for char in comment) else ""
        if comment:
            comments.append(comment)
        elif comments or not (match or not line.strip()):
            break
    text = _untitled(comments)
    return text if len(text) >= 10 and any(char.isalpha() for char in text) else ""


def mentions(
    flat: FlatSkill, names: Sequence[str], own: tuple[int, int], skill: str = ""
) -> list[Mention]:
    """Return mentions of a file, or links to its section, outside `own` (its section), in order.

    The first name is the file's whole path and counts everywhere; the others count only in text of the same
    source skill. Embedded code never counts.
    """
    anchor = flat.markdown.anchor_at.get(own[0])
    links = [f"](#{anchor})"] if anchor else []
    mentions_found: list[Mention] = []
    for line in flat.lines_naming([*names, *links]):
        if own[0] <= line < own[1]:
            continue
        text = flat.lines[line]
        pattern = name_pattern(tuple(names if flat.skill_at(line) == skill else names[:1]))
        if pattern.search(text) or any(link in text for link in links):
            mentions_found += _mention(flat, line, pattern, links)
    return mentions_found


@lru_cache(maxsize=8)
def name_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches any of the names of a file."""
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
    if in_heading:
        yield Mention(_opening_below(flat, headings_above[-1].end), title)
    elif line not in flat.markdown.prose_lines:
        yield Mention("", title)
    elif line not in flat.markdown.paragraph_at:
        cells = flat.lines[line].strip().strip("|").split("|")
        yield Mention(" – ".join(cell.strip() for cell in cells), title)
    else:
        text = " ".join(_LIST_MARK.sub("", flat.markdown.paragraph_at[line][1], count=1).split())
        naming = (
            sentence
            for sentence in sentences(text)
            if pattern.search(sentence) or any(link in sentence for link in links)
        )
        yield Mention(next(naming, text), title)


def _opening_below(flat: FlatSkill, line: int) -> str:
    blocks = flat.markdown.blocks
    place = bisect_left(blocks, line, key=lambda block: block.start)
    if place == len(blocks) or blocks[place].kind != "paragraph_open":
        return ""
    return sentences(" ".join(flat.markdown.paragraph_at[blocks[place].start][1].split()))[0]
