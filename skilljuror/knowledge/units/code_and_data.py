"""Units of code, configuration, data and frontmatter."""

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from skilljuror.knowledge.markdown.inline_text import fold_whitespace
from skilljuror.models.knowledge import UnitKind

SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal"})
KEYED = frozenset({"json", "yaml", "yml"})
_KEY = re.compile(r"^(\s*)(?:- )?\"?([A-Za-z_][\w.-]*)\"?\s*:(?:\s|$|\{|\[)")
_FIELD = re.compile(r"^[A-Za-z_][\w.-]*\s*:")


class RawUnit(NamedTuple):
    """A unit of one text, without id and file; lines are 1-based in the file."""

    kind: UnitKind
    start: int
    end: int
    """Inclusive."""
    headings: tuple[str, ...]
    """Heading path, outermost first."""
    text: str
    """Normalised text."""
    generated: str | None = None
    """Template that the line follows."""
    lead: str = ""
    """The sentence that introduces its list, table or code."""


def code_units(
    lines: Sequence[str], first: int, headings: tuple[str, ...], language: str = ""
) -> Iterator[RawUnit]:
    """Yield the units of a code block or file that starts at line `first`."""
    indent = _common_indent(lines)
    for number, line in enumerate(lines, first):
        if line.strip():
            body = line[indent:].expandtabs(4)
            lead = len(body) - len(body.lstrip())
            yield RawUnit("code", number, number, headings, " " * lead + fold_whitespace(body))
    if language in SHELLS:
        yield from _commands(lines, first, headings)
    elif language in KEYED:
        yield from _keys(lines, first, headings)


def _common_indent(lines: Sequence[str]) -> int:
    return min((len(x) - len(x.lstrip(" ")) for x in lines if x.strip()), default=0)


def _commands(lines: Sequence[str], first: int, headings: tuple[str, ...]) -> Iterator[RawUnit]:
    """Whole commands, continuation lines joined, split into words as a shell would."""
    start, command = first, ""
    for number, line in enumerate(lines, first):
        start = start if command else number
        stripped = line.strip().removeprefix("$ ")
        command = f"{command} {stripped.removesuffix(chr(92))}".strip()
        if stripped.endswith("\\"):
            continue
        if command and not command.startswith("#"):
            yield RawUnit("command", start, number, headings, " ".join(_words(command)))
        command = ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def _keys(lines: Sequence[str], first: int, headings: tuple[str, ...]) -> Iterator[RawUnit]:
    """Key paths by indentation, one key per line."""
    path: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first):
        key = _KEY.match(line)
        if key:
            indent = len(key.group(1))
            path = [*[step for step in path if step[0] < indent], (indent, key.group(2))]
            yield RawUnit("schema", number, number, headings, ".".join(name for _, name in path))


def field_units(lines: Iterable[str], first: int) -> Iterator[RawUnit]:
    """Yield frontmatter fields: a key at the margin with its lines."""
    start, parts = first, list[str]()
    for number, line in enumerate(lines, first):
        if line.rstrip() == "---":
            continue
        if parts and _FIELD.match(line):
            yield RawUnit("field", start, number - 1, (), fold_whitespace(" ".join(parts)))
            parts = []
        if not parts:
            start = number
        if parts or line.strip():
            parts.append(line)
    if parts:
        end = start + len("\n".join(parts).rstrip().split("\n")) - 1
        yield RawUnit("field", start, end, (), fold_whitespace(" ".join(parts)))


def file_digest(lines: Sequence[str]) -> str:
    """Return the sha256 of a text file's lines, without final newlines, which a fence cannot keep."""
    return hashlib.sha256("\n".join(lines).rstrip("\n").encode()).hexdigest()
