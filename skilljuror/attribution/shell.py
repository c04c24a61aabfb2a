"""A small tolerant reader of shell text: simple commands, where they run, what they are fed.

It knows what decides which file a command touches: quoting, variables set in the text,
`cd`, sub-shells, `for` loops (a variable with several values), here-documents, pipelines and
redirections. It never runs anything and never raises.
"""

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.lexer import REDIRECTS, Part, Token, tokens_of
from skilljuror.attribution.paths import absolute, expand_home, folder_of, join
from skilljuror.attribution.spans import OPENERS, Span, end_of_loop, keyword, plain, spans_of
from skilljuror.attribution.words import UNKNOWN, Word, braces, expand, multiply

DEPTH = 6
"""Shells inside shells that are followed."""
_SEARCH_PATHS = ("PYTHONPATH",)
TURNS = 64
"""Turns of loops that are followed one by one; more are taken together."""
REACH = 64
"""Commands before a reader of names among which their producer is looked for."""
LONGEST = 65_536
"""Characters of a value that a variable holds; a longer one is not known."""
LONGEST_PATH = 4096
"""Characters of the path of a folder; a longer one is not known."""
_SORTERS = frozenset({"sort", "uniq", "cat", "tr"})
_CHOOSERS = frozenset({"head", "tail", "grep", "egrep", "rg", "shuf"})
"""Programs that let some of the paths through that are listed before them."""
_DECLARE = frozenset({"export", "local", "declare", "readonly", "typeset"})


class Redirect(Struct, frozen=True, gc=False):
    """Where a stream of a command goes or comes from."""

    op: str
    target: Word
    descriptor: str = ""
    body: str | None = None

    @property
    def output(self) -> bool:
        """Whether standard output goes to the target."""
        return self.op in {">", ">>", ">|", "&>", "&>>", ">&"} and self.descriptor in {"", "1"}


class Command(Struct, frozen=True, gc=False):
    """One simple command."""

    words: tuple[Word, ...]
    cwd: str | None
    assigns: Mapping[str, str] = field(default_factory=dict)
    redirects: tuple[Redirect, ...] = ()
    pipeline: int = 0
    captured: bool = False
    """Its output goes into a word of another command, not to the screen."""
    text: str = ""
    """The source, shortened."""
    ended_by: str = ""
    """The operator after it."""
    guarded: bool = False
    """Runs only where the command before it failed."""
    feeds: int | None = None
    """The pipeline that takes what the group around it prints."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the program."""
        return self.words[1:]

    @property
    def heredoc(self) -> str | None:
        """Text fed by a here-document or here-string."""
        for redirect in self.redirects:
            if redirect.body is not None:
                return redirect.body
            if redirect.op == "<<<":
                return redirect.target.text
        return None


class _Place(Struct):
    """What changes while a text is read."""

    cwd: str | None
    before: str | None = None


class Shell(Struct):
    """Reads shell texts with one set of variables."""

    cwd: str | None = None
    home: str | None = None
    variables: dict[str, tuple[Word, ...]] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    captured: bool = False
    depth: int = 0
    pipelines: int = 0
    turns: int = TURNS
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
            assigns={
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
        """Variables that tell programs where their modules lie."""
        return {name: self.variables[name] for name in _SEARCH_PATHS if name in self.variables}

    def _loop(self, span: list[Token], spans: list[Span], at: int, place: _Place, text: str) -> int:
        """`for NAME in words`: one turn for each value, or all values at once where they are
        many; where to go on."""
        name = plain(span[1])
        values = [word for token in span[3:] for word in self._words(token, place)]
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
        self.variables[name] = (listed or Word("", known=False),)

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
        inner = Shell(place.cwd, self.home, self.variables, captured=True, depth=self.depth + 1)
        inner.pipelines = self.pipelines + 1
        found = inner.read(text)
        self.pipelines = inner.pipelines + 1
        self.commands.extend(found)
        return [_output(found, place.cwd)]


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


def produced(before: Sequence[Command], pipeline: int) -> Word | None:
    """What the nearest command before in a pipeline lists, as one glob."""
    near = islice(reversed(before), REACH)
    same = (one for one in near if one.pipeline == pipeline)
    return next((found for one in same if (found := listing(one))), None)


def listing(command: Command) -> Word | None:
    """The paths that `find` and `ls` print, as one glob; of a folder `ls` prints bare names."""
    operands = [word.text for word in command.arguments if word.text[:1] not in {"-", "(", "!"}]
    if command.name == "find":
        folders = operands[:1] if command.arguments[:1] and operands else ["."]
        named = _option(command, "-name", "-iname", "-path")
        pattern = f"{folders[0]}/**/{named}" if named else f"{folders[0]}/**"
        return Word(join(command.cwd, pattern) if folders[0] else pattern, glob=True)
    if command.name in {"printf", "echo"} and operands:
        return command.arguments[-1]
    if command.name == "ls":
        last = command.arguments[-1] if operands else Word("")
        file = last.glob or "." in last.text.rpartition("/")[2].strip(".")
        return last if file else Word("*", glob=True)
    return None


def _option(command: Command, *names: str) -> str:
    words = [word.text for word in command.arguments]
    return next((value for key, value in pairwise(words) if key in names), "")


def _output(commands: list[Command], cwd: str | None) -> Word:
    if len(commands) > 1 and all(one.name in _SORTERS | _CHOOSERS for one in commands[1:]):
        listed = listing(commands[0]) if commands[-1].pipeline == commands[0].pipeline else None
        chosen = any(one.name in _CHOOSERS for one in commands[1:])
        return replace(listed, known=not chosen) if listed else Word("", known=False)
    if len(commands) == 1:
        only = commands[0]
        if only.name == "pwd" and cwd:
            return Word(cwd)
        operands = [word for word in only.arguments if not word.text.startswith("-")]
        if only.name == "dirname" and operands:
            return Word(folder_of(operands[0].text) or ".")
        if only.name in {"realpath", "readlink", "echo"} and len(operands) == 1:
            return operands[0]
        listed = listing(only)
        if listed:
            return listed
    return Word("", known=False)


def read_shell(text: str, cwd: str | None = None, home: str | None = None) -> list[Command]:
    """The simple commands of a shell text that runs in `cwd`."""
    return Shell(cwd, home).read(text)
