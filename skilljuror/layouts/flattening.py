"""Flatten skills and their files into one SKILL.md, as origin-flat and baseline do."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, ClassVar

from skilljuror.audit.comparison.code_paths import commanded_paths
from skilljuror.audit.gates.loader import kept_on_disk
from skilljuror.audit.plans.render import BundleTexts, can_shift
from skilljuror.base.errors import TransformError
from skilljuror.base.skill import (
    Bundle,
    Copy,
    Omitted,
    Plan,
    PlannedFile,
    Skill,
    Substitution,
    is_markdown,
    is_root_name,
    missing_root,
    resource_class,
)
from skilljuror.layouts.editing import (
    LabelScope,
    PageBuilder,
    is_local,
    link_between,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.skill.generated import (
    CLOSING_LINES,
    fence_around,
    info_string,
    is_marker_heading,
    marker_phrase,
)
from skilljuror.skill.markdown import MarkdownIndex, frontmatter_end, slug, visible_text

MAX_DESCRIPTION = 1024
MAX_NAME = 64
_STOPS = (". ", "; ", ", ", " ")
_WORD = re.compile(r"\w+")


def skill_slug(text: str) -> str:
    return slug(text, MAX_NAME, "skill")


def union_name(bundle: Bundle) -> str:
    """Name of the skill that holds all skills of a bundle: the bundle's, or theirs joined if it is just called
    skills, as in a task's environment."""
    if bundle.name != "skills":
        return skill_slug(bundle.name)
    names = [skill_slug(skill.name or skill.directory) for skill in bundle.skills]
    for kept in range(len(names), 0, -1):
        more = [f"and-{len(names) - kept}-more"] if kept < len(names) else []
        if len(name := "-".join([*names[:kept], *more])) <= MAX_NAME:
            return name
    return names[0]


def joined_descriptions(descriptions: Sequence[str], limit: int = MAX_DESCRIPTION) -> str:
    """Join descriptions; cut each at a sentence if they do not fit."""
    whole = " ".join(descriptions)
    if len(whole) <= limit:
        return whole
    share = max(40, (limit + 1) // max(1, len(descriptions)) - 1)
    spare = sum(max(0, share - len(description)) for description in descriptions)
    long = sum(1 for description in descriptions if len(description) > share)
    share += spare // max(1, long)
    shortened = " ".join(
        filter(None, (cut_at_sentence(description, share) for description in descriptions))
    )
    return _at_word(shortened, limit)


def cut_at_sentence(text: str, limit: int) -> str:
    """Cut the text after the last sentence, clause or word that fits."""
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    for stop in _STOPS:
        place = head.rfind(stop)
        if place > limit * 0.4:
            return head[: place + 1].rstrip(" ,;")
    return _at_word(text, limit)


def _at_word(text: str, limit: int) -> str:
    """Cut the text after the last whole word that fits, "" if none does; without blanks, at punctuation."""
    end = min(limit, len(text))
    while 0 < end < len(text) and _is_inside(text, end):
        end -= 1
    return text[:end].rstrip()


def _is_inside(text: str, place: int) -> bool:
    return all(char.isalnum() or char == "_" for char in text[place - 1 : place + 1])


def yaml_quoted(description: str) -> str:
    """Return the description as a double-quoted YAML scalar on one line, without `---` inside."""
    safe = re.sub(r"-{3,}", "--", description)
    shown = json.dumps(safe, ensure_ascii=False)
    return "".join(
        char if char.isprintable() or char == " " else f"\\u{ord(char):04x}" for char in shown
    )


def description_of(skill: Skill, lines: Sequence[str]) -> str:
    """Return the skill's description, or its first paragraph, first heading or name.

    The description is not used if its file spells it in other words, as an escaped line break does.
    """
    if skill.description and distinct_words([skill.description]) <= distinct_words(lines):
        return skill.description
    markdown = MarkdownIndex(lines)
    first = markdown.first_paragraph
    text = (
        visible_text(first)
        if first
        else next((visible_text(heading.title) for heading in markdown.headings), "")
    )
    return cut_at_sentence(text or PurePosixPath(skill.directory).name, 300)


def distinct_words(texts: Iterable[str]) -> set[str]:
    """Return all words, case folded."""
    return {word for text in texts for word in _WORD.findall(text.casefold())}


def closing_line(markdown: MarkdownIndex) -> str | None:
    """Return the line that closes an open block at the end: "" if nothing is open, None if no line closes it."""
    last = markdown.blocks[-1] if markdown.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    own = [last.markup] if last.kind == "fence" else []
    for line in ["", *own, *CLOSING_LINES]:
        probe = [*markdown.lines[last.start :], *([line] if line else []), "", "# end"]
        headings = MarkdownIndex(probe, frontmatter_lines=0).headings
        if headings and headings[-1].start == len(probe) - 1:
            return line
    return None


_Place = tuple[str, str]  # (file, anchor in it); "" for the file itself


class ShownFiles:
    """The places of the source's files in the variant, computed on demand."""

    def __init__(
        self,
        pages: Sequence[PageBuilder],
        sections: Mapping[str, tuple[str, int]],
        sidecars: Mapping[str, str],
        extracted: Mapping["_Place", str] | None = None,
    ) -> None:
        """`sections`: source file -> (page, 0-based line of its section's heading); `sidecars`: variant path ->
        source file; `extracted`: marker of a carried file in the source -> variant path."""
        self._pages, self._sections = pages, sections
        self._extracted = extracted or {}
        self.sidecars = {source: path for path, source in sidecars.items()}

    def find(self, path: str, anchor: str, *, whole: bool) -> _Place | None:
        """Return the place of a heading, or of the `whole` file if allowed; None if no page has it."""
        if (path, anchor) in self._extracted:
            return self._extracted[path, anchor], ""
        if path not in self._sections and path not in self._copied:
            return None
        files, headings = self._places
        return headings.get((path, anchor)) or (files.get(path) if whole else None)

    @cached_property
    def _copied(self) -> set[str]:
        pieces = (piece for page in self._pages for piece in page.pieces)
        return {piece.source for piece in pieces if isinstance(piece, Copy)}

    @cached_property
    def _places(self) -> tuple[dict[str, _Place], dict[_Place, _Place]]:
        files: dict[str, _Place] = {}
        headings: dict[_Place, _Place] = {}
        for page in self._pages:
            anchor_at = page.anchor_at()
            for path, (shown_on, line) in self._sections.items():
                if shown_on == page.path:
                    files[path] = (page.path, anchor_at.get(line, ""))
            for source, line, anchor in page.copied_headings():
                before = page.parent_texts.markdown(source).anchor_at.get(line)
                if before is not None:
                    headings[source, before] = (page.path, anchor)
        return files, headings


def relink_pages(
    pages: Sequence[PageBuilder], files: ShownFiles, parent_texts: BundleTexts
) -> list[PlannedFile]:
    """Return the pages with local links of prose corrected."""
    planned = []
    for page in pages:
        pieces = [
            _relinked(piece, page, files, parent_texts) if isinstance(piece, Copy) else piece
            for piece in page.pieces
        ]
        planned.append(PlannedFile(page.path, tuple(pieces)))
    return planned


def _relinked(piece: Copy, page: PageBuilder, files: ShownFiles, parent_texts: BundleTexts) -> Copy:
    if piece.end < piece.start or page.is_fenced(piece):
        return piece
    changes = tuple(_substitutions(piece, page, files, parent_texts.markdown(piece.source)))
    return Copy(piece.source, piece.start, piece.end, piece.shift, changes) if changes else piece


def _substitutions(
    piece: Copy, page: PageBuilder, files: ShownFiles, markdown: MarkdownIndex
) -> Iterator[Substitution]:
    def rewrite(target: str) -> str | None:
        return _new_target(target, piece.source, page.path, files)

    for number in range(piece.start, piece.end + 1):
        if number - 1 in markdown.link_lines:
            before = markdown.lines[number - 1]
            after = rewrite_links(before, rewrite)
            if after != before:
                yield Substitution(number, before, after, "link")


def _new_target(target: str, source: str, page: str, files: ShownFiles) -> str | None:
    """The new target of a link; None if it is correct, or was already broken."""
    if not is_local(target):
        return None
    path, anchor = split_target(target)
    wanted = resolve_from(source, path) if path else source
    if path and wanted in files.sidecars:
        new = link_between(page, files.sidecars[wanted], anchor)
    else:
        place = files.find(wanted, anchor, whole=bool(path))
        new = link_between(page, *place) if place else ""
    return None if new == target or not new else new


MARKER_LEVEL = 2


@dataclass(slots=True)
class PlanParts:
    """The parts of a plan, gathered during flattening."""

    pages: list[PageBuilder] = field(default_factory=list)
    files: list[PlannedFile] = field(default_factory=list)
    """Files besides the pages."""
    sections: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Source file -> its page, and the 0-based line of its section's heading."""
    sidecars: dict[str, str] = field(default_factory=dict)
    extracted: dict[_Place, str] = field(default_factory=dict)
    """Marker of a carried file (page of the parent, anchor) -> the file's path in the variant."""
    dropped: dict[str, str] = field(default_factory=dict)
    flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    omitted: list[Omitted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Flattener:
    """Write skills and files onto one page."""

    def __init__(
        self,
        bundle: Bundle,
        parent_texts: BundleTexts,
        page: PageBuilder,
        parts: PlanParts,
        paths_below: str = "",
    ) -> None:
        """`paths_below` is the folder to which marker paths are relative."""
        self.bundle = bundle
        self.parent_texts = parent_texts
        self.page = page
        self.parts = parts
        parts.pages.append(page)
        self.labels = LabelScope()
        self.folder = str(PurePosixPath(page.path).parent)
        self._prefix = f"{paths_below}/" if paths_below else ""
        self._commanded = {path for _, path in commanded_paths(bundle)}  # paths in commands
        self.tags_fences = has_marker_headings(bundle, parent_texts)
        """Whether fences of carried files are tagged, because the source has headings like markers."""
        self.on_disk = kept_on_disk(bundle)

    def flatten(self, skill: Skill) -> None:
        """Add a whole skill: frontmatter, body, files."""
        self.frontmatter(skill)
        self.body(skill, least=1)
        for path in files_of_skill(self.bundle, skill):
            self.embed(path)

    def frontmatter(self, skill: Skill) -> None:
        """Add the skill's frontmatter verbatim, or a generated one if missing."""
        lines = self.parent_texts.text(skill.path).lines
        end = frontmatter_end(lines)
        if end:
            self.page.copy(skill.path, 1, end)
            return
        description = yaml_quoted(description_of(skill, lines))
        self.generated_frontmatter(skill_slug(PurePosixPath(skill.directory).name), description)
        self.parts.notes.append(f"{skill.path}: has no frontmatter; one was made from its text")

    def generated_frontmatter(self, name: str, description: str) -> None:
        """Add frontmatter of two fields; `description` is already quoted."""
        self.page.generate("rule")
        self.page.generate("field-name", name=name)
        self.page.generate("field-description", description=description)
        self.page.generate("rule")

    def body(self, skill: Skill, least: int) -> None:
        """Add the skill's body with headings of level `least` or lower.

        A body with colliding labels or a block that cannot be closed goes into a fence.
        """
        text = self.parent_texts.text(skill.path)
        self._note_flags(skill.path)
        start = frontmatter_end(text.lines)
        if start >= len(text.lines):
            self.page.copy(skill.path, start + 1, start)
            return
        body = text.lines[start:]
        close = closing_line(self.parent_texts.markdown(skill.path))
        if close is None or not (self.labels.empty or self.labels.fits(body)):
            self._embed_in_fence(
                skill.path, f"{PurePosixPath(skill.directory)}/SKILL.md", start + 1
            )
            return
        self.labels.add(body)
        self.parts.sections.setdefault(skill.path, (self.page.path, -1))
        shift = _demotion(self.parent_texts.markdown(skill.path), least)
        self.page.copy(skill.path, start + 1, len(text.lines), shift)
        if close:
            self.page.generate("closer", line=close)
            self.parts.notes.append(f"{skill.path}: a block without an end was closed")

    def embed(self, path: str) -> None:
        """Add a file: below a marker, next to the page if it is data or the page's loader would change it, or
        dropped if empty."""
        blob = self.bundle.files[path]
        kind = resource_class(path, blob)
        if not blob.data.strip() and kind != "code":
            self.parts.dropped[path] = "empty"
        elif kind == "data" or path in self.on_disk:
            self.parts.sidecars[f"{self.folder}/{self._shown(path)}"] = path
            if kind != "data":
                self.parts.notes.append(f"{path}: not on the page, whose loader would rewrite it")
        else:
            self._note_flags(path)
            self._embed_text(path, code=kind == "code")

    def _shown(self, path: str) -> str:
        return path.removeprefix(self._prefix)

    def _embed_text(self, path: str, *, code: bool) -> None:
        shown = self._shown(path)
        lines = self.parent_texts.text(path).lines
        if is_markdown(path) and not (self.tags_fences or path in self._commanded):
            markdown = self.parent_texts.markdown(path)
            levels = _levels_as_prose(markdown)
            if levels is not None and self.labels.fits(lines):
                self.labels.add(lines)
                self._marker(path, marker_phrase(path, code), shown)
                self.page.copy(path, 1, len(lines), levels)
                return
        self._embed_in_fence(path, shown, 1, code=code)

    def _embed_in_fence(self, path: str, shown: str, start: int, *, code: bool = False) -> None:
        text = self.parent_texts.text(path)
        lines = text.lines[start - 1 :]
        executable = self.bundle.files[path].executable and code
        self._marker(path, marker_phrase(path, code), shown)
        if not is_markdown(path) or path in self._commanded:
            self.page.generate("write-out", path=shown)
            self.page.generate("blank")
        fence = fence_around(lines)
        self.page.generate(
            "fence-open", fence=fence, info=info_string(path, text, executable, self.tags_fences)
        )
        self.page.copy(path, start, len(text.lines))
        self.page.generate("fence-close", fence=fence)

    def _marker(self, path: str, phrase: str, shown: str) -> None:
        self.page.gap()
        self.parts.sections[path] = (self.page.path, len(self.page.lines))
        self.page.generate("marker", hashes="#" * MARKER_LEVEL, kind=phrase, path=shown)
        self.page.generate("blank")

    def _note_flags(self, path: str) -> None:
        flags = self.parent_texts.text(path).flags
        if flags:
            self.parts.flags[path] = flags


def files_of_skill(bundle: Bundle, skill: Skill) -> list[str]:
    """Return the files of a skill, without its root, in the order of their first mention in the body."""
    body = bundle.files[skill.path].text or ""
    prefix = f"{skill.directory}/"
    files = [path for path in bundle.files if path.startswith(prefix) and path != skill.path]

    def first_mention(path: str) -> tuple[int, bytes]:
        place = body.find(PurePosixPath(path).name)
        return (place if place >= 0 else len(body), path.encode())

    return sorted(files, key=first_mention)


def files_beside(bundle: Bundle) -> list[str]:
    prefixes = tuple(f"{skill.directory}/" for skill in bundle.skills)
    return [path for path in bundle.files if not path.startswith(prefixes)]


def has_marker_headings(bundle: Bundle, parent_texts: BundleTexts) -> bool:
    """Whether a Markdown heading of the source looks like a marker."""
    return any(
        is_marker_heading(heading.title)
        for path in bundle.files
        if (is_markdown(path) or is_root_name(path)) and bundle.files[path].text is not None
        for heading in parent_texts.markdown(path).headings
    )


def _demotion(markdown: MarkdownIndex, least: int) -> int:
    """Levels to add so that no heading is above `least`; 0 if impossible."""
    top = min((heading.level for heading in markdown.headings), default=least)
    levels = max(0, least - top)
    return levels if can_shift(markdown.headings, levels) else 0


def _levels_as_prose(markdown: MarkdownIndex) -> int | None:
    """Levels to add to a file that becomes prose below its marker; None if it cannot."""
    kinds = [block.kind for block in markdown.blocks]
    if markdown.frontmatter_lines or kinds == ["fence"] or closing_line(markdown) != "":
        return None
    top = min((heading.level for heading in markdown.headings), default=MARKER_LEVEL + 1)
    levels = max(0, MARKER_LEVEL + 1 - top)
    return levels if can_shift(markdown.headings, levels) else None


def finish_plan(variant: str, parent: str, parts: PlanParts, parent_texts: BundleTexts) -> Plan:
    files = ShownFiles(parts.pages, parts.sections, parts.sidecars, parts.extracted)
    return Plan(
        variant,
        parent,
        (*relink_pages(parts.pages, files, parent_texts), *parts.files),
        sidecars=dict(sorted(parts.sidecars.items())),
        dropped=dict(sorted(parts.dropped.items())),
        flags=dict(sorted(parts.flags.items())),
        omitted=tuple(parts.omitted),
        notes=tuple(parts.notes),
    )


def require_skills(parent: Bundle) -> None:
    """Raise TransformError for a bundle without a skill."""
    if not parent.skills:
        raise TransformError(f"bundle {parent.name!r} {missing_root(parent.files)}")


class Origin:
    """Every file byte for byte at its own path."""

    variant: ClassVar[str] = "origin"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        return Plan(self.variant, self.parent, (), sidecars={path: path for path in parent.files})


class OriginFlat:
    """One SKILL.md per skill, with its files inlined; data is next to it."""

    variant: ClassVar[str] = "origin-flat"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan; files outside of any skill go to the first one."""
        require_skills(parent)
        parent_texts, parts = BundleTexts(parent.files), PlanParts()
        for number, skill in enumerate(parent.skills):
            page = PageBuilder(f"{skill.directory}/SKILL.md", parent_texts)
            flattener = Flattener(parent, parent_texts, page, parts, skill.directory)
            flattener.flatten(skill)
            for path in files_beside(parent) if number == 0 else []:
                if path in flattener.on_disk or resource_class(path, parent.files[path]) == "data":
                    parts.sidecars[path] = path
                else:
                    flattener.embed(path)
        return finish_plan(self.variant, self.parent, parts, parent_texts)


class Baseline:
    """The union of the source's skills in one root; files below markers, data next to it."""

    variant: ClassVar[str] = "baseline"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan; one skill keeps its frontmatter, several get a generated one."""
        require_skills(parent)
        parts, parent_texts = PlanParts(), BundleTexts(parent.files)
        beside = files_beside(parent)
        alone = len(parent.skills) == 1 and not any(_has_text(parent, path) for path in beside)
        if alone:
            folder, paths_below = parent.skills[0].directory, parent.skills[0].directory
        else:
            folder, paths_below = union_name(parent), ""
        page = PageBuilder(f"{PurePosixPath(folder).name}/SKILL.md", parent_texts)
        flattener = Flattener(parent, parent_texts, page, parts, paths_below)
        if alone:
            flattener.flatten(parent.skills[0])
        else:
            _union(flattener)
        _files_beside(flattener, beside)
        return finish_plan(self.variant, self.parent, parts, parent_texts)


def _has_text(bundle: Bundle, path: str) -> bool:
    blob = bundle.files[path]
    return resource_class(path, blob) != "data" and bool(blob.data.strip())


def _union(flattener: Flattener) -> None:
    bundle, texts = flattener.bundle, flattener.parent_texts
    descriptions = [description_of(skill, texts.text(skill.path).lines) for skill in bundle.skills]
    description = yaml_quoted(joined_descriptions(descriptions))
    flattener.generated_frontmatter(union_name(bundle), description)
    for skill in bundle.skills:
        _section(flattener, skill)


def _section(flattener: Flattener, skill: Skill) -> None:
    page, files = flattener.page, files_of_skill(flattener.bundle, skill)
    page.generate("blank")
    flattener.parts.sections[skill.path] = (page.path, len(page.lines))
    page.generate("skill-title", title=_title(skill))
    _configuration(flattener, skill)
    if any(flattener.bundle.files[path].data.strip() for path in files):
        page.gap()
        page.generate("directory", path=skill.directory)
    page.gap()
    flattener.body(skill, least=2)
    for path in files:
        flattener.embed(path)


def _title(skill: Skill) -> str:
    """The skill's name, or its folder's if the name is no valid heading."""
    name = skill.name.strip()
    unfit = not name or is_marker_heading(name) or name.endswith("#")
    return skill.directory if unfit else name


def _configuration(flattener: Flattener, skill: Skill) -> None:
    page = flattener.page
    lines = flattener.parent_texts.text(skill.path).lines
    end = frontmatter_end(lines)
    page.gap()
    if not end:
        return
    fence = fence_around(lines[1 : end - 1])
    page.generate("configuration", path=skill.directory)
    page.generate("blank")
    page.generate("fence-open", fence=fence, info="yaml")
    page.copy(skill.path, 2, end - 1)
    page.generate("fence-close", fence=fence)
    delimiters = (1, end)
    flattener.parts.omitted += [Omitted(skill.path, line, lines[line - 1]) for line in delimiters]


def _files_beside(flattener: Flattener, beside: list[str]) -> None:
    if any(_has_text(flattener.bundle, path) for path in {*beside} - flattener.on_disk):
        flattener.page.gap()
        flattener.page.generate("shared")
    for path in beside:
        flattener.embed(path)
