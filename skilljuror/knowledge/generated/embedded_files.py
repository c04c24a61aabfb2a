"""Operational markers: how a flat SKILL.md carries whole files, so that they can come out again.

A heading ("## Helper implementation for `scripts/x.py`") and one fence hold a file. The fence's
info string carries the language and what the file's bytes have on top of their lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skilljuror.knowledge.generated.templates import TEMPLATES
from skilljuror.knowledge.markdown.block_index import Block, Heading, MarkdownIndex
from skilljuror.knowledge.markdown.text_file import TextFile, text_with_flags, write_text
from skilljuror.models.bundle import Blob
from skilljuror.models.resource_class import is_markdown

MARKER_PHRASES = (
    "Helper implementation for",
    "Helper contract from",
    "Reference content from",
    "Configuration content from",
    "Template content from",
    "Support content from",
)
BUNDLED = "bundled"
"""Word in the info string of real markers, used when the source has headings that look alike."""
_WORDS = frozenset({"bom", "crlf", "no-final-newline", "executable", BUNDLED})
_MARK = re.compile(rf"^({'|'.join(MARKER_PHRASES)}) `([^`]+)`$")
_TICKS = re.compile(r"`{3,}")
_KIND_OF = {
    **dict.fromkeys((".md", ".txt", ".rst", ".markdown", ".mdx"), MARKER_PHRASES[2]),
    **dict.fromkeys((".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".xsd"), MARKER_PHRASES[3]),
    **dict.fromkeys((".html", ".xml", ".bib", ".tex", ".j2", ".tmpl", ".css"), MARKER_PHRASES[4]),
    ".skill": MARKER_PHRASES[1],
}
_LANGUAGES = {
    ".py": "python", ".js": "javascript", ".mjs": "javascript", ".ts": "typescript", ".sh": "bash",
    ".bash": "bash", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".xml": "xml",
    ".html": "html", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".bib": "bibtex",
    ".toml": "toml", ".rb": "ruby", ".r": "r", ".sql": "sql", ".css": "css", ".lean": "lean",
}  # fmt: skip
INFO_WORDS = frozenset(_LANGUAGES.values()) | _WORDS | {"text"}
"""Words that the info strings of our fences are made of."""


@dataclass(frozen=True, slots=True)
class EmbeddedFile:
    """A file carried by a marker; lines are 0-based and half-open, in the flat file."""

    path: str
    heading: Heading
    start: int
    """First line of the content."""
    end: int
    """End of the content."""
    stop: int
    """End of the marker's section: the next heading of its level, or the end of the file."""
    fenced: bool
    text: TextFile
    executable: bool = False

    @property
    def blob(self) -> Blob:
        """The file as it comes out again (exact for a fenced one)."""
        return Blob(write_text(self.text), self.executable)


def marker_phrase(path: str, code: bool) -> str:
    """The marker's words for a file."""
    if code:
        return MARKER_PHRASES[0]
    return _KIND_OF.get(PurePosixPath(path).suffix.lower(), MARKER_PHRASES[5])


def is_structural_heading(title: str) -> bool:
    """Whether a heading only carries structure: a marker, or the title over files of no skill."""
    return is_marker_heading(title) or f"# {title}" == TEMPLATES["shared"]


def is_marker_heading(title: str) -> bool:
    """Whether a heading has the form of a marker."""
    return _MARK.match(title) is not None


def fence_around(lines: Sequence[str]) -> str:
    """A run of backticks longer than any in the lines, at least three."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=2)
    return "`" * (longest + 1)


def info_string(path: str, text: TextFile, executable: bool, bundled: bool) -> str:
    """The info string of a fence that carries a whole file."""
    language = _LANGUAGES.get(PurePosixPath(path).suffix.lower(), "text")
    words = [*text.flags, *(["executable"] if executable else []), *([BUNDLED] if bundled else [])]
    return " ".join([language, *sorted(words)])


def embedded_files(document: MarkdownIndex) -> tuple[EmbeddedFile, ...]:
    """The files a flat SKILL.md carries, in order; the last marker of a path is the one that
    counts, and where any fence says "bundled" only those count."""
    found = [file for file in _candidates(document) if _safe(file[0].path)]
    if any(bundled for _, bundled in found):
        found = [file for file in found if file[1]]
    last = {file.path.casefold(): file for file, _ in found}
    return tuple(file for file, _ in found if last[file.path.casefold()] is file)


def embedding_fences(document: MarkdownIndex) -> frozenset[int]:
    """0-based lines of the fences that hold, alone below a marker, what the marker names; of a
    second root beside a skill's own too, which no file is made of."""
    return frozenset(file.start - 1 for file, _ in _candidates(document) if file.fenced)


def _safe(path: str) -> bool:
    """Whether a marker's path may become a file: relative, inside the skill, not its root."""
    parts = path.split("/")
    odd = any(part in {"", ".", ".."} or part != part.strip() for part in parts)
    return not (odd or "\\" in path or path.casefold() == "skill.md")


def _candidates(document: MarkdownIndex) -> Iterator[tuple[EmbeddedFile, bool]]:
    headings = document.headings
    for number, heading in enumerate(headings):
        match = _MARK.match(heading.title)
        if match is None or heading.setext:
            continue
        following = (one.start for one in headings[number + 1 :] if one.level <= heading.level)
        stop = next(following, len(document.lines))
        fence = _only_fence(document, heading.end, stop)
        if fence is not None:
            words = set(fence.info.split()[1:]) & _WORDS
            yield _fenced(document, heading, match[2], (fence, stop)), BUNDLED in words
        elif is_markdown(match[2]):
            yield _prose(document, heading, match[2], stop), False


def _only_fence(document: MarkdownIndex, start: int, stop: int) -> Block | None:
    """The one closed fence of a section that holds nothing else."""
    blocks = [block for block in document.blocks if start <= block.start < stop]
    if len(blocks) != 1 or blocks[0].kind != "fence":
        return None
    block = blocks[0]
    last = document.lines[block.end - 1].strip() if block.end - block.start > 1 else ""
    closed = len(last) >= len(block.markup) and set(last) == {block.markup[0]}
    unindented = document.lines[block.start].startswith(block.markup)
    return block if closed and unindented else None


def _fenced(
    document: MarkdownIndex, heading: Heading, path: str, place: tuple[Block, int]
) -> EmbeddedFile:
    block, stop = place
    words = set(block.info.split()[1:]) & _WORDS
    text = text_with_flags(document.lines[block.start + 1 : block.end - 1], words)
    start, end = block.start + 1, block.end - 1
    return EmbeddedFile(path, heading, start, end, stop, True, text, "executable" in words)


def _prose(document: MarkdownIndex, heading: Heading, path: str, stop: int) -> EmbeddedFile:
    start, end = heading.end, stop
    while start < end and not document.lines[start].strip():
        start += 1
    while end > start and not document.lines[end - 1].strip():
        end -= 1
    return EmbeddedFile(path, heading, start, end, stop, False, TextFile(document.lines[start:end]))
