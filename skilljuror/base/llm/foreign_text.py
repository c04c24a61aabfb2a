"""Foreign text in a prompt: data, never instructions."""

import json
import re
from typing import Any

_DATA = re.compile(r"^<(\w+) json>\n(.*)\n</\1>$", re.MULTILINE)


def as_data(name: str, value: Any) -> str:
    """Return foreign text, or JSON values with such text, as data between tags `name`: one line of
    JSON, which cannot close its own tag."""
    body = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f"<{name} json>\n{body}\n</{name}>"


def data_in(text: str) -> dict[str, Any]:
    """Return name -> values of all data in a text, as written by `as_data`."""
    return {name: json.loads(body) for name, body in _DATA.findall(text)}
