"""Codex's code mode: one call of `exec` runs a JavaScript program that calls the other tools.

The program is not run. Read are the calls of a program with literal arguments, if nothing before the
last of them may keep one from running, or repeat it; any other program counts as the call of an
unknown tool. A `CodeCell` tells the results of the calls apart in the program's output.
"""

import re
from typing import Any

from msgspec import Struct, field

from skilljuror.logs.assembly import CallBuilder, TrajectoryBuilder, call_fields
from skilljuror.logs.records import as_dict, as_int, as_list, as_str, json_of, text_of

_LITERAL = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?:String\.raw)?`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)
_MARK = re.compile("\ue000(\\d+)\ue001")
"""Placeholder of a literal."""
_RESULT = "\ue002"
"""Stands before the number of a call, for the call."""
_TOOL = re.compile(r"\btools\b|\bALL_TOOLS\b")
_CALL = re.compile(r"\btools\s*\.\s*(?:functions\.)?(\w+)\s*\(\s*([^()]*?)\s*\)")
_BOUND = re.compile("\\b(?:const|let|var)\\s+(\\w+)\\s*=\\s*(\ue000\\d+\ue001)\\s*(?=[;\n])")
_ASSIGNED = re.compile(r"\b(\w+)(?:\.\w+|\[[^\]\n]*\])?\s*[-+*/?|&]{0,2}=(?![=>])")
_UNSURE = re.compile(r"&&|\|\||\?|=>|\b(?:if|else|for|while|do|switch|case|function|catch)\b")
"""What may keep a call after it from running, or repeat it."""
_RECEIVED = re.compile(
    rf"\b(?:const|let|var)\s+(?:(\w+)\s*=\s*await\s+({_RESULT}\d+)\b"
    rf"|\[([\w\s,]*)\]\s*=\s*await\s+Promise\.all\s*\(\s*\[([\s,\d{_RESULT}]*)\])"
)
_SHOW = re.compile(r"\btext\s*\(")
_SHOWN = re.compile(
    rf"(?:JSON\.stringify\s*\(\s*)?\(?\s*(?:await\s+)?({_RESULT}\d+|\w+)\s*\)?(?:\.output)?\s*\)+\s*(?:;|\n|$)"
)
_LIMITS = ("_tokens", "_ms")
"""Ends of the names of arguments that need not be read."""
_FRAME = re.compile(
    r"Script (?:completed|(?P<failed>failed|terminated)|running with cell ID (?P<cell>\S{1,80}))\n"
    r"(?:Wall time \d{1,9}(?:\.\d{1,20})? seconds\n)?Output:\n?"
)
"""Head of a program's output."""
_OBJECT = frozenset({
    "chunk_id", "wall_time_seconds", "exit_code", "session_id", "original_token_count", "output",
})  # fmt: skip
"""Keys of a command's result."""


class _UnreadError(Exception):
    """An expression that is no literal."""


class Program(Struct, frozen=True):
    """Calls of a program."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    """(tool, arguments) of the calls that surely run, in order."""
    shown: tuple[int, ...] | None
    """Numbers of the calls whose results it prints unchanged, in order; None if it prints anything
    else."""
    unread: bool
    """Whether it may call tools in other ways."""


def read_program(text: str) -> Program:
    """Read a program's calls. Its literals are replaced by marks, so that all brackets are code."""
    literals: list[str] = []

    def put_aside(literal: re.Match[str]) -> str:
        if literal[0].startswith("/"):
            return " "
        literals.append(literal[0])
        return f"\ue000{len(literals) - 1}\ue001"

    code = _LITERAL.sub(put_aside, text)
    assigned = _ASSIGNED.findall(code)
    names = {
        name: value for name, value in _BOUND.findall(code) if assigned.count(name) == 1
    }  # fmt: skip
    calls: list[tuple[str, dict[str, Any]]] = []
    found = list(_CALL.finditer(code))
    sure = not found or _UNSURE.search(code, 0, found[-1].start()) is None
    if not sure or len(_TOOL.findall(code)) > len(found):
        return Program((), None, True)
    try:
        for call in found:
            calls.append((call[1], _arguments(call[2], names, literals)))
    except _UnreadError:
        return Program((), None, True)
    numbers = iter(range(len(calls)))
    shown = _shown(_CALL.sub(lambda call: f"{_RESULT}{next(numbers)}", code))
    return Program(tuple(calls), shown, False)


def _arguments(code: str, names: dict[str, str], literals: list[str]) -> dict[str, Any]:
    """Arguments of a call: an object, or a single text. Raises `_UnreadError`."""
    if not code.startswith("{"):
        return {"input": _value(code, names, literals)}
    arguments = {}
    for entry in filter(str.strip, code.removeprefix("{").removesuffix("}").split(",")):
        key, colon, value = map(
            str.strip, entry.partition(":")
        )  # `{cmd}` is short for `{cmd: cmd}`
        name = _value(key, names, literals) if _MARK.fullmatch(key) else key
        if not name.endswith(_LIMITS):
            arguments[name] = _value(value if colon else key, names, literals)
    return arguments


def _value(code: str, names: dict[str, str], literals: list[str]) -> Any:
    """Value of a literal, or of a name that is bound to one. Raises `_UnreadError`."""
    mark = _MARK.fullmatch(names.get(code, code))
    if mark is None:
        value = json_of(code)
        if value is None and code != "null":
            raise _UnreadError
        return value
    literal = literals[int(mark[1])]
    if literal.startswith("S"):
        return literal[len("String.raw`") : -1]
    if literal[0] == "`" and "${" in literal:
        raise _UnreadError
    if literal[0] != '"':
        body = literal[1:-1].replace(f"\\{literal[0]}", literal[0])
        literal = '"' + body.replace('"', '\\"').replace("\n", "\\n") + '"'
    text = json_of(literal)
    if text is None:
        raise _UnreadError
    return text


def _shown(code: str) -> tuple[int, ...] | None:
    """Numbers of the calls that `text(…)` prints, given code with calls as numbers."""
    names: dict[str, str] = {}
    for received in _RECEIVED.finditer(code):
        keys = [received[1]] if received[1] else received[3].replace(",", " ").split()
        calls = [received[2]] if received[1] else received[4].replace(",", " ").split()
        names.update(zip(keys, calls, strict=False))
    shown = []
    for print_ in _SHOW.finditer(code):
        given = _SHOWN.match(code, print_.end())
        call = names.get(given[1], given[1]) if given else ""
        if not call.startswith(_RESULT):
            return None
        shown.append(int(call[1:]))
    return tuple(shown)


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

    def call_of(self, item: dict[str, Any]) -> int | None:
        """Number of the call that a recorded command belongs to."""
        command = command_of(item)["command"]
        same = (n for n, call in enumerate(self.calls) if call.fields.get("command") == command)
        return next((number for number in same if number not in self.items), None)

    def add_output(self, run: TrajectoryBuilder, output: Any) -> None:
        """Add an answer to the program, or to waiting for it."""
        parts = [text_of(one) for one in output] if isinstance(output, list) else [text_of(output)]
        frame = _FRAME.match(parts[0]) if parts else None
        if frame is not None:
            self.name = frame["cell"]
            parts[:1] = [parts[0][frame.end() :]] if frame.end() < len(parts[0]) else []
        self.parts += parts
        self._answer(run, failed=frame is not None and frame["failed"] is not None)

    def _answer(self, run: TrajectoryBuilder, *, failed: bool) -> None:
        own, rest = self._own_pieces()
        left = "\n".join(rest)
        ok = False if failed and len(self.parts) < 2 else None
        shared = run.result(left, ok=ok, partial=True)
        for number, call in enumerate(self.calls):
            piece = own.get(number)
            if piece is None and number not in self.items:
                call.result = shared
                continue
            code = as_int(self.items.get(number, {}).get("exit_code"))
            code = piece.exit_code if piece is not None and code is None else code
            call.result = run.result(
                left if piece is None else piece.text, exit_code=code,
                ok=ok if code is None else code == 0, partial=piece is None,
            )  # fmt: skip
            if piece is not None and piece.session is not None and call.action != "poll":
                run.running[piece.session] = call

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
