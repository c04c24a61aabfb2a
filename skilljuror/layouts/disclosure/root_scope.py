"""Divide a flat page by scope: the main path stays in the root, each branch becomes a file.

If the main path does not fit, these leave in turn until it does: examples inside a process; sections that
nothing decides and whole processes after the first; the stages of the first; each time the last one first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skilljuror.layouts.disclosure.scope import (
    NUMBERED,
    STEP,
    Reason,
    SectionScope,
    series_of,
    title_reason,
)
from skilljuror.layouts.disclosure.sections import (
    FlatSkill,
    SectionGroup,
    SectionNode,
    ranges_of,
)
from skilljuror.skill.generated import is_structural_heading

ROOT_TOKENS = (
    5_000  # estimated tokens of a main path that fits: the limit of the Agent Skills format
)
LEAST_FILE = 100  # estimated tokens below which a branch is not worth a file
LEAST_MOVED = 150  # the same for a section that leaves only because the root is full
SHARED_TOKENS = 500  # estimated tokens up to which alternatives share a file
FILE_TOKENS = 2_500  # estimated tokens from which a branch is cut between its subsections
LEAD_TOKENS = 120  # estimated tokens of a text that stays above the pointers to its subsections
LONG_TEXT = 60  # lines from which a text without headings can be cut

_DUTY = re.compile(r"\b(?:must|never|always|shall)\b|\bdo not\b|\bdon['’]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RootBudget:
    """Maximum size of the root's copied text."""

    lines: int
    tokens: int = ROOT_TOKENS


@dataclass(frozen=True, slots=True)
class FileUnit:
    """The content of one file."""

    groups: tuple[SectionGroup, ...]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [lines for group in self.groups for lines in group.ranges]

    @property
    def tokens(self) -> int:
        return sum(group.tokens for group in self.groups)

    @property
    def is_stage(self) -> bool:
        return self.groups[0].reason == "stage" or self.groups[0].continued

    def joined(self, other: "FileUnit") -> "FileUnit":
        return FileUnit(self.groups + other.groups)


@dataclass(frozen=True, slots=True)
class Division:
    """What stays in the root, and the files of the rest, each in document order."""

    kept: list[SectionGroup]
    units: list[FileUnit]


class RootDivider:
    """Divide the sections of a flat page, or of one skill on it."""

    def __init__(self, flat: FlatSkill, scopes: Iterable[SectionScope]) -> None:
        self.flat = flat
        self.scopes = {one.start: one for one in scopes}
        self.tree = flat.tree()

    def divide(self, budget: RootBudget, skill: str | None = None) -> Division:
        """Return the division of all text, or of the text of one skill ("" for shared text)."""
        scopes = dict(self.scopes)
        own = [one for one in self.flat.nodes() if skill in {None, self.flat.owner_at(one.start)}]
        for owner in dict.fromkeys(self.flat.skill_at(one.start) for one in own):
            nodes = [one for one in own if self.flat.skill_at(one.start) == owner]
            share = len({self.flat.skill_at(one.start) for one in own})
            _Fitting(self.flat, nodes, scopes).fit(budget.lines // share, budget.tokens // share)
        kept, units = [], list[FileUnit]()
        for group in self._groups(self.tree, scopes, (), ()):
            if skill not in {None, self.flat.owner_at(group.start)}:
                continue
            if not group.reason:
                kept.append(group)
            elif units and _share(units[-1].groups[-1], group, units[-1]):
                units[-1] = units[-1].joined(FileUnit((group,)))
            else:
                units.append(FileUnit((group,)))
        small = [one for one in units if one.tokens < LEAST_FILE]
        kept += [replace(group, reason="") for one in small for group in one.groups]
        kept = [one for one in kept if self.flat.has_text(one.ranges) and not _is_bare_marker(one)]
        kept, tails = self._within(sorted(kept, key=lambda one: one.start), budget.lines)
        units = [one for one in units if one.tokens >= LEAST_FILE] + tails
        return Division(kept, sorted(units, key=lambda one: one.groups[0].start))

    def _groups(
        self,
        node: SectionNode,
        scopes: Mapping[int, SectionScope],
        path: tuple[str, ...],
        above: tuple[int, ...],
    ) -> Iterator[SectionGroup]:
        """Groups of a subtree; those with a reason leave the root."""
        flat, record = self.flat, scopes[node.start]
        whole = list(ranges_of(node))
        leaves = all(scopes[start].scope == "branch" for start, _ in whole)
        tokens = flat.tokens(whole)
        skill = flat.skill_at(node.start)
        ordered = record.reason in {"stage", "process"}
        one_file = tokens <= FILE_TOKENS or not node.children or ordered
        if leaves and node.level > 0 and one_file:
            yield SectionGroup(
                whole, node.title, path, tokens, skill=skill, above=above, reason=record.reason
            )
            return
        own = [(node.start, node.text_end)]
        bare = not flat.has_text([(node.text_start, node.text_end)])
        stays = record.scope == "main" or bare or flat.tokens(own) <= LEAD_TOKENS
        reason = "" if stays else record.reason
        yield SectionGroup(
            own,
            node.title,
            path,
            flat.tokens(own),
            heading_only=bare,
            skill=skill,
            above=above,
            reason=reason,
        )
        if node.level:
            path, above = (*path, node.title), (*above, node.start)
        for child in node.children:
            yield from self._groups(child, scopes, path, above)

    def _within(
        self, kept: list[SectionGroup], lines: int
    ) -> tuple[list[SectionGroup], list[FileUnit]]:
        """Cut the longest texts between two blocks until the root has at most `lines` lines."""
        tails: list[FileUnit] = []
        while sum(group.lines for group in kept) > lines:
            over = sum(group.lines for group in kept) - lines
            long = [group for group in kept if group.lines > LONG_TEXT]
            for group in sorted(long, key=lambda one: (-one.lines, one.start)):
                halves = self.flat.split(group, max(4, group.lines - over), group.tokens)
                if halves is not None:
                    break
            else:
                return kept, tails
            kept[kept.index(group)] = halves[0]
            tails.append(FileUnit((halves[1],)))
        return kept, tails


def _share(last: SectionGroup, group: SectionGroup, unit: FileUnit) -> bool:
    """Whether a group joins the file of the group before: neighbours of one kind below one heading other than
    the page's title, or entries of one catalogue; alternatives only if they are small."""
    kind = (last.above, last.skill, last.reason)
    same = kind == (group.above, group.skill, group.reason) and group.reason != "stage"
    tokens = unit.tokens + group.tokens
    fits = tokens <= (SHARED_TOKENS if group.reason == "alternative" else FILE_TOKENS)
    entries = bool(series_of(group.title)) and series_of(group.title) == series_of(last.title)
    near = last.ranges[-1][1] == group.start and (len(group.path) > 1 or entries)
    return same and fits and near


def _is_step(node: SectionNode) -> bool:
    return bool(STEP.match(node.title) or NUMBERED.match(node.title))


def _is_bare_marker(group: SectionGroup) -> bool:
    """Whether it is a shared title without text below."""
    return group.heading_only and is_structural_heading(group.title)


class _Fitting:
    """Turn sections of one skill into branches until its main path fits."""

    def __init__(
        self, flat: FlatSkill, nodes: Sequence[SectionNode], scopes: dict[int, SectionScope]
    ) -> None:
        self.flat = flat
        self.nodes = nodes
        self.scopes = scopes

    def fit(self, lines: int, tokens: int) -> None:
        self._move(self._examples(), "look-up", lines, tokens)
        self._move(self._asides(), "over budget", lines, tokens)
        self._move(self._stages(), "stage", lines, tokens)
        for leaving in (self._red_flags, self._lesser, self._every):
            self._move(leaving(), "over budget", lines, tokens)

    def _move(self, nodes: Iterable[SectionNode], reason: Reason, lines: int, tokens: int) -> None:
        for node in nodes:
            if self._fits(lines, tokens):
                return
            whole = self.scopes[node.start].reason == "process" and reason == "over budget"
            for start, _ in ranges_of(node):
                record = self.scopes[start]
                if record.reason != "loader":
                    self.scopes[start] = replace(
                        record, scope="branch", reason="process" if whole else reason
                    )

    def _fits(self, lines: int, tokens: int) -> bool:
        main = [one for one in self.nodes if self.scopes[one.start].scope == "main"]
        own = [(one.start, one.text_end) for one in main]
        return sum(b - a for a, b in own) <= lines and self.flat.tokens(own) <= tokens

    def _whole(self, reasons: Iterable[str]) -> list[SectionNode]:
        """The largest subtrees of main sections with one of the reasons, the last one first."""
        allowed = {*reasons}
        found: list[SectionNode] = []
        for node in self.nodes:
            starts = [start for start, _ in ranges_of(node)]
            inside = any(start == node.start for one in found for start, _ in ranges_of(one))
            records = [self.scopes[start] for start in starts]
            movable = all(one.reason in allowed or one.scope == "branch" for one in records)
            main = any(one.scope == "main" for one in records)
            large = self.flat.tokens(list(ranges_of(node))) >= LEAST_MOVED
            if node.level and main and movable and large and not inside:
                found.append(node)
        return found[::-1]

    def _examples(self) -> list[SectionNode]:
        """Examples inside a process. A stage is none, nor is what only has a word of look-ups in its title,
        as "Phase 2: Group Related Branches"."""
        inside = [one for one in self.nodes if self.scopes[one.start].reason == "process"]
        asides = {"example", "troubleshooting"}
        return [one for one in inside if title_reason(one.title) in asides and not _is_step(one)][
            ::-1
        ]

    def _asides(self) -> list[SectionNode]:
        """Sections that nothing decides, and whole processes but for the first; those without duties leave
        first."""
        processes = [one for one in self._whole({"process"}) if not _is_step(one)][:-1]
        found = {one.start: one for one in [*self._whole({"undecided"}), *processes]}
        return sorted(found.values(), key=lambda one: (self._binds(one), -one.start))

    def _binds(self, node: SectionNode) -> bool:
        return bool(_DUTY.search(self.flat.text(list(ranges_of(node)))))

    def _stages(self) -> list[SectionNode]:
        """The stages of processes but for the very first."""
        tops = self._whole({"process"})
        stages = ([one] if _is_step(one) else one.children[::-1] for one in tops)
        return [stage for one in stages for stage in one][:-1]

    def _lesser(self) -> list[SectionNode]:
        return self._whole({"undecided", "prerequisite"})

    def _red_flags(self) -> list[SectionNode]:
        return self._whole({"undecided", "red flags"})

    def _every(self) -> list[SectionNode]:
        """Laws, decisions and the first process, if nothing else is left."""
        return self._whole(
            {one.reason for one in self.scopes.values()} - {"opening", "routing", "loader"}
        )
