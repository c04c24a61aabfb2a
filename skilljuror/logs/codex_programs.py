"""Codex's code mode: one call of `exec` runs a JavaScript program that calls the other tools.

The program is not run. Calls that surely happen once, with literal arguments, are read; whatever else
the program calls counts as the call of an unknown tool. A `CodeCell` tells the results of the calls
apart in the program's output.
"""

import re
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from skilljuror.logs.assembly import CallBuilder, TrajectoryBuilder, call_fields
from skilljuror.logs.records import as_dict, as_int, as_list, as_str, json_of, text_of

_MAX_CODE = 20_000
"""Characters of a program without its literals that are read."""
_LITERAL = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)
_MARK = re.compile("\ue000(\\d+)\ue001")
"""Placeholder of a literal."""
_RESULT = "\ue002"
"""Stands before the number of a call, for the call."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TOOL = re.compile(r"\btools\b(?:\s*\.\s*(?:functions\.)?(\w+)\s*\()?|\bALL_TOOLS\b")
_BOUND = re.compile(r"\b(?:const|let|var)\s+(\w{1,100})\s*=(?![=>])")
_CHANGED = (
    r"\b{}\s*(?:[-+*/?|&]{{0,2}}=(?![=>])|\+\+|--|\.(?:push|splice)\b"
    r"|(?:\.\w+|\[[^\]\n]{{0,100}}\])\s*=(?!=))"
)
_UNSURE = re.compile(r"&&|\|\||\?|=>|\b(?:if|else|for|while|do|switch|case|function|catch)\b")
"""What may keep the call after it from running, or repeat it."""
_RECEIVED = re.compile(
    rf"\b(?:const|let|var)\s+(?:(\w+)\s*=\s*await\s+({_RESULT}\d+)\b"
    rf"|\[([\w\s,]*)\]\s*=\s*await\s+Promise\.all\s*\(\s*\[([\s,\d{_RESULT}]*)\])"
)
_SHOW = re.compile(r"\btext\s*\(")
_SHOWN = re.compile(
    rf"(?:JSON\.stringify\s*\(\s*)?\(?\s*(?:await\s+)?({_RESULT}\d+|\w+)\s*\)?(?:\.output)?\s*\)?"
)
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,5})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL
)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v"}
_INSERTED = re.compile(r"(?<!\\)\$\{\s*(\w*)\s*(\}?)")
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
    """Read a program's calls."""
    reader = _Reader(text)
    if len(reader.code) > _MAX_CODE:
        return Program((), None, True)
    reader.bind()
    return reader.program()


class _Reader:
    """A program whose literals are replaced by placeholders, so that all brackets are code."""

    def __init__(self, text: str) -> None:
        self.literals: list[str] = []
        self.code = _LITERAL.sub(self._put_aside, text)
        self.names: dict[str, Any] = {}
        """Variables bound once, to a literal."""
        self.ends: dict[int, int] = {}
        """Position of an opening bracket -> of its closing one."""
        opened: list[int] = []
        for at, sign in enumerate(self.code):
            if sign in _CLOSING:
                opened.append(at)
            elif opened and sign == _CLOSING[self.code[opened[-1]]]:
                self.ends[opened.pop()] = at
        self.blocks = [
            (at, end)
            for at, end in self.ends.items()
            if self.code[at] == "{" and not self.code[max(0, at - 9) : at].rstrip().endswith("try")
        ]

    def _put_aside(self, found: re.Match[str]) -> str:
        if found[0].startswith("/"):
            return " "
        self.literals.append(found[0])
        return f"\ue000{len(self.literals) - 1}\ue001"

    def bind(self) -> None:
        """Remember variables that hold a literal."""
        for found in _BOUND.finditer(self.code):
            if len(re.findall(_CHANGED.format(found[1]), self.code)) == 1:
                try:
                    self.names[found[1]] = self._value(self._statement(found.end()))
                except _UnreadError:
                    continue

    def program(self) -> Program:
        calls: list[tuple[str, dict[str, Any]]] = []
        pieces: list[str] = []
        unread, last = False, 0
        for found in _TOOL.finditer(self.code):
            end = self.ends.get(found.end() - 1)
            try:
                if end is None or not self._surely_runs(found.start()):
                    raise _UnreadError
                arguments = self._value(self.code[found.end() : end])
            except _UnreadError:
                unread = True
                continue
            given = arguments if isinstance(arguments, dict) else {"input": arguments}
            pieces += self.code[last : found.start()], f"{_RESULT}{len(calls)}"
            calls.append((found[1], given))
            last = end + 1
        shown = None if unread else _shown("".join([*pieces, self.code[last:]]))
        return Program(tuple(calls), shown, unread)

    def _surely_runs(self, at: int) -> bool:
        start = max(self.code.rfind(";", 0, at), self.code.rfind("}", 0, at))
        return not (
            _UNSURE.search(self.code, start + 1, at)
            or any(first < at < last for first, last in self.blocks)
        )

    def _statement(self, at: int) -> str:
        """Code up to the end of a statement."""
        start = at
        while at < len(self.code) and self.code[at] not in ";\n,":
            at = self.ends.get(at, at) + 1
        return self.code[start:at]

    def _value(self, code: str) -> Any:
        """Value of an expression of literals; raises `_UnreadError` for any other."""
        code = code.strip()
        terms = _split(code, "+")
        if len(terms) > 1:
            values = [self._value(term) for term in terms]
            if not all(isinstance(value, str) for value in values):
                raise _UnreadError
            return "".join(values)
        if mark := _MARK.fullmatch(code.removeprefix("String.raw")):
            return self._text(self.literals[int(mark[1])], raw=code.startswith("S"))
        if code in self.names:
            return self.names[code]
        inner = [one for one in _split(code[1:-1], ",") if one.strip()]
        if code[:1] == "{" and code[-1:] == "}":
            return dict(filter(None, (self._entry(entry) for entry in inner)))
        if code[:1] == "[" and code[-1:] == "]":
            return [self._value(item) for item in inner]
        value = json_of(code)
        if value is None and code != "null":
            raise _UnreadError
        return value

    def _entry(self, code: str) -> tuple[str, Any] | None:
        """Key and value in an object; `{cmd}` is short for `{cmd: cmd}`."""
        key, colon, value = code.strip().partition(":")
        mark = _MARK.fullmatch(key.strip())
        name = self._text(self.literals[int(mark[1])]) if mark else key.strip()
        if name.endswith(_LIMITS):
            return None
        return name, self._value(value if colon else key)

    def _text(self, literal: str, *, raw: bool = False) -> str:
        quote, body = literal[0], literal[1:-1]
        if len(literal) < 2 or literal[-1] != quote:
            raise _UnreadError
        if quote == "`":
            body = _INSERTED.sub(self._inserted, body)
        text = body if raw else _ESCAPE.sub(_unescaped, body)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _inserted(self, found: re.Match[str]) -> str:
        value = self.names.get(found[1])
        if not isinstance(value, str) or not found[2]:
            raise _UnreadError
        return value.replace("\\", "\\\\")


def _unescaped(found: re.Match[str]) -> str:
    point = found[1] or found[2] or found[3]
    if point:
        return chr(int(point, 16))
    return "" if found[4] else _CONTROLS.get(found[5], found[5])


def _split(code: str, separator: str) -> list[str]:
    """Parts between the separators outside of brackets."""
    depth, cuts = 0, [-1]
    for at, sign in enumerate(code):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == separator and not depth:
            cuts.append(at)
    return [code[first + 1 : last] for first, last in pairwise([*cuts, len(code)])]


def _up_to_bracket(code: str) -> str:
    """Code up to the bracket that closes one before it."""
    depth = 0
    for at, sign in enumerate(code):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return code[:at].strip()
    return code


def _shown(code: str) -> tuple[int, ...] | None:
    """Numbers of the calls that `text(…)` prints, given code with calls as numbers."""
    names: dict[str, str] = {}
    for found in _RECEIVED.finditer(code):
        keys = [found[1]] if found[1] else found[3].replace(",", " ").split()
        calls = [found[2]] if found[1] else found[4].replace(",", " ").split()
        names.update(zip(keys, calls, strict=False))
    shown = []
    for found in _SHOW.finditer(code):
        given = _SHOWN.fullmatch(_up_to_bracket(code[found.end() :]))
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
    running: dict[str, CallBuilder] = field(default_factory=dict)
    """Session of a command that is still running -> its call."""

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
