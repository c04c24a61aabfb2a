"""Files that a model never writes: scripts, templates and other text that is not Markdown.

In what a model reads and writes, each such file is one placeholder line. Its bytes are put back
by us, from the source.
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
    """One file that stands under a marker of a flat page."""

    path: str
    """Path in the marker: relative to the skill's folder."""
    marker: str
    """Words of the marker heading."""
    fence: tuple[str, ...]
    """The lines that carry it on a flat page: its fence, and the sentence that announces it."""
    blob: Blob
    """The file."""

    @property
    def placeholder(self) -> str:
        """The line that stands for its content."""
        return f"{{{{file: {self.path}}}}}"

    def description(self) -> dict[str, str]:
        """What a model gets to know of it: enough to say what it is for."""
        opening = "\n".join((self.blob.text or "").split("\n")[:ABOUT_LINES])[:ABOUT_CHARS]
        return {
            "path": self.path,
            "marker": self.marker,
            "placeholder": self.placeholder,
            "opening": opening,
        }


def placeholder_files(markdown: MarkdownIndex) -> tuple[PlaceholderFile, ...]:
    """The files that a flat page carries in fences, Markdown apart."""
    return tuple(
        PlaceholderFile(
            file.path,
            file.heading.title,
            markdown.lines[file.opening : file.end + 1],
            file.blob,
        )
        for file in embedded_files(markdown)
        if file.fenced and not is_markdown(file.path)
    )


def page_with_placeholders(markdown: MarkdownIndex, files: Sequence[PlaceholderFile]) -> list[str]:
    """A flat page with a placeholder in place of each fence that carries a file; the lines before
    the first fence keep their numbers."""
    by_path = {file.path: file for file in files}
    lines, place = list[str](), 0
    for file in embedded_files(markdown):
        if file.path in by_path:
            lines += [*markdown.lines[place : file.opening], by_path[file.path].placeholder]
            place = file.end + 1
    return [*lines, *markdown.lines[place:]]


def page_with_files(lines: Sequence[str], files: Sequence[PlaceholderFile]) -> list[str]:
    """The page with every placeholder line replaced by the fence it stands for."""
    fences = {file.placeholder: file.fence for file in files}
    return [line for written in lines for line in fences.get(written.strip(), (written,))]


def placement_problems(page: Sequence[str], files: Sequence[PlaceholderFile]) -> Iterator[str]:
    """Why the files would not come out of an expanded page again as they went in."""
    placed: Mapping[str, PlaceholderFile] = {
        file.path: file for file in placeholder_files(MarkdownIndex(page))
    }
    for file in files:
        if file.path not in placed or placed[file.path].blob != file.blob:
            yield (
                f"{file.path!r} has no section of its own: a heading '## {file.marker}', below it"
                f" only the line {file.placeholder}, once, and after it a heading of level 1 or 2,"
                " or the end"
            )
    known = {file.path for file in files}
    for path in sorted(placed.keys() - known):
        yield f"{path!r} is no file of the source"
