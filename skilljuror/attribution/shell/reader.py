"""A small tolerant reader of shell text: simple commands, where they run, what they are fed.

It knows what decides which file a command touches: quoting, variables set in the text,
`cd`, sub-shells, `for` loops (a variable with several values), here-documents, pipelines and
redirections. It never runs anything and never raises.
"""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.paths import absolute, expand_home, join
from skilljuror.attribution.shell.command_spans import (
    OPENERS,
    Span,
    end_of_loop,
    keyword,
    plain,
    spans_of,
)
from skilljuror.attribution.shell.expansion import UNKNOWN, Word, braces, expand, multiply
from skilljuror.attribution.shell.lexer import REDIRECTS, Part, Token, tokens_of
from skilljuror.attribution.shell.produced_paths import output_words, produced
from skilljuror.attribution.shell.simple_command import Command, Redirect

DEPTH = 6
"""Shells inside shells that are followed."""
_MOST_EXPORTED = 64
"""Variables that are handed on to programs."""
TURNS = 64
"""Turns of loops that are followed one by one; more are taken together."""
LONGEST = 65_536
"""Characters of a value that a variable holds; a longer one is not known."""
LONGEST_PATH = 4096
"""Characters of the path of a folder; a longer one is not known."""
_DECLARE = frozenset({"export", "local", "declare", "readonly", "typeset"})


class _Place(Struct):
    """What changes while a text is read."""

    cwd: str | None
    before: str | None = None


class ShellReader(Struct):
    """Reads shell texts with one set of variables."""

    cwd: str | None = None
    home: str | None = None
    variables: dict[str, tuple[Word, ...]] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    captured: bool = False
    depth: int = 0
    pipelines: int = 0
    turns: int = TURNS
    exported: set[str] = field(default_factory=lambda: {"PYTHONPATH"})
    """Variables that programs get to see."""
    _groups: list[int] = field(default_factory=list)
    """First command of every group that is open."""
    _closed: int | None = None
    """First command of the group that has just been closed."""
    _outer: list[_Place] = field(default_factory=list)
    """Where the shells around this one are."""

    def read(self, text: str) -> list[Command]:
        """The simple commands of a text, in order."""
        place = _Place(self.cwd)
        self._run(list(spans_of(tokens_of(text))), place, text)
        self.cwd = place.cwd
        return self.commands

    def _run(self, spans: list[Span], place: _Place, text: str) -> None:
        at = 0
        while at < len(spans):
            span = self._keywords(spans[at].tokens)
            if span and plain(span[0]) in {"for", "select"} and len(span) > 1:
                at = self._loop(span, spans, at, place, text)
                continue
            self._group(span, spans[at].op, place)
            self._command(span, spans[at].op, place, text)
            self._brackets(spans[at].op, place)
            at += 1

    def _keywords(self, span: list[Token]) -> list[Token]:
        """The command behind words such as `then`; notes the groups that open and close."""
        at = 0
        while at < len(span) and (word := keyword(span[at])):
            if word in OPENERS:
                self._groups.append(len(self.commands))
            elif word in {"}", "fi", "done", "esac"} and self._groups:
                self._closed = self._groups.pop()
            if word in {"for", "select", "case"}:
                break
            at += 1
        return span[at:]

    def _group(self, span: list[Token], op: str, place: _Place) -> None:
        """What a closed group prints goes to a file or into the next command."""
        start, self._closed = self._closed, None
        if start is None:
            return
        inside = self.commands[start:]
        words, redirects = self._split(span, place)
        if any(one.output and not one.target.text.isdigit() for one in redirects):
            self.commands[start:] = [replace(one, captured=True) for one in inside]
        elif op in {"|", "|&"} and not words:
            self.commands[start:] = [
                replace(one, feeds=self.pipelines) if one.feeds is None else one for one in inside
            ]

    def _brackets(self, op: str, place: _Place) -> None:
        """A sub-shell leaves the folder of the shell around it alone."""
        if op == "(":
            self._outer.append(replace(place))
            self._groups.append(len(self.commands))
        elif op == ")" and self._outer:
            outer = self._outer.pop()
            place.cwd, place.before = outer.cwd, outer.before
            self._closed = self._groups.pop() if self._groups else None
        if op not in {"|", "|&"}:
            self.pipelines += 1

    def _command(self, span: list[Token], op: str, place: _Place, text: str) -> None:
        if not span:
            return
        source = text[span[0].start : min(span[-1].end, span[0].start + 400)]
        inner = len(self.commands)
        assigns, span = self._assignments(span, place)
        words, redirects = self._split(span, place)
        if not words and not redirects:
            self.variables.update(assigns)
            return
        command = Command(
            words=tuple(words),
            cwd=place.cwd,
            environment={
                name: value[0].text
                for name, value in {**self._exported(), **assigns}.items()
                if value
            },
            redirects=tuple(redirects),
            pipeline=self.pipelines,
            captured=self.captured,
            text=source,
            ended_by=op,
            guarded=bool(self.commands) and self.commands[-1].ended_by == "||",
        )
        if command.name in {"echo", "printf"} and not self.captured:
            self.commands[inner:] = [replace(one, captured=False) for one in self.commands[inner:]]
        self.commands.append(command)
        self._builtin(command, place)

    def _exported(self) -> dict[str, tuple[Word, ...]]:
        """Variables that programs get to see."""
        known = self.variables
        return {name: known[name] for name in self.exported if name in known} if known else {}

    def _export(self, span: list[Token]) -> None:
        """`export A B=c`: the names are handed on."""
        for token in span[1:]:
            name = _assignment(token)[0] or plain(token)
            if name.isidentifier() and len(self.exported) < _MOST_EXPORTED:
                self.exported.add(name)

    def _loop(self, span: list[Token], spans: list[Span], at: int, place: _Place, text: str) -> int:
        """`for NAME in words`: one turn for each value, or all values at once where they are
        many; where to go on."""
        name = plain(span[1])
        values = [word for token in span[3:] for word in self._words(token, place)]
        if len(span) == 2:
            values = list(self.variables.get("@", ()))
        end = None
        self.pipelines += 1
        if 1 < len(values) <= self.turns:
            self.turns -= len(values)
            end = end_of_loop(spans, at)
        if end is None:
            self.variables[name] = tuple(values) or (Word("", known=False),)
            return at + 1
        for value in values:
            self.variables[name] = (value,)
            self._run(spans[at + 1 : end], place, text)
        return end

    def _split(self, span: list[Token], place: _Place) -> tuple[list[Word], list[Redirect]]:
        words: list[Word] = []
        redirects: list[Redirect] = []
        at = 0
        while at < len(span):
            token = span[at]
            following = span[at + 1] if at + 1 < len(span) else None
            if token.op in REDIRECTS:
                redirects.append(self._redirect(token, following, span, at, place))
                at += 2
                continue
            if not _descriptor(token, following):
                words.extend(self._words(token, place))
            at += 1
        return words, redirects

    def _redirect(
        self, token: Token, following: Token | None, span: list[Token], at: int, place: _Place
    ) -> Redirect:
        target = self._words(following, place) if following else []
        before = span[at - 1] if at else None
        descriptor = plain(before) if before and _descriptor(before, token) else ""
        body = following.body if following and token.op in {"<<", "<<-"} else None
        word = target[0] if target else Word("", known=False)
        return Redirect(token.op, word, descriptor, body)

    def _assignments(
        self, span: list[Token], place: _Place
    ) -> tuple[dict[str, tuple[Word, ...]], list[Token]]:
        """Leading `NAME=value` words, and the rest of the command."""
        found: dict[str, tuple[Word, ...]] = {}
        at = 1 if plain(span[0]) in _DECLARE else 0
        if at and plain(span[0]) == "export":
            self._export(span)
        while at < len(span):
            name, parts = _assignment(span[at])
            if not name:
                break
            found[name] = tuple(map(_held, self._values(parts, place)))
            at += 1
        return found, [] if plain(span[0]) in _DECLARE else span[at:]

    def _builtin(self, command: Command, place: _Place) -> None:
        if command.name in {"cd", "pushd"} and not self.captured:
            target = next((w.text for w in command.arguments if not w.text.startswith("-")), "~")
            back = any(word.text == "-" for word in command.arguments)
            place.before, place.cwd = (
                place.cwd,
                place.before if back else self._folder(target, place),
            )
        elif command.name == "read" and command.arguments:
            self._read_variable(command)
        elif command.name == "set" and command.arguments[:1] == (Word("--"),):
            self.give(command.arguments[1:])
        self.cwd = place.cwd

    def _folder(self, target: str, place: _Place) -> str | None:
        target = expand_home(target, self.home)
        if not target or "\0" in target:
            return None
        folder = join(place.cwd, target) if absolute(target) or place.cwd else target
        return folder if len(folder) <= LONGEST_PATH else None

    def _read_variable(self, command: Command) -> None:
        """`find … | while read f`: the variable stands for whatever the producer lists."""
        listed = produced(self.commands, command.pipeline)
        name = command.arguments[-1].text
        self.variables[name] = listed or (Word("", known=False),)

    def give(self, words: tuple[Word, ...]) -> None:
        """Take words as the arguments `$1` and on."""
        self.variables.update({str(at): (word,) for at, word in enumerate(words, 1)})
        if words:
            self.variables.update({"@": words, "*": words})

    def _words(self, token: Token, place: _Place) -> list[Word]:
        return self._values(token.parts, place)

    def _values(self, parts: Sequence[Part], place: _Place) -> list[Word]:
        choices = [self._choices(part, place, alone=len(parts) == 1) for part in parts]
        words = [piece for word in multiply(choices) for piece in braces(word)]
        first = parts[0] if parts else None
        if first and first.kind == "bare" and first.text.startswith("~"):
            words = [replace(word, text=expand_home(word.text, self.home)) for word in words]
        return words

    def _choices(self, part: Part, place: _Place, *, alone: bool) -> list[Word]:
        if part.kind in {"bare", "quoted"}:
            return [Word.of(part)]
        if part.kind in {"sub", "quoted-sub"}:
            return self._substitute(part.text, place)
        return expand(part, self._lookup(place), split=alone and part.kind == "var")

    def _lookup(self, place: _Place) -> dict[str, tuple[Word, ...]]:
        known = dict(self.variables)
        known.setdefault("HOME", (Word(self.home or "~"),))
        known["PWD"] = (Word(place.cwd),) if place.cwd else ()
        return known

    def _substitute(self, text: str, place: _Place) -> list[Word]:
        """What `$(…)` gives, for the few commands whose output is a path."""
        if self.depth >= DEPTH:
            return [Word("", known=False)]
        inner = ShellReader(
            place.cwd, self.home, self.variables, captured=True, depth=self.depth + 1
        )
        inner.exported = self.exported
        inner.pipelines = self.pipelines + 1
        found = inner.read(text)
        self.pipelines = inner.pipelines + 1
        self.commands.extend(found)
        return list(output_words(found, place.cwd))


def _descriptor(token: Token, following: Token | None) -> bool:
    """Whether a word is the number of a stream: digits glued to a redirection."""
    if following is None or following.op not in REDIRECTS or following.start != token.end:
        return False
    return plain(token).isdigit()


def _assignment(token: Token) -> tuple[str, tuple[Part, ...]]:
    """Name and value parts of a `NAME=value` word; an empty name for anything else."""
    if not token.parts or token.parts[0].kind != "bare":
        return "", ()
    name, equals, rest = token.parts[0].text.partition("=")
    if not equals or not name.isidentifier():
        return "", ()
    return name, (Part("bare", rest), *token.parts[1:])


def _held(value: Word) -> Word:
    """What a variable keeps of a value: `a=$a$a` over and over would fill the memory."""
    return value if len(value.text) <= LONGEST else UNKNOWN


def read_shell(text: str, cwd: str | None = None, home: str | None = None) -> list[Command]:
    """The simple commands of a shell text that runs in `cwd`."""
    return ShellReader(cwd, home).read(text)
