"""Commands that run commands: `bash -lc`, `xargs`, `find -exec`, `sudo`, `timeout`, `uv run`."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from msgspec.structs import replace

from skilljuror.attribution.shell.command import Command
from skilljuror.attribution.shell.expansion import Environment, Word
from skilljuror.attribution.shell.printed_text import printed_text
from skilljuror.attribution.shell.produced_paths import REACH, listing, produced
from skilljuror.attribution.shell.reader import DEPTH, ShellReader

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"})
_PREFIXES: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C"}),
    "doas": frozenset({"-u"}),
    "env": frozenset({"-u", "-C", "-S"}),
    "nohup": frozenset(),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset({"-a"}),
    "time": frozenset({"-f", "-o"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "timeout": frozenset({"-k", "-s", "--signal", "--kill-after"}),
    "gtimeout": frozenset({"-k", "-s"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "unbuffer": frozenset(),
    "setsid": frozenset(),
    "caffeinate": frozenset({"-t", "-w"}),
    "rtk": frozenset(),
    "arch": frozenset(),
    "xvfb-run": frozenset({"-s", "-n"}),
    "chronic": frozenset(),
    "strace": frozenset({"-e", "-o", "-p", "-s"}),
    "taskset": frozenset(),
    "flock": frozenset({"-w", "-E"}),
    "gosu": frozenset(),
    "su-exec": frozenset(),
}
"""Programs that run the rest of the line, with their options that take a value."""
_OPERAND_FIRST = frozenset({"timeout", "gtimeout", "taskset", "flock", "gosu", "su-exec"})
"""Of these, the programs with an operand of their own before the line."""
_QUOTING = frozenset({"su", "runuser", "script", "flock"})
"""Programs that take a script as the value of `-c`."""
_RUNNERS: dict[tuple[str, str], frozenset[str]] = {
    ("uv", "run"): frozenset({"--with", "-p", "--python", "--directory", "--project", "--extra", "--group", "--env-file", "-m"}),
    ("poetry", "run"): frozenset(),
    ("pipenv", "run"): frozenset(),
    ("pdm", "run"): frozenset(),
    ("hatch", "run"): frozenset(),
    ("pixi", "run"): frozenset(),
    ("rye", "run"): frozenset(),
    ("conda", "run"): frozenset({"-n", "-p", "--name", "--prefix"}),
    ("mamba", "run"): frozenset({"-n", "-p"}),
    ("bundle", "exec"): frozenset(),
    ("pnpm", "exec"): frozenset(),
    ("npm", "exec"): frozenset(),
    ("yarn", "exec"): frozenset(),
    ("mise", "exec"): frozenset(),
    ("mise", "x"): frozenset(),
    ("asdf", "exec"): frozenset(),
    ("op", "run"): frozenset({"--env-file"}),
    ("doppler", "run"): frozenset({"-p", "-c"}),
    ("dotenv", "run"): frozenset(),
    ("dotenvx", "run"): frozenset({"-f"}),
    ("pipx", "run"): frozenset({"--spec"}),
    ("npx", ""): frozenset({"-p", "--package"}),
    ("bunx", ""): frozenset(),
}  # fmt: skip
_DASHED = frozenset({"mise", "op", "doppler", "dotenv", "dotenvx"})
"""Runners whose line begins after `--`, where there is one."""
_XARGS_VALUES = frozenset({"-n", "-P", "-L", "-d", "-s", "-E", "-a"})


MOST_COMMANDS = 100_000
"""Commands of a text that are followed, those inside of others included."""


def unwrap(commands: Sequence[Command], home: str | None) -> Iterator[Command]:
    """The commands with every wrapper opened; the commands inside follow in its place."""
    return islice(_unwrapped(commands, home, 0), MOST_COMMANDS)


def _unwrapped(commands: Sequence[Command], home: str | None, depth: int) -> Iterator[Command]:
    for at, command in enumerate(commands):
        before = commands[max(0, at - REACH) : at]
        opened = _open(command, before, home, depth) if depth < DEPTH else None
        if opened is None:
            if not _feeds_shell(commands, at):
                yield command
        else:
            yield from _unwrapped(opened, home, depth + 1)


def _open(
    command: Command, before: Sequence[Command], home: str | None, depth: int
) -> list[Command] | None:
    name = command.name
    if name in SHELLS:
        return _inner_shell(command, before, home, depth)
    if name == "eval":
        script = " ".join(word.text for word in command.arguments)
        return _reread(script, command, home, depth)
    if name == "xargs":
        return _xargs(command, before)
    if name == "find":
        return _find_exec(command)
    if name in _QUOTING and (quoted := _quoted_script(command)) is not None:
        return _reread(quoted, command, home, depth)
    return _prefixed(command)


def _quoted_script(command: Command) -> str | None:
    """The script of `su -c '…'` and `script -qc '…' log`."""
    words = [word.text for word in command.arguments]
    for option, value in pairwise(words):
        if option == "--command" or (
            option[:1] == "-" and option[1:].isalpha() and option[-1] == "c"
        ):
            return value
    return None


def _feeds_shell(commands: Sequence[Command], at: int) -> bool:
    """Whether what a command prints is the script of the shell behind it."""
    after = commands[at + 1] if at + 1 < len(commands) else None
    script = _script_from(commands[at]) if after and after.name in SHELLS else ""
    return bool(script) and after is not None and _takes_input(after, commands[at])


def _script_from(command: Command) -> str:
    """A script that a command prints."""
    if any(one.output for one in command.redirects):
        return ""
    if command.name in {"echo", "printf"}:
        return printed_text(command)
    return command.heredoc or "" if command.name == "cat" and not command.arguments else ""


def _takes_input(command: Command, before: Command) -> bool:
    """Whether a shell reads its script from the program before it."""
    bare = not command.arguments or command.arguments[0].text in {"-", "-s"}
    return bare and command.heredoc is None and command.pipeline == before.pipeline


def _inner_shell(
    command: Command, before: Sequence[Command], home: str | None, depth: int
) -> list[Command] | None:
    words = [word.text for word in command.arguments]
    for at, word in enumerate(words):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            script = words[at + 1] if at + 1 < len(words) else ""
            return _reread(script, command, home, depth, command.arguments[at + 2 :])
        if not word.startswith("-"):
            return None
    fed = command.heredoc
    if fed is None and before and _takes_input(command, before[-1]):
        fed = _script_from(before[-1])
    return _reread(fed, command, home, depth) if fed else None


def _reread(
    script: str, command: Command, home: str | None, depth: int, given: tuple[Word, ...] = ()
) -> list[Command]:
    """The inner script's commands; streams of the outer command end up on the last of them.
    `given` are its own name and arguments, `$0` and on."""
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
    if command.name in _OPERAND_FIRST and rest:
        rest = rest[1:]
    return [replace(command, words=rest, environment=environment)] if rest else None


def _after_prefix(command: Command) -> tuple[Word, ...] | None:
    name = command.name
    if name in _PREFIXES:
        return _drop_options(command.arguments, _PREFIXES[name])
    second = command.words[1].text if len(command.words) > 1 else ""
    if (name, second) in _RUNNERS:
        dashes = next((at for at, word in enumerate(command.words) if word.text == "--"), None)
        if name in _DASHED and dashes is not None:
            return command.words[dashes + 1 :]
        return _drop_options(command.words[2:], _RUNNERS[name, second])
    if (name, "") in _RUNNERS:
        return _drop_options(command.arguments, _RUNNERS[name, ""])
    return None


def _drop_options(words: tuple[Word, ...], valued: frozenset[str]) -> tuple[Word, ...]:
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in valued else 1
    return words[at:]


def _xargs(command: Command, before: Sequence[Command]) -> list[Command] | None:
    """`find … | xargs cat`: the command with what the producer lists as its operands."""
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
    values = listed or (Word("\0", known=False),)
    if not mark:
        return [replace(command, words=(*words, *values))]
    return [
        replace(command, words=tuple(one for word in words for one in _put(word, mark, values)))
    ]


def _put(word: Word, mark: str, values: tuple[Word, ...]) -> list[Word]:
    """A word with the mark replaced; a script takes all values at once."""
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
