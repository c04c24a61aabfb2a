"""Keys and passwords of the environment, kept out of what is printed and written.

A server may answer with the key that it was sent, and a library may put it into an error.
"""

import os
import re
from collections.abc import Iterable

SECRET_NAME = re.compile(r"(?:API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""How variables and parameters that hold one are called, by litellm and by providers."""
MIN_SECRET = 8
"""Characters of a value below which it is no secret, but may be a word."""


def redact(text: str, further: Iterable[str] = ()) -> str:
    """The text with `[redacted NAME]` for the value of every such variable, and `[redacted]` for
    `further` values."""
    secrets = dict.fromkeys(further, "[redacted]")
    secrets |= {
        value: f"[redacted {name}]"
        for name, value in os.environ.items()
        if SECRET_NAME.search(name)
    }
    for value in sorted(secrets, key=len, reverse=True):
        if len(value) >= MIN_SECRET:
            text = text.replace(value, secrets[value])
    return text
