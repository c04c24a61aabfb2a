"""Expansion of words: braces, variables with several possible values, splitting."""

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product

import bracex
from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.events.paths import absolute, expand_home, join
from skilljuror.events.shell.syntax_tree import (
    Parameter,
    Part,
    Parts,
    Substitution,
    Text,
)

LIMIT = 64
"""Maximum values of a word with variables."""
MOST_BRACES = 1024
"""Maximum words from a word's braces."""
LONGEST = 65_536
"""Maximum characters of a variable's value; longer ones are unknown."""
LONGEST_PATH = 4096
"""Maximum characters of a folder's path, or of a word with braces."""
_DEEPEST_BRACES = 64
_PLACEHOLDER = re.compile("([\ue100-\uf8ff])")


class Word(Struct, frozen=True, gc=False):
    """One value of a word."""

    text: str
    """The text; unknown pieces are a NUL."""
    glob: bool = False
    """Contains a wildcard that the shell would expand."""
    known: bool = True
    """False if a piece could not be determined."""


UNKNOWN = Word("\0", known=False)
Substitute = Callable[[Substitution], Sequence[Word]]
"""Returns the value of a command substitution."""


class Environment(Struct):
    """Folder and variables of a shell."""

    cwd: str | None = None
    home: str | None = None
    variables: ChainMap[str, tuple[Word, ...]] = field(default_factory=ChainMap)
    """Possible values of each variable."""
    previous: str | None = None
    """The folder before the last `cd`."""

    def subshell(self) -> "Environment":
        return replace(self, variables=self.variables.new_child())

    def enter(self, target: str) -> None:
        """Change to a folder; "-" is the previous one."""
        if target == "-":
            self.cwd, self.previous = self.previous, self.cwd
            return
        folder: str | None = expand_home(target, self.home)
        if not folder or "\0" in folder:
            folder = None
        elif absolute(folder) or self.cwd:
            folder = join(self.cwd, folder)
        self.previous = self.cwd
        self.cwd = folder if folder and len(folder) <= LONGEST_PATH else None

    def values(self, name: str) -> tuple[Word, ...]:
        """Possible values of a variable; empty if unknown."""
        if name.isdecimal() and name != "0":
            return self.values("@")[int(name[:9]) - 1 :][:1]
        value = self.variables.get("@" if name == "*" else name)
        if value is not None:
            return value
        if name == "HOME":
            return (Word(self.home or "~"),)
        return (Word(self.cwd),) if name == "PWD" and self.cwd else ()

    def assign(self, name: str, words: Iterable[Word]) -> None:
        """Set a variable; a value that is too long is unknown, as repeated `a=$a$a` would exhaust
        memory."""
        self.variables[name] = tuple([
            word if len(word.text) <= LONGEST else UNKNOWN for word in words
        ])


def expand(parts: Parts, environment: Environment, substitute: Substitute) -> list[Word]:
    """Words that a word expands to."""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].quoted:
        return [Word(parts[0].text)]
    words: list[Word] = []
    for one in _braces(parts):
        alone = len(one) == 1
        choices = [_values(part, environment, substitute, alone=alone) or [UNKNOWN] for part in one]
        found = list(map(joined, islice(product(*choices), LIMIT)))
        if one and isinstance(one[0], Text) and one[0].text[:1] == "~" and not one[0].quoted:
            found = [replace(word, text=expand_home(word.text, environment.home)) for word in found]
        words.extend(found)
    return words


def joined(pieces: Sequence[Word]) -> Word:
    """Concatenate pieces of a word."""
    if len(pieces) == 1:
        return pieces[0]
    text = "".join([one.text for one in pieces])
    glob, known = any(one.glob for one in pieces), all(one.known for one in pieces)
    return Word(text, glob=glob, known=known)


def _braces(parts: Parts) -> list[Parts]:
    """Expand braces; the result is unknown if there are too many alternatives."""
    if not any(isinstance(one, Text) and not one.quoted and "{" in one.text for one in parts):
        return [parts]
    kept: list[Part] = []
    text = ""
    for one in parts:
        if isinstance(one, Text) and not one.quoted:
            text += one.text
        else:
            text += chr(0xE100 + len(kept) % 6144)
            kept.append(one)
    if (
        len(text) > LONGEST_PATH
        or text.count("{") > _DEEPEST_BRACES
        or len(_PLACEHOLDER.findall(text)) != len(kept)
    ):
        return [parts]
    try:
        words = bracex.expand(text, limit=MOST_BRACES)
    except bracex.ExpansionLimitException:
        return [(Parameter("", text, quoted=False),)]
    return [
        tuple(
            kept[ord(piece) - 0xE100] if _PLACEHOLDER.match(piece) else Text(piece)
            for piece in _PLACEHOLDER.split(word)
            if piece
        )
        for word in words
    ]


def _values(
    part: Part, environment: Environment, substitute: Substitute, *, alone: bool
) -> Sequence[Word]:
    if isinstance(part, Text):
        glob = not part.quoted and any(mark in part.text for mark in "*?[")
        return [Word(part.text, glob=glob)]
    if isinstance(part, Substitution):
        words = substitute(part)
        several = part.quoted and len(words) > 1 and not any(one.glob for one in words)
        return [replace(words[0], text=" ".join([one.text for one in words]))] if several else words
    words = _parameter(part, environment, substitute)
    if alone and not part.quoted:
        return [replace(one, text=text) for one in words for text in one.text.split() or [""]][
            :LIMIT
        ]
    return words[:LIMIT]


def _parameter(part: Parameter, environment: Environment, substitute: Substitute) -> Sequence[Word]:
    """Values of a parameter; defaults (`${a:-b}`) are applied, any other operation is unknown."""
    values, operator = environment.values(part.name), part.operator[-1:]
    if operator in {"", "?"}:
        return values
    if operator not in {"-", "=", "+"}:
        return []
    return (
        expand(part.operand, environment, substitute)
        if bool(values) is (operator == "+")
        else values
    )
