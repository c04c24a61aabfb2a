"""Recognise added lines that a generator made, and check their source.

A template's words are fixed, its holes must contain words of the parent. A line that passes cannot carry a
requirement: each word and critical token is in the file it names, in a line of the parent that mentions
that file, or in a heading or name of the parent.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from skilljuror.audit.comparison.code_paths import carried_files
from skilljuror.audit.comparison.normalised_text import (
    JoinedTexts,
    all_paths,
    folders_above,
    without_local_target,
)
from skilljuror.audit.comparison.unit_matching import MatchedBundles
from skilljuror.audit.plans.trigger_sentences import TRIGGER_ROW, trigger_in, trigger_problem
from skilljuror.base.skill import CONTENT_KINDS, Unit
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.generated import TEMPLATES, WRITE_OUT, announced_path, template_of_heading
from skilljuror.skill.markdown import (
    anchors,
    markdown_index,
    parse_frontmatter,
    plain_field,
    visible_text,
)

_WORD = re.compile(r"[^\W_]+")
_TARGET = re.compile(r"^(?:(?:→ [^\[\]]*: read )?\[([^\]]+)\]|`([^`]+)`)")
_ANCHOR = re.compile(r"^\s*- \[[^\]]+\]\(#([^()\s]+)\)")
"""The link of a row that leads to a section of its own page."""
_JOINED = 32
"""Names that fit into one of 64 characters, at most."""
LEAST_CUT = 6  # minimum words of a heading that is cut to a title
MOST_CUT = 60  # maximum words of such a title
_UNSHOWN = re.compile(r"</?[A-Za-z][^<>]*>|(?<=\])\([^()]*\)")
_MARKS = re.compile(r"[*_`~\\-]+")
_COUNT = re.compile(r"(?<=\()\d+ files(?=:)")
_SAID = frozenset({"statement", "item"})
_NAMING_KINDS = CONTENT_KINDS | {"link"}
_WEIGHTY = ("num:", "cmp:", "mod:")
"""Tokens that a row may not add; paths and code spans are compared as words."""
_HOLE = re.compile(r"\{[a-z]+\}")
_NOTE = re.compile(r"^ {0,3}\[\^[^\]\s]+\]:[ \t]+(\S.*)$", re.MULTILINE)
_COUNTED_ROWS = frozenset(name for name, line in TEMPLATES.items() if "{count}" in line)


class GeneratedLineProvenance:
    """The source of generated lines among the added lines of one pair."""

    def __init__(self, both: MatchedBundles) -> None:
        self._parent, self._variant = both.parent, both.variant
        self._parent_units, self._variant_units = both.old, both.new
        self._matching = both.matching

    def template(self, unit: Unit) -> str | None:
        """Return the template that generated an added unit; None if an author wrote it."""
        if unit.kind == "field":
            return self._field(unit)
        if unit.generated == TRIGGER_ROW:
            return TRIGGER_ROW if self._trigger(unit) else None
        if unit.generated == WRITE_OUT:
            path = join(dirname(unit.file), announced_path(unit.text) or "")
            return WRITE_OUT if path in self._carried else None
        if unit.generated is not None:
            follows = unit.generated.startswith("row-")
            return unit.generated if not follows or self._row(unit) else None
        if unit.kind == "heading":
            return "reference-title" if self._is_title(unit) else template_of_heading(unit.text)
        if (
            unit.kind == "item"
            and self._items[unit.file, unit.start] in self._headings_of[unit.file]
        ):
            return "contents-row"  # as in a table of contents
        copied = unit.kind == "statement" and without_local_target(unit.text) in self._definitions
        return "definition" if copied else None

    def is_generated_heading(self, new_heading: str, old_heading: str) -> bool:
        """Whether a heading was put above text of another heading: fixed words, no heading of the parent, or a name
        above text without heading. Below the heading of the routing table there may only be rows."""
        template = template_of_heading(new_heading)
        fixed = template is not None or new_heading not in self._headings
        named = not old_heading and _words(new_heading) in self._names
        return named or (fixed and template != "routing")

    def _is_title(self, unit: Unit) -> bool:
        words = _words(unit.text)
        ends = {0}
        for start in range(len(words)):
            if start in ends:
                ends |= {
                    start + count
                    for count in self._title_lengths
                    if start + count <= len(words) and words[start : start + count] in self._titles
                }
        return bool(words) and len(words) in ends

    def _field(self, unit: Unit) -> str | None:
        fields, _ = parse_frontmatter(["---", unit.text, "---"])
        name, description = plain_field(fields, "name"), plain_field(fields, "description")
        if name is not None and _words(name) in self._names:
            return "field-name"
        if description is None or not set(critical_tokens(description)) <= self._criticals:
            return None
        words = _words(description)
        cuts = sum(pair not in self._neighbours for pair in pairwise(words))
        return "field-description" if cuts < max(1, len(self._parent.skills)) else None

    def _row(self, unit: Unit) -> bool:
        match = _TARGET.match(unit.text)
        if not match:
            return False
        target = match[1] or match[2]
        text_only = _COUNT.sub("", unit.text) if unit.generated in _COUNTED_ROWS else unit.text
        weighty = {token for token in critical_tokens(text_only) if token.startswith(_WEIGHTY)}
        unknown = set(_words(text_only)) - _ROW_WORDS - self._heading_vocabulary[0]
        weighty -= self._heading_vocabulary[1]
        section = self._section(unit)
        texts = self._texts_of(unit.file, target) if section is None else section
        named = section is None or join(dirname(unit.file), target) in self._carried
        for text in (target, *texts, *(self._mentions(target) if named else ())):
            unknown -= _words_shown(text)
            weighty -= set(critical_tokens(text)) if weighty else set()
        if (unit.generated or "").startswith("row-at"):  # may quote a sentence that leads there
            quoted = [text for text, words in self._statements if words <= _words_shown(unit.text)]
            unknown -= {word for text in quoted for word in _words_shown(text)}
            weighty -= {token for text in quoted for token in critical_tokens(text)}
        return not (unknown or weighty)

    def _trigger(self, unit: Unit) -> bool:
        target, trigger = _TARGET.match(unit.text), trigger_in(unit.text)
        if not target or not trigger:
            return False
        path = normpath(join(dirname(unit.file), target[1] or target[2]))
        texts = self._section(unit)
        if texts is None and path in self._variant.files:
            texts = self._by_file.get(path, [])
        return texts is not None and not trigger_problem(*trigger, texts)

    def _section(self, row: Unit) -> list[str] | None:
        """Texts of the section of its page that a row's anchor names, and of the next ones beside it that the row
        names, too; None for a row that leads to a file."""
        page = markdown_index(tuple((self._variant.files[row.file].text or "").split("\n")))
        link = _ANCHOR.match(page.lines[row.start - 1])
        if link is None:
            return None
        starts = (line for line, name in page.anchor_at.items() if name == unquote(link[1]))
        start = next(starts, len(page.lines))
        level = next((one.level for one in page.headings if one.start == start), 0)
        after = (
            one.start
            for one in page.headings
            if one.start > start and one.level <= level
            if one.level < level or visible_text(one.title) not in row.text
        )
        lines = range(start, next(after, len(page.lines)))
        return [
            unit.text
            for unit in self._variant_units
            if unit.file == row.file and unit.start - 1 in lines and not unit.generated
        ]

    def _texts_of(self, file: str, target: str) -> list[str]:
        path = normpath(join(dirname(file), target))
        below = [text for name in self._below.get(path, ()) for text in self._by_file[name]]
        return self._by_file.get(path, []) + below

    def _mentions(self, target: str) -> list[str]:
        """Units of the parent that share a line with a mention of the target or a link to it, or start the text below
        a heading that mentions it; and the words before a colon above it. A page may have been an inner skill."""
        name = PurePosixPath(target).name.lower()
        inner = f"{PurePosixPath(name).stem}/skill.md"
        units = [
            unit
            for spelling in (name, inner)
            for unit in self._file_mentions.units(spelling, anchors([spelling])[0])
        ]
        lines = {(unit.file, n) for unit in units for n in range(unit.start, unit.end + 1)}
        texts = {text for line in lines for text in self._by_line[line]}
        lines_above = {(file, number - 1) for file, number in lines}
        texts_above = (text for line in lines_above for text in self._by_line[line])
        texts |= {text for text in texts_above if text.endswith(":")}
        texts |= {self._openings.get((unit.file, unit.start), "") for unit in units}
        return sorted(texts)

    @cached_property
    def _statements(self) -> list[tuple[str, frozenset[str]]]:
        """The sentences of the parent, and the words of each without the targets of links."""
        texts = [_UNSHOWN.sub("", unit.text) for unit in self._parent_units if unit.kind in _SAID]
        return [(text, words) for text in texts if len(words := _words_shown(text)) >= LEAST_CUT]

    @cached_property
    def _carried(self) -> frozenset[str]:
        return frozenset(carried_files(self._variant_units))

    @cached_property
    def _openings(self) -> dict[tuple[str, int], str]:
        """(file, line) of each heading of the parent -> the first unit below it."""
        content = [unit for unit in self._parent_units if unit.kind in CONTENT_KINDS]
        return {
            (above.file, above.start): below.text
            for above, below in pairwise(content)
            if above.kind == "heading" and above.file == below.file
        }

    @cached_property
    def _file_mentions(self) -> "_FileMentions":
        return _FileMentions(unit for unit in self._parent_units if unit.kind in _NAMING_KINDS)

    @cached_property
    def _by_line(self) -> dict[tuple[str, int], list[str]]:
        """(file, line) of the parent -> texts of the units on it."""
        texts: dict[tuple[str, int], list[str]] = defaultdict(list)
        for unit in self._parent_units:
            for number in range(unit.start, unit.end + 1 if unit.kind in CONTENT_KINDS else 0):
                texts[unit.file, number].append(unit.text)
        return texts

    @cached_property
    def _by_file(self) -> dict[str, list[str]]:
        """File of the variant -> its texts, also as in the parent; folder and name -> names of files below."""
        texts: dict[str, list[str]] = defaultdict(list)
        for unit in self._variant_units:
            texts[unit.file].append(unit.text)
        for pair in self._matching.alike:
            texts[pair.after.file].append(pair.before.text)
        for path in self._variant.files:
            for folder in PurePosixPath(path).parents:
                texts[f"{folder}/{PurePosixPath(path).name}"].append(PurePosixPath(path).name)
        return dict(texts)

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = defaultdict(list)
        for name in self._by_file:
            for folder in folders_above(name):
                names[folder].append(name)
        return names

    @cached_property
    def _headings(self) -> frozenset[str]:
        return frozenset(unit.text for unit in self._parent_units if unit.kind == "heading")

    @cached_property
    def _heading_vocabulary(self) -> tuple[frozenset[str], frozenset[str]]:
        words = frozenset(word for text in self._headings for word in _words_shown(text))
        return words, frozenset(token for text in self._headings for token in critical_tokens(text))

    @cached_property
    def _titles(self) -> frozenset[tuple[str, ...]]:
        headings = {_words(heading) for heading in self._headings}
        cut = (
            words[:count]
            for words in headings
            for count in range(LEAST_CUT, min(len(words), MOST_CUT))
        )
        return self._names | headings | frozenset(cut) - {()}

    @cached_property
    def _title_lengths(self) -> list[int]:
        return sorted({len(title) for title in self._titles})

    @cached_property
    def _items(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """(file, line) -> words of the list item that begins there, its sentences joined."""
        words: dict[tuple[str, int], tuple[str, ...]] = defaultdict(tuple)
        for unit in self._variant_units:
            if unit.kind == "item":
                words[unit.file, unit.start] += _words(unit.text)
        return words

    @cached_property
    def _headings_of(self) -> dict[str, set[tuple[str, ...]]]:
        """File -> words of each of its headings, with and without leading number."""
        titles: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for unit in self._variant_units:
            if unit.kind == "heading":
                spellings = [_words(unit.text), _words(_UNSHOWN.sub(" ", unit.text))]
                titles[unit.file].update(spellings, map(_unnumbered, spellings))
        return titles

    @cached_property
    def _definitions(self) -> frozenset[str]:
        texts = [unit.text for unit in self._parent_units if unit.kind == "statement"]
        notes = (_NOTE.findall(blob.text or "") for blob in self._parent.files.values())
        definitions = {
            without_local_target(text) for text in texts if text.startswith("[") and "]:" in text
        }
        return frozenset(
            definitions | {" ".join(note.split()) for found in notes for note in found}
        )

    def _joined_names(self) -> Iterator[str]:
        """Names of a skill that holds several: theirs in order, of many the first ones."""
        skills = [skill.name for skill in self._parent.skills]
        for kept in range(1, min(len(skills), _JOINED) + 1):
            more = [f"and {len(skills) - kept} more"] if kept < len(skills) else []
            yield " ".join([*skills[:kept], *more])

    @cached_property
    def _names(self) -> frozenset[tuple[str, ...]]:
        names = [self._parent.name, self._variant.name]
        for skill in self._parent.skills:
            names += [skill.name, PurePosixPath(skill.directory).name]
        for path in all_paths(self._parent, self._parent_units):
            names += [*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem]
        names += self._joined_names()
        return frozenset(_words(name) for name in names)

    @cached_property
    def _neighbours(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            pair for unit in self._parent_units for pair in pairwise(_words(unit.text))
        )

    @cached_property
    def _criticals(self) -> frozenset[str]:
        return frozenset(token for unit in self._parent_units for token in unit.criticals)


class _FileMentions:
    def __init__(self, units: Iterable[Unit]) -> None:
        self._units = list(units)
        self._texts = [unit.text.lower() for unit in self._units]
        self._joined = JoinedTexts(self._texts)
        self._anchored = [n for n, text in enumerate(self._texts) if " -> #" in text]

    def units(self, name: str, anchor: str) -> list[Unit]:
        """Return units that name a file, or link to its marker; all in lower case."""
        numbers = {n for n in self._anchored if self._texts[n].endswith(anchor)}
        return [self._units[n] for n in sorted(numbers | set(self._joined.holding(name)))]


def _unnumbered(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if words and words[0].isdecimal() else words


@lru_cache(maxsize=1 << 15)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text))


@lru_cache(maxsize=1 << 15)
def _words_shown(text: str) -> frozenset[str]:
    """The words of a text, and those that a reader sees if marks are inside a word."""
    return frozenset(_words(text)) | frozenset(_words(_MARKS.sub("", text)))


_ROW_WORDS = frozenset(
    word
    for name, line in TEMPLATES.items()
    if name.startswith("row-")
    for word in _words(_HOLE.sub(" ", line))
)
