"""Results of the calls of a code mode program, told apart in the program's output."""

import re
from typing import Any

from msgspec import Struct, field

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import CallBuilder
from skilljuror.logs.assembly.tool_calls import call_fields
from skilljuror.logs.raw_logs.coercion import as_dict, as_int, as_list, as_str, json_of
from skilljuror.logs.raw_logs.content import text_of

_FRAME = re.compile(
    r"Script (?:completed|(?P<failed>failed|terminated)|running with cell ID (?P<cell>\S{1,80}))\n"
    r"(?:Wall time \d{1,9}(?:\.\d{1,20})? seconds\n)?Output:\n?"
)
"""Head of a program's output."""
_OBJECT = frozenset({
    "chunk_id", "wall_time_seconds", "exit_code", "session_id", "original_token_count", "output",
})  # fmt: skip
"""Keys of a command's result."""


class _Piece(Struct, frozen=True):
    """What one `text(…)` printed."""

    text: str
    exit_code: int | None = None
    session: str | None = None
    """Session of a command that is still running."""
    whole: bool = False
    """Whether it is the whole result of a call."""


def _piece(part: str) -> _Piece:
    found = as_dict(json_of(part)) if part[:1] == "{" else {}
    output = found.get("output")
    if not isinstance(output, str) or not found.keys() <= _OBJECT:
        return _Piece(part)
    session = found.get("session_id")
    running = None if session is None else str(session)
    return _Piece(output, as_int(found.get("exit_code")), running, whole=True)


def command_of(item: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a command that a program ran, by the log's own record of it."""
    folder = as_str(item.get("cwd")) or ""
    command = call_fields("shell", {"command": as_list(item.get("command"))})["command"]
    return {"command": command or "", "workdir": folder.removeprefix("file://") or None}


class CodeCell(Struct, eq=False):
    """One program with its calls."""

    line: int
    calls: list[CallBuilder]
    shown: tuple[int, ...] | None
    """Numbers of the calls whose results it prints unchanged; None if unknown."""
    parts: list[str] = field(default_factory=list)
    """What it has printed."""
    items: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Number of a call -> the log's record of that command."""
    name: str | None = None
    """Id by which its later output is waited for; None once it ended."""
    running: dict[str, CallBuilder] = field(default_factory=dict)
    """Session of a command that is still running -> its call."""

    def call_of(self, item: dict[str, Any]) -> int | None:
        """Number of the call that a recorded command belongs to."""
        command = command_of(item)["command"]
        same = (n for n, call in enumerate(self.calls) if call.fields.get("command") == command)
        return next((number for number in same if number not in self.items), None)

    def add_output(self, output: Any, line: int) -> None:
        """Add an answer to the program, or to waiting for it."""
        parts = [text_of(one) for one in output] if isinstance(output, list) else [text_of(output)]
        frame = _FRAME.match(parts[0]) if parts else None
        if frame is not None:
            self.name = frame["cell"]
            parts[:1] = [parts[0][frame.end() :]] if frame.end() < len(parts[0]) else []
        self.parts += parts
        self._answer(line, failed=frame is not None and frame["failed"] is not None)

    def _answer(self, line: int, *, failed: bool) -> None:
        own, rest = self._own_pieces()
        left = "\n".join(rest)
        ok = False if failed and len(self.parts) < 2 else None
        shared = ToolResult(text=left, line=line, ok=ok, partial=True)
        for number, call in enumerate(self.calls):
            piece = own.get(number)
            if piece is None and number not in self.items:
                call.result = shared
                continue
            code = as_int(self.items.get(number, {}).get("exit_code"))
            code = piece.exit_code if piece is not None and code is None else code
            call.result = ToolResult(
                text=left if piece is None else piece.text, line=line, exit_code=code,
                ok=ok if code is None else code == 0, partial=piece is None,
            )  # fmt: skip
            if piece is not None and piece.session is not None:
                self.running[piece.session] = call

    def _own_pieces(self) -> tuple[dict[int, _Piece], list[str]]:
        """(number of a call -> its result as printed, what else was printed)."""
        pieces = list(map(_piece, self.parts))
        whole = [piece for piece in pieces if piece.whole]
        if self.shown is not None and len(self.shown) == len(pieces):
            return dict(zip(self.shown, pieces, strict=True)), []
        if whole and len(whole) == len(self.calls):
            return dict(enumerate(whole)), [one.text for one in pieces if not one.whole]
        own = {}
        left = [piece.text for piece in pieces]
        for number, item in self.items.items():
            output = as_str(item.get("aggregated_output")) or ""
            at = next(
                (at for at, text in enumerate(left) if output.strip() and output.strip() in text),
                None,
            )
            if at is not None:
                own[number] = _Piece(output)
                left[at] = left[at].replace(output.strip(), "", 1)
        return own, left
