"""The lines of a root that lead to files: a pointer where a section was, and a table of what has no place."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import dirname
from urllib.parse import quote, unquote

from skilljuror.base.skill import Blob, Copy, is_licence, is_markdown, resource_class
from skilljuror.layouts.disclosure.file_layout import FileLayout, ReferenceFile
from skilljuror.layouts.disclosure.own_rows import names_of
from skilljuror.layouts.disclosure.relocated_lines import PathMentions
from skilljuror.layouts.disclosure.root_scope import FileUnit
from skilljuror.layouts.disclosure.row_cues import (
    Candidate,
    chosen_cues,
    cues_in_file,
    cues_of_mentions,
    whole_cue,
)
from skilljuror.layouts.disclosure.scope import BRANCHES, title_reason
from skilljuror.layouts.disclosure.sections import LineRange
from skilljuror.layouts.disclosure.trigger_cues import (
    GENERIC,
    Mention,
    below_heading,
    code_cue,
    first_topics,
    mentions,
    short_title,
    without_brackets,
)
from skilljuror.skill.generated import EmbeddedFile
from skilljuror.skill.markdown import MarkdownIndex

MAX_WORDS = 25  # maximum words of a line that leads to a file
TOPIC_WORDS = 12  # maximum words of the headings in it
FOLDED = 2  # minimum number of scripts or data files of one folder that share a row
LIKE_FILES = 5  # minimum number of pages of one folder that share a row
MAX_ROWS = 40  # number of rows above which wider folders share a row
MAX_NAMES = 100  # maximum characters of file names in a folder's row
_WORD = re.compile(r"[^\W\d_]{3,}")

RoutingRow = tuple[str, dict[str, str]]  # template and parameters


class RoutingTable:
    """Create the pointers and rows of one layout, or of one source skill in it."""

    def __init__(
        self, layout: FileLayout, skill: str | None = None, *, led: frozenset[str] = frozenset()
    ) -> None:
        """`skill` limits the lines to the files of one skill, "" to shared files. `led` has the marker paths of
        files to which the author's own text on the page leads with a situation."""
        self.layout = layout
        self.flat = layout.flat
        self.path_mentions = PathMentions(layout)
        self._led = {layout.variant_paths.get(path, "") for path in led}
        self.references = [
            reference
            for reference in layout.references
            if skill in {None, layout.skill_of_reference(reference)}
        ]
        self.verbatim_files = [
            (file, planned)
            for file, planned in layout.verbatim_files
            if skill in {None, self.flat.owner_at(file.heading.start)}
        ]
        self.data_files = [
            path for path in layout.data_files if skill in {None, layout.skill_of_data(path)}
        ]

    def pointers(self) -> list[tuple[int, RoutingRow]]:
        """Return (line where a section was, the line that leads to it) for each section that left the root.

        Sections with equal titles are told apart by the heading above, else by their first sentence.
        """
        units = {one.page.path: one.unit for one in self.references if one.unit is not None}
        rows = {one.page.path: self._pointer(one) for one in self.references if one.unit}
        for more in (self._heading_above, self._opening):
            longer = {
                path: (template, params | {"topics": more(units[path], params["topics"])})
                for path, (template, params) in rows.items()
            }
            before = Counter(map(_words, rows.values()))
            after = Counter(map(_words, longer.values()))
            for path, row in rows.items():
                if before[_words(row)] > 1 and after[_words(longer[path])] == 1:
                    rows[path] = longer[path]
        return [(units[path].groups[0].start, row) for path, row in rows.items()]

    def _heading_above(self, unit: FileUnit, about: str) -> str:
        return without_brackets(below_heading((unit.groups[0].path or ("",))[-1], about))

    def _opening(self, unit: FileUnit, about: str) -> str:
        said = without_brackets(self._renamed(first_topics([self.layout.opening(unit)], 1)))
        return f"{about}: {said}" if said else about

    def rows(self) -> list[RoutingRow]:
        """Return the rows of files to which nothing else leads: pages, then scripts, then data.

        Files of a folder share a row if they are many; the more rows there are, the wider the folders.
        """
        order = [skill for _, skill in self.flat.skills]
        references = sorted(
            (one for one in self.references if one.unit is None and one.page.path not in self._led),
            key=lambda one: order.index(one.skill) if one.skill in order else -1,
        )
        pages = {one.page.path: self._reference_row(one) for one in references}
        verbatim = {
            planned.path: self._verbatim_row(file, planned.path)
            for file, planned in self.verbatim_files
            if self._needs_row(file, planned.path)
        }
        helpers = {path: row for path, row in verbatim.items() if not is_markdown(path)}
        pages |= {path: row for path, row in verbatim.items() if path not in helpers}
        data: dict[str, RoutingRow] = {}
        for path in self.data_files:
            kind = resource_class(path, self.flat.bundle.files[path])
            if kind == "data" and not self._is_named(path):
                data[path] = ("row-data", {"path": self.layout.shown(path)})
            elif kind == "support" or (kind == "code" and not self._is_called(path)):
                helpers[path] = self._call_row(path)
        depths = (self.layout.shown(path).count("/") for path in (*pages, *helpers, *data))
        rows: list[RoutingRow] = []
        for depth in range(max(depths, default=0), -1, -1):
            rows = [
                *self._by_folder(pages, LIKE_FILES, "row-folder-read", max(1, depth)),
                *self._by_folder(helpers, FOLDED, "row-folder", max(1, depth)),
                *self._by_folder(data, FOLDED, "row-data-folder", max(1, depth)),
            ]
            if len(rows) <= MAX_ROWS:
                break
        return rows

    def _needs_row(self, file: EmbeddedFile, path: str) -> bool:
        """Whether a script has no step that calls it, or a page no sentence in the root that leads to it."""
        text = "\n".join(file.text.lines)
        if resource_class(path, Blob(text.encode())) == "support":
            return path not in self._led
        stem = PurePosixPath(file.path).stem
        if stem == "__init__":
            return False
        names = names_of(self.flat, file) + ([stem] if "_" in stem or "-" in stem else [])
        return not (self._mentions(file, names) or self._is_imported(file, stem))

    def _is_imported(self, file: EmbeddedFile, stem: str) -> bool:
        word = re.compile(rf"\b{re.escape(stem)}\b")
        others = (other for other, _ in self.verbatim_files if other is not file)
        return any(word.search(line) for other in others for line in other.text.lines)

    def _is_named(self, path: str) -> bool:
        """Whether a text names a data file or its folder, or scripts that are called are beside it."""
        shown, skill = PurePosixPath(self.layout.shown(path)), self.layout.skill_of_data(path)
        above = [one for one in shown.parents if one.name and str(one) != skill]
        names = dict.fromkeys([str(shown), shown.name, *(folder.name for folder in above)])
        scripts = (self.layout.shown(planned.path) for _, planned in self.verbatim_files)
        beside = bool(above) and any(one.startswith(f"{above[-1]}/") for one in scripts)
        return is_licence(path) or beside or bool(mentions(self.flat, list(names), (0, 0)))

    def _is_called(self, path: str) -> bool:
        shown = self.layout.shown(path)
        return bool(mentions(self.flat, [shown, PurePosixPath(shown).name], (0, 0)))

    def _renamed(self, text: str) -> str:
        for skill in ["", *(name for _, name in self.flat.skills)]:
            text = self.path_mentions.renamed(text, skill)
        return text

    def _link(self, path: str) -> dict[str, str]:
        shown = self.layout.shown(path)
        return {"path": shown, "link": quote(shown)}

    def _mentions(self, file: EmbeddedFile, names: Sequence[str]) -> list[Mention]:
        own = (file.heading.start, file.section_end)
        return mentions(self.flat, names, own, self.flat.skill_at(own[0]))

    @cached_property
    def _cues(self) -> dict[str, list[str]]:
        candidates: dict[str, list[Candidate]] = {}
        for reference in self.references:
            found = [*self._cues_of_mentions(reference.embedded)]
            if title_reason(reference.titles[0] if reference.titles else "") not in BRANCHES:
                found += cues_in_file(self.flat.markdown, _ranges(reference))
            candidates[reference.page.path] = found
        for file, planned in self.verbatim_files:
            own = self._cues_in_fenced(file)
            candidates[planned.path] = [*self._cues_of_mentions(file), *own]
        for path in self.data_files:
            blob = self.flat.bundle.files[path]
            if resource_class(path, blob) == "code":
                candidates[path] = [*_script_cues(path, blob.text or "")]
        return chosen_cues(candidates)

    def _cues_of_mentions(self, file: EmbeddedFile | None) -> Iterator[Candidate]:
        if file is not None:
            names = names_of(self.flat, file)
            yield from cues_of_mentions(self._mentions(file, names), names)

    def _cues_in_fenced(self, file: EmbeddedFile) -> Iterator[Candidate]:
        if is_markdown(file.path):
            markdown = MarkdownIndex(file.text.lines)
            yield from cues_in_file(markdown, [(0, len(markdown.lines))])
        elif file.is_helper:
            yield from _script_cues(file.path, "\n".join(file.text.lines))

    def _pointer(self, reference: ReferenceFile) -> RoutingRow:
        unit, link = reference.unit, self._link(reference.page.path)
        groups = unit.groups if unit else ()
        titles = [one.title for one in groups]
        about = first_topics(titles, TOPIC_WORDS)
        if unit is not None and unit.is_stage:
            about = about or PurePosixPath(unquote(link["path"])).stem
            return "row-next", link | {"topics": without_brackets(about)}
        if len(groups) > 1:
            about = self._all_titles(titles, groups[0].path)
        elif about.lower() in GENERIC and groups and len(groups[0].path) > 1:
            about = below_heading(groups[0].path[-1], about)
        if len(groups) == 1:
            below = [short_title(title) for title in reference.titles[1:]]
            about = first_topics([about, *below], TOPIC_WORDS)
        about = about or PurePosixPath(unquote(link["path"])).stem
        return self._finished("row-at", link, about, reference.page.path)

    def _all_titles(self, titles: Sequence[str], path: Sequence[str]) -> str:
        """Every heading of a file, short if need be; else the heading above, and the first of them."""
        short = list(map(short_title, titles))
        for named in (titles, short):
            if len(" ".join(named).split()) <= TOPIC_WORDS:
                return first_topics(named, TOPIC_WORDS)
        above = path[-1:] if len(path) > 1 else ()
        return first_topics([*above, *short], TOPIC_WORDS)

    def _reference_row(self, reference: ReferenceFile) -> RoutingRow:
        link = self._link(reference.page.path)
        about = first_topics(reference.titles, TOPIC_WORDS)
        about = about or PurePosixPath(unquote(link["path"])).stem
        if reference.skill and about.lower() in GENERIC:
            about = below_heading(reference.skill, about)
        return self._finished("row-read", link, about, reference.page.path)

    def _finished(self, template: str, link: dict[str, str], about: str, path: str) -> RoutingRow:
        """A row with the first reason that fits and says more than the headings."""
        params = link | {"topics": without_brackets(about)}
        words = len(about.split()) + 6
        known = {word.casefold() for word in _WORD.findall(f"{about} {path}")}
        for cue in self._cues.get(path, ()):
            new = {word.casefold() for word in _WORD.findall(cue)} - known
            if words + len(cue.split()) <= MAX_WORDS and len(new) > 2:
                return f"{template}-why", params | {"cue": without_brackets(self._renamed(cue))}
        return template, params

    def _verbatim_row(self, file: EmbeddedFile, path: str) -> RoutingRow:
        if is_markdown(path):
            headings = MarkdownIndex(file.text.lines).headings
            about = first_topics([one.title for one in headings], TOPIC_WORDS)
            about = about or PurePosixPath(path).stem
            return self._finished("row-read", self._link(path), about, path)
        return self._call_row(path)

    def _call_row(self, path: str) -> RoutingRow:
        params = {"path": self.layout.shown(path)}
        cues = [cue for cue in self._cues.get(path, ()) if len(cue.split()) <= MAX_WORDS - 8]
        if cues:
            return "row-call-why", params | {"cue": without_brackets(self._renamed(cues[0]))}
        return "row-call", params

    def _by_folder(
        self, rows: dict[str, RoutingRow], least: int, template: str, depth: int
    ) -> Iterable[RoutingRow]:
        """The rows, with one for each folder of at most `depth` levels that has several files."""
        folders: dict[str, list[str]] = {}
        for path in rows:
            parts = dirname(self.layout.shown(path)).split("/")
            folders.setdefault("/".join(parts[:depth]), []).append(path)
        for folder, paths in folders.items():
            if len(paths) >= (least if folder else MAX_ROWS):
                yield template, _folder_params(folder or ".", paths)
            else:
                yield from (rows[path] for path in paths)


def _script_cues(path: str, text: str) -> Iterator[Candidate]:
    sentence = code_cue(path, text)
    cue = whole_cue(sentence)
    if cue:
        yield Candidate(sentence, cue)


def _words(row: RoutingRow) -> tuple[str, ...]:
    """The words of a row without its file."""
    template, params = row
    return template, params["topics"], params.get("cue", "")


def _ranges(reference: ReferenceFile) -> list[LineRange]:
    file = reference.embedded
    if file is not None:
        return [(file.start, file.end)]
    copies = (piece for piece in reference.page.pieces if isinstance(piece, Copy))
    return [(piece.start - 1, piece.end) for piece in copies]


def _folder_params(folder: str, paths: Sequence[str]) -> dict[str, str]:
    names: list[str] = []
    for path in paths:
        name = PurePosixPath(path).name
        if names and len(", ".join([*names, name])) > MAX_NAMES:
            break
        names.append(name)
    return {"path": folder, "count": str(len(paths)), "names": ", ".join(names)}
