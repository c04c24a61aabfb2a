"""Read a shell text as simple commands in order, with their folders and inputs.

Covers what determines the files of a command: quoting, variables, `cd`, sub-shells, loops,
here-documents, pipelines, substitutions and redirections. Conditions are not evaluated: every branch
is read. Nothing is run, and nothing raises.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.events.shell.command import Command, Redirect
from skilljuror.events.shell.expansion import UNKNOWN, Environment, Word, expand, joined
from skilljuror.events.shell.produced_paths import output_words, produced
from skilljuror.events.shell.syntax_tree import (
    Assignment,
    Compound,
    Parameter,
    Part,
    Parts,
    Pipeline,
    Redirection,
    Script,
    SimpleCommand,
    Substitution,
    Text,
    parse,
)

DEPTH = 6
"""Maximum nesting of shells and substitutions."""
TURNS = 64
"""Loop iterations read separately; further ones are merged."""
MOST_WORDS = 50_000
"""Maximum words of all commands of a text; later ones are ignored."""
_MOST_EXPORTED = 64
_DECLARE = frozenset({"export", "local", "declare", "readonly", "typeset"})
_ECHO = frozenset({"echo", "printf"})
_STDIN = Word("-")
"""Placeholder for the file of `<(…)`."""
_TABS = re.compile(r"^\t+", re.MULTILINE)


class ShellReader(Struct):
    """Reads shell texts in one environment."""

    environment: Environment
    captured: bool = False
    depth: int = 0
    commands: list[Command] = field(default_factory=list)
    exported: set[str] = field(default_factory=lambda: {"PYTHONPATH"})
    """Variables visible to programs."""
    turns: int = TURNS
    words_left: int = MOST_WORDS
    _pipelines: int = -1
    _joined: int | None = None
    """Pipeline of the next command: that of the group it begins."""
    _guarded: bool = False

    def read(self, text: str) -> list[Command]:
        """The simple commands of a text, in order."""
        self._run(parse(text)[0])
        return self.commands

    def _run(self, script: Script) -> None:
        for pipeline in script:
            if self.words_left > 0:
                self._pipeline(pipeline)

    def _new_pipeline(self) -> int:
        self._pipelines += 1
        return self._pipelines

    def _pipeline(self, pipeline: Pipeline) -> None:
        number, self._joined = self._joined, None
        number = self._new_pipeline() if number is None else number
        guarded, self._guarded = self._guarded, self._guarded or pipeline.guarded
        first = len(self.commands)
        for at, stage in enumerate(pipeline.stages):
            piped = at + 1 < len(pipeline.stages)
            start = len(self.commands)
            if isinstance(stage, SimpleCommand):
                self._simple(stage, number, first, piped=piped)
                continue
            self._compound(stage, number)
            if piped:
                number = self._new_pipeline()
                self._feed(start, number)
                first = len(self.commands)
        self._guarded = guarded

    def _feed(self, start: int, number: int) -> None:
        """Feed the output of the commands from `start` on into a pipeline."""
        self.commands[start:] = [
            replace(one, feeds=number) if one.feeds is None else one
            for one in self.commands[start:]
        ]

    def _compound(self, stage: Compound, number: int) -> None:
        """Commands with shared streams. Their input goes into the first of them."""
        redirects = self._redirects(stage.streams, number) if stage.streams else ()
        source = stage.streams.source if stage.streams else ""
        environment, captured = self.environment, self.captured
        inputs = tuple(one for one in redirects if one.op.startswith("<"))
        streams = Command((Word("cat"),), environment.cwd, {}, inputs, number, captured, source)
        if inputs:
            self.commands.append(streams)
        if stage.kind == "subshell":
            self.environment = environment.subshell()
        self.captured = captured or any(one.to_file for one in redirects)
        turns = self._turns(stage.values, number) if stage.kind == "loop" else [[]]
        self._joined = number
        for values in turns:
            if stage.kind == "loop":
                self.environment.assign(stage.name, values)
            self._run(stage.script)
        self._joined = None
        self.environment, self.captured = environment, captured
        outputs = tuple(one for one in redirects if one.output)
        if outputs:
            number = self._new_pipeline()
            self.commands.append(replace(streams, words=(), redirects=outputs, pipeline=number))

    def _turns(self, words: Sequence[Parts], number: int) -> list[list[Word]]:
        """Values of a loop variable, one by one, or all at once if there are many."""
        values = [word for parts in words for word in self._expand(parts, number)]
        if not 1 < len(values) <= self.turns:
            return [values or [UNKNOWN]]
        self.turns -= len(values)
        return [[value] for value in values]

    def _simple(self, stage: SimpleCommand, number: int, first: int, *, piped: bool) -> None:
        """Read a simple command of the pipeline whose commands begin at `first`."""
        start = len(self.commands)
        redirects = self._redirects(stage, number)
        words: list[Word] = []
        for parts in stage.words:
            prints = bool(words) and words[0].text in _ECHO
            shown = prints and not any(one.to_file for one in redirects)
            words.extend(self._expand(parts, number, shown=shown))
        name = words[0].text if words else ""
        if name in _DECLARE or not words:
            for one in stage.assignments:
                self._assign(one, number)
            if name == "export":
                self._export([*words[1:], *(Word(one.name) for one in stage.assignments)])
        if name in _DECLARE or not (words or redirects):
            return
        if not words and self.depth and redirects[0].op == "<":
            words = [Word("cat")]  # `$(< file)`
        exported = {name: self.environment.values(name)[:1] for name in self.exported}
        given = {one.name: self._expand(one.value, number)[:1] for one in stage.assignments}
        command = Command(
            words=tuple(words),
            cwd=self.environment.cwd,
            environment={name: value[0].text for name, value in {**exported, **given}.items() if value},
            redirects=redirects,
            pipeline=number,
            captured=self.captured,
            text=stage.source,
            piped=piped,
            guarded=self._guarded,
        )  # fmt: skip
        if first < start:  # Commands in its words run before the pipeline, not inside it.
            inner, self.commands[start:] = self.commands[start:], []
            self.commands[first:first] = inner
        self.commands.append(command)
        self._builtin(command)

    def _export(self, names: Sequence[Word]) -> None:
        if len(self.exported) < _MOST_EXPORTED:
            self.exported.update(one.text for one in names if one.text.isidentifier())

    def _assign(self, assignment: Assignment, number: int) -> None:
        name, words = assignment.name, self._expand(assignment.value, number)
        before = self.environment.values(name) if assignment.append else ()
        self.environment.assign(name, [joined([a, b]) for a in before[:1] for b in words] or words)

    def _redirects(self, stage: SimpleCommand, number: int) -> tuple[Redirect, ...]:
        """Redirections of a command; output of `<(…)` flows in without one."""
        shown = stage.words == ((Text("cat"),),)
        found = [self._redirect(one, number, shown=shown) for one in stage.redirections]
        return tuple(one for one in found if one.op != "<" or one.target != _STDIN)

    def _redirect(self, one: Redirection, number: int, *, shown: bool) -> Redirect:
        if one.operator in {"<<", "<<-"}:
            pieces = [self._heredoc_piece(part, number, shown=shown) for part in one.target]
            text = "".join(pieces)
            text = _TABS.sub("", text) if one.operator == "<<-" else text
            return Redirect(one.operator, Word(text), one.descriptor)
        words = self._expand(one.target, number)
        return Redirect(one.operator, words[0] if words else Word("", known=False), one.descriptor)

    def _heredoc_piece(self, part: Part, number: int, *, shown: bool) -> str:
        """Text of a here-document; unknown parts stay as written."""
        if isinstance(part, Text):
            return part.text
        words = self._expand((part,), number, shown=shown)
        known = isinstance(part, Parameter) and len(words) == 1 and words[0].known
        return words[0].text if known else part.source

    def _expand(self, parts: Parts, number: int, *, shown: bool = False) -> list[Word]:
        def substitute(one: Substitution) -> Sequence[Word]:
            return self._substitute(one, number, shown=shown)

        if self.words_left <= 0:
            return [UNKNOWN]
        words = expand(parts, self.environment, substitute)
        self.words_left -= len(words)
        return words

    def _substitute(self, one: Substitution, number: int, *, shown: bool) -> Sequence[Word]:
        """Read the commands of a substitution; return its value if that is a path."""
        if self.depth >= DEPTH:
            return [UNKNOWN]
        start = len(self.commands)
        environment, captured = self.environment, self.captured
        flows = one.opening == "<("
        self.environment = environment.subshell()
        self.captured = captured or not (shown or flows)
        self.depth += 1
        self._run(one.script)
        self.depth -= 1
        self.environment, self.captured = environment, captured
        if flows:
            self._feed(start, number)
            return [_STDIN]
        if one.opening == ">(":
            return [Word("/dev/stdout")]
        return output_words(self.commands[start:], environment.cwd)

    def _builtin(self, command: Command) -> None:
        """Commands that change the shell itself."""
        name, given = command.name, [one.text for one in command.arguments]
        if name in {"cd", "pushd"}:
            folder = next((one for one in given if not one.startswith("-")), "~")
            self.environment.enter("-" if "-" in given else folder)
        elif name == "read" and given:
            self._read_variable(command)

    def _read_variable(self, command: Command) -> None:
        """`find … | while read f`: the variable holds the producer's paths."""
        fed = command.heredoc
        listed = (Word(fed),) if fed is not None else produced(self.commands, command.pipeline)
        self.environment.assign(command.arguments[-1].text, listed or [UNKNOWN])
