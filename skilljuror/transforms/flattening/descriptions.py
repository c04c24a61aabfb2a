"""Names and descriptions of a skill made from several."""

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.block_index import MarkdownIndex, visible_text
from skilljuror.knowledge.markdown.headings import slug
from skilljuror.knowledge.plans.block_inventory import distinct_words
from skilljuror.models.bundle import Skill

MAX_DESCRIPTION = 1024
MAX_NAME = 64
_STOPS = (". ", "; ", ", ", " ")


def skill_slug(text: str) -> str:
    """Return a valid skill name."""
    return slug(text, MAX_NAME, "skill")


def joined_descriptions(descriptions: Sequence[str], limit: int = MAX_DESCRIPTION) -> str:
    """Join descriptions; cut each at a sentence if they do not fit."""
    whole = " ".join(descriptions)
    if len(whole) <= limit:
        return whole
    share = max(40, (limit + 1) // max(1, len(descriptions)) - 1)
    spare = sum(max(0, share - len(description)) for description in descriptions)
    long = sum(1 for description in descriptions if len(description) > share)
    share += spare // max(1, long)
    shortened = " ".join(
        filter(None, (cut_at_sentence(description, share) for description in descriptions))
    )
    return _at_word(shortened, limit)


def cut_at_sentence(text: str, limit: int) -> str:
    """Cut the text after the last sentence, clause or word that fits."""
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    for stop in _STOPS:
        place = head.rfind(stop)
        if place > limit * 0.4:
            return head[: place + 1].rstrip(" ,;")
    return _at_word(text, limit)


def _at_word(text: str, limit: int) -> str:
    """Cut the text after the last whole word that fits, "" if none does; without blanks, at punctuation."""
    end = min(limit, len(text))
    while 0 < end < len(text) and _is_inside(text, end):
        end -= 1
    return text[:end].rstrip()


def _is_inside(text: str, place: int) -> bool:
    return all(char.isalnum() or char == "_" for char in text[place - 1 : place + 1])


def yaml_quoted(description: str) -> str:
    """Return the description as a double-quoted YAML scalar on one line, without `---` inside."""
    safe = re.sub(r"-{3,}", "--", description)
    shown = json.dumps(safe, ensure_ascii=False)
    return "".join(
        char if char.isprintable() or char == " " else f"\\u{ord(char):04x}" for char in shown
    )


def description_of(skill: Skill, lines: Sequence[str]) -> str:
    """Return the skill's description, or its first paragraph, first heading or name.

    The description is not used if its file spells it in other words, as an escaped line break does.
    """
    if skill.description and distinct_words([skill.description]) <= distinct_words(lines):
        return skill.description
    markdown = MarkdownIndex(lines)
    first = markdown.first_paragraph(0, len(markdown.lines))
    text = (
        visible_text(first)
        if first
        else next((visible_text(heading.title) for heading in markdown.headings), "")
    )
    return cut_at_sentence(text or PurePosixPath(skill.directory).name, 300)
