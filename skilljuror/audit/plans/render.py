"""Render a plan to files, and rebuild the parent's files from the variant and the plan."""

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
    text_with_flags,
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


def restored_lines(
    planned: PlannedFile, variant_texts: BundleTexts
) -> Iterator[tuple[str, int, str]]:
    """Yield the copied lines of a variant's file as in the parent: (source, line, text)."""
    text = variant_texts.text(planned.path)
    end = "\r" if text.crlf and not planned.crlf else ""  # all its lines came from a part in CRLF
    lines = [f"{line}{end}" for line in text.lines]
    shifted = any(piece.shift for piece, _ in copies_of(planned))
    headings = (
        {heading.start for heading in variant_texts.markdown(planned.path).headings}
        if shifted
        else set()
    )
    for piece, first in copies_of(planned):
        before = {change.line: change for change in piece.substitutions}
        for number in range(piece.start, piece.end + 1):
            place = first + number - piece.start
            line = lines[place]
            if piece.shift and place in headings:
                line = shift_line(line, -piece.shift)
            change = before.get(number)
            if change is not None and line == change.after:
                line = change.before
            yield piece.source, number, line


def accounted_files(plan: Plan) -> set[str]:
    """Return the parent files whose lines the plan accounts for."""
    copies = {piece.source for planned in plan.files for piece, _ in copies_of(planned)}
    return copies | {omitted.source for omitted in plan.omitted} | set(plan.flags)


def rebuild(plan: Plan, variant: Mapping[str, Blob]) -> tuple[dict[str, bytes], list[str]]:
    """Return the parent's text files, made from the variant and the plan alone, and the problems."""
    variant_texts = BundleTexts(variant)
    lines_of: dict[str, dict[int, str]] = {path: {} for path in accounted_files(plan)}
    problems: list[str] = []
    restored = [line for planned in plan.files for line in restored_lines(planned, variant_texts)]
    restored += [(omitted.source, omitted.line, omitted.text) for omitted in plan.omitted]
    for source, line, text in restored:
        if lines_of[source].setdefault(line, text) != text:
            problems.append(f"{source!r} line {line} has two different texts")
    whole: dict[str, bytes] = {}
    for source, numbered in sorted(lines_of.items()):
        if sorted(numbered) != list(range(1, len(numbered) + 1)):
            problems.append(f"{source!r} is not covered line by line")
        ordered = (numbered[number] for number in sorted(numbered))
        whole[source] = write_text(text_with_flags(ordered, plan.flags.get(source, ())))
    return whole, problems


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
