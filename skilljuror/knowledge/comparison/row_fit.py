"""Whether the rows of a page say what the files say that they lead to.

Measured on words alone: a row leads where its telling words stand, compared with where they stand
in the other files that the page leads to. A single row may fit another file better by chance; two
rows that would plainly fit better if they changed places do not, unless each of them names a heading
of its own file.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from skilljuror.knowledge.comparison.file_rows import FileRow, rows_of, without_names
from skilljuror.knowledge.comparison.word_ranking import Ranking, stems
from skilljuror.knowledge.generated.templates import TEMPLATES
from skilljuror.knowledge.markdown.block_index import markdown_index, visible_text
from skilljuror.knowledge.markdown.text_file import read_text
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.resource_class import is_licence, is_markdown

HEADINGS = 3
"""How often a word of a heading counts: rows tell of files by their headings."""
PLAINLY = 1.5
"""How much better two rows must fit when they change places."""
LOOKED_AT = 5
"""Files that fit a row best, for which a change of places is looked at."""
NAMING = 2
"""Words of a heading from which a row that holds it speaks of it."""
_WORD = re.compile(r"[^\W_]+")
_HOLE = re.compile(r"\{[a-z]+\}")
_SAY_NOTHING = "see more details info information documentation guide refer reference further"


class Exchanged(NamedTuple):
    """Two files that a page leads to, whose rows tell of each other's."""

    row: FileRow
    """A row that leads to the first file."""
    file: str
    """The first file."""
    other: str
    """The file that its rows tell of."""


class RowFit:
    """The rows of one page that lead to text, against the files."""

    def __init__(self, bundle: Bundle, page: str, files: Sequence[str]) -> None:
        """`files` are those that the page leads to."""
        rows = rows_of(bundle, page)
        told = {path for row in rows for path in row.files}
        self._texts = {path: _text(bundle.files[path]) for path in files if path in told}
        self._rows: dict[str, list[FileRow]] = defaultdict(list)
        """File -> the rows that lead to it alone."""
        for row in rows:
            if len(row.files) == 1 and row.files[0] in self._texts:
                self._rows[row.files[0]].append(row)
        self._ranking = Ranking({path: text.words for path, text in self._texts.items()})

    def exchanged(self) -> Iterator[Exchanged]:
        """Files whose rows would fit better if they changed places, each pair once."""
        said = {
            path: [stem for row in rows for stem in stems(without_names(row.text))]
            for path, rows in self._rows.items()
        }
        told: set[tuple[str, str]] = set()
        for path, words in said.items():
            scores = self._ranking.scores(words)
            better = [one for one in said if scores.get(one, 0) > scores.get(path, 0)]
            for other in sorted(better, key=lambda one: -scores[one])[:LOOKED_AT]:
                new = (other, path) not in told and self._change_places(path, other, said)
                if new and not (self._is_named(path, other) and self._is_named(other, path)):
                    told.add((path, other))
                    yield Exchanged(self._rows[path][0], path, other)
                    break

    def _change_places(self, path: str, other: str, said: dict[str, list[str]]) -> bool:
        """Whether what tells two rows apart tells of the other file each."""
        ours, theirs = set(said[path]), set(said[other])
        here = self._ranking.scores(stem for stem in said[path] if stem not in theirs)
        there = self._ranking.scores(stem for stem in said[other] if stem not in ours)
        own = here.get(path, 0) + there.get(other, 0)
        return here.get(other, 0) + there.get(path, 0) > PLAINLY * own

    def _is_named(self, path: str, other: str) -> bool:
        """Whether a row of a file names a heading of it that the other file has not."""
        titles = self._texts[path].titles - self._texts[other].titles
        return any(_held(_shown(without_names(row.text)), titles) for row in self._rows[path])

    def astray(self) -> Iterator[tuple[FileRow, str, str]]:
        """(row, its file, other file) where a row names a heading of another file and none of its
        own, and fits the other one better."""
        for path, rows in self._rows.items():
            for row in rows:
                said = without_names(row.text)
                scores = self._ranking.scores(stems(said))
                other = max(sorted(scores), key=scores.__getitem__, default=path)
                if other != path and self._names_heading(_shown(said), other, path):
                    yield row, path, other

    def _names_heading(self, words: list[str], other: str, own: str) -> bool:
        """Whether words hold a heading that one file has and the other has not, and none of its."""
        titles = {one for one in self._texts[other].titles if len(one) >= NAMING}
        strange = titles - self._texts[own].titles
        return not _held(words, self._texts[own].titles) and _held(words, strange)

    def dull(self) -> Iterator[tuple[str, FileRow]]:
        """(file, row) where a row that leads to one file says nothing that the file says."""
        for path, rows in self._rows.items():
            for row in rows:
                if self._texts[path].is_told_by(without_names(row.text)) is False:
                    yield path, row


def row_fits(bundle: Bundle, leads: Mapping[str, str]) -> Iterator[RowFit]:
    """The rows of every page that leads to text; `leads` are the bundle's routes."""
    pages: dict[str, list[str]] = defaultdict(list)
    for path, page in leads.items():
        if is_markdown(path) and not is_licence(path):
            pages[page].append(path)
    for page, files in pages.items():
        yield RowFit(bundle, page, files)


class _Text(NamedTuple):
    """A file as rows may tell of it."""

    words: tuple[str, ...]
    """Its words, those of its headings more often."""
    telling: frozenset[str]
    """Its words that no row of any file holds anyway."""
    titles: frozenset[tuple[str, ...]]
    """The words of each heading as rows may say it: as they stand, without names of files."""

    def is_told_by(self, row: str) -> bool | None:
        """Whether a row says something that the file says, or a whole heading of it; None where the
        file has no words, or the row none in a script that parts words by blanks."""
        words = stems(row)
        if not self.telling or (words and not any(word.isascii() for word in words)):
            return None
        return any(word in self.telling for word in words) or _held(_shown(row), self.titles)


def _shown(text: str) -> list[str]:
    """The words of a text as they stand: a title is named by its capitals too."""
    return _WORD.findall(text)


def _held(words: list[str], titles: Iterable[tuple[str, ...]]) -> bool:
    """Whether words hold a whole heading."""
    return any(
        tuple(words[start : start + len(title)]) == title
        for title in titles
        for start in range(len(words) - len(title) + 1)
    )


@lru_cache(maxsize=2048)
def _text(blob: Blob) -> _Text:
    """Kept, for a variant shares most of its files with its parent."""
    text = read_text(blob)
    words = stems(blob.text or "")
    headings = markdown_index(text.lines).headings if text else ()
    titles = [visible_text(heading.title) for heading in headings]
    more = [stem for title in titles for stem in stems(title)] * (HEADINGS - 1)
    telling = frozenset(words) - _everyday()
    return _Text(
        (*words, *more),
        telling,
        frozenset(tuple(_shown(without_names(title))) for title in titles) - {()},
    )


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    """Words that a row may hold whatever file it leads to."""
    fixed = (_HOLE.sub(" ", line) for name, line in TEMPLATES.items() if name.startswith("row-"))
    return frozenset(stem for line in (*fixed, _SAY_NOTHING) for stem in stems(line))
