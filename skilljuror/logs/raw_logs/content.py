"""Text that a record shows a model: a string, parts, or nested parts."""

from typing import Any

_IMAGES = ("image", "input_image", "image_url")
_DEEPEST = 32
"""Maximum nesting of lists."""
IMAGE = "[image]"
"""Placeholder of an image in a result's text."""


def text_of(value: Any, depth: int = 0) -> str:
    """Return the text of a string, an object with text, or a (nested) list of such."""
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
    """Text between `<tag>` and the next `</tag>` without surrounding line breaks, or None."""
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
