"""Names and descriptions of a skill that is made out of several."""

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from skilljuror.knowledge.frontmatter import frontmatter_end, parse_frontmatter, plain_field
from skilljuror.knowledge.markdown import Document, plain
from skilljuror.models.bundle import Skill

MAX_DESCRIPTION = 1024
MAX_NAME = 64
_STOPS = (". ", "; ", ", ", " ")


def skill_slug(text: str) -> str:
    """A valid skill name: lower-case letters, digits and single hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_NAME].rstrip("-")
    return name or "skill"


def union(descriptions: Sequence[str], limit: int = MAX_DESCRIPTION) -> str:
    """The descriptions one after the other; each cut at a sentence when they do not fit."""
    whole = " ".join(descriptions)
    if len(whole) <= limit:
        return whole
    share = max(40, (limit + 1) // max(1, len(descriptions)) - 1)
    spare = sum(max(0, share - len(one)) for one in descriptions)
    long = sum(1 for one in descriptions if len(one) > share)
    share += spare // max(1, long)
    return " ".join(cut(one, share) for one in descriptions)[:limit].rstrip()


def cut(text: str, limit: int) -> str:
    """The text up to the last sentence, clause or word that fits."""
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    for stop in _STOPS:
        place = head.rfind(stop)
        if place > limit * 0.4:
            return head[: place + 1].rstrip(" ,;")
    return text[:limit]


def quoted(description: str) -> str:
    """The description as a double-quoted YAML scalar on one line, without `---` inside."""
    safe = re.sub(r"-{3,}", "--", description)
    shown = json.dumps(safe, ensure_ascii=False)
    return "".join(
        char if char.isprintable() or char == " " else f"\\u{ord(char):04x}" for char in shown
    )


def description_of(skill: Skill, lines: Sequence[str]) -> str:
    """The skill's description; without one its first paragraph, its first heading or its name."""
    if skill.description:
        return skill.description
    document = Document(lines)
    first = document.paragraph(0, len(document.lines))
    told = plain(first) if first else next((plain(one.title) for one in document.headings), "")
    return cut(told or PurePosixPath(skill.directory).name, 300)


def has_frontmatter(lines: Sequence[str]) -> bool:
    """Whether the file opens with frontmatter that says anything at all."""
    return frontmatter_end(lines) > 0


def declared_name(lines: Sequence[str]) -> str | None:
    """The name in the frontmatter."""
    return plain_field(parse_frontmatter(lines)[0], "name")
