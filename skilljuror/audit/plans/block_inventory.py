"""Rendered blocks and code of a bundle, gathered without a plan."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from skilljuror.base.skill import Blob, is_markdown
from skilljuror.skill.generated import embedded_files, is_structural_heading
from skilljuror.skill.markdown import MarkdownIndex, TextFile, frontmatter_end, markdown_index

_HASHES = re.compile(r"^ {0,3}#{1,6}(?=[ \t]|$)")
_LOCAL_TARGET = re.compile(r'(?<=href|.src)="(?![A-Za-z][A-Za-z0-9+.-]{0,20}:)[^"]*"')
"""Target of a local link: it may change, and `verify` checks every change."""
_WORD = re.compile(r"\w+")

Lines = tuple[str, ...]


@dataclass(slots=True)
class BlockInventory:
    """The multisets of one side of a comparison."""

    blocks: dict[str, Counter[str]] = field(default_factory=dict)
    """Markdown file -> its rendered top-level blocks except fences."""
    texts: Counter[Lines] = field(default_factory=Counter)
    """Contents of fences and of files that are not Markdown."""
    whole: dict[str, Lines] = field(default_factory=dict)
    """Markdown file -> all its lines, in case the other side has it in a fence."""
    fences: dict[str, Counter[Lines]] = field(default_factory=dict)
    """Markdown file -> contents of its fences."""


def take_inventory(texts: Mapping[str, TextFile]) -> BlockInventory:
    inventory = BlockInventory()
    for path, text in texts.items():
        if is_markdown(path):
            inventory.blocks[path], inventory.fences[path] = _rendered_blocks(text.lines)
            inventory.whole[path] = text.lines
        elif any(line.strip() for line in text.lines):
            inventory.texts[text.lines] += 1
    return inventory


def comparable_lines(lines: Iterable[str]) -> list[str]:
    """Return non-blank lines, stripped and with heading levels folded."""
    return [_HASHES.sub("#", line).strip() for line in lines if line.strip()]


@lru_cache(maxsize=64)
def _rendered_blocks(lines: Lines) -> tuple[Counter[str], Counter[Lines]]:
    markdown = markdown_index(lines)
    closing = closing_line(markdown)
    markdown = markdown_index((*lines, closing)) if closing else markdown
    blocks: Counter[str] = Counter()
    fences: Counter[Lines] = Counter()
    marks = {heading.start for heading in markdown.headings if is_structural_heading(heading.title)}
    marks |= {file.opening for file in embedded_files(markdown) if file.announced_at is not None}
    for html, start, end in markdown.rendered_blocks:
        kind, _, body = html.partition("\0")
        if kind == "fence":
            content = _fence_content(markdown.lines[start:end])
            if any(line.strip() for line in content):
                fences[content] += 1
        elif start not in marks:
            blocks[f"{kind}\0{_comparable(body)}"] += 1
    return blocks, fences


def _comparable(html: str) -> str:
    """HTML without local link targets, and without blank lines at the end of code, which an unclosed fence adds."""
    tidy = "</code></pre>".join(part.rstrip() for part in html.split("</code></pre>"))
    return _LOCAL_TARGET.sub('=""', tidy)


def _fence_content(lines: Lines) -> Lines:
    mark = lines[0].strip()[:1]
    last = lines[-1].strip()
    closed = len(lines) > 1 and len(last) >= 3 and set(last) == {mark}
    return tuple(lines[1:-1] if closed else lines[1:])


def missing_blocks(parent: BlockInventory, variant: BlockInventory) -> list[str]:
    """Return rendered blocks and file contents of the parent that are missing in the variant.

    A Markdown file that one side carries inside a fence, whole or without its frontmatter, is compared as
    text.
    """
    in_variant_fences = _files_in_fences(parent, variant)
    in_parent_fences = _files_in_fences(variant, parent)
    wanted, wanted_texts = _comparable_totals(parent, in_variant_fences)
    have, have_texts = _comparable_totals(variant, in_parent_fences)
    lost = [" ".join(block.split()) for block in (wanted - have).elements()]
    lost += [" ".join(lines[:3]) for lines in (wanted_texts - have_texts).elements()]
    return sorted(lost)


def _files_in_fences(side: BlockInventory, other: BlockInventory) -> dict[str, Lines]:
    """Markdown files of one side that are the content of a fence on the other, beyond fences on both sides."""
    spare = _whole_texts(other) - _whole_texts(side)
    fenced: dict[str, Lines] = {}
    bodies = {path: tuple(lines[frontmatter_end(lines) :]) for path, lines in side.whole.items()}
    for files in (side.whole, bodies):
        for path, content in files.items():
            if path not in fenced and spare[content] > 0:
                spare[content] -= 1
                fenced[path] = content
    return fenced


def _whole_texts(side: BlockInventory) -> Counter[Lines]:
    texts = Counter(side.texts)
    for fences in side.fences.values():
        texts.update(fences)
    return texts


def _comparable_totals(
    side: BlockInventory, fenced: Mapping[str, Lines]
) -> tuple[Counter[str], Counter[Lines]]:
    blocks: Counter[str] = Counter()
    texts = Counter(side.texts)
    texts.update(fenced.values())
    for path in side.blocks:
        if path not in fenced:
            blocks.update(side.blocks[path])
            texts.update(side.fences[path])
    return blocks, texts


def distinct_words(texts: Iterable[str]) -> set[str]:
    """Return all words, case folded."""
    return {word for text in texts for word in _WORD.findall(text.casefold())}


def embedded_blobs(root: TextFile) -> dict[str, Blob]:
    """Return the fenced files of a flat SKILL.md by path."""
    files = embedded_files(markdown_index(root.lines))
    return {file.path: file.blob for file in files if file.fenced}


CLOSING_LINES = (
    "```", "~~~", "````", "~~~~", "`````", "~~~~~", "-->", "?>", ">", "]]>",
    "</pre>", "</script>", "</style>", "</textarea>",
)  # fmt: skip
"""Lines that close an open block of code or HTML."""


def ends_closed(lines: Sequence[str]) -> bool:
    """Whether a heading after these lines would be a heading."""
    probe = [*lines, "", "# end"]
    headings = MarkdownIndex(probe, frontmatter_lines=0).headings
    return bool(headings) and headings[-1].start == len(probe) - 1


def closing_line(markdown: MarkdownIndex) -> str | None:
    """Return the line that closes an open block at the end: "" if nothing is open, None if no line closes it."""
    last = markdown.blocks[-1] if markdown.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    tail = markdown.lines[last.start :]
    if ends_closed(tail):
        return ""
    own = [last.markup] if last.kind == "fence" else []
    return next((line for line in [*own, *CLOSING_LINES] if ends_closed([*tail, line])), None)
