"""Lines of code that only hold others together."""

import re

_RESERVED = re.compile(
    r"(?<![\w-])(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|end)(?![\w-])"
)
"""Reserved words of the shell, and of languages like it."""
_TEST = re.compile(r"\[\[?\s[^][\n]{0,300}\s\]\]?|(?<![\w-])test\s+!?\s*-\w\s+\S{1,200}")


def is_syntax(code: str) -> bool:
    """Whether a line of code runs nothing: "fi", "}", "if [ -f setup.py ]; then"."""
    return re.search(r"\w", _RESERVED.sub(" ", _TEST.sub(" ", code))) is None
