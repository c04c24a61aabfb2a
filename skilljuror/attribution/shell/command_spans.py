"""Shell tokens between the operators that part commands, and the words that group them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from skilljuror.attribution.shell.lexer import Token

_SEPARATORS = frozenset({";", "\n", "&&", "||", "&", ";;", ";&", ";;&", "(", ")", "|", "|&"})
OPENERS = frozenset({"{", "if", "while", "until", "case", "for", "select"})
"""Words that open a group of commands."""
_LOOPS = frozenset({"while", "until", "for", "select"})
_KEYWORDS = OPENERS | {"then", "do", "else", "elif", "!", "}", "fi", "done", "esac", "time"}


class Span(Struct, frozen=True, gc=False):
    """The tokens of one command."""

    tokens: list[Token]
    op: str
    """The operator that ends it."""


def spans_of(tokens: list[Token]) -> Iterator[Span]:
    """Tokens between separators, each span with the operator that ends it."""
    span: list[Token] = []
    for token in tokens:
        if token.op in _SEPARATORS:
            yield Span(span, token.op)
            span = []
        else:
            span.append(token)
    yield Span(span, "")


def plain(token: Token) -> str:
    """The text of a word that is one unquoted piece, else ""."""
    if len(token.parts) == 1 and token.parts[0].kind == "bare":
        return token.parts[0].text
    return ""


def keyword(token: Token) -> str:
    """The word, where it groups commands, else ""."""
    word = plain(token)
    return word if word in _KEYWORDS else ""


def end_of_loop(spans: Sequence[Span], at: int) -> int | None:
    """Index of the span that holds the `done` of the loop that starts at `at`."""
    depth = 1
    for index in range(at + 1, len(spans)):
        for token in spans[index].tokens:
            word = keyword(token)
            if not word:
                break
            depth += (word in _LOOPS) - (word == "done")
            if not depth:
                return index
            if word in {"for", "select", "case"}:
                break
    return None
