"""Tolerant access to the fields of foreign JSON: a wrong type reads as missing, never as an error."""

import math
from datetime import UTC, datetime
from typing import Any

MAX_COUNT = 2**53
"""Numbers above this are no counts."""

_NUMBERS = (int, float)
_IMAGES = ("image", "input_image", "image_url")
_DEEPEST = 32
"""Lists in lists whose text is read."""
IMAGE = "[image]"
"""What stands for an image in a result's text."""


def as_dict(value: Any) -> dict[str, Any]:
    """A JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON list, else an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: Any) -> str | None:
    """A string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def as_count(value: Any) -> int | None:
    """A whole number that can count something, else None."""
    if value is None:
        return None
    if type(value) is int:
        return value if 0 <= value < MAX_COUNT else None
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if 0 <= value < MAX_COUNT else None


def as_number(value: Any) -> float | None:
    """A finite number, else None."""
    if value is None or isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if math.isfinite(plain) else None


def remainder(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts; None when the total is unknown. Below zero it tells that the
    total did not hold the parts: what is computed from it takes 0 and counts a clamp."""
    return None if total is None else total - sum(part or 0 for part in parts)


def remainder_or_zero(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts; None when the total is unknown, never below zero."""
    if total is None:
        return None
    return max(0, total - sum(part or 0 for part in parts))


def as_epoch(value: Any) -> float | None:
    """Seconds since the epoch from ISO 8601 (no zone means UTC) or from a number of (milli)seconds."""
    if not isinstance(value, str):
        plain = as_number(value)
        return plain / 1000 if plain is not None and plain > 1e11 else plain
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def text_of(value: Any, depth: int = 0) -> str:
    """The text of polymorphic content: a string, an object with text, or a list of such; lists
    in lists are followed to a depth that no agent needs."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _part(value)
    if isinstance(value, list) and depth < _DEEPEST:
        deeper = depth + 1
        parts = [_part(one) if isinstance(one, dict) else text_of(one, deeper) for one in value]
        return parts[0] if len(parts) == 1 else "\n".join(filter(None, parts))
    return ""


def text_between_tags(value: str, tag: str) -> str | None:
    """What stands between `<tag>` and the next `</tag>`, without a line break at either end; None
    where there is no such pair."""
    at = value.find(f"<{tag}>") + len(tag) + 2
    end = value.find(f"</{tag}>", at)
    if at < len(tag) + 2 or end < 0:
        return None
    return value[at:end].removeprefix("\n").removesuffix("\n")


def _part(part: dict[str, Any]) -> str:
    inner = part.get("text")
    if isinstance(inner, str):
        return inner
    if part.get("type") in _IMAGES:
        return IMAGE
    inner = part.get("content")
    return inner if isinstance(inner, str) else ""
