"""Guarded output: no printed text can control a terminal.

Names and texts of logs, bundles and files are untrusted. All text written to `sys.stdout` or
`sys.stderr` passes through `visible`.
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
    """Escape characters that control a terminal or reorder letters; ESC becomes `\\x1b`.

    These are C0 except newline and tab, DEL, C1, bidirectional overrides and isolates, and lone
    surrogates.
    """
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def json_text(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """JSON of a value, with terminal controls as JSON escapes."""
    text = json.dumps(value, ensure_ascii=False, default=default)
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _VisibleText:
    """A text stream that passes written text through `visible`."""

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
    """The stream that commands write to. Characters missing from its encoding become JSON escapes."""
    codecs.register_error("json_escape", _json_escape)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="json_escape")
    return cast(TextIO, _VisibleText(stream))


def _json_escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def drawable(stream: TextIO) -> TextIO:
    """The raw stream, for drawing with escapes; pass it only `visible` text."""
    return stream.raw if isinstance(stream, _VisibleText) else stream
