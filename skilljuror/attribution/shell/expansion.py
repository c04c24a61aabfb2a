"""Expansion of words: braces, variables with several possible values, arrays, splitting."""

import fnmatch
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import Union

import bracex
from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.paths import absolute, expand_home, join
from skilljuror.attribution.shell.syntax_tree import (
    Parameter,
    Part,
    Parts,
    Substitution,
    Text,
)

LIMIT = 64
"""Maximum values of a word with variables."""
MOST_BRACES = 1024
"""Maximum words from a word's braces, and elements of an array."""
LONGEST = 65_536
"""Maximum characters of a variable's value; longer ones are unknown."""
LONGEST_PATH = 4096
"""Maximum characters of a folder's path, or of a word with braces."""
_DEEPEST_BRACES = 64
_LONGEST_TRIMMED = 400
"""Maximum characters of a value to trim."""
_PLACEHOLDER = re.compile("([\ue100-\uf8ff])")
_LONGEST_PATTERN = 100
_TRIMMING = frozenset({"#", "##", "%", "%%", "/", "//"})
_SPECIAL = frozenset("*?[]#%\\")


class Word(Struct, frozen=True, gc=False):
    """One value of a word."""

    text: str
    """The text; unknown pieces are a NUL."""
    glob: bool = False
    """Contains a wildcard that the shell would expand."""
    known: bool = True
    """False if a piece could not be determined."""


UNKNOWN = Word("\0", known=False)
Value = Union[tuple[Word, ...], dict[str, Word]]  # noqa: UP007
"""Possible values of a variable, or an array by its keys."""
Substitute = Callable[[Substitution], Sequence[Word]]
"""Returns the value of a command substitution."""


class Environment(Struct):
    """Folder and variables of a shell."""

    cwd: str | None = None
    home: str | None = None
    variables: ChainMap[str, Value] = field(default_factory=ChainMap)
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

    def values(self, name: str, index: str = "") -> tuple[Word, ...]:
        """Possible values of a variable or array element; empty if unknown."""
        if name.isdecimal() and name != "0":
            return self.values("@")[int(name[:9]) - 1 :][:1]
        value = self.variables.get("@" if name == "*" else name)
        if isinstance(value, dict):
            if index in {"@", "*"}:
                return tuple(value.values())
            if index[:1] == "-" and index[1:5].isdecimal():
                index = next(iter([*value][int(index[:5]) :]), "")
            element = value.get(index or "0")
            return () if element is None else (element,)
        if value is not None:
            return value if index in {"", "0", "@", "*"} else ()
        if name == "HOME":
            return (Word(self.home or "~"),)
        return (Word(self.cwd),) if name == "PWD" and self.cwd else ()

    def assign(self, name: str, words: Iterable[Word]) -> None:
        self.variables[name] = tuple(map(_held, words))

    def assign_elements(
        self, name: str, elements: Iterable[tuple[str, Word]], *, append: bool
    ) -> None:
        """Assign array elements; those without a key are appended."""
        value = self.variables.get(name, ()) if append else ()
        known = value.items() if isinstance(value, dict) else enumerate(value)
        array = {str(key): word for key, word in known}
        for key, word in elements:
            if len(array) < MOST_BRACES:
                array[key or str(len(array))] = _held(word)
        self.variables[name] = array


def _held(value: Word) -> Word:
    """Limit a stored value: repeated `a=$a$a` would exhaust memory."""
    return value if len(value.text) <= LONGEST else UNKNOWN


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
    index = _text(expand(part.index, environment, substitute)) if part.index else ""
    values = environment.values(part.name, index)
    operator = part.operator
    if not operator or operator in {":?", "?"}:
        return values
    operand = expand(part.operand, environment, substitute)
    if operator[-1] in "-=+":
        return operand if bool(values) is (operator[-1] == "+") else values
    if operator not in _TRIMMING or part.source.startswith("${#"):
        return []
    return [_trimmed(one, operator, _text(operand)) for one in values[:LIMIT]]


def _text(words: Sequence[Word]) -> str:
    """Text of a word that must be single."""
    return words[0].text if len(words) == 1 and words[0].known else "\0"


def _trimmed(word: Word, how: str, what: str) -> Word:
    """`${path%/*}`, `${path##*/}`, `${path/a/b}` of a known value without wildcards."""
    readable = word.known and not word.glob and len(word.text) <= _LONGEST_TRIMMED
    if not readable or not 0 < len(what) <= _LONGEST_PATTERN or "\0" in what:
        return UNKNOWN
    if how[0] != "/":
        return replace(word, text=_without(word.text, how, what))
    old, _, new = what.partition("/")
    if not old or set(old) & _SPECIAL:
        return UNKNOWN
    return replace(word, text=word.text.replace(old, new, 1 if how == "/" else -1))


def _without(text: str, how: str, pattern: str) -> str:
    """Remove the shortest or longest matching prefix (`#`) or suffix (`%`)."""
    fits = re.compile(fnmatch.translate(pattern)).match
    sizes = range(len(text) + 1) if len(how) == 1 else range(len(text), -1, -1)
    for size in sizes:
        if how[0] == "#" and fits(text[:size]):
            return text[size:]
        if how[0] == "%" and fits(text[len(text) - size :]):
            return text[: len(text) - size]
    return text
