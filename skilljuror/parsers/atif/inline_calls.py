"""Calls that stand in the words of a step, where Harbor was told to keep replies as they came.

terminus-2 and OpenHands without function calls have no tool calls of their own: the program
reads what the model wrote. With raw content kept, a step has a message and no list of calls.
"""

import re
from typing import Any

import orjson

from skilljuror.parsers.raw_logs.coercion import as_dict, as_list
from skilljuror.parsers.terminus2 import decode_reply, reply_text

InlineCall = tuple[str, dict[str, Any]]
"""(name of the tool, its arguments)."""

_NOT_READ = "Previous response had parsing errors"
_KEYSTROKES = re.compile(
    r"<keystrokes(?:\s+duration=[\"'](?P<seconds>[\d.]{1,12})[\"'])?\s*>(?P<keys>.*?)</keystrokes>",
    re.DOTALL,
)
_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)


def inline_calls(
    program: str, shown: str, answer: str | None
) -> tuple[list[str], list[InlineCall]]:
    """(what the agent said beside its calls, the calls); the message and none where it made none.

    `answer` is what came back, None where nothing did.
    """
    if program == "terminus-2" and answer is not None and not answer.startswith(_NOT_READ):
        said, calls = _commands(shown)
    elif program == "openhands":
        said, calls = _functions(shown)
    else:
        said, calls = [], []
    return (said, calls) if calls else ([shown], [])


def _commands(shown: str) -> tuple[list[str], list[InlineCall]]:
    reply = decode_reply(shown)
    given = [as_dict(command) for command in as_list(reply.get("commands"))]
    if given:
        return reply_text(reply), [("bash_command", command) for command in given]
    if "<keystrokes" not in shown:
        return [], []
    found = [
        ("bash_command", {"keystrokes": one["keys"], **_duration(one["seconds"])})
        for one in _KEYSTROKES.finditer(shown)
    ]
    return [shown.partition("<commands")[0]], found


def _duration(seconds: str | None) -> dict[str, Any]:
    try:
        return {} if seconds is None else {"duration": float(seconds)}
    except ValueError:
        return {}


def _functions(shown: str) -> tuple[list[str], list[InlineCall]]:
    if "<function=" not in shown:
        return [], []
    before = shown.partition("<function=")[0].strip()
    found = [
        (name, {key: _value(value) for key, value in _PARAMETER.findall(body)})
        for name, body in _FUNCTION.findall(shown)
    ]
    return [before] if before else [], found


def _value(value: str) -> Any:
    """A list is one (a range of lines); everything else is the text that it is."""
    if not value.startswith("["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
