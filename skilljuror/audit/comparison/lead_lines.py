"""Recognise added lines of an author that lead to a file or introduce moved text, and demand nothing more."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from skilljuror.audit.comparison.renumbering import Renumbering
from skilljuror.audit.comparison.same_words import plain_words
from skilljuror.audit.comparison.unit_matching import MatchedBundles
from skilljuror.base.skill import Unit, is_markdown
from skilljuror.skill.critical_tokens import critical_tokens

_LEADING = frozenset({"item", "statement", "row"})
_ORDER = frozenset({"cmp:before", "cmp:after"})
"""Comparators that every line may use, because they refer to time."""
_DESCRIPTIVE = frozenset({
    "mod:can", "mod:could", "mod:might", "mod:all", "mod:any", "mod:none", "mod:without",
    "mod:is not", "mod:are not", "mod:does not",
})  # fmt: skip
"""Words that do not oblige or permit."""
_RESTATED = 0.6  # share of words of a section from which a sentence restates it
_PLACE = re.compile(
    r"\b(?:steps?|phases?|sections?|stages?|parts?)\s+\d[\w.]*(?:(?:\s?[-–,/]\s?|\s(?:and|to)\s)\d[\w.]*)*"
    r"|^(?:\d+(?:\.\d+)+|#: \d+)\s",
    re.IGNORECASE,
)
"""A place in the text, such as `step 10b`, `2.1 ` or the number of a row: no amount."""
_WHERE = re.compile(r"\b(?:above|below)\b(?=\s*(?:[.,;:)]|$))", re.IGNORECASE)
"""Words for a place in the text where a comparison has something to compare with."""


class LeadLines:
    """The files of a variant that a line can lead to, and the text that moved to each."""

    def __init__(self, both: MatchedBundles) -> None:
        roots = {skill.path: skill.directory for skill in both.variant.skills}
        self._names = {
            path: tuple(_called(path, roots.values()))
            for path in both.variant.files
            if path not in roots
        }
        self._normaliser = both.normaliser
        self._renumbering = Renumbering(both)
        self._known = {token for unit in both.old for token in unit.criticals}
        self._tokens: dict[str, set[str]] = defaultdict(set)
        self._sections: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
        for unit in both.new:
            self._tokens[unit.file].update(unit.criticals)
            self._sections[unit.file, unit.headings].update(plain_words(unit.text))
        moved = {unit.unit for unit in _counterparts(both)}
        self._opening = set(_openings(both, moved))
        self._paragraph = dict(_paragraphs(both.new))

    def includes(self, unit: Unit) -> bool:
        """Whether an added line leads to another file, or introduces the moved text of its own new file."""
        if unit.generated or not is_markdown(unit.file):
            return False
        if unit.unit in self._opening:
            return self._adds_nothing(unit, {unit.file})
        if unit.kind not in _LEADING:
            return False
        named = self._named(unit.text) - {unit.file}
        if named:
            return self._tokens_of(unit, named) <= self._allowed(named)
        around = self._named(f"{self._paragraph.get(unit.unit, '')} {unit.lead}") - {unit.file}
        return bool(around) and self._adds_nothing(unit, around)

    def only_points(self, before: Unit, after: Unit) -> bool:
        """Whether two texts differ in critical tokens only by the name of a file that one now leads to, or by the
        new numbers of steps."""
        old = self._normaliser.normalised(self._renumbering.applied(before))
        new = self._normaliser.text(after)
        named = self._named(new) - self._named(old)
        return weight(old) == weight(self._without(new, named))

    def _adds_nothing(self, unit: Unit, files: set[str]) -> bool:
        """Whether a line has no weighty token, or restates a section of the files."""
        if not self._tokens_of(unit, files) <= self._allowed(files):
            return False
        if not any(map(_is_weighty, self._tokens_of(unit, files))):
            return True
        words = set(plain_words(unit.text))
        return any(
            len(words & section) >= _RESTATED * len(words)
            for (file, headings), section in self._sections.items()
            if file in files and (file, headings) != (unit.file, unit.headings)
        )

    def _allowed(self, files: Iterable[str]) -> set[str]:
        names = {token for token in self._known if not _is_weighty(token)}
        return names.union(*(self._tokens[path] for path in files))

    def _tokens_of(self, unit: Unit, named: set[str]) -> set[str]:
        found = set(weight(_PLACE.sub("", self._without(unit.text, named)))) - _ORDER - _DESCRIPTIVE
        return {token for token in found if token.partition(":")[2].strip("./") and _says(token)}

    def _named(self, text: str) -> set[str]:
        return {
            path
            for path, names in self._names.items()
            if any(name in text for name in names) and _pattern(names).search(text)
        }

    def _without(self, text: str, named: Iterable[str]) -> str:
        for path in named:
            text = _pattern(self._names[path]).sub("", text)
        return text


def _is_weighty(token: str) -> bool:
    return token.startswith(("num:", "cmp:", "mod:", "flag:"))


def _says(token: str) -> bool:
    """Whether a token is more than a count in words (`three pipelines`) or alternatives (`load/filter`)."""
    kind, _, value = token.partition(":")
    if kind == "path":
        return "." in value or value.startswith(("/", "~"))
    return kind != "num" or any(letter.isdigit() for letter in value)


def weight(text: str) -> tuple[str, ...]:
    """Return the critical tokens of a text, without `above` and `below` for a place on the page."""
    return critical_tokens(_WHERE.sub("", text))


def _called(path: str, folders: Iterable[str]) -> Iterator[str]:
    folder = next((folder for folder in folders if path.startswith(f"{folder}/")), "")
    yield path.removeprefix(f"{folder}/")
    yield path.rpartition("/")[2]


@lru_cache(maxsize=512)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"`?(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])`?")


def _counterparts(both: MatchedBundles) -> Iterator[Unit]:
    matching = both.matching
    yield from (after for _, after in matching.same)
    yield from (pair.after for pair in matching.alike)
    yield from (unit for run in matching.regrouped for unit in run.after)


def _openings(both: MatchedBundles, moved: set[str]) -> Iterator[str]:
    """Ids of the headings of new pages with moved text, and of the sentences before it."""
    roots = {skill.path: both.variant.files[skill.path] for skill in both.variant.skills}
    pages: dict[str, list[Unit]] = defaultdict(list)
    for unit in both.new:
        if unit.file not in (both.parent.files | roots) and is_markdown(unit.file):
            pages[unit.file].append(unit)
    for units in pages.values():
        places = [n for n, one in enumerate(units) if one.unit in moved and one.kind != "heading"]
        first = min(places, default=0)
        yield from (one.unit for one in units[:first] if one.kind == "statement")
        yield from (one.unit for one in units if places and one.kind == "heading")


def _paragraphs(units: Iterable[Unit]) -> Iterator[tuple[str, str]]:
    """(id of a sentence, the whole text of its paragraph or list item)."""
    rows: list[list[Unit]] = []
    for unit in (one for one in units if one.kind in {"item", "statement"}):
        last = rows[-1][-1] if rows else None
        near = unit.start - (unit.kind == "statement")
        if last and (last.file, last.kind) == (unit.file, unit.kind) and near <= last.end:
            rows[-1].append(unit)
        else:
            rows.append([unit])
    for row in rows:
        text = " ".join(one.text for one in row)
        yield from ((one.unit, text) for one in row)
