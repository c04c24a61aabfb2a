"""What texts aim at: whether links and mentions still lead to the file or heading they led to.

Texts are compared without the folders of paths and without local link targets, for both change when
a file moves. Here is looked at what that leaves out: files of one name in different folders, and the
places behind the labels of links.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote

from skilljuror.knowledge.comparison.file_matching import is_tail
from skilljuror.knowledge.comparison.unit_matching import UnitMatching
from skilljuror.knowledge.generated.templates import MARKER, marker_path
from skilljuror.knowledge.markdown.block_index import markdown_index
from skilljuror.knowledge.markdown.headings import anchors
from skilljuror.knowledge.markdown.text_file import read_text
from skilljuror.knowledge.units.normalised_text import TextNormaliser, all_paths, paths_in
from skilljuror.knowledge.units.prose import LINK_ARROW
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import CONTENT_KINDS, Unit, UnitPair
from skilljuror.models.resource_class import is_root_name

_REMOTE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//|<|\{)", re.IGNORECASE)
_MOST = 0.5
"""Share of the texts below two headings beyond which they share most."""


class LinkTarget(NamedTuple):
    """Where a link leads; both are empty for what is not there."""

    files: frozenset[str]
    """Paths of the file, on disk or in a marker."""
    titles: frozenset[str]
    """Headings and names that the place goes by."""
    below: frozenset[str] = frozenset()
    """The texts below its heading, where the bundle has several headings of that title."""
    others: frozenset[frozenset[str]] = frozenset()
    """The texts below each of these others."""

    def agrees(self, other: "LinkTarget") -> bool:
        """Whether it can be the same place of another bundle; what is not there may be anything.
        A file that keeps its name is known by its folders; a root, for all have one name, and any
        other place by its headings."""
        if not (any(self) and any(other)):
            return True
        if any(may_be_one_file(f, g) for f in self.files for g in other.files):
            return True
        kept = {basename(f) for f in self.files} & {basename(g) for g in other.files}
        if not (all(map(is_root_name, kept)) and self.titles & other.titles):
            return False
        return not self._is_another(other)

    def likeness(self, other: "LinkTarget") -> tuple[bool, float, bool]:
        """How much speaks for the other of several that agree."""
        return self == other, _shared(self.below, other.below), any(self) == any(other)

    def _is_another(self, other: "LinkTarget") -> bool:
        """Whether the other is another heading of the same title, by what stands below it: just what
        stands below that one, or most of it where little of its own does."""
        own = _shared(self.below, other.below)
        best = max((_shared(one, other.below) for one in self.others), default=0.0)
        return own < best == 1 or own <= _MOST < best


def _shared(texts: frozenset[str], others: frozenset[str]) -> float:
    """Share of all their texts that both have, in [0, 1]; 0 where neither has any."""
    return len(texts & others) / max(1, len(texts | others))


NOWHERE = LinkTarget(frozenset(), frozenset())


def may_be_one_file(path: str, other: str) -> bool:
    """Whether two paths can be one file: one ends with the other, or both with the same folder and
    name, or one is a skill inside a skill and the other the page that it became."""
    two = path.split("/")[-2:]
    same = is_tail(path, other) or (len(two) == 2 and two == other.split("/")[-2:])
    return same or _became(path, other) or _became(other, path)


def _became(path: str, page: str) -> bool:
    return is_root_name(path) and basename(page) == f"{basename(dirname(path))}.md"


class LinkResolver:
    """The files and headings of one bundle, and where its links lead."""

    def __init__(self, bundle: Bundle, units: Sequence[Unit], normal: TextNormaliser) -> None:
        self._bundle, self._units, self._normal = bundle, units, normal
        self.known: dict[str, list[str]] = defaultdict(list)
        """Name -> paths of the files of that name, on disk and in markers."""
        for path in dict.fromkeys(all_paths(bundle, units)):
            self.known[basename(path)].append(path)

    def named(self, path: str) -> list[str]:
        """The files that a path may name; the path itself when it names none."""
        return [one for one in self.known.get(basename(path), ()) if is_tail(one, path)] or [path]

    def place(self, link: Unit) -> LinkTarget:
        """Where a link leads."""
        path, _, anchor = unquote(link.text.rpartition(LINK_ARROW)[2]).partition("#")
        path = path.partition("?")[0]
        files = self._files(link.file, path) if path else {link.file}
        if not anchor:
            return self._whole(files) if path else NOWHERE
        if not path:
            return self._named_heading(link.file, anchor.lower()) or NOWHERE
        return _both(self._heading(file, anchor.lower()) for file in sorted(files))

    def _heading(self, file: str, anchor: str) -> LinkTarget:
        """The heading of a file; the whole file where no page of its own has that heading."""
        found = self._named_heading(file, anchor)
        if found is not None:
            return found
        if file in self._bundle.files:
            return self._whole([file])
        there = _both(filter(None, (self._named_heading(page, anchor) for page in self._headings)))
        return LinkTarget(frozenset() if there.titles else frozenset({file}), there.titles)

    def _named_heading(self, file: str, anchor: str) -> LinkTarget | None:
        """The heading of an anchor on a page: one that is shown, else one that a fence carries."""
        headings = self._headings.get(file, {})
        return headings.get(anchor) or headings.get(f"#{anchor}")

    def _files(self, page: str, path: str) -> set[str]:
        """The files, or else the folder, that a relative path of a page leads to."""
        bases = [dirname(page), *(skill.directory for skill in self._bundle.skills), ""]
        for place in (normpath(join(base, path)) for base in bases):
            if place in self._bundle.files or place in self._folders:
                return {place}
        told = normpath(path).lstrip("./")
        return {one for one in self.known.get(basename(told), ()) if f"/{one}".endswith(f"/{told}")}

    @cached_property
    def _folders(self) -> set[str]:
        found = set()
        for path in self._bundle.files:
            while path := dirname(path):
                found.add(path)
        return found

    def _whole(self, files: Collection[str]) -> LinkTarget:
        """The place of files; a folder is known by its name alone, for it moves with them."""
        told = frozenset(path for path in files if path not in self._folders)
        titles = {title for path in told for title in self._titles(path)}
        return LinkTarget(
            told, frozenset(titles | {f"{basename(path)}/" for path in set(files) - told})
        )

    def _titles(self, path: str) -> Iterator[str]:
        """What a file goes by: its first heading, and its own name where no other has it; a root
        also by the name of its folder."""
        yield from self._first.get(path, ())
        if is_root_name(path):
            yield basename(dirname(path))
            yield from (skill.name for skill in self._bundle.skills if skill.path == path)
        elif len(self.known.get(basename(path), ())) == 1:
            yield basename(path).rpartition(".")[0]

    @cached_property
    def _titled(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = defaultdict(list)
        for unit in self._units:
            if unit.kind == "heading":
                found[unit.file].append(unit)
        return found

    @cached_property
    def _first(self) -> dict[str, list[str]]:
        return {path: [found[0].text] for path, found in self._titled.items()}

    @cached_property
    def _headings(self) -> dict[str, dict[str, LinkTarget]]:
        """File -> anchor -> place; a heading that opens a file is a place of that file."""
        pages: dict[str, dict[str, LinkTarget]] = defaultdict(dict)
        for path, found in self._titled.items():
            names = self._anchors(path, found)
            opened = path
            for unit in found:
                carried = marker_path(unit.text) if unit.generated == MARKER else None
                opened = carried or opened
                place = self._heading_place(unit, frozenset({opened} - {""}))
                opened = opened if carried else ""
                pages[path][names[unit.start]] = place
        return pages

    def _anchors(self, path: str, found: Sequence[Unit]) -> dict[int, str]:
        """First line of a heading -> its anchor. Those that a fence carries have none of the page's
        and are named among themselves, behind a mark that no anchor has."""
        text = read_text(self._bundle.files[path])
        told = markdown_index(text.lines).headings if text else ()
        shown = {one.start + 1 for one in told}
        names: dict[int, str] = {}
        for mark, part in (
            ("", [unit for unit in found if unit.start in shown]),
            ("#", [unit for unit in found if unit.start not in shown]),
        ):
            starts = [unit.start for unit in part]
            titles = [mark + name for name in anchors([unit.text for unit in part])]
            names.update(zip(starts, titles, strict=True))
        return names

    def _heading_place(self, heading: Unit, files: frozenset[str]) -> LinkTarget:
        """The place of a heading; of one whose title others have, with what tells them apart."""
        alike = self._alike.get(heading.text, {})
        own = alike.get((heading.file, heading.start), frozenset())
        return LinkTarget(files, frozenset({heading.text}), own, frozenset(alike.values()) - {own})

    @cached_property
    def _alike(self) -> dict[str, dict[tuple[str, int], frozenset[str]]]:
        """Title of several headings -> where each stands -> the texts below it, up to the next."""
        titles = Counter(one.text for found in self._titled.values() for one in found)
        if max(titles.values(), default=0) < 2:
            return {}
        below: dict[tuple[str, int], list[str]] = {}
        found: dict[str, dict[tuple[str, int], frozenset[str]]] = defaultdict(dict)
        last: Unit | None = None
        content = (u for u in self._units if u.kind in CONTENT_KINDS)
        for unit in sorted(content, key=attrgetter("file", "start")):
            if unit.kind == "heading" and unit.generated in {None, MARKER}:
                last = unit
                below[unit.file, unit.start] = []
            elif last is not None and unit.file == last.file and unit.generated is None:
                below[last.file, last.start].append(self._normal.text(unit))
        for path, headings in self._titled.items():
            for one in headings:
                if titles[one.text] > 1:
                    found[one.text][path, one.start] = frozenset(below.get((path, one.start), ()))
        return found


def _both(places: Iterable[LinkTarget]) -> LinkTarget:
    told = list(places)
    files = frozenset(path for one in told for path in one.files)
    titles = frozenset(title for one in told for title in one.titles)
    below = frozenset(text for one in told for text in one.below)
    return LinkTarget(files, titles, below, told[0].others if len(told) == 1 else frozenset())


class LinkComparison:
    """What two bundles aim at, compared."""

    def __init__(
        self,
        pair: tuple[Bundle, Bundle],
        units: tuple[Sequence[Unit], Sequence[Unit]],
        normal: TextNormaliser,
    ) -> None:
        self._units = units
        self._aims = (
            LinkResolver(pair[0], units[0], normal),
            LinkResolver(pair[1], units[1], normal),
        )
        self._normal = normal
        self._shared = {
            name for aims in self._aims for name, paths in aims.known.items() if len(paths) > 1
        }
        """Names that several files of one side have."""

    def confused(self, before: Unit, after: Unit) -> bool:
        """Whether two texts that otherwise agree name different files of one name."""
        if before.text == after.text or not self._shared:
            return False
        return not self._agree(self._named(before), self._named(after))

    def _named(self, unit: Unit) -> tuple[str, ...]:
        """The paths in a text whose name alone does not tell the file."""
        return tuple(path for path in paths_in(unit.text) if basename(path) in self._shared)

    def _agree(self, old: Sequence[str], new: Sequence[str]) -> bool:
        if [basename(path) for path in old] != [basename(path) for path in new]:
            return True
        return all(self._can_be(p, q) for p, q in zip(old, new, strict=True) if p != q)

    def _can_be(self, path: str, other: str) -> bool:
        mine, theirs = self._aims[0].named(path), self._aims[1].named(other)
        return any(may_be_one_file(one, two) for one in mine for two in theirs)

    def mentions(self, same: Iterable[tuple[Unit, Unit]]) -> Iterator[UnitPair]:
        """Texts that are equal without their paths, and name other files with them. Of such equal
        texts any may stand for any."""
        groups: dict[str, list[tuple[Unit, Unit]]] = defaultdict(list)
        for before, after in same:
            if before.text != after.text and self._shared:
                groups[self._normal.text(before)].append((before, after))
        for pairs in groups.values():
            yield from self._strayed(pairs)

    def _strayed(self, pairs: Sequence[tuple[Unit, Unit]]) -> Iterator[UnitPair]:
        rest = [(after, self._named(after)) for _, after in pairs]
        for before, _ in pairs:
            told = self._named(before)
            place = next((n for n, (_, one) in enumerate(rest) if self._agree(told, one)), None)
            after, _ = rest.pop(place or 0)
            if place is None:
                yield UnitPair(before, after, change="reference")

    def links(self, matching: UnitMatching) -> Iterator[UnitPair]:
        """Local links that lead elsewhere than the parent's of the same label, and labels that still
        stand and lead nowhere any more."""
        mine, theirs = (self._labelled(side) for side in (0, 1))
        stands = {
            (before.file, line): after
            for before, after in matching.same
            for line in range(before.start, before.end + 1)
        }
        for label, old in mine.items():
            rest = list(theirs.get(label, ()))
            for link, place in _unmet(old, rest):
                if not any(place):
                    continue
                after = rest.pop(0)[0] if rest else stands.get((link.file, link.start))
                if after is not None:
                    yield UnitPair(link, after, change="reference")

    def _labelled(self, side: int) -> dict[str, list[tuple[Unit, LinkTarget]]]:
        """Label -> the local links of a side, those of generated lines apart."""
        units, aims = self._units[side], self._aims[side]
        made = {
            (unit.file, unit.start)
            for unit in units
            if unit.generated is not None and unit.kind in CONTENT_KINDS
        }
        found: dict[str, list[tuple[Unit, LinkTarget]]] = defaultdict(list)
        for unit in units:
            if unit.kind == "link" and (unit.file, unit.start) not in made:
                label, _, address = unit.text.rpartition(LINK_ARROW)
                if not _REMOTE.match(address):
                    found[self._normal.of(label)].append((unit, aims.place(unit)))
        return found


def _unmet(
    old: Sequence[tuple[Unit, LinkTarget]], rest: list[tuple[Unit, LinkTarget]]
) -> Iterator[tuple[Unit, LinkTarget]]:
    """The links of one label that none of the other side's agrees with; those that one does are
    taken out of `rest`, links to something before links to nothing."""
    waiting = Counter(place for _, place in rest)
    kinds = list(waiting)
    found: list[LinkTarget] = []
    unmet = []
    for link, place in old:
        fits = (one for one in kinds if waiting[one] and place.agrees(one))
        best = max(fits, key=place.likeness, default=None)
        if best is None:
            unmet.append((link, place))
        else:
            waiting[best] -= 1
            found.append(best)
    used = Counter(found)
    for number in range(len(rest) - 1, -1, -1):
        place = rest[number][1]
        if used[place]:
            used[place] -= 1
            rest.pop(number)
    return iter(unmet)
