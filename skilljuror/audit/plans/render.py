"""Render a plan to files."""

import re
from collections.abc import Iterable, Iterator, Mapping

from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Blob, Bundle, Copy, Generated, Plan, PlannedFile
from skilljuror.skill.generated import fill_template
from skilljuror.skill.markdown import (
    Heading,
    MarkdownIndex,
    TextFile,
    markdown_index,
    read_text,
    write_text,
)


class BundleTexts:
    """The text files of a bundle, read and indexed once."""

    def __init__(self, files: Mapping[str, Blob]) -> None:
        self.files = files
        self._texts: dict[str, TextFile] = {}
        self._indexes: dict[str, MarkdownIndex] = {}

    def text(self, path: str) -> TextFile:
        """Return a file. Raises TransformError if it is missing or binary."""
        if path not in self._texts:
            blob = self.files.get(path)
            text = read_text(blob) if blob is not None else None
            if text is None:
                raise TransformError(f"{path!r} is not a text file of the parent", file=path)
            self._texts[path] = text
        return self._texts[path]

    def markdown(self, path: str) -> MarkdownIndex:
        if path not in self._indexes:
            self._indexes[path] = markdown_index(self.text(path).lines)
        return self._indexes[path]


def render(plan: Plan, parent: Bundle) -> dict[str, Blob]:
    """Return the variant's files in bytewise path order. Raises TransformError for references to missing text."""
    parent_texts = BundleTexts(parent.files)
    files = {planned.path: render_file(planned, parent_texts) for planned in plan.files}
    for target, path in plan.sidecars.items():
        if path not in parent.files or target in files:
            raise TransformError(f"the plan cannot copy {path!r} to {target!r}", file=path)
        files[target] = parent.files[path]
    return {path: files[path] for path in sorted(files, key=str.encode)}


def render_file(planned: PlannedFile, parent_texts: BundleTexts) -> Blob:
    lines = [line for piece in planned.pieces for line in piece_lines(piece, parent_texts)]
    text = TextFile(tuple(lines), planned.bom, planned.crlf, planned.final_newline)
    return Blob(write_text(text), planned.executable)


def piece_lines(piece: Copy | Generated, parent_texts: BundleTexts) -> list[str]:
    if isinstance(piece, Generated):
        return [fill_template(piece.template, piece.params)]
    lines = list(parent_texts.text(piece.source).lines[piece.start - 1 : piece.end])
    if len(lines) != piece.size:
        raise TransformError(f"{piece.source!r} has no lines {piece.start}-{piece.end}")
    for change in piece.substitutions:
        place = change.line - piece.start
        if not 0 <= place < len(lines) or lines[place] != change.before:
            raise TransformError(f"{piece.source!r} line {change.line} is not {change.before!r}")
        lines[place] = change.after
    if piece.shift:
        for place in shifted_lines(piece, parent_texts.markdown(piece.source)):
            lines[place] = shift_line(lines[place], piece.shift)
    return lines


def shifted_lines(piece: Copy, markdown: MarkdownIndex) -> Iterator[int]:
    """Return offsets, in the piece, of its headings. Raises TransformError if one cannot move."""
    headings = [
        heading for heading in markdown.headings if piece.start - 1 <= heading.start < piece.end
    ]
    if not can_shift(headings, piece.shift):
        raise TransformError(
            f"the headings of {piece.source!r} lines {piece.start}-{piece.end} cannot move by "
            f"{piece.shift} levels"
        )
    return (heading.start - piece.start + 1 for heading in headings)


def copies_of(planned: PlannedFile) -> Iterator[tuple[Copy, int]]:
    """Yield the copies of a file, each with its first 0-based line in the rendered file."""
    place = 0
    for piece in planned.pieces:
        if isinstance(piece, Copy):
            yield piece, place
        place += piece.size


_HASHES = re.compile(r"^( {0,3})(#{1,6})")


def can_shift(headings: Iterable[Heading], levels: int) -> bool:
    """Whether every heading can move by so many levels; an underlined one cannot."""
    if levels == 0:
        return True
    return all(not heading.setext and 1 <= heading.level + levels <= 6 for heading in headings)


def shift_line(line: str, levels: int) -> str:
    """Return a heading's line with `levels` more (or fewer) hashes; any other line unchanged."""
    match = _HASHES.match(line)
    if match is None:
        return line
    return f"{match[1]}{'#' * (len(match[2]) + levels)}{line[match.end() :]}"
