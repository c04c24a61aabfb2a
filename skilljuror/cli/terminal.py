"""The one door of output: nothing that a command prints can steer a terminal.

Names and texts of logs, bundles and files are strangers' words. Every text that is written to
`sys.stdout` or `sys.stderr` passes `visible` on its way, whoever writes it.
"""

import codecs
import io
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TextIO, cast

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"  # all but newline and tab
)


def visible(text: str) -> str:
    """The text with what would steer a terminal, or turn the order of letters, spelled out.

    C0 but newline and tab, DEL, C1, bidirectional overrides and isolates, lone surrogates; ESC is
    shown as `\\x1b`.
    """
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def json_text(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """A value as JSON that says the same to a machine and steers no terminal on its way."""
    text = json.dumps(value, ensure_ascii=False, default=default)
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _VisibleText:
    """A text stream whose writes pass `visible`; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def guarded(stream: TextIO) -> TextIO:
    """The stream as every command is given it. A character that its encoding lacks is written as a
    JSON escape, which a person and a JSON reader both understand."""
    codecs.register_error("json_escape", _json_escape)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="json_escape")
    return cast(TextIO, _VisibleText(stream))


def _json_escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def drawable(stream: TextIO) -> TextIO:
    """The stream below, for what draws with escapes of its own and is given `visible` text alone."""
    return stream.raw if isinstance(stream, _VisibleText) else stream
