"""Check changed paths in copied lines, and generated lines without words of a source."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property

from skilljuror.knowledge.generated.embedded_files import INFO_WORDS
from skilljuror.knowledge.generated.templates import MARKER_PHRASES
from skilljuror.knowledge.markdown.block_index import CLOSING_LINES, MarkdownIndex
from skilljuror.knowledge.markdown.inline_text import (
    command_spans,
    link_target_spans,
    unescaped_target,
)
from skilljuror.knowledge.markdown.text_file import read_text
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Generated, Substitution

_TOKEN = re.compile(r"[\w./#%~@+$&!?*-]+")
"""A possible path in a line, without marks around it."""


def replaced_paths(before: str, after: str) -> list[tuple[str, str]] | None:
    """Return the replaced link targets and path tokens of a line; None if anything else differs."""
    (old, olds), (new, news) = split_link_targets(before), split_link_targets(after)
    olds, news = [*olds, *_TOKEN.findall(old)], [*news, *_TOKEN.findall(new)]
    if pathless_skeleton(old) != pathless_skeleton(new) or len(olds) != len(news):
        return None
    return [(path, other) for path, other in zip(olds, news, strict=True) if path != other]


def changes_code(change: Substitution, markdown: MarkdownIndex) -> bool:
    """Whether a change of a parent's line affects a code block, or a command in prose."""
    commands = [
        [line[start:end] for start, end in command_spans(line)]
        for line in (change.before, change.after)
    ]
    return change.line - 1 not in markdown.link_lines or commands[0] != commands[1]


def pathless_skeleton(line: str) -> str:
    """Replace every word that could be a path."""
    return _TOKEN.sub("x", line)


def split_link_targets(line: str) -> tuple[str, list[str]]:
    """Return (line without link targets, targets)."""
    parts, targets, place = [], list[str](), 0
    for start, end in link_target_spans(line):
        if start >= place:
            parts.append(line[place:start])
            targets.append(unescaped_target(line[start:end]))
            place = end
    return "\0".join([*parts, line[place:]]), targets


PathMayBecome = Callable[[str, str], bool]
"""Whether an old path or anchor may have become a new one."""


class StructuralLines:
    """Check generated punctuation in the variants of one parent."""

    def __init__(self, parent: Bundle) -> None:
        self._parent = parent

    def is_sound(self, piece: Generated, fits: PathMayBecome) -> bool:
        """Whether a line that closes, opens, marks or defines has no other content."""
        params = piece.params
        if piece.template == "closer":
            return params["line"] in CLOSING_LINES or _is_run(params["line"], "`~")
        if piece.template in {"fence-open", "fence-close"}:
            words = set(params.get("info", "").split())
            return _is_run(params["fence"], "`~") and words <= INFO_WORDS
        if piece.template == "marker":
            return _is_run(params["hashes"], "#") and params["kind"] in MARKER_PHRASES
        return piece.template != "definition" or self._is_copy(params["line"], fits)

    def _is_copy(self, line: str, fits: PathMayBecome) -> bool:
        """Whether a definition is one of the parent's, except for its path."""
        for before in self._lines.get(pathless_skeleton(split_link_targets(line)[0]), ()):
            pairs = replaced_paths(before, line)
            if pairs is not None and all(fits(old, new) for old, new in pairs):
                return True
        return False

    @cached_property
    def _lines(self) -> Mapping[str, list[str]]:
        """Lines of the parent, without quote or list marks, by their words without paths."""
        lines: dict[str, list[str]] = defaultdict(list)
        texts = filter(None, map(read_text, self._parent.files.values()))
        for line in dict.fromkeys(line for text in texts for line in text.lines):
            for spelling in {line.strip(), line[max(0, line.find("[")) :]}:
                lines[pathless_skeleton(split_link_targets(spelling)[0])].append(spelling)
        return lines


def _is_run(text: str, marks: str) -> bool:
    return bool(text) and set(text) in [{mark} for mark in marks]
