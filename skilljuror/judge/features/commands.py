"""Commands recognised with other values: a program with its subcommand, and with each of its flags.

`berth add <vessel> -q <quay> --hold` and "cd /w && berth add Aurora --hold -q 14" have in common

    weight 2   $ berth add               if a flag or a placeholder shows that it is a command
    weight 1   $ berth add -q, $ berth add --hold

Common programs ("$ git" among the common tokens) are ignored.
"""

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from skilljuror.judge.features.tokenisation import STOP_WORDS, WeightedFeature

COMMAND_PREFIX = "$ "
"""Prefix of the feature of a command."""

LONGEST_COMMAND = 60
"""Maximum words of a command to search."""

_PROGRAM = re.compile(r"(?:[\w.~$-]*/)*([a-z][a-z0-9_-]{1,40}(?:\.(?:sh|py|js|ts|rb|pl))?)")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]+(?:[-:][a-z0-9]+)*")
_FLAG = re.compile(r"--[A-Za-z][\w-]*|-[A-Za-z]\b")
_PLACE = re.compile(r".{0,40}<[\w .-]+>.*|\$[A-Z{].*|\{[a-z_]+\}")
_END = re.compile(r"&&|\|\||[;|]")
_AROUND = "`'\"()[]{},:."


class Command(NamedTuple):
    """The recognisable parts of a command."""

    name: str
    """Feature of the program, with its subcommand if it has one."""
    subcommand: str
    """The subcommand; "" for none."""
    rest: list[str]
    """The words after them."""

    def flags(self) -> Iterator[str]:
        """Yield a feature for each flag."""
        matches = (_FLAG.match(word.strip(_AROUND)) for word in self.rest)
        return (f"{self.name} {match.group()}" for match in matches if match)


def commands(code: str, common: Container[str]) -> Iterator[WeightedFeature]:
    """Yield features of the commands in a piece of code."""
    for part in _END.split(code):
        words = part.split()[:LONGEST_COMMAND]
        while words and (
            words[0] == "$" or "=" in words[0]
        ):  # a prompt, or a variable for this run
            words = words[1:]
        command = _command(words)
        if command is None or " ".join(command.name.split()[:2]) in common:
            continue
        flags = dict.fromkeys(command.flags())
        if command.subcommand and (flags or any(map(_PLACE.fullmatch, command.rest))):
            yield command.name, 2
        yield from ((flag, 1) for flag in flags)


def commands_on(line: str, known: Container[str], programs: Container[str]) -> Iterator[str]:
    """Yield the known features in a line of any text, at any start of a command."""
    words = line.split()
    for i, word in enumerate(words):
        program = _program(word)
        if program not in programs:
            continue
        command = _command(words[i : i + LONGEST_COMMAND])
        if command is None:
            continue
        short = Command(COMMAND_PREFIX + program, "", command.rest)
        for one in (command, short) if command.subcommand else (short,):
            yield from (name for name in (one.name, *one.flags()) if name in known)


def program_of(feature: str) -> str:
    """Return the program in the feature of a command."""
    return feature.split()[1]


def _program(word: str) -> str:
    match = _PROGRAM.fullmatch(word.strip(_AROUND))
    return match.group(1) if match else ""


def _command(words: list[str]) -> Command | None:
    """The command that begins with the first word, up to the next one."""
    program = _program(words[0]) if words else ""
    if not program or program in STOP_WORDS:
        return None
    rest = list(_up_to_the_end(words[1:]))
    subcommand = rest[0].strip(_AROUND) if rest else ""
    if _SUBCOMMAND.fullmatch(subcommand):
        return Command(f"{COMMAND_PREFIX}{program} {subcommand}", subcommand, rest[1:])
    return Command(COMMAND_PREFIX + program, "", rest)


def _up_to_the_end(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if _END.search(word) and "<" not in word:
            yield _END.split(word)[0]
            return
        yield word
