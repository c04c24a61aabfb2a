"""Rows of the variant name the file that they link, and no two rows say the same.

Whether a row describes its file is a question of meaning: the rubric asks it.
"""

from collections.abc import Hashable, Iterator
from typing import ClassVar

from skilljuror.audit.comparison.file_rows import (
    FileRow,
    places_of,
    routes,
    rows_of,
    without_names,
)
from skilljuror.audit.comparison.normalised_text import moved_name, without_number
from skilljuror.audit.gates.findings import Observation, differential, gate_result
from skilljuror.base.build import GateResult
from skilljuror.base.skill import Bundle, is_markdown


class RoutingGate:
    """Check that the label and link of each row agree, and that rows can be told apart."""

    name: ClassVar[str] = "routing"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair; misleading rows of the parent are inherited."""
        seen, parent_rows = list(_observations(variant)), _ParentRows(parent)
        inherited = [*_observations(parent), *filter(parent_rows.include, seen)]
        pages = set(routes(variant).values())
        checked = {"row": sum(len(rows_of(variant, page)) for page in pages)}
        findings = differential(inherited, seen)
        return gate_result(self.name, (parent, variant), policy, findings, checked)


def _observations(bundle: Bundle) -> Iterator[Observation]:
    for page in dict.fromkeys(routes(bundle).values()):
        for row in rows_of(bundle, page):
            for label, target in row.crossed:
                key = (moved_name(label), moved_name(target))
                message = f"the link's label names {label!r}, but its address is {target!r}"
                yield Observation("routing.crossed", key, page, row.start, row.text, message)
        yield from _same_cues(bundle, page)


def _same_cues(bundle: Bundle, page: str) -> Iterator[Observation]:
    """Rows in the same words for files whose names differ in a number alone."""
    first: dict[tuple[str, str], str] = {}
    for row in rows_of(bundle, page):
        path, words = row.files[0], without_names(row.text)
        named = without_number(path), words
        other = first.setdefault(named, path)
        if path != other and named[0] in {path, other} and any(map(str.isalpha, words)):
            message = f"the rows about {other!r} and {path!r} say the same"
            key = _row_key(row, path)
            yield Observation("routing.same-cue", key, page, row.start, row.text, message)


def _row_key(row: FileRow, path: str) -> tuple[str, str]:
    """(file, words of a row about it), independent of the folders of page and file."""
    return moved_name(path), without_names(row.text)


class _ParentRows:
    """The rows of a parent, which a variant may keep however it divides the files. Text that leads
    to no file in the parent, as on a flat page, may lead to any file in the variant."""

    def __init__(self, parent: Bundle) -> None:
        self._keys: set[Hashable] = set()
        self._plain: set[str] = set()
        for page in filter(is_markdown, parent.files):
            for place in places_of(parent, page):
                self._keys.update(_row_key(place, path) for path in place.files[:1])
                if not place.files:
                    self._plain.add(without_names(place.text))

    def include(self, observation: Observation) -> bool:
        """Whether the parent has the vague or misleading row in the same words, leading nowhere or to the same file."""
        if observation.rule == "routing.crossed":
            return False
        text = without_names(observation.text or "")
        return observation.key in self._keys or text in self._plain
