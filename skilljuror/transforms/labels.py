"""Link reference definitions and footnotes: labels that would reach across merged texts."""

import re
from collections.abc import Sequence

from skilljuror.knowledge.markdown import Document

_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_FOOTNOTE = re.compile(r"^ {0,3}\[(\^[^\[\]\s]+)\]:")


class Labels:
    """Labels of the texts on one page; a text fits when no label of one reaches another."""

    def __init__(self) -> None:
        self.defined: set[str] = set()
        self.used: set[str] = set()
        self.empty = True

    def fits(self, lines: Sequence[str]) -> bool:
        """Whether the text can join without capturing, or being captured by, another's label."""
        defined, used = defined_labels(lines), used_labels(lines)
        return not (defined & (self.used | self.defined)) and not (used & self.defined)

    def add(self, lines: Sequence[str]) -> None:
        """Remember a text that joined the page."""
        self.defined |= defined_labels(lines)
        self.used |= used_labels(lines)
        self.empty = False


def folded_label(label: str) -> str:
    """A label as it is compared: white space folded, case folded both ways."""
    return " ".join(label.split()).lower().upper()


def defined_labels(lines: Sequence[str]) -> set[str]:
    """Labels that the text defines: link references and footnotes."""
    if not any("]:" in line for line in lines):
        return set()
    found = {definition.key for definition in Document(lines).definitions}
    notes = (_FOOTNOTE.match(line) for line in lines)
    return found | {folded_label(note[1]) for note in notes if note}


def used_labels(lines: Sequence[str]) -> set[str]:
    """Everything in square brackets, code included: a superset of the labels used."""
    return {folded_label(label) for label in _BRACKETS.findall("\n".join(lines))}
