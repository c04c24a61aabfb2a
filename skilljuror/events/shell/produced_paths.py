"""Paths that one command prints for another: `find … | xargs`, `$(ls …)`, `while read`."""

from collections.abc import Sequence
from itertools import islice, pairwise, takewhile

from msgspec.structs import replace

from skilljuror.events.paths import folder_of, join
from skilljuror.events.shell.command import Command
from skilljuror.events.shell.expansion import LIMIT, UNKNOWN, Word

REACH = 64
"""Commands before a consumer of names to search for their producer."""
_SORTERS = frozenset({"sort", "uniq", "cat", "tr"})
"""Programs that pass on all paths."""
_CHOOSERS = frozenset({"head", "tail", "grep", "egrep", "rg", "shuf"})
"""Programs that pass on some paths."""
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg"})
_PLAIN = frozenset({"-name", "-path", "-type", "-print", "-print0", "-o", "-or", "-L", "-H", "-P"})
"""Options of `find` covered by the globs; any other option selects among the files."""
_MOST = 16
"""Maximum globs for one `find`."""


def produced(before: Sequence[Command], pipeline: int) -> tuple[Word, ...]:
    """Paths listed by the nearest earlier command of a pipeline, usually one glob; uncertain if a
    program in between selects some."""
    chosen = False
    for one in islice(reversed(before), REACH):
        if pipeline not in {one.pipeline, one.feeds}:
            continue
        found = listing(one)
        if found:
            return _chosen(found) if chosen else found
        chosen = chosen or one.name not in _SORTERS
    return ()


def _chosen(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return tuple([replace(word, known=False) for word in words])


def listing(command: Command) -> tuple[Word, ...]:
    """Paths that `find` and `ls` print, as globs; for a folder `ls` prints bare names."""
    name = command.name
    if name == "find":
        return _found(command)
    operands = [word for word in command.arguments if word.text[:1] not in {"-", "(", "!"}]
    if name in {"printf", "echo"}:
        return _split(operands[name == "printf" and len(operands) > 1 :])
    if name == "ls":
        names = [one if _is_file(one) else Word("*", glob=True) for one in operands]
        return tuple(names) or (Word("*", glob=True),)
    if name in _SEARCHES and any(_lists(word.text) for word in command.arguments):
        return _chosen(tuple(map(_inside, operands[1:])))
    if name == "cat" and not command.arguments and command.heredoc:
        return _split([Word(command.heredoc)])
    return ()


def _split(words: Sequence[Word]) -> tuple[Word, ...]:
    """Printed words, split at white space."""
    parts = [replace(word, text=text) for word in words for text in word.text.split()[:LIMIT]]
    return tuple(parts[:LIMIT])


def _is_file(word: Word) -> bool:
    return word.glob or "." in word.text.rpartition("/")[2].strip(".")


def _inside(word: Word) -> Word:
    """A file that is searched, or anything below a folder."""
    return word if _is_file(word) else replace(word, text=f"{word.text}/**", glob=True)


def _lists(option: str) -> bool:
    """Whether a search prints file names: `-rl`, `--files-with-matches`."""
    short = option[:1] == "-" and option[1:].isalpha() and "l" in option
    return short or option == "--files-with-matches"


def _found(command: Command) -> tuple[Word, ...]:
    """Paths that `find` lists, as globs."""
    words = [word.text for word in command.arguments]
    folders = list(takewhile(lambda text: text[:1] not in {"-", "(", "!"}, words)) or ["."]
    options = {text for text in words if text[:1] == "-" and text[1:2].isalpha()}
    names = [
        value
        for before, (key, value) in zip(["", *words], pairwise(words), strict=False)
        if key in {"-name", "-path"} and before not in {"!", "-not"}
    ]
    sure = options <= _PLAIN and "!" not in words
    sure = sure and (len(names) < 2 or not {"-o", "-or"}.isdisjoint(options))
    globs = [f"{folder}/**/{name}".rstrip("/") for folder in folders for name in names or [""]]
    return tuple([Word(join(command.cwd, one), glob=True, known=sure) for one in globs[:_MOST]])


def output_words(commands: Sequence[Command], cwd: str | None) -> tuple[Word, ...]:
    """Value of `$(…)`, for the few commands that print a path."""
    found: tuple[Word, ...] = ()
    if len(commands) == 1:
        found = _output(commands[0], cwd)
    elif commands and all(one.name in _SORTERS | _CHOOSERS for one in commands[1:]):
        listed = listing(commands[0]) if commands[-1].pipeline == commands[0].pipeline else ()
        chosen = any(one.name in _CHOOSERS for one in commands[1:])
        found = _chosen(listed) if chosen else listed
    return found or (UNKNOWN,)


def _output(command: Command, cwd: str | None) -> tuple[Word, ...]:
    if command.name == "pwd" and cwd:
        return (Word(cwd),)
    operands = [word for word in command.arguments if not word.text.startswith("-")]
    if command.name == "dirname" and operands:
        return (Word(folder_of(operands[0].text) or "."),)
    if command.name in {"realpath", "readlink", "echo"} and len(operands) == 1:
        return (operands[0],)
    return listing(command)
