"""The sentence that introduces a list, a table or a code block and states its condition."""

import re
from collections.abc import Sequence

from markdown_it.token import Token

from skilljuror.knowledge.markdown.inline_text import inline_text, sentences

_LISTS_OPEN = frozenset({"bullet_list_open", "ordered_list_open"})
_LISTS_CLOSE = frozenset({"bullet_list_close", "ordered_list_close"})
_INTRODUCED = frozenset({"fence", "code_block", "table_open"})
_ENDS = frozenset({"heading_open", "list_item_open", "hr", *_LISTS_CLOSE})
_TAG_ALONE = re.compile(r"\s*(<[A-Za-z][\w-]*>)\s*(?:\n|$)")


class Leads:
    """Track the introduction of each block of a page.

    A paragraph introduces the list, table or code right below it if it ends in a colon or is completely bold.
    An item introduces its content, a tag on its own line the lines below it.
    """

    def __init__(self) -> None:
        self._open: list[str] = []
        """Leads of the lists that are open, the innermost last."""
        self._last = ""
        """Introduction in the block before."""

    def of(self, token: Token, following: Sequence[Token]) -> str:
        """Return the lead of the block that begins at `token`, or "". `following` are the tokens after it.

        Call it for every token of a page, in order.
        """
        around = "".join(self._open[-1:])
        lead, self._last = self._last, "" if token.map or token.type in _ENDS else self._last
        if token.type in _LISTS_OPEN:
            self._open.append(lead or around)
        elif token.type in _LISTS_CLOSE:
            self._open.pop()
        elif token.type == "paragraph_open":
            self._last = _introduction(following[0], inside=bool(self._open))
        elif token.type == "inline":
            self._last = lead
        elif token.type == "html_block":
            tag = _TAG_ALONE.match(token.content)
            return tag[1] if tag else around
        return lead or around if token.type in _INTRODUCED else around


def _introduction(inline: Token, *, inside: bool) -> str:
    """The sentence of a paragraph that can introduce a block; "" if none."""
    found = sentences(inline_text(inline))
    last = found[-1][2] if found else ""
    return last if inside or last.endswith(":") or _is_bold(inline) else ""


def _is_bold(inline: Token) -> bool:
    kinds = [child.type for child in inline.children or () if child.type != "text" or child.content]
    edges = kinds[:1] == ["strong_open"] and kinds[-1:] == ["strong_close"]
    return edges and kinds.count("strong_open") == 1
