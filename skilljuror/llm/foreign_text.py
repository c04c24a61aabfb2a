"""Text of others inside a prompt: data, never an instruction."""

import json
import re
from typing import Any

_DATA = re.compile(r"^<(\w+) json>\n(.*)\n</\1>$", re.MULTILINE)


def as_data(name: str, value: Any) -> str:
    """Foreign text, or JSON values that hold it, as data between tags `name`: one line of JSON, which
    cannot close its own tag. Nothing in it is an instruction to the model."""
    body = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f"<{name} json>\n{body}\n</{name}>"


def data_in(text: str) -> dict[str, Any]:
    """Name -> the values of all the data that a text holds, as `as_data` puts them."""
    return {name: json.loads(body) for name, body in _DATA.findall(text)}
