"""Whether a line that the parent does not have was made by a generator, and from what.

A template's words are fixed; what fills its holes must be words of the parent. So a line that
passes here cannot carry a requirement: every word and critical token in it stands in the file it
names, in a line of the parent that mentions that file, or in a heading or name of the parent.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from skilljuror.knowledge.criticals import criticals
from skilljuror.knowledge.templates import TEMPLATES
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import Unit

_WORD = re.compile(r"[^\W_]+")
_TARGET = re.compile(r"^(?:\[([^\]]+)\]|`([^`]+)`)")
_HOLE = re.compile(r"\{[a-z]+\}")
_COUNTED_ROWS = frozenset({"row-folder", "row-data-folder"})


class Makings:
    """What a generated line of one pair may be made of, looked up once."""

    def __init__(
        self, parent: Bundle, units: Sequence[Unit], variant: Bundle, made: Sequence[Unit]
    ) -> None:
        self._parent = parent
        self._units = units
        self._variant = variant
        self._made = made

    def template(self, unit: Unit) -> str | None:
        """The template that made `unit`, an added unit; None when an author wrote it."""
        if unit.kind == "field":
            return self._field(unit)
        if unit.generated is not None:
            follows = unit.generated.startswith("row-")
            return unit.generated if not follows or self._row(unit) else None
        if unit.kind == "heading" and self._is_title(unit):
            return "reference-title"
        if unit.kind == "item" and any(unit.text in title for title in self._titles[unit.file]):
            return "contents-row"
        copied = unit.kind == "statement" and unit.text in self._definitions
        return "definition" if copied else None

    def _is_title(self, unit: Unit) -> bool:
        words = _words(unit.text)
        return words in self._names or any(words == _words(h) for h in self._headings)

    def _field(self, unit: Unit) -> str | None:
        """A `name` from a name of the parent, a `description` from sentences of its fields."""
        key, _, value = unit.text.partition(":")
        if key == "name" and _words(value) in self._names:
            return "field-name"
        if key != "description" or not set(criticals(value)) <= self._field_criticals:
            return None
        sentences = (" ".join(_words(part)) for part in re.split(r"(?<=[.;!?,])\s", value))
        return "field-description" if all(s in self._field_words for s in sentences) else None

    def _row(self, unit: Unit) -> bool:
        """Whether a routing row says only what the file it names, or a mention of it, says."""
        found = _TARGET.match(unit.text)
        if not found:
            return False
        target = found[1] or found[2]
        texts = [*self._texts_of(unit.file, target), *self._mentions(target), *self._headings]
        words = {word for text in (*texts, target) for word in _words(text)}
        allowed = {token for text in (*texts, f"`{target}`", target) for token in criticals(text)}
        tokens = [token for token in unit.criticals if not _counts(unit, token)]
        return set(tokens) <= allowed and set(_words(unit.text)) - _ROW_WORDS <= words

    def _texts_of(self, file: str, target: str) -> list[str]:
        path = normpath(join(dirname(file), target))
        inside = [text for name, text in self._by_file.items() if name.startswith(f"{path}/")]
        return self._by_file.get(path, []) + [text for texts in inside for text in texts]

    def _mentions(self, target: str) -> list[str]:
        name = PurePosixPath(target).name
        return [unit.text for unit in self._units if name in unit.text]

    @cached_property
    def _by_file(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = defaultdict(list)
        for unit in self._made:
            texts[unit.file].append(unit.text)
        for path in self._variant.files:
            for folder in PurePosixPath(path).parents:
                texts[f"{folder}/{PurePosixPath(path).name}"].append(f"{path} 1")
        return dict(texts)

    @cached_property
    def _headings(self) -> frozenset[str]:
        return frozenset(unit.text for unit in self._units if unit.kind == "heading")

    @cached_property
    def _titles(self) -> dict[str, list[str]]:
        titles: dict[str, list[str]] = defaultdict(list)
        for unit in self._made:
            if unit.kind == "heading":
                titles[unit.file].append(unit.text)
        return titles

    @cached_property
    def _definitions(self) -> frozenset[str]:
        texts = (unit.text for unit in self._units if unit.kind == "statement")
        return frozenset(text for text in texts if text.startswith("[") and "]:" in text)

    @cached_property
    def _names(self) -> frozenset[tuple[str, ...]]:
        """Names of the bundle, its skills, folders and files, as words."""
        names = [self._parent.name, self._variant.name]
        for skill in self._parent.skills:
            names += [skill.name, PurePosixPath(skill.directory).name]
        for path in self._parent.files:
            names += [*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem]
        return frozenset(_words(name) for name in names)

    @cached_property
    def _field_words(self) -> str:
        return " ".join(w for unit in self._fields for w in _words(unit.text))

    @cached_property
    def _field_criticals(self) -> frozenset[str]:
        return frozenset(token for unit in self._fields for token in unit.criticals)

    @cached_property
    def _fields(self) -> list[Unit]:
        return [unit for unit in self._units if unit.kind == "field"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text))


def _fixed(names: Iterable[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in _words(_HOLE.sub(" ", TEMPLATES[name])))


_ROW_WORDS = _fixed(name for name in TEMPLATES if name.startswith("row-"))


def _counts(unit: Unit, token: str) -> bool:
    return unit.generated in _COUNTED_ROWS and token.startswith("num:")
