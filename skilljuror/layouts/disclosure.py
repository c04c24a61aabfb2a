"""pd: Progressive Disclosure. Sections with a condition leave the root and a line with the condition stands in their
place; files of the author keep their paths, and those that no text names get a plain list at the end."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import dropwhile
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import quote

from skilljuror.audit.condition_words import is_unread, says
from skilljuror.base.skill import (
    Blob,
    Bundle,
    Plan,
    is_markdown,
    resource_class,
)
from skilljuror.layouts.conditions import (
    Condition,
    Section,
    leaving_sections,
    plain,
    quoted,
    sections_of,
)
from skilljuror.layouts.editing import PageBuilder, supply_definitions
from skilljuror.layouts.flattening import distinct_words
from skilljuror.layouts.relocation import FileLayout, LineRelocator, PathMentions
from skilljuror.layouts.sections import (
    LineRange,
    flat_skill,
    merged_ranges,
    omitted_lines,
    ranges_of,
)
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.generated import EmbeddedFile, is_structural_heading
from skilljuror.skill.markdown import (
    MarkdownIndex,
    markdown_index,
    parse_frontmatter,
    plain_field,
    slug,
    without_blank_edges,
)

NOTHING = "nothing to disclose"
"""How the note of a plan begins that moves no section and lists no file."""
MANY_FILES = 6
"""Files of one folder that share a row of the list."""
MAX_NAMES = 100
"""Characters of file names in the row of a folder."""
MAX_DESCRIPTION = 300
"""Characters of a Skill's description in its row."""

_COMMENT = re.compile(r"^\s{0,8}(?:#(?!!)|//|--|;|\*|/\*\*?)+\s?(.*?)\s*(?:\*/)?$")
_ANCHOR = re.compile(r"\]\((#[^()\s]+)\)")
_TOKEN = re.compile(r"[\w.@~-]*(?:/[\w.@~-]*)*")

Row = tuple[str, dict[str, str]]
"""A generated line: template and parameters."""


class ProgressiveDisclosure:
    """Move the sections of a flat baseline that state when they are needed."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"
    reads: ClassVar[tuple[str, ...]] = ("baseline",)

    def plan(self, parent: Bundle, params: dict[str, Any], plans: Mapping[str, Plan] = {}) -> Plan:
        """Return the plan; with that of baseline, the author's files come back as they were. `params["scopes"]` has what a model or a person judged: key of an open section ->
        {"scope": main or branch, "reason": …}."""
        flat = flat_skill(parent, self.variant)
        judged = params.get("scopes", {})
        leaving = leaving_sections(flat, {key: one["scope"] for key, one in judged.items()})
        layout = FileLayout(flat, plans.get(self.parent))
        for section in leaving:
            layout.add_section(section.node)
        layout.add_embedded()
        return _Root(layout, leaving).plan(self.variant)


def nothing_on_demand(plan: Plan, files: Mapping[str, Blob]) -> str:
    """Why a plan of pd is not worth building: it moves nothing, and the author has no page beside the root either."""
    root = plan.files[0].path if plan.files else ""
    disclosed = any(
        path != root and resource_class(path, files[path]) == "support" for path in files
    )
    note = next((one for one in plan.notes if one.startswith(NOTHING)), "")
    return "" if disclosed else note


class _Root:
    """The root of a layout, with a page for each skill if there are several."""

    def __init__(self, layout: FileLayout, leaving: Sequence[Section]) -> None:
        self.layout, self.flat, self.leaving = layout, layout.flat, leaving
        self.further = _FurtherFiles(layout)

    def plan(self, variant: str) -> Plan:
        """Return the plan, with links and labels corrected."""
        layout, flat = self.layout, self.flat
        skills = [skill for _, skill in flat.skills]
        paths = {
            skill: layout.reserve_path(f"{slug(skill)}.md") for skill in skills if len(skills) > 1
        }
        indexes = [
            self._page(PageBuilder(path, flat.texts), skill) for skill, path in paths.items()
        ]
        root = PageBuilder(flat.path, flat.texts)
        root.copy(flat.path, 1, flat.markdown.frontmatter_lines)
        self._page(root, "" if paths else None, [self._guide(*one) for one in paths.items()])
        pages = [root, *indexes, *layout.pages]
        relocator = LineRelocator(layout, pages)
        for page in pages:
            supply_definitions(page, flat.markdown, relocator.line)
        files = [*map(relocator.planned, pages), *layout.verbatim_files]
        flags = flat.texts.text(flat.path).flags
        disclosed = self.leaving or paths or self.further.listed
        return Plan(
            variant,
            "baseline",
            tuple(files),
            sidecars={path: path for path in layout.data_files},
            flags={flat.path: flags} if flags else {},
            omitted=omitted_lines(flat, files),
            notes=() if disclosed else (self._nothing(),),
        )

    def _nothing(self) -> str:
        paths = [page.path for page in self.layout.pages]
        paths += [one.path for one in self.layout.verbatim_files if is_markdown(one.path)]
        authors = (
            f" beyond the {len(paths)} page{'s' * (len(paths) > 1)} of its author" if paths else ""
        )
        found = any(section.condition for section in sections_of(self.flat))
        reason = "too little" if found else "no section"
        return f"{NOTHING}{authors}: {reason} that can move says when it is needed"

    def _page(
        self, page: PageBuilder, skill: str | None, guides: Sequence[Row] = ()
    ) -> PageBuilder:
        """Fill a page with what stays of a skill ("" for shared text, None for all), pointers, and lists of files."""
        flat, left = self.flat, {one.node.start: one for one in self.leaving}
        gone = {line for one in self.leaving for line, _ in ranges_of(one.node)}
        kept: list[LineRange] = []
        for node in flat.nodes():
            if skill not in {None, flat.owner_at(node.start)}:
                continue
            if node.start in left:
                self._copy(page, kept)
                kept = []
                page.gap()
                template, params = self._pointer(left[node.start])
                page.generate(template, **params)
            bare = is_structural_heading(node.title) and not flat.has_text([
                (node.text_start, node.text_end)
            ])
            if node.start not in gone and not bare:
                kept.append((node.start, node.text_end))
        self._copy(page, kept)
        lists = [
            (("routing", "blank", "routing-lead"), guides),
            (("further",), self.further.rows(skill)),
        ]
        for openings, rows in lists:
            if rows:
                page.gap()
                for template in (*openings, "blank"):
                    page.generate(template)
                for template, params in rows:
                    page.generate(template, **params)
        return page

    def _copy(self, page: PageBuilder, kept: Sequence[LineRange]) -> None:
        for start, end in merged_ranges(kept):
            if start == self.flat.markdown.frontmatter_lines and page.lines:
                end = without_blank_edges(self.flat.lines, start, end)[1]
                page.copy(self.flat.path, start + 1, end)
                continue
            page.gap()
            self.layout.copy_trimmed(page, start, end)

    def _pointer(self, section: Section) -> Row:
        link = self.layout.shown(self.layout.page_of[section.node.start].path)
        condition = section.condition or Condition(plain(section.node.title))
        params = {"path": link, "link": quote(link), "topics": condition.title}
        if condition.sign == "sentence":
            return "row-at-why", params | {"cue": self.further.renamed(condition.said)}
        if condition.said:
            params["topics"] = f"{condition.title} – {condition.said}"
        return "row-at", params

    def _guide(self, skill: str, path: str) -> Row:
        """The row of one of several skills, with its description where the page has it in the same words."""
        flat = self.flat
        start = next(line for line, name in flat.skills if name == skill)
        title = next(plain(heading.title) for heading in flat.headings if heading.start == start)
        shown = self.layout.shown(path)
        params = {"path": shown, "link": quote(shown), "topics": title or skill}
        blocks = flat.blocks_in(start, flat.skill_openings.get(start, start))
        fence = next((block for block in blocks if block.kind == "fence"), None)
        lines = flat.lines[fence.start + 1 : fence.end - 1] if fence else ()
        fields, _ = parse_frontmatter(["---", *lines, "---"])
        told = plain_field(fields, "description") or ""
        cue, *more = re.split(r"(?<=[.!?])\s+", " ".join(told.split()))
        for sentence in more:
            if len(cue) + len(sentence) >= MAX_DESCRIPTION:
                break
            cue = f"{cue} {sentence}"
        cue = cue.translate(str.maketrans("[]", "()"))
        page = " ".join(line.strip() for line in lines)
        same = distinct_words([cue]) <= distinct_words([page])
        if cue and same and set(critical_tokens(cue)) <= set(critical_tokens(page)):
            return "row-guide-why", params | {"cue": cue}
        return "row-guide", params


class _FurtherFiles:
    """The files of the author that no text of the Skill names, and the rows of their list."""

    def __init__(self, layout: FileLayout) -> None:
        self.layout, self.flat = layout, layout.flat
        self._mentions = PathMentions(layout)
        carried = {self.layout.variant_paths[one.path]: one for one in self.flat.embedded_files}
        every: dict[str, EmbeddedFile | None] = dict.fromkeys(layout.data_files) | carried
        self.listed = {path: file for path, file in every.items() if self._is_orphan(path, file)}
        """Path of each such file -> the file on the page; None for data."""

    def renamed(self, text: str) -> str:
        """Return a text with the new names of files."""
        for skill in ["", *(name for _, name in self.flat.skills)]:
            text = self._mentions.renamed(text, skill)
        return text

    def rows(self, skill: str | None) -> list[Row]:
        """Return the rows of a skill's files ("" for shared ones, None for all): many of one folder share a row."""
        folders: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.listed):
            if skill in {None, self._skill_of(path)}:
                folders[str(PurePosixPath(self.layout.shown(path)).parent)].append(path)
        rows: list[Row] = []
        for folder, paths in folders.items():
            shared = len(paths) >= MANY_FILES
            rows += [_folder_row(folder, paths)] if shared else map(self._row, paths)
        return rows

    def _skill_of(self, path: str) -> str:
        file = self.listed[path]
        if file is not None:
            return self.flat.owner_at(file.heading.start)
        shown = self.layout.shown(path)
        holders = [skill for _, skill in self.flat.skills if shown.startswith(f"{skill}/")]
        return max(holders, key=len, default="")

    def _is_orphan(self, path: str, file: EmbeddedFile | None) -> bool:
        shown = self.layout.shown(path)
        blob = self.flat.bundle.files[path] if file is None else file.blob
        if (
            is_unread(shown) or resource_class(path, blob) == "data"
        ):  # nothing says what data is for
            return False
        pure = PurePosixPath(shown)
        named = {pure.name.casefold()}
        is_code = resource_class(path, blob) == "code"
        if is_code and re.search(r"[_-]", pure.stem):
            named.add(pure.stem.casefold())  # imported, or run as a module
        if file is not None and (anchor := self.flat.markdown.anchor_at.get(file.heading.start)):
            named.add(f"#{anchor}")
        texts = set().union(*(self._names.get(name, frozenset()) for name in named)) - {path}
        skills = {skill for _, skill in self.flat.skills}
        above = [folder for folder in pure.parents if folder.name and str(folder) not in skills]
        folders = set().union(
            *(self._names.get(f"{folder.name.casefold()}/", frozenset()) for folder in above)
        )
        return not (texts or folders)

    @cached_property
    def _names(self) -> Mapping[str, frozenset[str]]:
        """Last part of each path in a text, a folder's with its slash -> the files with it; "" for the root."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, text in self._texts():
            for anchor in _ANCHOR.findall(text):
                found[anchor].add(path)
            for token in _TOKEN.findall(text.casefold()):
                parts = token.rstrip(".").rsplit("/", 2)
                found[f"{parts[-2]}/" if not parts[-1] and len(parts) > 1 else parts[-1]].add(path)
        return {name: frozenset(paths) for name, paths in found.items()}

    def _texts(self) -> Iterator[tuple[str, str]]:
        """(path, text) of the root, whose path is "", and of every file that somebody reads to do a task."""
        flat, layout = self.flat, self.layout
        carried = {n for start, end in flat.embedded_ranges for n in range(start, end)}
        yield "", "\n".join(line for n, line in enumerate(flat.lines) if n not in carried)
        texts = [
            (layout.variant_paths[file.path], "\n".join(file.text.lines))
            for file in flat.embedded_files
        ]
        texts += [(path, flat.bundle.files[path].text or "") for path in layout.data_files]
        yield from ((path, text) for path, text in texts if not is_unread(layout.shown(path)))

    def _row(self, path: str) -> Row:
        file, shown = self.listed[path], self.layout.shown(path)
        blob = self.flat.bundle.files[path] if file is None else file.blob
        kind = resource_class(path, blob)
        if kind == "support" and is_markdown(path):
            markdown = markdown_index(tuple((blob.text or "").split("\n")))
            title = next((plain(one.title) for one in markdown.headings), "")
            params = {
                "path": shown,
                "link": quote(shown),
                "topics": title or PurePosixPath(path).stem,
            }
            said = _condition_of(markdown)
            return (
                ("row-file-why", params | {"cue": self.renamed(said)})
                if said
                else ("row-file", params)
            )
        cue = _purpose(path, blob.text or "") if kind == "code" else ""
        if cue:
            return "row-script-why", {"path": shown, "cue": cue}
        return "row-script" if kind == "code" else "row-plain", {"path": shown}


def _condition_of(markdown: MarkdownIndex) -> str:
    """The first sentence of a page, if it states when to read it."""
    passages = markdown.passages_in(0, len(markdown.lines))
    said = quoted(passages[0].text) if passages and not passages[0].is_item else ""
    return (
        said
        if said and (says("explicit_sentences", said) or says("opening_conditions", said))
        else ""
    )


def _folder_row(folder: str, paths: Sequence[str]) -> Row:
    names: list[str] = []
    for path in paths:
        name = PurePosixPath(path).name
        if names and len(", ".join([*names, name])) > MAX_NAMES:
            break
        names.append(name)
    return "row-folder", {"path": folder, "count": str(len(paths)), "names": ", ".join(names)}


def _purpose(path: str, text: str) -> str:
    """The first sentence of a script's docstring or leading comment, or ""."""
    told = ""
    if PurePosixPath(path).suffix == ".py" and len(text) < 200_000:
        try:
            told = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            told = ""
    if not told:
        lines = [line for line in text.split("\n")[:30] if not line.startswith("#!")]
        for line in dropwhile(lambda line: not line.strip(), lines):
            match = _COMMENT.match(line)
            if not match or (told and not match[1][:1].islower()):
                break
            told = f"{told} {match[1]}".strip()
    said = quoted(told)
    return said if len(said.split()) > 2 and "`" not in said else ""
