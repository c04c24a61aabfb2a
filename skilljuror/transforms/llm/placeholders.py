"""Placeholders for files that a model never writes: scripts, templates and other non-Markdown text.

A model reads and writes one placeholder line per file. The bytes come from the source.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skilljuror.knowledge.generated.embedded_files import embedded_files
from skilljuror.knowledge.markdown.block_index import MarkdownIndex
from skilljuror.models.bundle import Blob
from skilljuror.models.resource_class import is_markdown

ABOUT_LINES = 30
ABOUT_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class PlaceholderFile:
    """A file below a marker of a flat page."""

    path: str
    """Path in the marker: relative to the skill's folder."""
    marker: str
    """Words of the marker heading."""
    fence: tuple[str, ...]
    """Its lines on a flat page: its fence, and the sentence that announces it."""
    blob: Blob

    @property
    def placeholder(self) -> str:
        return f"{{{{file: {self.path}}}}}"

    def description(self) -> dict[str, str]:
        """Return the description of the file for a model."""
        opening = "\n".join((self.blob.text or "").split("\n")[:ABOUT_LINES])[:ABOUT_CHARS]
        return {
            "path": self.path,
            "marker": self.marker,
            "placeholder": self.placeholder,
            "opening": opening,
        }


def placeholder_files(markdown: MarkdownIndex) -> tuple[PlaceholderFile, ...]:
    """Return the fenced files of a flat page that are not Markdown."""
    return tuple(
        PlaceholderFile(
            file.path, file.heading.title, markdown.lines[file.opening : file.end + 1], file.blob
        )
        for file in embedded_files(markdown)
        if file.fenced and not is_markdown(file.path)
    )


def page_with_placeholders(markdown: MarkdownIndex, files: Sequence[PlaceholderFile]) -> list[str]:
    """Replace each fence of a file by its placeholder; lines before the first one keep their numbers."""
    by_path = {file.path: file for file in files}
    lines, place = list[str](), 0
    for file in embedded_files(markdown):
        if file.path in by_path:
            lines += [*markdown.lines[place : file.opening], by_path[file.path].placeholder]
            place = file.end + 1
    return [*lines, *markdown.lines[place:]]


def page_with_files(lines: Sequence[str], files: Sequence[PlaceholderFile]) -> list[str]:
    """Replace every placeholder line by its fence."""
    fences = {file.placeholder: file.fence for file in files}
    return [line for written in lines for line in fences.get(written.strip(), (written,))]


def placement_problems(page: Sequence[str], files: Sequence[PlaceholderFile]) -> Iterator[str]:
    """Yield why files could not be extracted unchanged from an expanded page."""
    placed: Mapping[str, PlaceholderFile] = {
        file.path: file for file in placeholder_files(MarkdownIndex(page))
    }
    for file in files:
        if file.path not in placed or placed[file.path].blob != file.blob:
            yield (
                f"{file.path!r} needs its own section: a heading '## {file.marker}', below it"
                f" only the line {file.placeholder}, once, and then a heading of level 1 or 2,"
                " or the end"
            )
    known = {file.path for file in files}
    for path in sorted(placed.keys() - known):
        yield f"{path!r} is not a file of the source"
