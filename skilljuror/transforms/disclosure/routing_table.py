"""The routing table: every file outside the root, when to open it, and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import inf
from pathlib import PurePosixPath
from posixpath import dirname
from urllib.parse import quote

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.knowledge.markdown.block_index import Heading, MarkdownIndex
from skilljuror.models.plan import Copy
from skilljuror.models.resource_class import is_licence, is_markdown
from skilljuror.transforms.disclosure.file_layout import FileLayout, ReferenceFile
from skilljuror.transforms.disclosure.own_rows import names_of
from skilljuror.transforms.disclosure.relocated_lines import PathMentions
from skilljuror.transforms.disclosure.row_cues import (
    LEAST,
    MAX_CUE,
    Candidate,
    Vocabulary,
    chosen_cues,
    cues_in_file,
    cues_of_mentions,
    whole_cue,
)
from skilljuror.transforms.disclosure.sections import LineRange
from skilljuror.transforms.disclosure.trigger_cues import (
    GENERIC,
    Mention,
    all_topics,
    below_heading,
    code_cue,
    defined_names,
    mentions,
    topics,
    without_brackets,
)

FOLDED = 2  # minimum number of files of one folder that share a row
CROWDED = 60  # number of files above which rows are short and helpers share a row by folder
SHORT = 110  # maximum characters of the sections that use a helper, and of cues in a crowded table
MAX_TITLES = 500  # maximum characters of headings in a row
MAX_DEEPER = 180  # maximum characters of headings in a row that lists lower levels too
USES = 3  # maximum number of sections in the row of a helper that they use
MAX_NAMES = 200  # maximum characters of file names in a folder's row

RoutingRow = tuple[str, dict[str, str]]  # template and parameters


class RoutingTable:
    """Create the rows of one layout, or of one source skill in it."""

    def __init__(
        self,
        layout: FileLayout,
        skill: str | None = None,
        *,
        indexed: bool = False,
        described: frozenset[str] = frozenset(),
    ) -> None:
        """`skill` limits the rows to the files of one skill, "" to shared files.

        An `indexed` table leaves room for long rows. Its files are so many that names repeat, so a name counts
        as a mention only if one file has it. Files that are `described` have a row of the author on the same
        page, which the generated rows do not repeat.
        """
        self.layout = layout
        self.flat = layout.flat
        self.path_mentions = PathMentions(layout)
        self._described = {layout.variant_paths.get(path, "") for path in described}
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
        self.whole_references = [one for one in self.references if one.part_of is None]
        rows = len(self.whole_references) + len(self.verbatim_files)
        self.crowded = not indexed and rows > CROWDED
        names = Counter(PurePosixPath(file.path).name for file in self.flat.embedded_files)
        self._shared_names = {name for name, count in names.items() if indexed and count > 1}

    def rows(self) -> list[RoutingRow]:
        """Return rows of references in document order, then of helpers, then of data."""
        order = [skill for _, skill in self.flat.skills]
        references = sorted(
            self.whole_references,
            key=lambda one: order.index(one.skill) if one.skill in order else -1,
        )
        rows = [self._reference_row(reference) for reference in references]
        rows += [*self._part_rows(), *self._helper_rows(), *self._data_rows()]
        return [(template, self._finished(params)) for template, params in rows]

    def undescribed_rows(self) -> list[RoutingRow]:
        """Return the rows of files without a row of the author."""
        shown = {self.layout.shown(path) for path in self._described}
        return [row for row in self.rows() if row[1]["path"] not in shown]

    def _finished(self, params: dict[str, str]) -> dict[str, str]:
        finished = dict(params)
        if "cue" in finished:
            finished["cue"] = self._renamed(finished["cue"])
        for hole in finished.keys() & {"cue", "topics"}:
            finished[hole] = without_brackets(finished[hole])
        return finished

    def _renamed(self, text: str) -> str:
        for skill in ["", *(name for _, name in self.flat.skills)]:
            text = self.path_mentions.renamed(text, skill)
        return text

    def _link(self, path: str) -> dict[str, str]:
        shown = self.layout.shown(path)
        return {"path": shown, "link": quote(shown)}

    def _names(self, file: EmbeddedFile) -> list[str]:
        names = names_of(self.flat, file)
        return [one for one in names if one == file.path or one not in self._shared_names]

    def _mentions(self, file: EmbeddedFile, names: Sequence[str]) -> list[Mention]:
        own = (file.heading.start, file.section_end)
        return mentions(self.flat, names, own, self.flat.skill_at(own[0]))

    @cached_property
    def _cues(self) -> dict[str, str]:
        limit = SHORT if self.crowded else MAX_CUE
        candidates: dict[str, list[Candidate]] = {}
        for reference in self.whole_references:
            own = cues_in_file(self.flat.markdown, _ranges(reference), self._vocabulary, limit)
            mentioned = self._cues_of_mentions(reference.embedded, limit)
            candidates[reference.page.path] = [*own, *mentioned]
        for file, planned in self.verbatim_files:
            own = self._cues_in_fenced(file, limit)
            candidates[planned.path] = [*own, *self._cues_of_mentions(file, limit)]
        for path in self.data_files:
            names = list(dict.fromkeys([self.layout.shown(path), PurePosixPath(path).name]))
            found = mentions(self.flat, names, (0, 0)) if not is_licence(path) else []
            candidates[path] = list(cues_of_mentions(found, names, limit))
        return chosen_cues(candidates, self._described)

    def _cues_of_mentions(self, file: EmbeddedFile | None, limit: int) -> Iterator[Candidate]:
        if file is not None:
            names = self._names(file)
            yield from cues_of_mentions(self._mentions(file, names), names, limit)

    def _cues_in_fenced(self, file: EmbeddedFile, limit: int) -> Iterator[Candidate]:
        """Cues in a fenced file: Markdown text, or the docstring of a helper, which precedes all mentions."""
        if is_markdown(file.path):
            markdown = MarkdownIndex(file.text.lines)
            whole = [(0, len(markdown.lines))]
            yield from cues_in_file(markdown, whole, self._vocabulary, limit)
        elif file.is_helper:
            sentence = code_cue(file.path, "\n".join(file.text.lines))
            cue = whole_cue(sentence, limit=limit)
            if len(cue.split()) > LEAST:
                yield Candidate(sentence, cue, inf)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        pages = (self.flat.text(_ranges(reference)) for reference in self.whole_references)
        return Vocabulary(pages)

    def _titles(self, reference: ReferenceFile, levels: int) -> list[str]:
        headings = self.layout.headings_in(_ranges(reference))
        top = min((heading.level for heading in headings), default=1)
        under = 0 if reference.embedded or self._opens_alone(reference, headings, top) else 1
        return [one.title for one in headings if one.level < top + levels - under]

    def _opens_alone(self, reference: ReferenceFile, headings: Sequence[Heading], top: int) -> bool:
        first = _ranges(reference)[0][0]
        return [one.start for one in headings if one.level == top] == [first]

    def _reference_row(self, reference: ReferenceFile) -> RoutingRow:
        path = reference.page.path
        cue = self._cues.get(path, "")
        about = all_topics(self._titles(reference, 2) or reference.titles, MAX_TITLES)
        if len(about) < MAX_DEEPER:
            titles = [*self._titles(reference, 2), *self._titles(reference, 4)]
            about = all_topics(titles, MAX_DEEPER)
        general = about.lower() in GENERIC
        heading = reference.parent_heading or (reference.skill if general else "")
        return _read_row(self._link(path), below_heading(heading, about), cue)

    def _part_rows(self) -> list[RoutingRow]:
        parts: dict[str, list[str]] = {}
        for reference in self.references:
            if reference.part_of is not None:
                parts.setdefault(reference.part_of.page.path, []).append(reference.page.path)
        return [
            (
                "row-parts",
                {
                    "path": self.layout.shown(dirname(paths[0])),
                    "count": str(len(paths)),
                    "names": ", ".join(PurePosixPath(path).name for path in paths),
                    "whole": self.layout.shown(whole),
                },
            )
            for whole, paths in parts.items()
        ]

    def _verbatim_row(self, file: EmbeddedFile, path: str) -> RoutingRow:
        cue = self._cues.get(path, "")
        text = "\n".join(file.text.lines)
        if is_markdown(path):
            headings = MarkdownIndex(file.text.lines).headings
            about = all_topics([one.title for one in headings if one.level <= 2], MAX_TITLES)
            return _read_row(self._link(path), about or PurePosixPath(path).stem, cue)
        found = self._mentions(file, self._names(file)) or self._module_mentions(file)
        params = {"path": self.layout.shown(path)}
        name = PurePosixPath(file.path).name
        about = topics((one.heading for one in found if name not in one.heading), SHORT, USES)
        params |= {"topics": about} if about else {}
        template = "row-use" if about else "row-call"
        if cue:
            return f"{template}-why", params | {"cue": cue}
        defined = defined_names(text) if file.is_helper else ""
        if defined:
            return f"{template}-names", params | {"names": defined}
        return template, params

    def _module_mentions(self, file: EmbeddedFile) -> list[Mention]:
        """Mentions of a script as a module, without its suffix."""
        stem = PurePosixPath(file.path).stem
        if not stem.strip("_") or not ("_" in stem.strip("_") or "-" in stem):
            return []
        return self._mentions(file, [file.path, stem])

    def _helper_rows(self) -> list[RoutingRow]:
        """Rows of helpers. Helpers without cues share a row per folder; in a crowded table, all of a folder do."""
        rows = {
            planned.path: self._verbatim_row(file, planned.path)
            for file, planned in self.verbatim_files
        }
        plain = [path for path, row in rows.items() if self.crowded or row[0] == "row-call"]
        folders = {f: paths for f, paths in self._by_folder(plain).items() if _shares(f, paths)}
        shared = {path for paths in folders.values() for path in paths}
        return [row for path, row in rows.items() if path not in shared] + [
            ("row-folder", _folder_params(folder, paths)) for folder, paths in folders.items()
        ]

    def _by_folder(self, paths: Iterable[str]) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(dirname(self.layout.shown(path)), []).append(path)
        return folders

    def _data_rows(self) -> list[RoutingRow]:
        terms = [path for path in self.data_files if is_licence(path)]
        rest = [path for path in self.data_files if path not in terms]
        rows: list[RoutingRow] = []
        for folder, paths in self._by_folder(rest).items():
            if _shares(folder, paths):
                rows.append(("row-data-folder", _folder_params(folder, paths)))
            else:
                rows += [self._data_row(path) for path in paths]
        return rows + [("row-terms", {"path": self.layout.shown(path)}) for path in terms]

    def _data_row(self, path: str) -> RoutingRow:
        params, cue = {"path": self.layout.shown(path)}, self._cues.get(path, "")
        return ("row-data-why", params | {"cue": cue}) if cue else ("row-data", params)


def _ranges(reference: ReferenceFile) -> list[LineRange]:
    file = reference.embedded
    if file is not None:
        return [(file.start, file.end)]
    copies = (piece for piece in reference.page.pieces if isinstance(piece, Copy))
    return [(piece.start - 1, piece.end) for piece in copies]


def _read_row(link: dict[str, str], about: str, cue: str) -> RoutingRow:
    if about and cue:
        return "row-read-why", link | {"topics": about, "cue": cue}
    if about:
        return "row-read", link | {"topics": about}
    return "row-why", link | {"cue": cue or PurePosixPath(link["path"]).stem}


def _shares(folder: str, paths: Sequence[str]) -> bool:
    return folder != "" and len(paths) >= FOLDED


def _folder_params(folder: str, paths: Sequence[str]) -> dict[str, str]:
    names: list[str] = []
    for path in paths:
        name = PurePosixPath(path).name
        if names and len(", ".join([*names, name])) > MAX_NAMES:
            break
        names.append(name)
    return {"path": folder, "count": str(len(paths)), "names": ", ".join(names)}
