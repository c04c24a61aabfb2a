"""Commands that run commands.

Agents write `bash -lc '…'` (Codex always does), `find … -exec cat {} +` and `… | xargs cat` over a
Skill's files, `timeout 60 python3 …`, `uv run` and `npx` for scripts with dependencies.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from skilljuror.events.shell.command import Command
from skilljuror.events.shell.expansion import UNKNOWN, Environment, Word
from skilljuror.events.shell.produced_paths import REACH, listing, produced
from skilljuror.events.shell.reader import DEPTH, ShellReader

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"})
_PREFIXES: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g"}),
    "env": frozenset({"-u", "-C"}),
    "nohup": frozenset(),
    "command": frozenset(),
    "exec": frozenset({"-a"}),
    "time": frozenset({"-f", "-o"}),
    "nice": frozenset({"-n"}),
    "timeout": frozenset({"-k", "-s", "--signal", "--kill-after"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "rtk": frozenset(),
}
"""Programs that run the rest of the line -> their options with a value."""
_RUNNERS: dict[tuple[str, str], frozenset[str]] = {
    ("uv", "run"): frozenset({"--with", "-p", "--python", "--directory", "--project", "--extra", "--group", "--env-file", "-m"}),
    ("poetry", "run"): frozenset(),
    ("conda", "run"): frozenset({"-n", "-p", "--name", "--prefix"}),
    ("bundle", "exec"): frozenset(),
    ("pnpm", "exec"): frozenset(),
    ("mise", "exec"): frozenset(),
    ("mise", "x"): frozenset(),
    ("npx", ""): frozenset({"-p", "--package"}),
    ("bunx", ""): frozenset(),
}  # fmt: skip
_XARGS_VALUES = frozenset({"-n", "-P", "-L", "-d", "-s", "-E", "-a"})


MOST_COMMANDS = 50_000
"""Maximum commands of a text, nested ones included."""


def unwrap(commands: Sequence[Command], home: str | None) -> Iterator[Command]:
    """Replace every wrapper by the commands that it runs."""
    return islice(_unwrapped(commands, home, 0), MOST_COMMANDS)


def _unwrapped(commands: Sequence[Command], home: str | None, depth: int) -> Iterator[Command]:
    for at, command in enumerate(commands):
        before = commands[max(0, at - REACH) : at]
        opened = _open(command, before, home, depth) if depth < DEPTH else None
        if opened is None:
            yield command
        else:
            yield from _unwrapped(opened, home, depth + 1)


def _open(
    command: Command, before: Sequence[Command], home: str | None, depth: int
) -> list[Command] | None:
    name = command.name
    if name in SHELLS:
        return _inner_shell(command, home, depth)
    if name == "eval":
        script = " ".join(word.text for word in command.arguments)
        return _reread(script, command, home, depth)
    if name == "xargs":
        return _xargs(command, before)
    return _find_exec(command) if name == "find" else _prefixed(command)


def _inner_shell(command: Command, home: str | None, depth: int) -> list[Command] | None:
    """The commands of `bash -c '…'` and of a here-document fed to a shell."""
    words = [word.text for word in command.arguments]
    for at, word in enumerate(words):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            script = words[at + 1] if at + 1 < len(words) else ""
            return _reread(script, command, home, depth, command.arguments[at + 2 :])
        if not word.startswith("-"):
            return None
    return _reread(command.heredoc, command, home, depth) if command.heredoc else None


def _reread(
    script: str, command: Command, home: str | None, depth: int, given: tuple[Word, ...] = ()
) -> list[Command]:
    """The inner script's commands; the outer command's streams go to the last of them. `given` are
    its `$0`, `$1` and so on."""
    environment = Environment(command.cwd, home)
    for name, value in command.environment.items():
        environment.assign(name, [Word(value)])
    if given:
        environment.assign("0", given[:1])
        environment.assign("@", given[1:])
    shell = ShellReader(environment, captured=command.captured, depth=depth + 1)
    shell.exported.update(command.environment)
    inner = shell.read(script)
    outgoing = tuple(redirect for redirect in command.redirects if redirect.output)
    base = (command.pipeline + 1) * 1000
    feeds = command.pipeline if command.piped else command.feeds
    return [
        replace(
            one,
            pipeline=base + one.pipeline,
            redirects=(*one.redirects, *outgoing),
            feeds=feeds if one.feeds is None else base + one.feeds,
        )
        for one in inner
    ]


def _prefixed(command: Command) -> list[Command] | None:
    rest = _after_prefix(command)
    if rest is None:
        return None
    environment = dict(command.environment)
    while rest and "=" in rest[0].text and rest[0].text.partition("=")[0].isidentifier():
        name, _, value = rest[0].text.partition("=")
        environment[name] = value
        rest = rest[1:]
    if command.name == "timeout" and rest:
        rest = rest[1:]
    return [replace(command, words=rest, environment=environment)] if rest else None


def _after_prefix(command: Command) -> tuple[Word, ...] | None:
    name = command.name
    if name in _PREFIXES:
        return _drop_options(command.arguments, _PREFIXES[name])
    second = command.words[1].text if len(command.words) > 1 else ""
    if (name, second) in _RUNNERS:
        dashes = [at for at, word in enumerate(command.words) if word.text == "--"]
        if name == "mise" and dashes:
            return command.words[dashes[0] + 1 :]
        return _drop_options(command.words[2:], _RUNNERS[name, second])
    return _drop_options(command.arguments, _RUNNERS[name, ""]) if (name, "") in _RUNNERS else None


def _drop_options(words: tuple[Word, ...], valued: frozenset[str]) -> tuple[Word, ...]:
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in valued else 1
    return words[at:]


def _xargs(command: Command, before: Sequence[Command]) -> list[Command] | None:
    """`find … | xargs cat`: the command with the producer's paths as operands."""
    words = list(command.arguments)
    mark, at = "", 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text.startswith("-I"):
            mark = words[at].text[2:] or (words[at + 1].text if at + 1 < len(words) else "")
            at += 1 if words[at].text[2:] else 2
            continue
        at += 2 if words[at].text in _XARGS_VALUES else 1
    listed = produced(before, command.pipeline)
    return _applied(command, tuple(words[at:]), mark, listed)


def _applied(
    command: Command, words: tuple[Word, ...], mark: str, listed: tuple[Word, ...]
) -> list[Command] | None:
    if not words:
        return None
    values = listed or (UNKNOWN,)
    if not mark:
        return [replace(command, words=(*words, *values))]
    return [
        replace(command, words=tuple(one for word in words for one in _put(word, mark, values)))
    ]


def _put(word: Word, mark: str, values: tuple[Word, ...]) -> list[Word]:
    """Replace the mark in a word; a script takes all values at once."""
    if mark not in word.text:
        return [word]
    if " " in word.text:
        values = (replace(values[0], text=" ".join(one.text for one in values)),)
    return [
        Word(word.text.replace(mark, one.text), glob=one.glob, known=one.known) for one in values
    ]


def _find_exec(command: Command) -> list[Command] | None:
    words = command.words
    at = next((i for i, w in enumerate(words) if w.text in {"-exec", "-execdir", "-ok"}), None)
    if at is None:
        return None
    tail = words[at + 1 :]
    end = next((i for i, w in enumerate(tail) if w.text in {";", "+"}), len(tail))
    found = listing(replace(command, words=words[:at]))
    return _applied(command, tail[:end], "{}", found)
