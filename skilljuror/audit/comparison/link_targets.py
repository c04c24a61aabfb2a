"""Check that links and mentions still lead to the same file or heading.

Texts are compared without folders of paths and local link targets, because both change when a file moves.
This module compares them: files of one name in different folders, and targets of equal link labels.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote

from skilljuror.audit.comparison.file_matching import is_tail
from skilljuror.audit.comparison.inline_spans import leads_out
from skilljuror.audit.comparison.normalised_text import (
    TextNormaliser,
    all_paths,
    folders_above,
    paths_in,
    without_upward_steps,
)
from skilljuror.audit.comparison.unit_matching import MatchedBundles
from skilljuror.base.skill import CONTENT_KINDS, Bundle, Unit, UnitPair, is_root_name
from skilljuror.skill.generated import MARKER, marker_path
from skilljuror.skill.markdown import anchors, markdown_index, read_text
from skilljuror.skill.units import LINK_ARROW

_MOST = 0.5  # share of common texts from which two headings are similar


class LinkTarget(NamedTuple):
    """The target of a link; all fields are empty for a missing one."""

    files: frozenset[str]  # paths of the file, on disk or in a marker
    titles: frozenset[str]  # headings and names that identify it
    below: frozenset[str] = frozenset()  # the texts below its heading, if the title is ambiguous
    others: frozenset[frozenset[str]] = frozenset()  # the texts below each of the other headings

    def agrees(self, other: "LinkTarget") -> bool:
        """Whether it can be the same target in another bundle; a missing one agrees with any.

        A file with the same name is identified by its folders, a root and any other target by its headings.
        """
        if not (any(self) and any(other)):
            return True
        if any(may_be_one_file(path, file) for path in self.files for file in other.files):
            return True
        names = set(map(basename, self.files)) & set(map(basename, other.files))
        if not (all(map(is_root_name, names)) and self.titles & other.titles):
            return False
        return not self._is_another(other)

    def likeness(self, other: "LinkTarget") -> tuple[bool, float, bool]:
        """Return a sort key for targets that agree."""
        return self == other, _overlap(self.below, other.below), any(self) == any(other)

    def _is_another(self, other: "LinkTarget") -> bool:
        """Whether the other is another heading of the same title: its text is exactly, or mostly, below that one."""
        own = _overlap(self.below, other.below)
        best = max((_overlap(texts, other.below) for texts in self.others), default=0.0)
        return own < best == 1 or own <= _MOST < best


def _overlap(texts: frozenset[str], others: frozenset[str]) -> float:
    return len(texts & others) / max(1, len(texts | others))


NOWHERE = LinkTarget(frozenset(), frozenset())


def may_be_one_file(path: str, other: str) -> bool:
    """Whether two paths can be one file: one ends with the other, both end in the same folder and name, or one is
    an inner skill and the other its page."""
    tail = path.split("/")[-2:]
    alike = is_tail(path, other) or (len(tail) == 2 and tail == other.split("/")[-2:])
    return alike or _became(path, other) or _became(other, path)


def _became(path: str, page: str) -> bool:
    return is_root_name(path) and basename(page) == f"{basename(dirname(path))}.md"


class LinkResolver:
    """The files and headings of one bundle, and the targets of its links."""

    def __init__(self, bundle: Bundle, units: Sequence[Unit], normaliser: TextNormaliser) -> None:
        self._bundle, self._units, self._normaliser = bundle, units, normaliser
        self.files_by_name: dict[str, list[str]] = defaultdict(list)
        """Name -> paths of the files of that name, on disk and in markers."""
        for path in dict.fromkeys(all_paths(bundle, units)):
            self.files_by_name[basename(path)].append(path)

    def files_named(self, path: str) -> list[str]:
        """Return the files that a path may name, or else the path itself."""
        return [
            known for known in self.files_by_name.get(basename(path), ()) if is_tail(known, path)
        ] or [path]

    def target_of(self, link: Unit) -> LinkTarget:
        path, _, anchor = unquote(link.text.rpartition(LINK_ARROW)[2]).partition("#")
        path = path.partition("?")[0]
        files = self._files(link.file, path) if path else {link.file}
        if not anchor:
            return self._file_target(files) if path else NOWHERE
        if not path:
            return self._anchor_target(link.file, anchor.lower()) or NOWHERE
        return _union(self._heading_target(file, anchor.lower()) for file in sorted(files))

    def _heading_target(self, file: str, anchor: str) -> LinkTarget:
        """The heading of a file; the whole file if its own page lacks that heading."""
        target = self._anchor_target(file, anchor)
        if target is not None:
            return target
        if file in self._bundle.files:
            return self._file_target([file])
        elsewhere = _union(
            filter(None, (self._anchor_target(page, anchor) for page in self._anchor_targets))
        )
        return LinkTarget(frozenset() if elsewhere.titles else frozenset({file}), elsewhere.titles)

    def _anchor_target(self, file: str, anchor: str) -> LinkTarget | None:
        """The heading of an anchor on a page: a visible one, else one in a fence."""
        headings = self._anchor_targets.get(file, {})
        return headings.get(anchor) or headings.get(f"#{anchor}")

    def _files(self, page: str, path: str) -> set[str]:
        bases = [dirname(page), *(skill.directory for skill in self._bundle.skills), ""]
        for target in (normpath(join(base, path)) for base in bases):
            if target in self._bundle.files or target in self._folders:
                return {target}
        wanted = without_upward_steps(path)
        return {
            known
            for known in self.files_by_name.get(basename(wanted), ())
            if f"/{known}".endswith(f"/{wanted}")
        }

    @cached_property
    def _folders(self) -> set[str]:
        return {folder for path in self._bundle.files for folder in folders_above(path)}

    def _file_target(self, files: Collection[str]) -> LinkTarget:
        whole_files = frozenset(path for path in files if path not in self._folders)
        titles = {title for path in whole_files for title in self._titles(path)}
        return LinkTarget(
            whole_files,
            frozenset(titles | {f"{basename(path)}/" for path in set(files) - whole_files}),
        )

    def _titles(self, path: str) -> Iterator[str]:
        """Titles of a file: its first heading, its own name if unique, a root's folder and skill."""
        yield from self._first_heading.get(path, ())
        if is_root_name(path):
            yield basename(dirname(path))
            yield from (skill.name for skill in self._bundle.skills if skill.path == path)
        elif len(self.files_by_name.get(basename(path), ())) == 1:
            yield basename(path).rpartition(".")[0]

    @cached_property
    def _headings_of(self) -> dict[str, list[Unit]]:
        headings: dict[str, list[Unit]] = defaultdict(list)
        for unit in self._units:
            if unit.kind == "heading":
                headings[unit.file].append(unit)
        return headings

    @cached_property
    def _first_heading(self) -> dict[str, list[str]]:
        return {path: [headings[0].text] for path, headings in self._headings_of.items()}

    @cached_property
    def _anchor_targets(self) -> dict[str, dict[str, LinkTarget]]:
        """File -> anchor -> target; a heading that opens a file means that file."""
        pages: dict[str, dict[str, LinkTarget]] = defaultdict(dict)
        for path, headings in self._headings_of.items():
            names = self._anchors(path, headings)
            opened = path
            for unit in headings:
                embedded = marker_path(unit.text) if unit.generated == MARKER else None
                opened = embedded or opened
                target = self._target_of_heading(unit, frozenset({opened} - {""}))
                opened = opened if embedded else ""
                pages[path][names[unit.start]] = target
        return pages

    def _anchors(self, path: str, headings: Sequence[Unit]) -> dict[int, str]:
        """First line of a heading -> its anchor. Headings in fences have no anchor on the page; they are numbered
        separately, behind a mark."""
        text = read_text(self._bundle.files[path])
        shown_headings = markdown_index(text.lines).headings if text else ()
        shown = {heading.start + 1 for heading in shown_headings}
        names: dict[int, str] = {}
        for mark, part in (
            ("", [unit for unit in headings if unit.start in shown]),
            ("#", [unit for unit in headings if unit.start not in shown]),
        ):
            starts = [unit.start for unit in part]
            titles = [mark + name for name in anchors([unit.text for unit in part])]
            names.update(zip(starts, titles, strict=True))
        return names

    def _target_of_heading(self, heading: Unit, files: frozenset[str]) -> LinkTarget:
        alike = self._texts_below.get(heading.text, {})
        own = alike.get((heading.file, heading.start), frozenset())
        return LinkTarget(files, frozenset({heading.text}), own, frozenset(alike.values()) - {own})

    @cached_property
    def _texts_below(self) -> dict[str, dict[tuple[str, int], frozenset[str]]]:
        """Ambiguous title -> place -> texts below it, up to the next heading."""
        titles = Counter(heading.text for alike in self._headings_of.values() for heading in alike)
        if max(titles.values(), default=0) < 2:
            return {}
        texts: dict[tuple[str, int], list[str]] = {}
        alike: dict[str, dict[tuple[str, int], frozenset[str]]] = defaultdict(dict)
        last: Unit | None = None
        content = (u for u in self._units if u.kind in CONTENT_KINDS)
        for unit in sorted(content, key=attrgetter("file", "start")):
            if unit.kind == "heading" and unit.generated in {None, MARKER}:
                last = unit
                texts[unit.file, unit.start] = []
            elif last is not None and unit.file == last.file and unit.generated is None:
                texts[last.file, last.start].append(self._normaliser.text(unit))
        for path, headings in self._headings_of.items():
            for heading in headings:
                if titles[heading.text] > 1:
                    alike[heading.text][path, heading.start] = frozenset(
                        texts.get((path, heading.start), ())
                    )
        return alike


def _union(targets: Iterable[LinkTarget]) -> LinkTarget:
    known = list(targets)
    files = frozenset(path for target in known for path in target.files)
    titles = frozenset(title for target in known for title in target.titles)
    below = frozenset(text for target in known for text in target.below)
    return LinkTarget(files, titles, below, known[0].others if len(known) == 1 else frozenset())


class LinkComparison:
    """The links and mentions of a parent and a variant, compared."""

    def __init__(self, both: MatchedBundles) -> None:
        self._units = both.old, both.new
        self._resolvers = (
            LinkResolver(both.parent, both.old, both.normaliser),
            LinkResolver(both.variant, both.new, both.normaliser),
        )
        self._normaliser, self._matching = both.normaliser, both.matching
        self._ambiguous = {
            name
            for resolver in self._resolvers
            for name, paths in resolver.files_by_name.items()
            if len(paths) > 1
        }
        """Names of several files of one side."""

    def confused(self, before: Unit, after: Unit) -> bool:
        """Whether two otherwise equal texts name different files of one name."""
        if before.text == after.text or not self._ambiguous:
            return False
        return not self._agree(self._named(before), self._named(after))

    def _named(self, unit: Unit) -> tuple[str, ...]:
        return tuple(path for path in paths_in(unit.text) if basename(path) in self._ambiguous)

    def _agree(self, old: Sequence[str], new: Sequence[str]) -> bool:
        if [basename(path) for path in old] != [basename(path) for path in new]:
            return True
        return all(
            self._can_be(path, other) for path, other in zip(old, new, strict=True) if path != other
        )

    def _can_be(self, path: str, other: str) -> bool:
        files = self._resolvers[0].files_named(path)
        others = self._resolvers[1].files_named(other)
        return any(may_be_one_file(file, other_file) for file in files for other_file in others)

    def mentions(self, same: Iterable[tuple[Unit, Unit]]) -> Iterator[UnitPair]:
        """Yield texts that are equal without their paths, but name other files. Equal texts are interchangeable."""
        groups: dict[str, list[tuple[Unit, Unit]]] = defaultdict(list)
        for before, after in same:
            if before.text != after.text and self._ambiguous:
                groups[self._normaliser.text(before)].append((before, after))
        for pairs in groups.values():
            yield from self._strayed(pairs)

    def _strayed(self, pairs: Sequence[tuple[Unit, Unit]]) -> Iterator[UnitPair]:
        rest = [(after, self._named(after)) for _, after in pairs]
        for before, _ in pairs:
            names = self._named(before)
            fitting = (n for n, (_, others) in enumerate(rest) if self._agree(names, others))
            number = next(fitting, None)
            after, _ = rest.pop(number or 0)
            if number is None:
                yield UnitPair(before, after, change="reference")

    def links(self) -> Iterator[UnitPair]:
        """Yield local links with another target than the parent's link of that label, and labels without a link."""
        before_by_label, after_by_label = (self._labelled(side) for side in (0, 1))
        unchanged = {
            (before.file, line): after
            for before, after in self._matching.same
            for line in range(before.start, before.end + 1)
        }
        for label, old in before_by_label.items():
            rest = list(after_by_label.get(label, ()))
            for link, target in _unmet(old, rest):
                if not any(target):
                    continue
                after = rest.pop(0)[0] if rest else unchanged.get((link.file, link.start))
                if after is not None:
                    yield UnitPair(link, after, change="reference")

    def exchanged(self) -> Iterator[UnitPair]:
        """Yield links whose label now has an address that another label had, and not its own: out of the bundle, or
        to nothing in it."""
        addresses, addresses_now = (self._unresolved(side) for side in (0, 1))
        owners = defaultdict[str, set[str]](set)
        for label, links in addresses.items():
            for address in links:
                owners[address].add(label)
        for label, links in addresses_now.items():
            own = addresses.get(label, {})
            for address, link in links.items():
                if own and address not in own and owners[address] - {label}:
                    yield UnitPair(next(iter(own.values())), link, change="reference")

    def _unresolved(self, side: int) -> dict[str, dict[str, Unit]]:
        """Label -> address -> a link, without the links to targets in the bundle."""
        by_label: dict[str, dict[str, Unit]] = defaultdict(dict)
        for unit in self._units[side]:
            if unit.kind == "link":
                label, _, address = unit.text.rpartition(LINK_ARROW)
                if leads_out(address) or not any(self._resolvers[side].target_of(unit)):
                    by_label[self._normaliser.normalised(label)].setdefault(address, unit)
        return by_label

    def _labelled(self, side: int) -> dict[str, list[tuple[Unit, LinkTarget]]]:
        """Label -> the local links of a side, without those of generated lines."""
        units, resolver = self._units[side], self._resolvers[side]
        generated = {
            (unit.file, unit.start)
            for unit in units
            if unit.generated is not None and unit.kind in CONTENT_KINDS
        }
        by_label: dict[str, list[tuple[Unit, LinkTarget]]] = defaultdict(list)
        for unit in units:
            if unit.kind == "link" and (unit.file, unit.start) not in generated:
                label, _, address = unit.text.rpartition(LINK_ARROW)
                if not leads_out(address):
                    by_label[self._normaliser.normalised(label)].append((
                        unit,
                        resolver.target_of(unit),
                    ))
        return by_label


def _unmet(
    old: Sequence[tuple[Unit, LinkTarget]], rest: list[tuple[Unit, LinkTarget]]
) -> Iterator[tuple[Unit, LinkTarget]]:
    """Links of one label that agree with none of the other side's; the matching ones are removed from `rest`,
    links to something first."""
    waiting = Counter(target for _, target in rest)
    kinds = list(waiting)
    used_targets: list[LinkTarget] = []
    unmet = []
    for link, target in old:
        fits = (other for other in kinds if waiting[other] and target.agrees(other))
        best = max(fits, key=target.likeness, default=None)
        if best is None:
            unmet.append((link, target))
        else:
            waiting[best] -= 1
            used_targets.append(best)
    used = Counter(used_targets)
    for number in range(len(rest) - 1, -1, -1):
        target = rest[number][1]
        if used[target]:
            used[target] -= 1
            rest.pop(number)
    return iter(unmet)
