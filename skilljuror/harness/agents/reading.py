"""What printed text says: settings, tables, commands and code, found by their shape alone.

The half of the scripted agent that reads. It lies beside `scripted.py` in a sandbox and uses
nothing but the standard library.
"""

import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

STOP = re.compile(
    r"(?:a|all|an|and|any|are|as|at|be|by|do|each|every|for|from|has|have|how|if|in|into|is|it|its|"
    r"must|no|not|of|on|one|only|or|own|so|such|that|the|their|them|then|there|these|they|this|to|"
    r"use|used|what|when|where|which|whole|will|with|you|your)"
)
HEADING, FENCE = re.compile(r"(#{1,6})\s+(.*\S)"), re.compile(r" {0,3}(`{3,}|~{3,})")
SETTING = re.compile(r"(?:[-*+]\s+)?([^\s:=|<>][^:=|<>]{1,69}?)\s*[:=]\s+(\S.*)")
SENTENCE = re.compile(r"(?:^|[.;]\s+|[-*]\s+)([\w ,()-]{3,70}?) (?:is|are) (`[^`]+`)")
MENTION = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:md|py)\b")
COMMAND = re.compile(r"(?:\$ )?(python3 (\S+).*)")
BLANK_SETTING = re.compile(r"(\w+)[ \t]*=(?:[ \t]*None)?[ \t]*(?:#[ \t]*(.*))?")
STUB = re.compile(r"^def (\w+)\((\w*)[^\n]*\n(?:[ \t][^\n]*\n|\n)*?[ \t]+\.\.\.$", re.M)
HELPER = re.compile(r"Helper implementation for `([^`]+)`")
LONGEST = 1_000  # characters of a line that are searched for statements
Words = frozenset[str]


@functools.cache
def words(text: str) -> Words:
    """The words of a text that carry meaning, without their commonest endings."""
    kept = [word for word in re.findall(r"[a-z]+|\d+", text.lower()) if not STOP.fullmatch(word)]
    return frozenset(re.sub(r"(?<=..)(ing|ed|es|(?<!s)s|e)$", "", word) for word in kept)


def overlap(part: Words, whole: Words) -> float:
    """How much of `part` occurs in `whole`, 0 to 1; 0 for an empty part."""
    return len(part & whole) / len(part) if part else 0.0


class Statement(NamedTuple):
    """Something a text states: a name, what it is about, the headings above, the value, its line."""

    name: Words
    about: Words
    headings: tuple[str, ...]
    value: str
    line: int


class Blank(NamedTuple):
    """Something left blank in a file: a setting with a hint, or a function without a body."""

    file: str
    key: str
    hint: str = ""
    code: bool = False

    @property
    def allowed(self) -> list[str]:
        """The values that the hint lets one choose from; empty when it names none."""
        choices = (choice.strip() for choice in self.hint.partition("one of:")[2].split(","))
        return [choice for choice in choices if choice]

    def fit(self, value: str) -> str | None:
        """The value in the shape the blank asks for, or None when it cannot have it."""
        if self.allowed:
            held = [choice for choice in self.allowed if words(choice) <= words(value)]
            exact = value.lower()
            return exact if exact in held else held[0] if held else None
        number = re.search(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", value.replace(",", ""))
        return (number[0] if number else None) if self.hint.startswith("number") else value


class Page:
    """What was printed of one file, and what that says."""

    def __init__(self, path: str) -> None:
        self.path, self.is_code = path, path.endswith(".py")
        self.seen: dict[int, str] = {}
        self.statements: list[Statement] = []
        self.commands: list[tuple[str, str, Words]] = []  # command, its script, words around it
        self.blocks: dict[str, str] = {}  # announced path or defined function -> complete code

    def add(self, lines: dict[int, str], whole: bool = False) -> None:
        """Take in printed lines by number; `whole` says that they are all of the file."""
        self.seen |= lines
        self.statements, self.commands = [], []
        numbers = enumerate(sorted(self.seen))
        for _, run in itertools.groupby(numbers, lambda pair: pair[1] - pair[0]):
            self.scan([number for _, number in run])
        if whole and self.is_code:
            self.keep_code((), "\n".join(lines.values()))

    def scan(self, run: Iterable[int]) -> None:
        """Read lines that stand together: headings, code blocks, commands, and what is stated."""
        headings: tuple[str, ...] = ()
        prose, code, mark = [""], [""], "code" if self.is_code else ""
        header: list[str] = []
        before: list[str] = []
        for number in run:
            text = self.seen[number]
            line = text.strip()[:LONGEST]
            fence, title, row = FENCE.match(text), HEADING.match(line), cells(line)
            if mark and fence and fence[1].startswith(mark) and not line.strip(mark[0]):
                self.keep_code(headings, "\n".join(code))
                mark = ""
            elif mark:
                code.append(text)
                self.keep_command(line, [*headings, *prose[-3:]])
            elif fence:
                mark, code = fence[1], []
            elif title:
                headings = (*headings[: len(title[1]) - 1], title[2])
            elif line:
                prose.append(line)
            ruled = bool(row) and not "".join(row).strip("-: ")
            header, before = (before if ruled else header) if row else [], row
            for name, about, value in (
                rows([] if ruled else header, row) if row else statements_in(line)
            ):
                statement = Statement(
                    words(name), words(about), headings, plain_value(value), number
                )
                self.statements.append(statement)

    def keep_code(self, headings: tuple[str, ...], code: str) -> None:
        """Keep a complete code block by the path its heading announces, or by its functions."""
        announced = HELPER.search(" ".join(headings[-1:]))
        names = [announced[1]] if announced else re.findall(r"^def (\w+)\(", code, re.M)
        self.blocks |= dict.fromkeys(names, code)

    def keep_command(self, text: str, around: list[str]) -> None:
        """Keep a command of a document's code block with the words around it."""
        match = None if self.is_code else COMMAND.fullmatch(text)
        if match:
            self.commands.append((match[1], match[2], words(" ".join([*around, match[1]]))))


def cells(text: str) -> list[str]:
    """The cells of a table row; empty for any other line."""
    return [cell.strip() for cell in text[1:-1].split("|")] if text.startswith("|") else []


def rows(header: list[str], row: list[str]) -> Iterator[tuple[str, str, str]]:
    """Each cell as (name, about, value), read by column and by row."""
    for title, cell in list(zip(header, row, strict=False))[1:]:
        yield title, row[0], cell
        yield row[0], title if len(row) > 2 else "", cell


def statements_in(text: str) -> Iterator[tuple[str, str, str]]:
    """`name: value`, `name = value` and "name is `value`"; "for", "of", "in" begin the about."""
    for match in filter(None, [SETTING.match(text), *SENTENCE.finditer(text)]):
        name, _, about = re.sub(r" (?:for|of|in) ", "\0", match[1], count=1).partition("\0")
        yield name, about, match[2]


def plain_value(value: str) -> str:
    """A value without the prose around it: its first code span, else up to the first aside."""
    span = re.search(r"`([^`]+)`", value)
    return span[1] if span else re.split(r" \(|[,;.] |  #", value)[0].strip(" *_.,\"'")


def mentions(text: str) -> list[str]:
    """Paths of documents and scripts that a line mentions."""
    return MENTION.findall(text[:LONGEST])


def commands(text: str) -> list[str]:
    """Lines of a text that are commands."""
    matches = (COMMAND.fullmatch(line.strip()) for line in text.splitlines())
    return [match[1] for match in matches if match]


def blanks(file: str, text: str) -> list[Blank]:
    """What a file leaves blank: settings without a value and functions without a body."""
    lines = [BLANK_SETTING.fullmatch(line) for line in text.splitlines()]
    settings = [Blank(file, match[1], match[2] or "") for match in lines if match]
    return settings + [Blank(file, stub[1], stub[2], code=True) for stub in STUB.finditer(text)]


def filled(text: str, blank: Blank, value: str) -> str:
    """The text of a file with one blank filled in."""
    if blank.code:
        return STUB.sub(lambda stub: value if stub[1] == blank.key else stub[0], text)
    quoted = blank.file.endswith(".py") and not blank.hint.startswith("number")
    line = f"{blank.key} = {json.dumps(value) if quoted else value}"
    return re.sub(rf"^{blank.key}[ \t]*=.*$", lambda _: line, text, flags=re.M)
