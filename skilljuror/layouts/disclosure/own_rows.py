"""Rows of the source's author: sentences, items and table rows of a page that lead to a file.

Rows that stay in the root route in the author's words, at the step that needs the file. A section that
consists mostly of such rows is a routing table, and stays.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from skilljuror.layouts.disclosure.sections import FlatSkill, LineRange, SectionGroup
from skilljuror.layouts.disclosure.trigger_cues import name_pattern, sentences
from skilljuror.skill.generated import EmbeddedFile
from skilljuror.skill.markdown import visible_text

ROUTING_TOKENS = 400
"""Estimated tokens up to which a section that names several files, among other text, is a routing table."""
MOSTLY = 0.5  # share of a routing table's paragraphs, items and rows that name a file
LEAST = 3  # words besides the file's name in an informative row
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_FILE = re.compile(r"[\w./-]*\w\.\w{1,5}\b")
_DESCRIBED = re.compile(
    r"(?:\W{0,4}\w[\w ]{0,40}:)?\W{0,8}[\w./-]*\w\.\w{1,5}[`*\]]*(?:\([^)\s]*\))?\s*[-–—:]\s"
)
"""The begin of an item that says what a file holds, with or without a label: "Order: `events.md` — ordering of
events"."""
_USAGE = re.compile(
    r"\b(?:when|whenever|if|for|before|after|while|during|until|unless|because|to|where|why|how"
    r"|needs?|needed|see|read|open|use|follow|load|with|about"
    r"|(?:listed|defined|described|explained|documented|covered|given|stands?|part|is|are) (?:in|of))\b",
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

    def is_routing_table(self, ranges: Sequence[LineRange]) -> bool:
        """Whether a section mostly names files, or is short and names several of them."""
        lines = {line for start, end in ranges for line in range(start, end)}
        places = {self._first_line(line) for line in lines & self.flat.markdown.prose_lines}
        places -= self._plain_headings
        naming = places & self._naming
        if naming and len(naming) >= MOSTLY * len(places):
            return not self._has_fence(ranges)
        files = {
            path for (line, _), named in self._files.items() if line in naming for path in named
        }
        short = self.flat.tokens(ranges) <= ROUTING_TOKENS
        return short and len(files) > 1 and not self._has_fence(ranges)

    def _has_fence(self, ranges: Sequence[LineRange]) -> bool:
        return any(one.kind == "fence" for lines in ranges for one in self.flat.blocks_in(*lines))

    def routed_in(self, kept: Sequence[SectionGroup]) -> frozenset[str]:
        """Return marker paths of the files to which a sentence, item or row of these sections leads with a
        situation: it says when to open the file or what for."""
        lines = {line for group in kept for one in group.ranges for line in range(*one)}
        return frozenset(
            file.path
            for (_, sentence), files in self._files.items()
            for file, line in files.values()
            if line in lines and self._is_informative(sentence, line, file)
        )

    def _is_informative(self, sentence: str, line: int, file: EmbeddedFile) -> bool:
        """Whether a row says when to open a file or what for, alone or with the line above its list or table."""
        lead, text = self._lead_of(line), visible_text(sentence)
        for name in names_of(self.flat, file):
            text = text.replace(name, " ")
        words = len(_LETTERS.findall(_FILE.sub(" ", text)))
        is_row = line not in self.flat.markdown.paragraph_at or bool(_DESCRIBED.match(sentence))
        enough = words >= LEAST or (words and lead)
        return bool(enough) and (is_row or bool(_USAGE.search(f"{lead} {text}")))

    def _lead_of(self, line: int) -> str:
        """The paragraph above a list, if it ends in a colon, or the header of a table; else ""."""
        blocks = self.flat.markdown.blocks
        place = bisect_right(blocks, line, key=lambda block: block.start) - 1
        if place < 1 or blocks[place].end <= line:
            return ""
        if blocks[place].kind == "table_open":
            return self.flat.lines[blocks[place].start]
        before = self.flat.lines[blocks[place - 1].end - 1].strip()
        is_list = blocks[place].kind in {"bullet_list_open", "ordered_list_open"}
        return before if is_list and before.rstrip("*_ ").endswith(":") else ""
