"""Check that rows describe the files that they lead to.

Based on words alone: a row should share its specific words with its file rather than with other files of
the page. A single row may match another file better by chance; two rows that match each other's file
much better are exchanged, unless each names a heading of its own file.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from skilljuror.audit.comparison.file_rows import FileRow, rows_of, without_names
from skilljuror.base.skill import Blob, Bundle, is_licence, is_markdown
from skilljuror.skill.generated import TEMPLATES
from skilljuror.skill.markdown import markdown_index, read_text, visible_text

SATURATION = 1.2  # BM25's k1: saturation of repeated words
LENGTH = 0.75  # BM25's b: discount of long texts

FUNCTION_WORDS = frozenset({
    "a", "about", "across", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "but", "by", "can", "could", "did", "do", "does", "each",
    "either", "else", "etc", "every", "for", "from", "had", "has", "have", "here", "how", "if",
    "in", "into", "is", "it", "its", "just", "may", "more", "most", "near", "no", "nor", "not",
    "of", "off", "on", "one", "only", "or", "other", "our", "out", "over", "own", "per", "same",
    "should", "since", "so", "some", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up",
    "upon", "us", "use", "used", "using", "very", "via", "was", "we", "were", "what", "when",
    "where", "whether", "which", "while", "who", "whose", "why", "will", "with", "within",
    "without", "would", "you", "your",
})  # fmt: skip
"""English words without specific meaning, which do not end a sentence."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")
_STEM = 3  # minimum letters of a stem


def stems(text: str) -> list[str]:
    """Return the stems of a text's specific words and numbers in order; names are split at humps."""
    words = _WORD.findall(_HUMP.sub(" ", text).casefold())
    return [
        _stem(word)
        for word in words
        if word.isdigit() or (len(word) > 1 and word not in FUNCTION_WORDS)
    ]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    fits = (one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= _STEM)
    return word.removesuffix(next(fits, ""))


class Ranking:
    """Texts by name, to be ranked by queries."""

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        """`texts` holds each text as its stems."""
        counted = {name: Counter(text) for name, text in texts.items()}
        sizes = {name: counts.total() for name, counts in counted.items()}
        mean = sum(sizes.values()) / max(1, len(sizes)) or 1.0
        self.names = tuple(counted)
        self._weights: dict[str, dict[str, float]] = defaultdict(dict)
        """Stem -> text -> contribution to its score."""
        for name, counts in counted.items():
            room = SATURATION * (1 - LENGTH + LENGTH * sizes[name] / mean)
            for stem, count in counts.items():
                self._weights[stem][name] = count * (SATURATION + 1) / (count + room)
        for held in self._weights.values():
            rarity = math.log(1 + (len(counted) - len(held) + 0.5) / (len(held) + 0.5))
            for name in held:
                held[name] *= rarity

    def scores(self, query: Iterable[str]) -> dict[str, float]:
        """Return name -> score of every text that shares a stem with the query; each stem counts once."""
        scores: dict[str, float] = defaultdict(float)
        for stem in dict.fromkeys(query):
            for name, weight in self._weights.get(stem, {}).items():
                scores[name] += weight
        return dict(scores)

    def rank(self, name: str, query: Iterable[str]) -> int | None:
        """Return the rank of a text for a query, ties last; None if it shares no stem with the query."""
        scores = self.scores(query)
        own = scores.get(name)
        return None if own is None else sum(score >= own for score in scores.values())


HEADINGS = 3  # weight of a word in a heading: rows describe files by their headings
PLAINLY = 1.5  # minimum gain of an exchange of two rows
LOOKED_AT = 5  # number of best-matching files considered for an exchange
NAMING = 2  # minimum words of a heading that a row names
_WORD = re.compile(r"[^\W_]+")
_HOLE = re.compile(r"\{[a-z]+\}")
_SAY_NOTHING = "see more details info information documentation guide refer reference further"


class Exchanged(NamedTuple):
    """Two files of a page whose rows describe each other's."""

    row: FileRow  # a row that leads to `file`
    file: str
    other: str  # the file that its rows describe


class RowFit:
    """The rows of one page that lead to text, and their files."""

    def __init__(self, bundle: Bundle, page: str, files: Sequence[str]) -> None:
        rows = rows_of(bundle, page)
        linked = {path for row in rows for path in row.files}
        self._texts = {path: _text(bundle.files[path]) for path in files if path in linked}
        self._rows: dict[str, list[FileRow]] = defaultdict(list)
        """File -> the rows that lead to it alone."""
        for row in rows:
            if len(row.files) == 1 and row.files[0] in self._texts:
                self._rows[row.files[0]].append(row)
        self._ranking = Ranking({path: text.words for path, text in self._texts.items()})

    def exchanged(self) -> Iterator[Exchanged]:
        """Yield files whose rows would match better if exchanged, each pair once."""
        row_stems = {
            path: [stem for row in rows for stem in stems(without_names(row.text))]
            for path, rows in self._rows.items()
        }
        reported: set[tuple[str, str]] = set()
        for path, own in row_stems.items():
            scores = self._ranking.scores(own)
            better = [one for one in row_stems if scores.get(one, 0) > scores.get(path, 0)]
            for other in sorted(better, key=lambda one: -scores[one])[:LOOKED_AT]:
                new = (other, path) not in reported
                new = new and self._match_crosswise(path, other, row_stems)
                if new and not self._are_named(path, other):
                    reported.add((path, other))
                    yield Exchanged(self._rows[path][0], path, other)
                    break

    def _match_crosswise(self, path: str, other: str, row_stems: dict[str, list[str]]) -> bool:
        ours, theirs = set(row_stems[path]), set(row_stems[other])
        here = self._ranking.scores(stem for stem in row_stems[path] if stem not in theirs)
        there = self._ranking.scores(stem for stem in row_stems[other] if stem not in ours)
        own = here.get(path, 0) + there.get(other, 0)
        return here.get(other, 0) + there.get(path, 0) > PLAINLY * own

    def _are_named(self, path: str, other: str) -> bool:
        """Whether each of two files has a row that names a heading of that file alone; for one file it is enough if
        all rows name such headings of several words. A heading of several words that both files have fits both."""
        common = {
            one
            for one in self._texts[path].titles & self._texts[other].titles
            if len(one) >= NAMING
        }
        rows = (*self._rows[path], *self._rows[other])
        if any(_held(_shown(without_names(row.text)), common) for row in rows):
            return True
        names = [self._named(path, other), self._named(other, path)]
        return all(map(any, names)) or any(min(longest) >= NAMING for longest in names)

    def _named(self, path: str, other: str) -> list[int]:
        """For each row of a file, the length in words of the longest heading it names that the other file lacks."""
        titles = self._texts[path].titles - self._texts[other].titles
        rows = [_shown(without_names(row.text)) for row in self._rows[path]]
        return [
            max((len(title) for title in titles if _held(words, [title])), default=0)
            for words in rows
        ]

    def astray(self) -> Iterator[tuple[FileRow, str, str]]:
        """Yield (row, its file, other file) if a row names a heading of another file, none of its own, and matches
        the other one better."""
        for path, rows in self._rows.items():
            for row in rows:
                text = without_names(row.text)
                scores = self._ranking.scores(stems(text))
                other = max(sorted(scores), key=scores.__getitem__, default=path)
                if other != path and self._names_heading(_shown(text), other, path):
                    yield row, path, other

    def _names_heading(self, words: list[str], other: str, own: str) -> bool:
        titles = {one for one in self._texts[other].titles if len(one) >= NAMING}
        foreign = titles - self._texts[own].titles
        return not _held(words, self._texts[own].titles) and _held(words, foreign)

    def dull(self) -> Iterator[tuple[str, FileRow]]:
        """Yield (file, row) if a row that leads to one file shares nothing with it."""
        for path, rows in self._rows.items():
            for row in rows:
                text = self._texts[path]
                if text.shares(without_names(row.text)) is False and not text.named_by(row.text):
                    yield path, row


def row_fits(bundle: Bundle, leads: Mapping[str, str]) -> Iterator[RowFit]:
    """Yield the rows of every page that leads to text; `leads` are the bundle's routes."""
    pages: dict[str, list[str]] = defaultdict(list)
    for path, page in leads.items():
        if is_markdown(path) and not is_licence(path):
            pages[page].append(path)
    for page, files in pages.items():
        yield RowFit(bundle, page, files)


class _Text(NamedTuple):
    words: tuple[str, ...]  # its words, those of headings repeated
    specific: frozenset[str]  # its words without those that fit any row
    titles: frozenset[tuple[str, ...]]  # the words of each heading as written, without file names
    file_titles: frozenset[tuple[str, ...]]  # the words of headings that are file names

    def shares(self, row: str) -> bool | None:
        """Whether a row shares a word or a heading with the file; None if the file has no words, or the row none in
        a script with blanks between words."""
        words = stems(row)
        if not self.specific or (words and not any(word.isascii() for word in words)):
            return None
        return any(word in self.specific for word in words) or _held(_shown(row), self.titles)

    def named_by(self, row: str) -> bool:
        """Whether a row names a heading that is itself the name of a file: "Directory.Build.targets"."""
        return _held(_shown(row), self.file_titles)


def _shown(text: str) -> list[str]:
    """The words of a text as written: capitals identify titles too."""
    return _WORD.findall(text)


def _held(words: list[str], titles: Iterable[tuple[str, ...]]) -> bool:
    return any(
        tuple(words[start : start + len(title)]) == title
        for title in titles
        for start in range(len(words) - len(title) + 1)
    )


@lru_cache(maxsize=2048)
def _text(blob: Blob) -> _Text:
    text = read_text(blob)
    words = stems(blob.text or "")
    headings = markdown_index(text.lines).headings if text else ()
    titles = [visible_text(heading.title) for heading in headings]
    more = [stem for title in titles for stem in stems(title)] * (HEADINGS - 1)
    return _Text(
        (*words, *more),
        frozenset(words) - _everyday(),
        frozenset(tuple(_shown(without_names(title))) for title in titles) - {()},
        frozenset(tuple(_shown(one)) for one in titles if not _shown(without_names(one))) - {()},
    )


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    fixed = (_HOLE.sub(" ", line) for name, line in TEMPLATES.items() if name.startswith("row-"))
    return frozenset(stem for line in (*fixed, _SAY_NOTHING) for stem in stems(line))
