"""Calls inside the text of a step, where Harbor keeps raw replies.

terminus-2, and OpenHands without function calls, have no tool calls: the program parses the model's
text. With raw content, a step has a message and no list of calls.
"""

import re
from typing import Any

from skilljuror.logs.raw_logs.coercion import as_dict, as_list, json_of
from skilljuror.logs.terminus2.episodes import decode_reply, reply_text

InlineCall = tuple[str, dict[str, Any]]
"""(tool name, arguments)."""

_NOT_READ = "Previous response had parsing errors"
_KEYSTROKES = re.compile(
    r"<keystrokes(?:\s+duration=[\"'][\d.]{1,12}[\"'])?\s*>(.*?)</keystrokes>", re.DOTALL
)
_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)


def terminus_calls(text: str, answer: str | None) -> tuple[list[str], list[InlineCall]]:
    """Return (text, commands) of a terminus-2 reply; `answer` is None if nothing followed."""
    if answer is None or answer.startswith(_NOT_READ):
        return [], []
    reply = decode_reply(text)
    commands = [as_dict(command) for command in as_list(reply.get("commands"))]
    if commands:
        return reply_text(reply), [("bash_command", command) for command in commands]
    if "<keystrokes" not in text:
        return [], []
    calls: list[InlineCall] = [
        ("bash_command", {"keystrokes": keys}) for keys in _KEYSTROKES.findall(text)
    ]
    return [text.partition("<commands")[0]], calls


def openhands_calls(text: str, answer: str | None) -> tuple[list[str], list[InlineCall]]:
    """Return (text, function calls) of an OpenHands message."""
    if "<function=" not in text:
        return [], []
    before = text.partition("<function=")[0].strip()
    calls = [
        (name, {key: _value(value) for key, value in _PARAMETER.findall(body)})
        for name, body in _FUNCTION.findall(text)
    ]
    return [before] if before else [], calls


def _value(value: str) -> Any:
    """Decode a list (a range of lines); keep anything else as text."""
    items = json_of(value) if value.startswith("[") else None
    return value if items is None else items
