"""The lines that a plan generates, and the files that a flat page carries below them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Blob, is_markdown, is_root_name
from skilljuror.skill.markdown import (
    Block,
    Heading,
    MarkdownIndex,
    TextFile,
    markdown_index,
    text_with_flags,
    without_blank_edges,
    write_text,
)

TEMPLATES: dict[str, str] = {
    "blank": "",
    "rule": "---",
    "field-name": "name: {name}",
    "field-description": "description: {description}",
    "skill-title": "# {title}",
    "configuration": "Configuration for `{path}`:",
    "directory": "Run the commands of this section from the `{path}` directory.",
    "shared": "# Shared material",
    "marker": "{hashes} {kind} `{path}`",
    "write-out": "Write this file to `{path}` in the folder of this SKILL.md before you run anything that uses it.",
    "fence-open": "{fence}{info}",
    "fence-close": "{fence}",
    "closer": "{line}",
    "definition": "{line}",
    "routing": "## Supporting files",
    "routing-lead": "Open a file when its row fits the step at hand; paths start at this folder.",
    "row-guide": "- [{path}]({link}): read first for {topics}.",
    "row-guide-why": "- [{path}]({link}): read first for {topics}: {cue}",
    "row-at": "→ {topics}: read [{path}]({link}).",
    "row-at-why": "→ {topics}: read [{path}]({link}) – {cue}",
    "further": "## Further files",
    "row-file": "- [{path}]({link}) – {topics}",
    "row-file-why": "- [{path}]({link}) – {topics}: {cue}",
    "row-script": "- `{path}` – a script.",
    "row-script-why": "- `{path}` – a script: {cue}",
    "row-plain": "- `{path}` – data or a template.",
    "row-folder": "- `{path}/` – {count} files: {names}",
    "row-trigger": "- [{path}]({link}): open this file when {when}, because {why}.",
    "row-call": "- `{path}`: use when a step calls it.",
    "row-data": "- `{path}`: data; use when a step or a script names it.",
    "row-data-folder": "- `{path}/` ({count} files: {names}): data; use when a step or a script names it.",
    "row-terms": "- `{path}`: terms of use.",
    "reference-title": "# {title}",
    "filler": "{line}",
    "contents": "## Contents",
    "contents-row": "- {title}",
    "contents-lead": "Go to a section, or open a file, when its row fits the step at hand; paths start at this folder.",
}
"""name -> line. Rows of the routing table start with "row-"."""

POINTERS = frozenset({"row-at", "row-at-why"})
"""Lines that stand where the text that they lead to was."""
MARKER_PHRASES = (
    "Helper implementation for",
    "Helper contract from",
    "Reference content from",
    "Configuration content from",
    "Template content from",
    "Support content from",
)
"""The words of markers."""
MARKER = "marker"
CONFIGURATION = "configuration"
DIRECTORY = "directory"
WRITE_OUT = "write-out"

ANONYMOUS_TEMPLATES = frozenset({"blank", "rule", "fence-close", "closer", "definition", "filler"})
"""Templates that cannot be recognised: punctuation, copies, filler. A plan with "filler" is never proved."""
CLOSING_LINES = (
    "```", "~~~", "````", "~~~~", "`````", "~~~~~", "-->", "?>", ">", "]]>",
    "</pre>", "</script>", "</style>", "</textarea>",
)  # fmt: skip
"""Lines that close an open block of code or HTML."""

_HOLE = re.compile(r"\{([a-z]+)\}")


def fill_template(template: str, params: Mapping[str, str]) -> str:
    """Return the generated line. Raises TransformError for an unknown template or a wrong hole."""
    pattern = TEMPLATES.get(template)
    if pattern is None:
        raise TransformError(
            f"unknown template {template!r}; choose one of {', '.join(sorted(TEMPLATES))}"
        )
    holes = set(_HOLE.findall(pattern))
    if holes != set(params) or any("\n" in value for value in params.values()):
        raise TransformError(
            f"template {template!r} takes one line for each of {sorted(holes)}, not {sorted(params)}"
        )
    return _HOLE.sub(lambda hole: params[hole[1]], pattern)


@lru_cache(maxsize=1 << 15)
def recognise_template(line: str) -> str | None:
    """Return the template that may have made a line, or None; punctuation counts as generated."""
    stripped = line.strip()
    if not stripped:
        return "blank"
    for name in _BY_LENGTH:
        if name not in ANONYMOUS_TEMPLATES and name != "fence-open" and _fits(name, line):
            return name
    if stripped in {"---", "-->", "?>", ">", "]]>"} or stripped.startswith(("```", "~~~", "</")):
        return "fence-close"
    return None


@lru_cache(maxsize=len(TEMPLATES))
def _literals(name: str) -> tuple[str, ...]:
    return tuple(_HOLE.split(TEMPLATES[name])[::2])


def _fits(name: str, line: str) -> bool:
    """Whether the literal parts of a template occur in the line, in order, edge to edge."""
    parts = _literals(name)
    if len(parts) == 1:
        return line == parts[0]
    if not line.startswith(parts[0]) or not line.endswith(parts[-1]):
        return False
    place = len(parts[0])
    for part in parts[1:-1]:
        place = line.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return place <= len(line) - len(parts[-1])


_BY_LENGTH = sorted(TEMPLATES, key=lambda name: (-sum(map(len, _literals(name))), name))

_NAMED = frozenset({CONFIGURATION, DIRECTORY, WRITE_OUT, "routing-lead", "contents-lead"})
_HEADINGS = {
    TEMPLATES[name].lstrip("# "): name for name in ("contents", "routing", "further", "shared")
}
_MARKER_LINE = re.compile(rf"^(?:#{{1,6}}\s+)?(?:{'|'.join(MARKER_PHRASES)}) `([^`]+)`:?$")


def template_of_line(line: str) -> str | None:
    """Return the name of the template with fixed words that made a line; None for any other line."""
    line = line.strip()
    if _MARKER_LINE.match(line):
        return MARKER
    name = recognise_template(line)
    return name if name in _NAMED or (name or "").startswith("row-") else None


def template_of_heading(text: str) -> str | None:
    """Return the template of a heading with fixed words. Authors write such headings too, so it counts as
    generated only if the other side does not have it."""
    return _HEADINGS.get(text)


def marker_path(line: str) -> str | None:
    """Return the path of the file in a marker line; None for any other line."""
    marker = _MARKER_LINE.match(line.strip())
    return marker[1] if marker else None


def directory_path(line: str) -> str | None:
    """Return the folder in a line that names a working folder; None for any other line."""
    return _path_in(DIRECTORY, line)


def announced_path(line: str) -> str | None:
    """Return the path in a line that says to write out a file; None for any other line."""
    return _path_in(WRITE_OUT, line)


def _path_in(name: str, line: str) -> str | None:
    opening, closing = _literals(name)
    return line[len(opening) : -len(closing)] if _fits(name, line) else None


BUNDLED = "bundled"
"""Word in the info string of real markers, used if the source has headings like markers."""
_INFO_FLAGS = frozenset({"bom", "crlf", "no-final-newline", "executable", BUNDLED})
_MARKER_TITLE = re.compile(rf"^({'|'.join(MARKER_PHRASES)}) `([^`]+)`$")
_BACKTICKS = re.compile(r"`{3,}")
_PHRASE_OF = {
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
INFO_WORDS = frozenset(_LANGUAGES.values()) | _INFO_FLAGS | {"text"}
"""Words in the info strings of generated fences."""


@dataclass(frozen=True, slots=True)
class EmbeddedFile:
    """A file in a flat SKILL.md; lines of the flat file are 0-based and half-open."""

    path: str  # path in its marker, relative to the skill's folder
    heading: Heading
    start: int  # first line of the content
    end: int
    section_end: int  # the next heading of the marker's level, or the end of the file
    fenced: bool  # whether it is in a fence, byte for byte; else it is Markdown in prose
    text: TextFile
    executable: bool = False
    announced_at: int | None = None  # line of the sentence that says to write it out, if any

    @property
    def opening(self) -> int:
        """First line below the marker: the sentence, the fence, or the text."""
        fence = self.start - 1 if self.fenced else self.start
        return fence if self.announced_at is None else self.announced_at

    @property
    def blob(self) -> Blob:
        """The extracted file (exact if fenced)."""
        return Blob(write_text(self.text), self.executable)

    @property
    def is_helper(self) -> bool:
        """Whether its marker says that it is run or imported, not read."""
        return self.heading.title.startswith(MARKER_PHRASES[0])


def marker_phrase(path: str, code: bool) -> str:
    """Return the words before the path in a marker."""
    if code:
        return MARKER_PHRASES[0]
    return _PHRASE_OF.get(PurePosixPath(path).suffix.lower(), MARKER_PHRASES[5])


def is_operational(file: EmbeddedFile, commanded: bool) -> bool:
    """Whether an embedded file is run, filled in or parsed, so that it is of use only on disk: all but Markdown
    that is not `commanded`, named by a command. A SKILL.md would become a second root."""
    needed = commanded or file.announced_at is not None or not is_markdown(file.path)
    return file.fenced and needed and not is_root_name(file.path)


def is_structural_heading(title: str) -> bool:
    """Whether a heading has no content: a marker, or the title of shared files."""
    return is_marker_heading(title) or f"# {title}" == TEMPLATES["shared"]


def is_marker_heading(title: str) -> bool:
    return _MARKER_TITLE.match(title) is not None


def fence_around(lines: Sequence[str]) -> str:
    """Return a run of at least three backticks, longer than any in the lines."""
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=2)
    return "`" * (longest + 1)


def info_string(path: str, text: TextFile, executable: bool, bundled: bool) -> str:
    """Return the info string of a fence with a whole file."""
    language = _LANGUAGES.get(PurePosixPath(path).suffix.lower(), "text")
    words = [*text.flags, *(["executable"] if executable else []), *([BUNDLED] if bundled else [])]
    return " ".join([language, *sorted(words)])


def embedded_files(markdown: MarkdownIndex) -> tuple[EmbeddedFile, ...]:
    """Return the files in a flat SKILL.md, in order.

    The last marker of a path counts; if any fence says "bundled", only those count. A marker inside
    another file is text of that file.
    """
    candidates = [pair for pair in _candidates(markdown) if _is_safe_path(pair[0].path)]
    if any(bundled for _, bundled in candidates):
        candidates = [pair for pair in candidates if pair[1]]
    last = {file.path.casefold(): file for file, _ in candidates}
    files: list[EmbeddedFile] = []
    for file, _ in candidates:
        inside = files and file.heading.start < files[-1].end
        if last[file.path.casefold()] is file and not inside:
            files.append(file)
    return tuple(files)


def own_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of a page with those of the files that it carries blank."""
    carried = embedded_files(markdown_index(lines))
    inside = {n for file in carried for n in range(file.heading.start, file.section_end)}
    return tuple("" if number in inside else line for number, line in enumerate(lines))


def embedding_fences(markdown: MarkdownIndex) -> frozenset[int]:
    """Return lines of fences that are alone below a marker and hold its file, including a second root next to a
    skill's own, which is not extracted."""
    return frozenset(file.start - 1 for file, _ in _candidates(markdown) if file.fenced)


def _is_safe_path(path: str) -> bool:
    parts = path.split("/")
    odd = any(part in {"", ".", ".."} or part != part.strip() for part in parts)
    return not (odd or "\\" in path or path.casefold() == "skill.md")


def _candidates(markdown: MarkdownIndex) -> Iterator[tuple[EmbeddedFile, bool]]:
    """Every file below a marker, and whether its fence says "bundled"."""
    headings = markdown.headings
    for number, heading in enumerate(headings):
        match = _MARKER_TITLE.match(heading.title)
        if match is None or heading.setext:
            continue
        following = (
            later.start for later in headings[number + 1 :] if later.level <= heading.level
        )
        section_end = next(following, len(markdown.lines))
        announced, fence = _only_fence(markdown, heading.end, section_end, match[2])
        if fence is not None:
            words = set(fence.info.split()[1:]) & _INFO_FLAGS
            file = _in_fence(markdown, heading, match[2], fence, section_end)
            yield replace(file, announced_at=announced), BUNDLED in words
        elif is_markdown(match[2]):
            yield _in_prose(markdown, heading, match[2], section_end), False


def _only_fence(
    markdown: MarkdownIndex, start: int, stop: int, path: str
) -> tuple[int | None, Block | None]:
    """(line of the announcing sentence, fence) of a section that holds nothing else."""
    blocks = [block for block in markdown.blocks if start <= block.start < stop]
    announced = None
    before = "\n".join(markdown.lines[blocks[0].start : blocks[0].end]) if blocks else ""
    if len(blocks) == 2 and announced_path(before) == path:
        announced = blocks.pop(0).start
    if len(blocks) != 1 or blocks[0].kind != "fence":
        return None, None
    block = blocks[0]
    last = markdown.lines[block.end - 1].strip() if block.end - block.start > 1 else ""
    closed = len(last) >= len(block.markup) and set(last) == {block.markup[0]}
    unindented = markdown.lines[block.start].startswith(block.markup)
    return (announced, block) if closed and unindented else (None, None)


def _in_fence(
    markdown: MarkdownIndex, heading: Heading, path: str, fence: Block, section_end: int
) -> EmbeddedFile:
    words = set(fence.info.split()[1:]) & _INFO_FLAGS
    start, end = fence.start + 1, fence.end - 1
    text = text_with_flags(markdown.lines[start:end], words)
    return EmbeddedFile(path, heading, start, end, section_end, True, text, "executable" in words)


def _in_prose(
    markdown: MarkdownIndex, heading: Heading, path: str, section_end: int
) -> EmbeddedFile:
    start, end = without_blank_edges(markdown.lines, heading.end, section_end)
    text = TextFile(markdown.lines[start:end])
    return EmbeddedFile(path, heading, start, end, section_end, False, text)
