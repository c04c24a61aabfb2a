"""The request to rewrite a layout: the Markdown to rewrite, and everything that stays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from skilljuror.audit.plans.render import render
from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Blob, Bundle, is_markdown
from skilljuror.layouts.disclosure import flat_skill
from skilljuror.layouts.layouts.baseline import Baseline
from skilljuror.skill.generated import embedded_files
from skilljuror.skill.markdown import MarkdownIndex, read_text

ABOUT_LINES = 30
ABOUT_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class PlaceholderFile:
    """A file below a marker of a flat page."""

    path: str  # path in the marker: relative to the skill's folder
    marker: str  # words of the marker heading
    fence: tuple[str, ...]
    """Its lines on a flat page: its fence, and the sentence that announces it."""
    blob: Blob

    @property
    def placeholder(self) -> str:
        return f"{{{{file: {self.path}}}}}"

    def description(self) -> dict[str, str]:
        opening = "\n".join((self.blob.text or "").split("\n")[:ABOUT_LINES])[:ABOUT_CHARS]
        return {
            "path": self.path,
            "marker": self.marker,
            "placeholder": self.placeholder,
            "opening": opening,
        }


def placeholder_files(markdown: MarkdownIndex) -> tuple[PlaceholderFile, ...]:
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


MAX_SHOWN = 400_000  # maximum characters of Markdown to rewrite
GROWTH = 2  # maximum characters of an answer, in addition to `SPARE`, relative to the request
SPARE = 4_000  # characters for headings and routing rows, whatever the size


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """The request for one layout."""

    layout: str  # baseline or pd
    folder: str  # the skill's folder in the variant
    head: tuple[str, ...]
    """Lines of the frontmatter, both `---` included; the model does not write them."""
    shown: dict[str, str]  # path -> Markdown to rewrite
    files: tuple[PlaceholderFile, ...]
    """Text files except Markdown: behind placeholders on a flat page, else files."""
    data: dict[str, Blob]  # path in the variant -> file that is copied byte for byte

    @property
    def most(self) -> int:
        """Maximum characters of an answer."""
        return GROWTH * sum(map(len, self.shown.values())) + SPARE

    def request(self) -> dict[str, Any]:
        """Return the task as JSON values; its words and paths are foreign."""
        return {
            "layout": self.layout,
            "frontmatter": "\n".join(self.head),
            "carried": [file.description() for file in self.files],
            "data": [path.removeprefix(f"{self.folder}/") for path in sorted(self.data)],
            "most_characters": self.most,
        }

    def bundle(self) -> list[dict[str, str]]:
        return [{"path": path, "text": text} for path, text in self.shown.items()]


def baseline_request(source: Bundle) -> RewriteRequest:
    """Return the request to rewrite a source as one SKILL.md.

    The plan engine's baseline determines the embedded files and their markers, the data, and the
    frontmatter. Raises TransformError for a source without a skill, or too large.
    """
    plan = Baseline().plan(source, {})
    root = plan.files[0].path
    rendered = render(plan, source)
    markdown = MarkdownIndex(_lines(root, rendered[root]))
    aside = {*plan.sidecars.values(), *plan.dropped}
    shown = {
        path: blob.text or ""
        for path, blob in source.files.items()
        if path not in aside and is_markdown(path)
    }
    return _checked_size(
        RewriteRequest(
            "baseline",
            str(PurePosixPath(root).parent),
            markdown.lines[: markdown.frontmatter_lines],
            shown,
            placeholder_files(markdown),
            {path: blob for path, blob in rendered.items() if path != root},
        )
    )


def disclosure_request(flat: Bundle) -> RewriteRequest:
    """Return the request to split a flat baseline into a root and references.

    Embedded files get their own paths. Raises TransformError for a bundle that is not one flat skill, or
    is too large.
    """
    skill = flat_skill(flat, "pd")
    markdown, folder = skill.markdown, str(PurePosixPath(skill.path).parent)
    embedded = placeholder_files(markdown)
    data = {path: blob for path, blob in flat.files.items() if path != skill.path}
    data |= {f"{folder}/{file.path}": file.blob for file in embedded}
    page = page_with_placeholders(markdown, embedded)[markdown.frontmatter_lines :]
    shown = {"SKILL.md": "\n".join(page)}
    return _checked_size(
        RewriteRequest(
            "pd", folder, markdown.lines[: markdown.frontmatter_lines], shown, embedded, data
        )
    )


def _lines(path: str, blob: Blob) -> Sequence[str]:
    text = read_text(blob)
    if text is None:
        raise TransformError(f"{path!r} is not text", file=path)
    return text.lines


def _checked_size(request: RewriteRequest) -> RewriteRequest:
    size = sum(map(len, request.shown.values()))
    if size > MAX_SHOWN:
        raise TransformError(
            f"{request.folder!r} has {size} characters of Markdown, the maximum for rewriting is"
            f" {MAX_SHOWN}; use the engine 'assign' or 'plan'"
        )
    return request
