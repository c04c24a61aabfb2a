"""Rows of the variant lead to the files that they describe."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import ClassVar

from skilljuror.audit.comparison.file_matching import is_tail
from skilljuror.audit.comparison.file_rows import (
    FileRow,
    places_of,
    routes,
    rows_of,
    without_names,
)
from skilljuror.audit.comparison.normalised_text import moved_name, without_number
from skilljuror.audit.comparison.process_pointers import parted_without_pointer
from skilljuror.audit.comparison.row_fit import row_fits
from skilljuror.audit.gates.findings import Observation, differential, finding, gate_result
from skilljuror.base.build import GateResult
from skilljuror.base.skill import CONTENT_KINDS, Bundle, is_markdown
from skilljuror.skill.units import units_of

_SHARE = 0.5
"""Share of a file's text that must be in another file for their contents to count as exchanged."""


class RoutingGate:
    """Check that the words, label and link of each row agree with its target file."""

    name: ClassVar[str] = "routing"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair; misleading rows of the parent are inherited."""
        exchanged = [finding(one) for one in _exchanged_contents(parent, variant)]
        parted = [finding(one) for one in _parted_processes(parent, variant)]
        reported = {found.file for found in exchanged}
        seen, parent_rows = list(_observations(variant)), _ParentRows(parent)
        inherited = [*_observations(parent), *filter(parent_rows.include, seen)]
        findings = [
            found
            for found in differential(inherited, seen)
            if not (found.rule == "routing.exchanged" and found.file in reported)
        ]
        pages = set(routes(variant).values())
        checked = {"row": sum(len(rows_of(variant, page)) for page in pages)}
        found = [*exchanged, *parted, *findings]
        return gate_result(self.name, (parent, variant), policy, found, checked)


def _observations(bundle: Bundle) -> Iterator[Observation]:
    leads = routes(bundle)
    for page in dict.fromkeys(leads.values()):
        for row in rows_of(bundle, page):
            for label, target in row.crossed:
                key = (moved_name(label), moved_name(target))
                message = f"the link's label names {label!r}, but its address is {target!r}"
                yield Observation("routing.crossed", key, page, row.start, row.text, message)
        yield from _same_cues(bundle, page)
    for fit in row_fits(bundle, leads):
        for row, path, other in fit.exchanged():
            names = frozenset((moved_name(path), moved_name(other)))
            message = f"the rows for {path!r} and {other!r} each describe the other file"
            yield Observation("routing.exchanged", names, path, None, row.text, message)
        for row, path, other in fit.astray():
            message = f"the row leads to {path!r} but describes {other!r}"
            key = _row_key(row, path)
            yield Observation("routing.astray", key, row.page, row.start, row.text, message)
        for path, row in fit.dull():
            message = f"no word of the row about {path!r} is in that file"
            key = _row_key(row, path)
            yield Observation("routing.dull", key, row.page, row.start, row.text, message)


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


def _parted_processes(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    if parent.files == variant.files:
        return
    for last, following in parted_without_pointer(parent, variant):
        message = f"the process continues with {following.title!r} in {following.page!r} without a pointer"
        yield Observation("routing.pointer", "", last.page, last.line, last.title, message)


def _exchanged_contents(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Pages whose name the variant keeps, while their text is in another file and they have text
    from elsewhere in the parent."""
    names = {path: _namesake(path, variant) for path in parent.files if is_markdown(path)}
    if parent.files == variant.files or not any(names.values()):
        return
    before, after = _texts_of(parent), _texts_of(variant)
    files_after: dict[str, set[str]] = defaultdict(set)
    for path, texts in after.items():
        for text in texts:
            files_after[text].add(path)
    everywhere = Counter(text for texts in before.values() for text in texts)
    for path, name in names.items():
        if name is None or name in {skill.path for skill in variant.skills}:
            continue
        own = before[path]
        homes = [next(iter(files_after[text])) for text in own if len(files_after[text]) == 1]
        home, count = max(sorted(Counter(homes).items()), key=lambda one: one[1], default=("", 0))
        left = count > _SHARE * len(homes) and name not in homes
        if left and any(everywhere[text] for text in after[name] - own):
            message = f"the text of {path!r} is in {home!r}, and other text replaces it"
            yield Observation("routing.exchanged", path, name, message=message)


def _namesake(path: str, variant: Bundle) -> str | None:
    """The only file of the variant with a parent file's path, leading folders apart."""
    if path in variant.files:
        return path
    found = [other for other in variant.files if is_tail(path, other)]
    return found[0] if len(found) == 1 else None


def _texts_of(bundle: Bundle) -> dict[str, set[str]]:
    texts: dict[str, set[str]] = defaultdict(set)
    for unit in units_of(bundle):
        if unit.kind in CONTENT_KINDS and not unit.generated:
            texts[unit.file].add(unit.text)
    return texts
