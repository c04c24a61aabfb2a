"""Rows of the source's author: sentences, items and table rows of a page that lead to a file.

Rows that stay in the root route in the author's words, at the step that needs the file. A section that
consists mostly of such rows is a routing table, and stays.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.knowledge.markdown.block_index import visible_text
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup
from skilljuror.transforms.disclosure.trigger_cues import name_pattern, sentences

ROUTING_TOKENS = 300
"""Estimated tokens up to which a section that mostly names files is a routing table."""
MOSTLY = 0.5  # share of a routing table's paragraphs, items and rows that name a file
LEAST = 3  # words besides the file's name in an informative row
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_USAGE = re.compile(
    r"\b(?:when|whenever|if|for|before|after|while|during|until|unless|because|to|where|why|how"
    r"|needs?|needed|see|read|open|use|with|about)\b",
    re.IGNORECASE,
)


def names_of(flat: FlatSkill, file: EmbeddedFile) -> list[str]:
    """Return the names of an embedded file in text: whole path, path in its skill, file name."""
    names = [file.path, flat.inner_path(file), PurePosixPath(file.path).name]
    return list(dict.fromkeys(names))


Place = tuple[int, str]
"""First line of a paragraph, item, heading or row, and its sentence that names files."""


class OwnRows:
    """The places where a flat page's own text names its embedded files."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        self._files: dict[Place, dict[str, tuple[EmbeddedFile, int]]] = defaultdict(dict)
        """Place -> path of each named file -> the file, and the line with its name."""
        for file in flat.embedded_files:
            for line, sentence in self._lines_naming(file):
                self._files[self._first_line(line), sentence][file.path] = file, line
        self._naming = {line for line, _ in self._files}
        self._plain_headings = {heading.start for heading in flat.headings} - self._naming

    def _lines_naming(self, file: EmbeddedFile) -> Iterator[tuple[int, str]]:
        """(line, sentence) of the page's own text that name a file or link to its section."""
        flat, names = self.flat, names_of(self.flat, file)
        anchor = flat.markdown.anchor_at.get(file.heading.start)
        link = f"](#{anchor})" if anchor else names[0]
        skill = flat.skill_at(file.heading.start)
        pattern = name_pattern(tuple(names))
        for line in flat.lines_naming([*names, link]):
            own = line in flat.markdown.prose_lines and not flat.in_embedded_file(line)
            found = self._sentences_at(line) if own and flat.skill_at(line) == skill else ()
            for sentence in found:
                if pattern.search(sentence) or link in sentence:
                    yield line, sentence

    def _sentences_at(self, line: int) -> list[str]:
        _, text = self.flat.markdown.paragraph_at.get(line, (line, self.flat.lines[line]))
        return sentences(" ".join(text.split()))

    def _first_line(self, line: int) -> int:
        return self.flat.markdown.paragraph_at.get(line, (line, ""))[0]

    def routes(self, group: SectionGroup) -> bool:
        """Whether a section is short and mostly names files."""
        if group.tokens > ROUTING_TOKENS or any(self.flat.fences_in(*one) for one in group.ranges):
            return False
        lines = {line for start, end in group.ranges for line in range(start, end)}
        places = {self._first_line(line) for line in lines & self.flat.markdown.prose_lines}
        places -= self._plain_headings
        return bool(places) and len(places & self._naming) >= max(1, MOSTLY * len(places))

    def routed_in(self, kept: Sequence[SectionGroup]) -> frozenset[str]:
        """Return marker paths of the files that have a row in these sections. A row names no other file
        and says when to open the file or what for."""
        lines = {line for group in kept for one in group.ranges for line in range(*one)}
        return frozenset(
            file.path
            for (_, sentence), files in self._files.items()
            for file, line in files.values()
            if line in lines and len(files) == 1 and self._is_informative(sentence, line, file)
        )

    def _is_informative(self, sentence: str, line: int, file: EmbeddedFile) -> bool:
        for text in map(visible_text, (sentence, self.flat.lines[line])):
            for name in names_of(self.flat, file):
                text = text.replace(name, " ")
            if len(_LETTERS.findall(text)) < LEAST or not _USAGE.search(text):
                return False
        return True


def keep_routing(
    own: OwnRows,
    kept: Sequence[SectionGroup],
    moved: Sequence[SectionGroup],
    lines: int,
    *,
    must_move: bool,
) -> tuple[list[SectionGroup], list[SectionGroup]]:
    """Return (kept, moved) with routing sections, and empty headings above them, moved to `kept`.

    `kept` grows up to `lines`; steps of a process stay together. Unchanged if nothing would be left that
    must move.
    """
    heads = {one.start: one for one in moved if one.is_head}
    routing: dict[int, SectionGroup] = {}
    size = _size(kept)
    for group in moved:
        above = [heads[start] for start in group.above if start in heads]
        alone = group.sequence == group.start and group.sequence not in own.flat.processes
        routes = alone and not (group.is_head or group.continued) and own.routes(group)
        if routes and all(one.heading_only for one in above):
            more = {one.start: one for one in (*above, group) if one.start not in routing}
            if size + _size(more.values()) <= lines:
                size += _size(more.values())
                routing |= more
    leaving = [one for one in moved if one.start not in routing]
    if must_move and all(group.heading_only for group in leaving):
        return list(kept), list(moved)
    return sorted([*kept, *routing.values()], key=lambda one: one.start), leaving


def _size(groups: Iterable[SectionGroup]) -> int:
    return sum(group.lines + 1 for group in groups)
