"""The routing table: every file the root does not hold, when to open it, and why."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from skilljuror.models.resource_class import is_licence
from skilljuror.knowledge.markdown.block_index import MarkdownIndex
from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.models.plan import Copy
from skilljuror.transforms.disclosure.trigger_cues import (
    GENERIC,
    Mention,
    best_sentence,
    clip,
    code_cue,
    defined_names,
    first_sentence,
    mentions,
    topics,
    unnamed,
    within,
)
from skilljuror.transforms.disclosure.file_layout import Layout, Reference
from skilljuror.transforms.disclosure.path_mentions import Names

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

_NO_LINKS = str.maketrans("[]", "()")
"""Brackets in a cue could catch a label of the page."""

Row = tuple[str, dict[str, str]]
"""Template and parameters."""


class Routing:
    """Makes the rows of one layout, or of one source skill in it."""

    def __init__(self, layout: Layout, unit: str | None = None, *, shelved: bool = False) -> None:
        """`unit` is the folder of the one skill that is told of, "" for what is outside of any. Rows
        that are to be `shelved` have room; their files are so many that names repeat, and only a
        name that one file has tells of it."""
        self.layout = layout
        self.flat = layout.flat
        self.names = Names(layout)
        home = self.flat.home
        self.references = [one for one in layout.references if unit in {None, layout.home_of(one)}]
        self.verbatim = [
            one for one in layout.verbatim if unit in {None, home(one[0].heading.start)}
        ]
        self.data = [path for path in layout.data if unit in {None, layout.unit_of(path)}]
        wholes = [one for one in self.references if one.whole is None]
        self.crowded = not shelved and len(wholes) + len(self.verbatim) > CROWDED
        names = Counter(PurePosixPath(one.path).name for one in self.flat.embedded)
        self._shared = {name for name, count in names.items() if shelved and count > 1}

    def rows(self) -> list[Row]:
        """References in document order, then helpers, then data."""
        return [(template, self._named(params)) for template, params in self._rows()]

    def _named(self, params: dict[str, str]) -> dict[str, str]:
        """Cues name files as the variant does; in a crowded table they are short."""
        told = dict(params)
        if "cue" in told:
            cue = self.names.freshened(self._renamed(told["cue"]))
            told["cue"] = clip(cue, SHORT) if self.crowded else cue
        for hole in told.keys() & {"cue", "topics"}:
            told[hole] = told[hole].translate(_NO_LINKS)
        return told

    def _topics(self, titles: Iterable[str]) -> str:
        return topics(titles, SHORT) if self.crowded else topics(titles)

    def _renamed(self, text: str) -> str:
        for unit in ["", *(name for _, name in self.flat.units)]:
            text = self.names.renamed(text, unit)
        return text

    def _rows(self) -> list[Row]:
        wholes = [one for one in self.references if one.whole is None]
        order = [unit for _, unit in self.flat.units]
        wholes.sort(key=lambda one: order.index(one.unit) if one.unit in order else -1)
        read = [self._reference(one) for one in wholes]
        parts = self._parts()
        used = self._used(crowded=self.crowded)
        return [*read, *parts, *used, *self._data()]

    def _shown(self, path: str) -> str:
        return path.removeprefix(f"{self.layout.folder}/")

    def _link(self, path: str) -> dict[str, str]:
        shown = self._shown(path)
        return {"path": shown, "link": quote(shown)}

    def _names(self, file: EmbeddedFile) -> list[str]:
        """How the text may name a carried file: whole path, path in its skill, file name."""
        unit = self.flat.unit_at(file.heading.start)
        inner = file.path.removeprefix(f"{unit}/") if unit else file.path
        names = dict.fromkeys([file.path, inner, PurePosixPath(file.path).name])
        return [name for name in names if name == file.path or name not in self._shared]

    def _mentions(self, file: EmbeddedFile) -> list[Mention]:
        own = (file.heading.start, file.section_end)
        return mentions(self.flat, self._names(file), own, self.flat.unit_at(own[0]))

    @staticmethod
    def _told(found: Sequence[Mention], names: Sequence[str]) -> str:
        """What the best mention of a file says of it."""
        return unnamed(best_sentence(found, names), names).rstrip(" :")

    def _reference(self, reference: Reference) -> Row:
        about = self._topics(reference.titles)
        general = about.lower() in GENERIC
        about = within(reference.above or (reference.unit if general else ""), about)
        file = reference.file
        told = self._told(self._mentions(file), self._names(file)) if file else ""
        copies = [piece for piece in reference.page.pieces if isinstance(piece, Copy)]
        ranges = [(piece.start - 1, piece.end) for piece in copies]
        markdown = self.flat.markdown
        told = told or ("" if reference.merged else first_sentence(markdown, ranges))
        told = told or ("" if about else first_sentence(markdown, ranges, least=1))
        return _read_row(self._link(reference.page.path), about, told)

    def _parts(self) -> list[Row]:
        wholes: dict[str, list[str]] = {}
        for one in self.references:
            if one.whole is not None:
                wholes.setdefault(one.whole.page.path, []).append(one.page.path)
        return [
            (
                "row-parts",
                {
                    "path": self._shown(str(PurePosixPath(paths[0]).parent)),
                    "count": str(len(paths)),
                    "names": ", ".join(PurePosixPath(path).name for path in paths),
                    "whole": self._shown(whole),
                },
            )
            for whole, paths in wholes.items()
        ]

    def _carried(self, file: EmbeddedFile, path: str) -> Row:
        """A file that came out of a fence: Markdown is read, anything else is used."""
        found, names = self._mentions(file), self._names(file)
        text = "\n".join(file.text.lines)
        if path.lower().endswith(".md"):
            markdown = MarkdownIndex(file.text.lines)
            about = self._topics(one.title for one in markdown.headings)
            told = self._told(found, names) or first_sentence(markdown)
            return _read_row(self._link(path), about or PurePosixPath(path).stem, told)
        helper = file.is_helper
        cue = (code_cue(path, text) if helper else "") or self._told(found, names)
        params = {"path": self._shown(path)}
        name = PurePosixPath(file.path).name
        places = [one.heading for one in (found or self._module_mentions(file))]
        about = topics((one for one in places if name not in one), SHORT, USES)
        params |= {"topics": about} if about else {}
        kind = "row-use" if about else "row-call"
        if cue:
            return f"{kind}-why", params | {"cue": cue}
        defined = defined_names(text) if helper else ""
        return (f"{kind}-names", params | {"names": defined}) if defined else (kind, params)

    def _module_mentions(self, file: EmbeddedFile) -> list[Mention]:
        """Where the text names a script as a module: without its suffix."""
        stem = PurePosixPath(file.path).stem
        if not stem.strip("_") or not ("_" in stem.strip("_") or "-" in stem):
            return []
        own = (file.heading.start, file.section_end)
        return mentions(self.flat, [file.path, stem], own, self.flat.unit_at(own[0]))

    def _used(self, *, crowded: bool) -> list[Row]:
        """Rows of the helpers; those of a folder that nothing is told about share one, and all of
        a folder do in a crowded table."""
        rows = {planned.path: self._carried(file, planned.path) for file, planned in self.verbatim}
        folders: dict[str, list[str]] = {}
        for path, row in rows.items():
            if crowded or row[0] == "row-call":
                folders.setdefault(str(PurePosixPath(self._shown(path)).parent), []).append(path)
        shared = {folder: paths for folder, paths in folders.items() if _shares(folder, paths)}
        gone = {path for paths in shared.values() for path in paths}
        return [row for path, row in rows.items() if path not in gone] + [
            ("row-folder", _folder(folder, paths)) for folder, paths in shared.items()
        ]

    def _data(self) -> list[Row]:
        terms = [path for path in self.data if is_licence(path)]
        folders: dict[str, list[str]] = {}
        for path in self.data:
            if path not in terms:
                folders.setdefault(str(PurePosixPath(self._shown(path)).parent), []).append(path)
        rows: list[Row] = []
        for folder, paths in folders.items():
            if _shares(folder, paths):
                rows.append(("row-data-folder", _folder(folder, paths)))
            else:
                rows += [self._datum(path) for path in paths]
        return rows + [("row-terms", {"path": self._shown(path)}) for path in terms]

    def _datum(self, path: str) -> Row:
        shown = self._shown(path)
        names = list(dict.fromkeys([shown, PurePosixPath(path).name]))
        cue = self._told(mentions(self.flat, names, (0, 0)), names)
        if cue:
            return "row-data-why", {"path": shown, "cue": cue}
        return "row-data", {"path": shown}


def _read_row(link: dict[str, str], about: str, cue: str) -> Row:
    if about and cue:
        return "row-read-why", link | {"topics": about, "cue": cue}
    if about:
        return "row-read", link | {"topics": about}
    return "row-why", link | {"cue": cue or PurePosixPath(link["path"]).stem}


def _shares(folder: str, paths: Sequence[str]) -> bool:
    return folder != "." and len(paths) >= FOLDED


def _folder(folder: str, paths: Sequence[str]) -> dict[str, str]:
    names: list[str] = []
    for path in paths:
        name = PurePosixPath(path).name
        if names and len(", ".join([*names, name])) > MAX_NAMES:
            break
        names.append(name)
    return {"path": folder, "count": str(len(paths)), "names": ", ".join(names)}
