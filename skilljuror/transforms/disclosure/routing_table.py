"""The routing table: every file the root does not hold, when to open it, and why."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from posixpath import dirname
from urllib.parse import quote

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.knowledge.markdown.block_index import MarkdownIndex
from skilljuror.models.plan import Copy
from skilljuror.models.resource_class import is_licence
from skilljuror.transforms.disclosure.file_layout import FileLayout, ReferenceFile
from skilljuror.transforms.disclosure.path_mentions import PathMentions
from skilljuror.transforms.disclosure.trigger_cues import (
    GENERIC,
    Mention,
    below_heading,
    best_sentence,
    clip,
    code_cue,
    defined_names,
    first_sentence,
    mentions,
    topics,
    without_brackets,
    without_file_name,
)

FOLDED = 2
"""Files of one folder that may share a row."""
CROWDED = 60
"""Files from which rows are short, and helpers share a row by folder."""
SHORT = 110
"""Characters of topics and cues in a crowded table."""

USES = 3
"""Sections that a row names as the places where a helper is used."""
MAX_NAMES = 200
"""Characters of file names that a folder's row lists."""

RoutingRow = tuple[str, dict[str, str]]
"""Template and parameters."""


class RoutingTable:
    """Makes the rows of one layout, or of one source skill in it."""

    def __init__(
        self, layout: FileLayout, skill: str | None = None, *, indexed: bool = False
    ) -> None:
        """`skill` is the folder of the one skill whose files are told of, "" for what is outside of
        any. Rows that go on `indexed` pages have room; their files are so many that names repeat,
        and only a name that a single file has counts as a mention of it."""
        self.layout = layout
        self.flat = layout.flat
        self.path_mentions = PathMentions(layout)
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
        """References in document order, then helpers, then data."""
        order = [skill for _, skill in self.flat.skills]
        references = sorted(
            self.whole_references,
            key=lambda one: order.index(one.skill) if one.skill in order else -1,
        )
        rows = [self._reference_row(reference) for reference in references]
        rows += [*self._part_rows(), *self._helper_rows(), *self._data_rows()]
        return [(template, self._finished(params)) for template, params in rows]

    def _finished(self, params: dict[str, str]) -> dict[str, str]:
        """Cues name files as the variant does; in a crowded table they are short."""
        finished = dict(params)
        if "cue" in finished:
            cue = self.path_mentions.freshened(self._renamed(finished["cue"]))
            finished["cue"] = clip(cue, SHORT) if self.crowded else cue
        for hole in finished.keys() & {"cue", "topics"}:
            finished[hole] = without_brackets(finished[hole])
        return finished

    def _topics(self, titles: Iterable[str]) -> str:
        return topics(titles, SHORT) if self.crowded else topics(titles)

    def _renamed(self, text: str) -> str:
        for skill in ["", *(name for _, name in self.flat.skills)]:
            text = self.path_mentions.renamed(text, skill)
        return text

    def _link(self, path: str) -> dict[str, str]:
        shown = self.layout.shown(path)
        return {"path": shown, "link": quote(shown)}

    def _names(self, file: EmbeddedFile) -> list[str]:
        """How text may name an embedded file: whole path, path in its skill, file name."""
        names = [file.path, self.flat.inner_path(file), PurePosixPath(file.path).name]
        return [
            name
            for name in dict.fromkeys(names)
            if name == file.path or name not in self._shared_names
        ]

    def _mentions(self, file: EmbeddedFile, names: Sequence[str]) -> list[Mention]:
        own = (file.heading.start, file.section_end)
        return mentions(self.flat, names, own, self.flat.skill_at(own[0]))

    def _reference_row(self, reference: ReferenceFile) -> RoutingRow:
        about = self._topics(reference.titles)
        general = about.lower() in GENERIC
        heading = reference.parent_heading or (reference.skill if general else "")
        about = below_heading(heading, about)
        file = reference.embedded
        cue = _said_of(self._mentions(file, self._names(file)), self._names(file)) if file else ""
        copies = [piece for piece in reference.page.pieces if isinstance(piece, Copy)]
        ranges = [(piece.start - 1, piece.end) for piece in copies]
        markdown = self.flat.markdown
        cue = cue or ("" if reference.merged else first_sentence(markdown, ranges))
        cue = cue or ("" if about else first_sentence(markdown, ranges, least=1))
        return _read_row(self._link(reference.page.path), about, cue)

    def _part_rows(self) -> list[RoutingRow]:
        """One row for all parts of a file that was split."""
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
        """A file that came out of a fence: Markdown is read, anything else is used."""
        names = self._names(file)
        found = self._mentions(file, names)
        text = "\n".join(file.text.lines)
        if path.lower().endswith(".md"):
            markdown = MarkdownIndex(file.text.lines)
            about = self._topics(heading.title for heading in markdown.headings)
            cue = _said_of(found, names) or first_sentence(markdown)
            return _read_row(self._link(path), about or PurePosixPath(path).stem, cue)
        cue = (code_cue(path, text) if file.is_helper else "") or _said_of(found, names)
        params = {"path": self.layout.shown(path)}
        name = PurePosixPath(file.path).name
        sections = [mention.heading for mention in (found or self._module_mentions(file))]
        about = topics((heading for heading in sections if name not in heading), SHORT, USES)
        params |= {"topics": about} if about else {}
        template = "row-use" if about else "row-call"
        if cue:
            return f"{template}-why", params | {"cue": cue}
        defined = defined_names(text) if file.is_helper else ""
        if defined:
            return f"{template}-names", params | {"names": defined}
        return template, params

    def _module_mentions(self, file: EmbeddedFile) -> list[Mention]:
        """Where the text names a script as a module: without its suffix."""
        stem = PurePosixPath(file.path).stem
        if not stem.strip("_") or not ("_" in stem.strip("_") or "-" in stem):
            return []
        return self._mentions(file, [file.path, stem])

    def _helper_rows(self) -> list[RoutingRow]:
        """Rows of the helpers; those of a folder of which nothing is said share one, and all of a
        folder do in a crowded table."""
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
        """Folder as the root names it -> its paths."""
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
        shown = self.layout.shown(path)
        names = list(dict.fromkeys([shown, PurePosixPath(path).name]))
        cue = _said_of(mentions(self.flat, names, (0, 0)), names)
        if cue:
            return "row-data-why", {"path": shown, "cue": cue}
        return "row-data", {"path": shown}


def _said_of(found: Sequence[Mention], names: Sequence[str]) -> str:
    """What the best mention of a file says of it."""
    return without_file_name(best_sentence(found, names), names).rstrip(" :")


def _read_row(link: dict[str, str], about: str, cue: str) -> RoutingRow:
    if about and cue:
        return "row-read-why", link | {"topics": about, "cue": cue}
    if about:
        return "row-read", link | {"topics": about}
    return "row-why", link | {"cue": cue or PurePosixPath(link["path"]).stem}


def _shares(folder: str, paths: Sequence[str]) -> bool:
    """Whether the files of a folder may share a row."""
    return folder != "" and len(paths) >= FOLDED


def _folder_params(folder: str, paths: Sequence[str]) -> dict[str, str]:
    names: list[str] = []
    for path in paths:
        name = PurePosixPath(path).name
        if names and len(", ".join([*names, name])) > MAX_NAMES:
            break
        names.append(name)
    return {"path": folder, "count": str(len(paths)), "names": ", ".join(names)}
