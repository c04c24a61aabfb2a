"""Shelves: where a page would need too many rows, those of a folder stand on a guide of their own.

A folder's guide is a page `<folder>.md` beside it, or below it where the folder is cut into runs, so
that a row which names the folder names its guides too. All paths of a guide start at its own folder.
"""

import re
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import PurePosixPath
from posixpath import dirname, relpath
from urllib.parse import quote

from skilljuror.knowledge.markdown.block_index import visible_text
from skilljuror.transforms.disclosure.trigger_cues import MAX_TOPIC_CHARS, topics
from skilljuror.transforms.disclosure.file_layout import Layout
from skilljuror.transforms.editing.page_builder import Page
from skilljuror.transforms.disclosure.root_page import root_page
from skilljuror.transforms.disclosure.routing_table import FOLDED, Row

TABLE = 7
"""Lines of a guide that are no rows: its title, the table's heading and lead, blank lines."""
RUN = 40
"""Rows of a guide that holds a run of a folder that is too large for one page."""
_INDEX = ("readme", "index", "overview")
"""Names of the file that tells what its folder is about."""
_FOLDERS = frozenset({"row-folder", "row-data-folder", "row-parts"})
"""Rows whose path is a folder."""
_CODE = re.compile(r"`([^`]+)`")


class Shelves:
    """Makes the folder guides of one layout."""

    def __init__(self, layout: Layout, limit: int) -> None:
        """`limit` is the most lines of a page."""
        self.layout = layout
        self.room = max(RUN, limit - TABLE)
        self.guides: list[Page] = []
        """The guides made so far."""
        self._own = {self._shown(one.page.path) for one in layout.references if one.file is None}
        self._titles = {
            self._shown(one.page.path): visible_text(one.titles[0])
            for one in layout.references
            if one.titles
        }

    def fitted(self, rows: Sequence[Row], room: int, folder: str = "") -> list[Row]:
        """The rows of a page, so many at most: as they are where they fit, else rows of guides in
        the place of those of files; sections of the page itself keep their rows as far as half the
        room goes. `folder` is the one below the root's that the page tells of; its guides lie in
        it. All paths are as the root names them. As many rows as a run has always fit: a page that
        is full of text gains nothing by it."""
        room = max(RUN, room)
        own = [row for row in rows if row[1]["path"] in self._own]
        if len(rows) <= room or len(own) > room // 2:
            return self._fitted(rows, room, folder)
        rest = [row for row in rows if row[1]["path"] not in self._own]
        return [*own, *self._fitted(rest, room - len(own), folder)]

    def _fitted(self, rows: Sequence[Row], room: int, folder: str) -> list[Row]:
        if len(rows) <= room:
            return list(rows)
        depths = list(self._depths(rows, folder))
        shelves = next((one for one in depths if len(one) <= room), depths[-1])
        told = [self._shelf(*one) if one[0] else one[1][0] for one in shelves]
        return told if len(told) <= room else self._runs(told, room, folder)

    def _depths(self, rows: Sequence[Row], folder: str) -> Iterator[list["_Shelf"]]:
        """The rows shelved by the folders of each depth below one, the deepest first."""
        least = len(_parts(folder)) + 1
        deepest = max(len(_parts(_home(row))) for row in rows)
        for depth in range(max(least, deepest), least - 1, -1):
            yield _shelved(rows, depth)

    def _shelf(self, folder: str, rows: Sequence[Row]) -> Row:
        """A guide of a folder, and its row."""
        path = self._reserved(f"{folder}.md")
        index = next((row for row in rows if _is_index(row, folder)), None)
        title = self._titles.get(index[1]["path"], "") if index else ""
        self._guide(path, title or self._title(rows, folder), self._fitted(rows, self.room, folder))
        params = self._params(path, rows, folder) | {"folders": f"`{folder}/`"}
        cue = index[1].get("cue", "") if index else ""
        if cue:
            return "row-guide-folders-why", params | {"cue": cue}
        return "row-guide-folders", params

    def _runs(self, rows: Sequence[Row], room: int, folder: str) -> list[Row]:
        """Guides of rows side by side, and a row for each that names all they tell of."""
        count = min(room, ceil(len(rows) / RUN))
        edges = [len(rows) * number // count for number in range(count + 1)]
        name = PurePosixPath(folder or self.layout.folder).name
        found: list[Row] = []
        for number in range(count):
            run = rows[edges[number] : edges[number + 1]]
            path = self._reserved(f"{folder}/{name}-{number + 1}.md".lstrip("/"))
            self._guide(path, self._title(run, folder or name), run)
            names = ", ".join(dict.fromkeys(one for row in run for one in _names(row)))
            params = self._params(path, run, folder or name) | {"names": names}
            found.append(("row-guide-names", params))
        return found

    def _title(self, rows: Sequence[Row], folder: str) -> str:
        """The name of a folder that the source has; of one that was made, headings in it."""
        made = all(row[1]["path"] in self._own for row in rows)
        return (topics(self._topic(row) for row in rows) if made else "") or folder

    def _guide(self, path: str, title: str, rows: Sequence[Row]) -> None:
        page = Page(f"{self.layout.folder}/{path}", self.layout.sources)
        page.make("reference-title", title=title)
        told = [_rebased(row, dirname(path)) for row in rows]
        self.guides.append(root_page(self.layout, [], told, guide=page))

    def _params(self, path: str, rows: Sequence[Row], other: str) -> dict[str, str]:
        about = topics((self._topic(row) for row in rows), MAX_TOPIC_CHARS)
        return {"path": path, "link": quote(path), "topics": about or other}

    def _topic(self, row: Row) -> str:
        """What a row's file is about in one heading."""
        path = row[1]["path"]
        return self._titles.get(path) or row[1].get("topics", "") or PurePosixPath(path).stem

    def _shown(self, path: str) -> str:
        return path.removeprefix(f"{self.layout.folder}/")

    def _reserved(self, name: str) -> str:
        return self._shown(self.layout.reserved(name))


_Shelf = tuple[str, list[Row]]
"""A folder with its rows, or "" with a row that stays."""


def _shelved(rows: Sequence[Row], depth: int) -> list[_Shelf]:
    """The rows with those of each folder of a depth put together, where its first stood."""
    found: dict[str, list[Row]] = {}
    for number, row in enumerate(rows):
        parts = _parts(_home(row))
        folder = "/".join(parts[:depth]) if len(parts) >= depth else f"\0{number}"
        found.setdefault(folder, []).append(row)
    shelves: list[_Shelf] = []
    for folder, below in found.items():
        if folder.startswith("\0") or len(below) < FOLDED:
            shelves += [("", [row]) for row in below]
        else:
            shelves.append((folder, below))
    return shelves


def _home(row: Row) -> str:
    """The folder that holds what a row names."""
    return dirname(row[1]["path"])


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _is_index(row: Row, folder: str) -> bool:
    """Whether a row is of the file that tells what its folder is about."""
    path = PurePosixPath(row[1]["path"])
    named = path.stem.lower() in {*_INDEX, PurePosixPath(folder).name.lower()}
    return str(path.parent) == folder and named and path.suffix.lower() == ".md"


def _names(row: Row) -> list[str]:
    """What a row names, as code: its file or folder, and the folders that a guide tells of."""
    template, params = row
    own = f"`{params['path']}/`" if template in _FOLDERS else f"`{params['path']}`"
    return [own, *(f"`{one}`" for one in _CODE.findall(params.get("folders", "")))]


def _rebased(row: Row, base: str) -> Row:
    """A row for a page in a folder."""
    template, params = row
    told = dict(params)
    for hole in told.keys() & {"path", "whole"}:
        told[hole] = _from(told[hole], base)
    if "link" in told:
        told["link"] = quote(told["path"])
    for hole in told.keys() & ({"folders", "names"} if template.startswith("row-guide") else set()):
        told[hole] = _CODE.sub(lambda code: f"`{_from(code[1], base)}`", told[hole])
    return template, told


def _from(path: str, base: str) -> str:
    """A path below the root's folder as a page in a folder names it."""
    return relpath(path, base or ".") + ("/" if path.endswith("/") else "")
