"""Words of a shell text after expansion: variables with several values, braces, splitting."""

import fnmatch
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.attribution.shell.lexer import Part

LIMIT = 64
"""Values a word may take; more are cut off."""
_BRACE = re.compile(r"^([^{}]{0,4096})\{([^{}]{1,4096},[^{}]{0,4096})\}(.{0,4096})$", re.DOTALL)
_TRIM = re.compile(r"^(\w{1,100})(##?|%%?|//?)([^{}]{1,100})$")
_SPECIAL = frozenset("*?[]#%\\")
_LONGEST_TRIMMED = 400
"""Characters of a value of which a beginning or an end is taken away."""
_DEFAULT = re.compile(r"^(\w+|[@*])(?::?[-=](.*))?$", re.DOTALL)


class Word(Struct, frozen=True, gc=False):
    """One value of a word."""

    text: str
    """The text; unknown pieces are a NUL."""
    glob: bool = False
    """Holds a wildcard that the shell would expand."""
    known: bool = True
    """False when a piece could not be worked out."""
    brace: bool = False
    """Holds an unquoted brace."""

    @staticmethod
    def of(part: Part) -> "Word":
        """A literal piece."""
        bare = part.kind == "bare"
        glob = bare and any(mark in part.text for mark in "*?[")
        return Word(part.text, glob=glob, brace=bare and "{" in part.text)


UNKNOWN = Word("\0", known=False)


def multiply(choices: Sequence[Sequence[Word]]) -> list[Word]:
    """Every combination of the pieces' values, at most LIMIT."""
    words = [Word("")]
    for values in choices:
        words = [_glue(left, right) for left in words for right in values or [UNKNOWN]][:LIMIT]
    return words


def _glue(left: Word, right: Word) -> Word:
    text = right.text if right.known or right.text else "\0"
    return Word(
        left.text + text,
        glob=left.glob or right.glob,
        known=left.known and right.known,
        brace=left.brace or right.brace,
    )


def _trimmed(text: str, known: Mapping[str, tuple[Word, ...]]) -> list[Word]:
    """`${path%/*}`, `${path##*/}`, `${path/a/b}` of values that are known and no globs."""
    found = _TRIM.match(text)
    values = known.get(found[1], ()) if found else ()
    if found is None or not values:
        return [UNKNOWN]
    return [_trim(word, found[2], found[3]) for word in values[:LIMIT]]


def _trim(word: Word, how: str, what: str) -> Word:
    if word.glob or not word.known or len(word.text) > _LONGEST_TRIMMED or "$" in what:
        return UNKNOWN
    text = word.text
    if how in {"/", "//"}:
        old, _, new = what.partition("/")
        plain = bool(old) and not set(old) & _SPECIAL
        times = 1 if how == "/" else -1
        return replace(word, text=text.replace(old, new, times)) if plain else UNKNOWN
    return replace(word, text=_without(text, how, what))


def _without(text: str, how: str, pattern: str) -> str:
    """The text without the shortest or longest beginning (`#`) or end (`%`) that fits."""
    fits = re.compile(fnmatch.translate(pattern)).match
    sizes = range(len(text) + 1) if len(how) == 1 else range(len(text), -1, -1)
    for size in sizes:
        if how[0] == "#" and fits(text[:size]):
            return text[size:]
        if how[0] == "%" and fits(text[len(text) - size :]):
            return text[: len(text) - size]
    return text


def braces(word: Word) -> list[Word]:
    """`a/{b,c}.md` as two words; one level, at most LIMIT."""
    if not word.brace:
        return [word]
    found = _BRACE.match(word.text)
    if not found:
        return [word]
    head, inside, tail = found.groups()
    pieces = inside.split(",")[:LIMIT]
    more = "{" in tail
    words = [replace(word, text=f"{head}{piece}{tail}", brace=more) for piece in pieces]
    return [piece for one in words for piece in braces(one)][:LIMIT] if more else words


def expand(part: Part, known: Mapping[str, tuple[Word, ...]], *, split: bool) -> list[Word]:
    """The values of a variable; `split` breaks an unquoted one at white space."""
    found = _DEFAULT.match(part.text)
    if not found:
        return _trimmed(part.text, known)
    values = known.get(found[1], ())
    if not values and found[2] is not None:
        values = (Word(found[2]),)
    if not values:
        return [UNKNOWN]
    if not split:
        return list(values[:LIMIT])
    return [replace(v, text=piece) for v in values for piece in v.text.split() or [""]][:LIMIT]
