"""Sentences about other text of a page, which can revoke it without a word of it."""

import re

_PART = (
    r"(?:paragraph|section|sentence|line|step|rule|list|item|bullet|table|row|example|block|instruction|guidance|note"
    r"|heading|chapter|page|document|text|point|advice|requirement)s?"
)
"""Names of parts of a text, and of what a text gives."""
_BESIDE = r"(?:next|previous|preceding|following|foregoing|subsequent|above|below|rest of the)"
_POINTED_AT = re.compile(
    rf"\b(?:{_BESIDE}|this|these|that|those)(?: [\w-]+)?? {_PART}\b"
    rf"|\b{_PART}(?: \w+)?? (?:above|below|that (?:follow|precede)s?|right (?:before|after))\b"
    r"|\bwhat (?:follows|precedes|is (?:above|below))\b|\b(?:everything|all|anything|text) (?:above|below)\b"
    r"|\bthe (?:above|following|foregoing|preceding)(?= (?:is|are|was|has|have|does|do|no|may|can)\b)",
    re.IGNORECASE,
)


def is_remark(text: str) -> bool:
    """Whether a sentence speaks of other text near it ("the next paragraph"), and does not introduce a list."""
    return not text.rstrip("*_ ").endswith(":") and _POINTED_AT.search(text) is not None
