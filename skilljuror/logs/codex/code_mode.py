"""Codex's code mode: one call of `exec` runs a JavaScript program that calls the other tools.

The program is not run. Calls that surely happen once, with literal arguments, are read; whatever else
the program calls counts as the call of an unknown tool.
"""

import re
from itertools import pairwise
from typing import Any

from msgspec import Struct

from skilljuror.logs.raw_logs.coercion import json_of

MAX_PROGRAM = 300_000
"""Characters of a program that are read."""
_MOST_CALLS = 64
"""Calls of a program that are read."""
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
_LONGEST_SHOWN = 200
"""Characters of what `text(…)` prints."""
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,5})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL
)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v"}
_INSERTED = re.compile(r"(?<!\\)\$\{\s*(\w*)\s*(\}?)")
_LIMITS = ("_tokens", "_ms")
"""Ends of the names of arguments that need not be read."""


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
        for found in list(_BOUND.finditer(self.code))[:_MOST_CALLS]:
            if len(re.findall(_CHANGED.format(found[1]), self.code)) == 1:
                try:
                    self.names[found[1]] = self._value(self._statement(found.end()))
                except _UnreadError:
                    continue

    def program(self) -> Program:
        calls: list[tuple[str, dict[str, Any]]] = []
        pieces: list[str] = []
        unread, last = False, 0
        uses = list(_TOOL.finditer(self.code))
        for found in uses[:_MOST_CALLS]:
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
        unread = unread or len(uses) > _MOST_CALLS
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

    def _value(self, code: str, depth: int = 0) -> Any:
        """Value of an expression of literals; raises `_UnreadError` for any other."""
        code = code.strip()
        terms = _split(code, "+")
        if depth > 8 or len(terms) > 1:
            values = [self._value(one, depth + 1) for one in terms if depth <= 8]
            if not values or not all(isinstance(one, str) for one in values):
                raise _UnreadError
            return "".join(values)
        if mark := _MARK.fullmatch(code.removeprefix("String.raw")):
            return self._text(self.literals[int(mark[1])], raw=code.startswith("S"))
        if code in self.names:
            return self.names[code]
        inner = [one for one in _split(code[1:-1], ",") if one.strip()]
        if code[:1] == "{" and code[-1:] == "}":
            return dict(filter(None, (self._entry(one, depth) for one in inner)))
        if code[:1] == "[" and code[-1:] == "]":
            return [self._value(one, depth + 1) for one in inner]
        value = json_of(code)
        if value is None and code != "null":
            raise _UnreadError
        return value

    def _entry(self, code: str, depth: int) -> tuple[str, Any] | None:
        """Key and value in an object; `{cmd}` is short for `{cmd: cmd}`."""
        key, colon, value = code.strip().partition(":")
        mark = _MARK.fullmatch(key.strip())
        name = self._text(self.literals[int(mark[1])]) if mark else key.strip()
        if name.endswith(_LIMITS):
            return None
        return name, self._value(value if colon else key, depth + 1)

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
        given = _SHOWN.fullmatch(_up_to_bracket(code[found.end() : found.end() + _LONGEST_SHOWN]))
        call = names.get(given[1], given[1]) if given else ""
        if not call.startswith(_RESULT):
            return None
        shown.append(int(call[1:]))
    return tuple(shown)
