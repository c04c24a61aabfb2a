"""Whether a line that the parent does not have was made by a generator, and from what.

A template's words are fixed; what fills its holes must be words of the parent. So a line that
passes here cannot carry a requirement: every word and critical token in it stands in the file it
names, in a line of the parent that mentions that file, or in a heading or name of the parent.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from skilljuror.knowledge.comparison.unit_matching import UnitMatching
from skilljuror.knowledge.generated.templates import TEMPLATES, template_of_heading
from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.knowledge.markdown.headings import anchors
from skilljuror.knowledge.plans.trigger_sentences import TRIGGER_ROW as TRIGGER_ROW
from skilljuror.knowledge.plans.trigger_sentences import trigger_in, trigger_problem
from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.knowledge.units.normalised_text import all_paths, without_local_target
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import CONTENT_KINDS, Unit

_WORD = re.compile(r"[^\W_]+")
_TARGET = re.compile(r"^(?:\[([^\]]+)\]|`([^`]+)`)")
LEAST_CUT = 6
"""Words that a heading keeps at least where it was cut to serve as a title."""
MOST_CUT = 60
"""The same at most: a title has far fewer characters than so many words take."""
_UNREAD = re.compile(r"</?[A-Za-z][^<>]*>|(?<=\])\([^()]*\)")
_MARKS = re.compile(r"[*_`~\\-]+")
_COUNT = re.compile(r"(?<=\()\d+ files(?=:)")
_NAMING = CONTENT_KINDS | {"link"}
_WEIGHTY = ("num:", "cmp:", "mod:")
"""Tokens a row may not make up; the words of paths and code spans are compared as words."""
_HOLE = re.compile(r"\{[a-z]+\}")
_NOTE = re.compile(r"^ {0,3}\[\^[^\]\s]+\]:[ \t]+(\S.*)$", re.MULTILINE)
_COUNTED_ROWS = frozenset(name for name, line in TEMPLATES.items() if "{count}" in line)


class GeneratedLineProvenance:
    """What a generated line of one pair may be made of, looked up once."""

    def __init__(
        self,
        pair: tuple[Bundle, Bundle],
        units: tuple[Sequence[Unit], Sequence[Unit]],
        matching: UnitMatching,
    ) -> None:
        self._parent, self._variant = pair
        self._units, self._made = units
        self._matching = matching

    def template(self, unit: Unit) -> str | None:
        """The template that made `unit`, an added unit; None when an author wrote it."""
        if unit.kind == "field":
            return self._field(unit)
        if unit.generated == TRIGGER_ROW:
            return TRIGGER_ROW if self._trigger(unit) else None
        if unit.generated is not None:
            follows = unit.generated.startswith("row-")
            return unit.generated if not follows or self._row(unit) else None
        if unit.kind == "heading":
            return "reference-title" if self._is_title(unit) else template_of_heading(unit.text)
        if unit.kind == "item" and self._is_listed(unit):
            return "contents-row"
        copied = unit.kind == "statement" and without_local_target(unit.text) in self._definitions
        return "definition" if copied else None

    def is_made_heading(self, text: str, home: str) -> bool:
        """Whether a heading was put above text that stood below `home`: fixed words, no heading
        of the parent at all, or a name above text that had no heading. The table of files is
        no home for anything else."""
        name = template_of_heading(text)
        made = name != "routing" and (name is not None or text not in self._headings)
        return made or (not home and _words(text) in self._names)

    def _is_title(self, unit: Unit) -> bool:
        """Whether a heading is nothing but names and headings of the parent, one or several."""
        words = _words(unit.text)
        ends = {0}
        for start in range(len(words)):
            if start in ends:
                ends |= {start + len(t) for t in self._titles if words[start : start + len(t)] == t}
        return bool(words) and len(words) in ends

    def _is_listed(self, unit: Unit) -> bool:
        """Whether the item's whole line is a heading of its own file, as in a contents list; a
        number that opens a heading reads as a list marker."""
        return self._items[unit.file, unit.start] in self._headings_of[unit.file]

    def _field(self, unit: Unit) -> str | None:
        """A `name` from a name of the parent, a `description` from runs of its words."""
        fields, _ = parse_frontmatter(["---", unit.text, "---"])
        name, description = plain_field(fields, "name"), plain_field(fields, "description")
        if name is not None and _words(name) in self._names:
            return "field-name"
        if description is None or not set(critical_tokens(description)) <= self._criticals:
            return None
        words = _words(description)
        joints = sum(pair not in self._neighbours for pair in pairwise(words))
        return "field-description" if joints < max(1, len(self._parent.skills)) else None

    def _row(self, unit: Unit) -> bool:
        """Whether a routing row says only what the file it names, or a mention of it, says."""
        found = _TARGET.match(unit.text)
        if not found:
            return False
        target = found[1] or found[2]
        told = _COUNT.sub("", unit.text) if unit.generated in _COUNTED_ROWS else unit.text
        weighty = {token for token in critical_tokens(told) if token.startswith(_WEIGHTY)}
        strange = set(_words(told)) - _ROW_WORDS - self._titled[0]
        weighty -= self._titled[1]
        for text in (target, *self._texts_of(unit.file, target), *self._mentions(target)):
            strange -= _read(text)
            weighty -= set(critical_tokens(text)) if weighty else set()
        return not (strange or weighty)

    def _trigger(self, unit: Unit) -> bool:
        """Whether a row's trigger demands nothing that the file it names does not say."""
        target, told = _TARGET.match(unit.text), trigger_in(unit.text)
        if not target or not told:
            return False
        path = normpath(join(dirname(unit.file), target[1] or target[2]))
        return path in self._variant.files and not trigger_problem(
            *told, self._by_file.get(path, ())
        )

    def _texts_of(self, file: str, target: str) -> list[str]:
        path = normpath(join(dirname(file), target))
        inside = [text for name, text in self._by_file.items() if name.startswith(f"{path}/")]
        return self._by_file.get(path, []) + [text for texts in inside for text in texts]

    def _mentions(self, target: str) -> list[str]:
        """Units of the parent that share a line with a mention of the target, or a link to it; and
        the words before a colon that lead to it. A page may have been a skill inside a skill."""
        name = PurePosixPath(target).name.lower()
        inner = f"{PurePosixPath(name).stem}/skill.md"
        found = [
            unit for told in (name, inner) for unit in self._naming.units(told, anchors([told])[0])
        ]
        lines = {(unit.file, n) for unit in found for n in range(unit.start, unit.end + 1)}
        told = {text for place in lines for text in self._by_line[place]}
        before = {(file, number - 1) for file, number in lines}
        leads = (text for place in before for text in self._by_line[place])
        return sorted(told | {text for text in leads if text.endswith(":")})

    @cached_property
    def _naming(self) -> "_Naming":
        return _Naming(unit for unit in self._units if unit.kind in _NAMING)

    @cached_property
    def _by_line(self) -> dict[tuple[str, int], list[str]]:
        texts: dict[tuple[str, int], list[str]] = defaultdict(list)
        for unit in self._units:
            for number in range(unit.start, unit.end + 1 if unit.kind in CONTENT_KINDS else 0):
                texts[unit.file, number].append(unit.text)
        return texts

    @cached_property
    def _by_file(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = defaultdict(list)
        for unit in self._made:
            texts[unit.file].append(unit.text)
        for told in self._matching.alike:
            texts[told.after.file].append(told.before.text)
        for path in self._variant.files:
            for folder in PurePosixPath(path).parents:
                texts[f"{folder}/{PurePosixPath(path).name}"].append(PurePosixPath(path).name)
        return dict(texts)

    @cached_property
    def _headings(self) -> frozenset[str]:
        return frozenset(unit.text for unit in self._units if unit.kind == "heading")

    @cached_property
    def _titled(self) -> tuple[frozenset[str], frozenset[str]]:
        """Words and critical tokens of all headings of the parent."""
        words = frozenset(word for text in self._headings for word in _read(text))
        return words, frozenset(token for text in self._headings for token in critical_tokens(text))

    @cached_property
    def _titles(self) -> frozenset[tuple[str, ...]]:
        told = {_words(heading) for heading in self._headings}
        cut = (
            words[:count] for words in told for count in range(LEAST_CUT, min(len(words), MOST_CUT))
        )
        return self._names | told | frozenset(cut) - {()}

    @cached_property
    def _items(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """(file, line) -> words of the list item that begins there, its sentences joined."""
        words: dict[tuple[str, int], tuple[str, ...]] = defaultdict(tuple)
        for unit in self._made:
            if unit.kind == "item":
                words[unit.file, unit.start] += _words(unit.text)
        return words

    @cached_property
    def _headings_of(self) -> dict[str, set[tuple[str, ...]]]:
        """file -> words of each of its headings, with and without a number before them."""
        titles: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for unit in self._made:
            if unit.kind == "heading":
                told = [_words(unit.text), _words(_UNREAD.sub(" ", unit.text))]
                titles[unit.file].update(told, map(_unnumbered, told))
        return titles

    @cached_property
    def _definitions(self) -> frozenset[str]:
        texts = [unit.text for unit in self._units if unit.kind == "statement"]
        notes = (_NOTE.findall(blob.text or "") for blob in self._parent.files.values())
        told = {
            without_local_target(text) for text in texts if text.startswith("[") and "]:" in text
        }
        return frozenset(told | {" ".join(note.split()) for found in notes for note in found})

    @cached_property
    def _names(self) -> frozenset[tuple[str, ...]]:
        """Names of the bundle, its skills, folders and files, carried ones too, as words."""
        names = [self._parent.name, self._variant.name]
        for skill in self._parent.skills:
            names += [skill.name, PurePosixPath(skill.directory).name]
        for path in all_paths(self._parent, self._units):
            names += [*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem]
        return frozenset(_words(name) for name in names)

    @cached_property
    def _neighbours(self) -> frozenset[tuple[str, str]]:
        """Words that stand side by side in the parent."""
        return frozenset(pair for unit in self._units for pair in pairwise(_words(unit.text)))

    @cached_property
    def _criticals(self) -> frozenset[str]:
        return frozenset(token for unit in self._units for token in unit.criticals)


class _Naming:
    """Units that may name a file, laid end to end, so that one search goes through all of them."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self._units = list(units)
        told = [unit.text.lower() for unit in self._units]
        self._text = "\n".join(told)
        self._starts = list(accumulate((len(text) + 1 for text in told), initial=0))
        self._anchored = [n for n, text in enumerate(told) if " -> #" in text]
        self._told = told

    def units(self, name: str, anchor: str) -> list[Unit]:
        """Those that name a file, or link to the marker that carries it; all in lower case."""
        numbers = {n for n in self._anchored if self._told[n].endswith(anchor)}
        place = self._text.find(name)
        while place >= 0 and self._units:
            number = bisect_right(self._starts, place) - 1
            numbers.add(number)
            place = self._text.find(name, self._starts[number + 1])
        return [self._units[number] for number in sorted(numbers)]


def _unnumbered(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if words and words[0].isdecimal() else words


@lru_cache(maxsize=1 << 15)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text))


@lru_cache(maxsize=1 << 15)
def _read(text: str) -> frozenset[str]:
    """The words of a text, and those that a reader sees where marks stand inside a word."""
    return frozenset(_words(text)) | frozenset(_words(_MARKS.sub("", text)))


def _fixed(names: Iterable[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in _words(_HOLE.sub(" ", TEMPLATES[name])))


_ROW_WORDS = _fixed(name for name in TEMPLATES if name.startswith("row-"))
