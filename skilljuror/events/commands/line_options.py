"""Files and lines that the options of a reading command select."""

import re
from itertools import pairwise

from skilljuror.events.accesses.line_selection import (
    WHOLE_FILE,
    LineSelection,
    sed_selection,
)
from skilljuror.events.accesses.programs import PARTIAL_READERS, WHOLE_READERS
from skilljuror.events.shell.command import Command
from skilljuror.events.shell.expansion import Word

_ENDS_IN_E = re.compile(r"-(?:-expression|[nErsuz]*e)\Z")

_COUNTS = frozenset({"-n", "-c", "--lines", "--bytes"})
"""Options of `head` and `tail` with a number, possibly negative."""

Range = tuple[list[Word], LineSelection]
"""Files, and the lines selected of each."""


def operands_of(command: Command, valued: frozenset[str]) -> list[Word]:
    """Arguments that are not options; `valued` are the options with a value."""
    found: list[Word] = []
    words = list(command.arguments)
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            return [*found, *words[at + 1 :]]
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in valued else 1
            continue
        found.append(words[at])
        at += 1
    return found


def option_of(command: Command, *names: str) -> str | None:
    """Value of an option: glued, joined by "=" or in the next word."""
    words = [word.text for word in command.arguments]
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                return words[at + 1] if at + 1 < len(words) else None
            if word.startswith(name) and len(word) > len(name):
                return word[len(name) :].lstrip("=")
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 10 else None


def whole_range(command: Command) -> Range:
    """`cat`, `less` and similar; options for a part are not followed."""
    part = option_of(command, "-r", "--line-range", "-TotalCount", "-Tail") is not None
    selection = WHOLE_FILE.filtered() if part else WHOLE_FILE
    return operands_of(command, WHOLE_READERS[command.name]), selection


def partial_range(command: Command) -> Range:
    """`sort`, `jq` and similar, which print part or another form of a file."""
    valued, skip = PARTIAL_READERS[command.name]
    return operands_of(command, valued)[skip:], WHOLE_FILE.filtered()


def end_range(command: Command) -> Range:
    words = [word.text for word in command.arguments]
    short = next(
        (
            word[1:]
            for before, word in zip(["", *words], words, strict=False)
            if word[:1] == "-" and word[1:].isdecimal() and before not in _COUNTS
        ),
        None,
    )
    asked = short or option_of(command, "-n", "--lines") or "10"
    files = operands_of(command, _COUNTS)
    if command.name == "tail" and files and files[0].text.startswith("+"):
        asked, files = files[0].text, files[1:]
    count = _number(asked.lstrip("+-")) or 0
    if option_of(command, "-c", "--bytes") is not None:
        return files, WHOLE_FILE.filtered()
    if command.name == "head":
        some = count > 0 and not asked.startswith("-")
        return files, LineSelection(((1, count),)) if some else WHOLE_FILE.filtered()
    if asked.startswith("+"):
        return files, LineSelection(((max(count, 1), None),))
    return files, LineSelection(last=count)


def sed_range(command: Command) -> tuple[list[Word], LineSelection | None]:
    """`sed`; no selection if it edits files in place."""
    options = [w.text for w in command.arguments if w.text.startswith("-") and len(w.text) > 1]
    in_place = any(
        o.startswith(("-i", "--in-place")) or (o[1] != "-" and "i" in o[1:]) for o in options
    )
    silent = any(
        ("n" in o[1:] and not o.startswith("--")) or o in {"--quiet", "--silent"} for o in options
    )
    operands = operands_of(command, frozenset({"-e", "-f", "--expression"}))
    scripts = _scripts(command)
    if in_place and operands and operands[0].text == "":
        operands = operands[1:]
    if not scripts and operands:
        scripts, operands = [operands[0].text], operands[1:]
    if in_place:
        return operands, None
    selection = sed_selection(";".join(scripts), silent=silent)
    return operands, WHOLE_FILE if selection is None else selection


def _scripts(command: Command) -> list[str]:
    """Every `-e` of a sed command."""
    words = [word.text for word in command.arguments]
    glued = [
        word.removeprefix("--expression=") for word in words if word.startswith("--expression=")
    ]
    apart = [after for word, after in pairwise(words) if _ENDS_IN_E.match(word)]
    return [*glued, *apart]
