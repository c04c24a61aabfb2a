"""Shell text -> tokens, tolerantly: whatever cannot be understood becomes a plain word.

One pass over the text; nested `$(…)` is kept as source text for the parser to read again,
so the work is bounded by the length times the (capped) depth of nesting.
"""

from typing import Literal

from msgspec import Struct, field

PartKind = Literal["bare", "quoted", "var", "quoted-var", "sub", "quoted-sub"]

OPERATORS = (
    "<<<", "<<-", "&>>", ";;&",
    "&&", "||", "|&", ";;", ";&", "<<", ">>", ">|", ">&", "<&", "&>", "<>",
    "|", "&", ";", "(", ")", "<", ">", "\n",
)  # fmt: skip
"""Longest first, so that the first one that fits is the right one."""
REDIRECTS = frozenset({"<<<", "<<-", "<<", "&>>", ">>", ">|", ">&", "<&", "&>", "<>", "<", ">"})
_BREAK = frozenset(" \t\r\n|&;()<>")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Part(Struct, frozen=True, gc=False):
    """A piece of a word: literal text, a variable's name, or the source of a substitution."""

    kind: PartKind
    text: str


class Token(Struct):
    """A word (parts), or an operator (op); a here-document carries its body."""

    op: str = ""
    parts: tuple[Part, ...] = ()
    body: str | None = None
    start: int = 0
    end: int = 0


class Lexer(Struct):
    """Reads one shell text."""

    text: str
    at: int = 0
    tokens: list[Token] = field(default_factory=list)
    waiting: list[tuple[Token, bool]] = field(default_factory=list)
    """Here-documents whose body starts at the next line, and whether tabs are stripped."""

    def run(self) -> list[Token]:
        """All tokens of the text."""
        size = len(self.text)
        while self.at < size:
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "\\" and self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                self._skip_comment()
            else:
                self._token()
        return self.tokens

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _token(self) -> None:
        start = self.at
        op = self._operator()
        if not op:
            parts = tuple(self._word())
            self.tokens.append(Token(parts=parts, start=start, end=self.at))
            self._name_heredoc()
            return
        self.at += len(op)
        self.tokens.append(Token(op=op, start=start, end=self.at))
        if op == "\n" and self.waiting:
            self._bodies()

    def _operator(self) -> str:
        if self.text[self.at] not in _BREAK:
            return ""
        return next((op for op in OPERATORS if self.text.startswith(op, self.at)), "")

    def _name_heredoc(self) -> None:
        """After `<<` the word just read is a delimiter: its body follows the line."""
        if len(self.tokens) > 1 and self.tokens[-2].op in {"<<", "<<-"}:
            self.waiting.append((self.tokens[-1], self.tokens[-2].op == "<<-"))

    def _bodies(self) -> None:
        for token, tabs in self.waiting:
            delimiter = "".join(part.text for part in token.parts)
            token.body = self._body(delimiter, tabs)
        self.waiting.clear()

    def _body(self, delimiter: str, tabs: bool) -> str:
        lines = []
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, len(self.text))
            if (line.lstrip("\t") if tabs else line).rstrip("\r") == delimiter:
                break
            lines.append(line)
        return "\n".join(lines) + ("\n" if lines else "")

    def _word(self) -> list[Part]:
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in _BREAK:
            char = self.text[self.at]
            if char == "'":
                parts.append(Part("quoted", self._until("'")))
            elif char == '"':
                self.at += 1
                parts.extend(self._double())
            elif char in "$`":
                parts.append(self._dollar(quoted=False))
            else:
                parts.append(self._bare())
        return parts

    def _until(self, mark: str) -> str:
        end = self.text.find(mark, self.at + 1)
        end = len(self.text) if end < 0 else end
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _bare(self) -> Part:
        if self.text[self.at] == "\\":
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            return Part("quoted", "" if escaped == "\n" else escaped)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _STOP_BARE:
            self.at += 1
        return Part("bare", self.text[start : self.at])

    def _double(self) -> list[Part]:
        parts = [Part("quoted", "")]
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\":
                parts.append(Part("quoted", self._escape()))
            elif char in "$`":
                parts.append(self._dollar(quoted=True))
            else:
                start = self.at
                while self.at < len(self.text) and self.text[self.at] not in '"\\$`':
                    self.at += 1
                parts.append(Part("quoted", self.text[start : self.at]))
        self.at += 1
        return parts

    def _escape(self) -> str:
        """A backslash inside double quotes keeps itself before an ordinary character."""
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return ""
        return following if following in '"\\$`' else "\\" + following

    def _dollar(self, *, quoted: bool) -> Part:
        if self.text[self.at] == "`":
            return Part("quoted-sub" if quoted else "sub", self._until("`"))
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            return self._substitution(quoted)
        if following == "'" and not quoted:
            self.at += 1
            return Part("quoted", _unescape(self._ansi()))
        if following == "{":
            inside = self._matching("{", "}")
            return Part("quoted-var" if quoted else "var", inside)
        return self._variable(quoted)

    def _substitution(self, quoted: bool) -> Part:
        arithmetic = self.text.startswith("$((", self.at)
        inside = self._matching("(", ")")
        if arithmetic:
            return Part("quoted-var" if quoted else "var", "")
        return Part("quoted-sub" if quoted else "sub", inside)

    def _variable(self, quoted: bool) -> Part:
        start = self.at + 1
        end = start
        while end < len(self.text) and self.text[end] in _NAME:
            end += 1
        if end == start and end < len(self.text) and self.text[end] in "@*#?$!-":
            end += 1
        self.at = end
        if end == start:
            return Part("quoted", "$")
        return Part("quoted-var" if quoted else "var", self.text[start:end])

    def _ansi(self) -> str:
        end = self.at + 1
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _matching(self, opening: str, closing: str) -> str:
        """The text between `$(` or `${` and its partner; quotes inside are skipped."""
        start = self.at + 2
        depth, end = 1, start
        while end < len(self.text):
            char = self.text[end]
            if char in "'\"":
                end = self._skip_quote(end, char)
                continue
            depth += (char == opening) - (char == closing)
            if not depth:
                break
            end += 2 if char == "\\" else 1
        self.at = end + 1
        return self.text[start:end]

    def _skip_quote(self, at: int, mark: str) -> int:
        end = at + 1
        while end < len(self.text) and self.text[end] != mark:
            end += 2 if self.text[end] == "\\" and mark == '"' else 1
        return end + 1


_STOP_BARE = _BREAK | frozenset("'\"\\$`")


def _unescape(text: str) -> str:
    for code, char in (("\\n", "\n"), ("\\t", "\t"), ("\\'", "'"), ("\\\\", "\\")):
        text = text.replace(code, char)
    return text


def tokens_of(text: str) -> list[Token]:
    """The tokens of a shell text; never raises."""
    return Lexer(text).run()
