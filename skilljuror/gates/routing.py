"""Do the rows of the variant lead to what they say?"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import ClassVar

from skilljuror.gates.findings import Observation, differential, finding, gate_result
from skilljuror.knowledge.comparison.file_matching import is_tail
from skilljuror.knowledge.comparison.file_rows import (
    FileRow,
    places_of,
    routes,
    rows_of,
    without_names,
)
from skilljuror.knowledge.comparison.process_pointers import parted_without_pointer
from skilljuror.knowledge.comparison.row_fit import row_fits
from skilljuror.knowledge.units.extract import units_of
from skilljuror.knowledge.units.normalised_text import moved_name
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import GateResult
from skilljuror.models.knowledge import CONTENT_KINDS
from skilljuror.models.resource_class import is_markdown

_SHARE = 0.5
"""Share of a file's text that must stand in another one for their contents to be exchanged."""


class RoutingGate:
    """Rows whose words, label and link agree with the file that they lead to."""

    name: ClassVar[str] = "routing"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """The answer for one pair; rows that misled in the parent too are inherited."""
        exchanged = [finding(one) for one in _exchanged_contents(parent, variant)]
        parted = [finding(one) for one in _parted_processes(parent, variant)]
        known = {found.file for found in exchanged}
        seen, kept = list(_observations(variant)), _Kept(parent)
        known_rows = [*_observations(parent), *filter(kept.holds, seen)]
        findings = [
            found
            for found in differential(known_rows, seen)
            if not (found.rule == "routing.exchanged" and found.file in known)
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
                message = f"the label names {label!r}, the link leads to {target!r}"
                yield Observation("routing.crossed", key, page, row.start, row.text, message)
    for fit in row_fits(bundle, leads):
        for row, path, other in fit.exchanged():
            names = frozenset((moved_name(path), moved_name(other)))
            message = f"what is said of {path!r} and of {other!r} fits the other file each"
            yield Observation("routing.exchanged", names, path, None, row.text, message)
        for row, path, other in fit.astray():
            message = f"it leads to {path!r} and speaks of {other!r}"
            said = _said(row, path)
            yield Observation("routing.astray", said, row.page, row.start, row.text, message)
        for path, row in fit.dull():
            message = f"nothing that it says of {path!r} stands there"
            said = _said(row, path)
            yield Observation("routing.dull", said, row.page, row.start, row.text, message)


def _said(row: FileRow, path: str) -> tuple[str, str]:
    """What a row says, and of which file: the same wherever page and file lie."""
    return moved_name(path), without_names(row.text)


class _Kept:
    """The rows of a parent: a variant may keep them, however it cuts the files. What leads to no
    file there, as on a flat page, may lead to any."""

    def __init__(self, parent: Bundle) -> None:
        self._named: set[Hashable] = set()
        self._plain: set[str] = set()
        for page in filter(is_markdown, parent.files):
            for place in places_of(parent, page):
                self._named.update(_said(place, path) for path in place.files[:1])
                if not place.files:
                    self._plain.add(without_names(place.text))

    def holds(self, observation: Observation) -> bool:
        """Whether a row that says little or the wrong thing stands in the parent as it is."""
        if observation.rule not in {"routing.astray", "routing.dull"}:
            return False
        return (
            observation.key in self._named or without_names(observation.text or "") in self._plain
        )


def _parted_processes(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    if parent.files == variant.files:
        return
    for last, following in parted_without_pointer(parent, variant):
        message = f"{following.title!r} follows in {following.page!r}, and nothing here leads there"
        yield Observation("routing.pointer", "", last.page, last.line, last.title, message)


def _exchanged_contents(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Pages of the parent that the variant has by name, with what other places of the parent say,
    while their own text stands in another file."""
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
            message = f"what {path!r} said stands in {home!r}, and other text in its place"
            yield Observation("routing.exchanged", path, name, message=message)


def _namesake(path: str, variant: Bundle) -> str | None:
    """The one file of the variant that has the path of a parent's file, but for leading folders."""
    if path in variant.files:
        return path
    found = [other for other in variant.files if is_tail(path, other)]
    return found[0] if len(found) == 1 else None


def _texts_of(bundle: Bundle) -> dict[str, set[str]]:
    """File -> what it says."""
    texts: dict[str, set[str]] = defaultdict(set)
    for unit in units_of(bundle):
        if unit.kind in CONTENT_KINDS and not unit.generated:
            texts[unit.file].add(unit.text)
    return texts
