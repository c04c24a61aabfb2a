"""Select the text that stays in the root within a budget: what every reader must know.

In this order, as far as each fits: titles with their text; short sections that bind, overviews and
prerequisites; text before the first process, on which the process builds; the processes, up to half of
the budget; then the text with the most duties per token. A sequence is split at most once: its first
part stays, the rest moves as one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from skilljuror.knowledge.generated.embedded_files import is_structural_heading
from skilljuror.models.resource_class import is_markdown
from skilljuror.tokens import estimate
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup

ROOT_TOKENS = 3_000  # estimated tokens of the root's copied text
SHARE = 0.7  # maximum share of all prose, embedded references included, that stays in the root
SMALL_TOKENS = 1_000  # estimated tokens of a text that may stay as a whole
SHORT_TOKENS = 80  # estimated tokens of a section that always stays if it binds
OPENING_SHARE = 0.25  # share of the budget for text before the first process
PROCESS_SHARE = 0.5  # share of the budget for processes
DENSITY = 0.003  # minimum worth per token of kept text: one duty in about 300 tokens
STEPS = 3  # minimum number of ordered items in a process
APART = 0.01  # minimum worth per token of a section that stays while its siblings leave
TOP_UP = 0.35  # share of the text up to which the root is filled in document order
TOP_UP_TOKENS = 600
LEAST_TOKENS = 120
LEAST_SHARE = 0.2  # minimum estimated tokens, and share of the text, of a root

_ALWAYS = re.compile(r"\b(?:overview|prerequisites?|pre-?requirements?)\b", re.IGNORECASE)
"""Titles of sections that always stay."""


@dataclass(frozen=True, slots=True)
class RootBudget:
    """Maximum size of the root's copied text."""

    lines: int
    tokens: int = ROOT_TOKENS


class _Kept:
    def __init__(self) -> None:
        self._groups: dict[int, SectionGroup] = {}
        self._lines: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def __contains__(self, group: SectionGroup) -> bool:
        return id(group) in self._groups

    def __iter__(self) -> Iterator[SectionGroup]:
        return iter(self._groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, groups: Iterable[SectionGroup]) -> None:
        for group in groups:
            self._groups[id(group)] = group
            self._lines[group.skill] += group.lines
            self._tokens[group.skill] += group.tokens

    def drop(self, groups: Iterable[SectionGroup]) -> None:
        for group in groups:
            del self._groups[id(group)]
            self._lines[group.skill] -= group.lines
            self._tokens[group.skill] -= group.tokens

    def lines(self, skill: str | None = None) -> int:
        """Lines of one skill, or of all."""
        return self._lines.total() if skill is None else self._lines[skill]

    def tokens(self, skill: str | None = None) -> int:
        """Estimated tokens of one skill, or of all."""
        return self._tokens.total() if skill is None else self._tokens[skill]


@dataclass(frozen=True, slots=True)
class _Part:
    groups: Sequence[SectionGroup]
    lines: int
    tokens: int
    worth: float  # of all its lines


class RootSelector:
    """Select groups for the root, with an equal share for every source skill on the page."""

    def __init__(self, flat: FlatSkill, groups: Sequence[SectionGroup], budget: RootBudget) -> None:
        self.flat = flat
        self.groups = list(groups)
        self.budget = budget
        own = sum(group.tokens for group in groups)
        skills = {group.skill for group in groups}
        references = sum(
            estimate("\n".join(file.text.lines))
            for file in flat.embedded_files
            if is_markdown(file.path) and flat.skill_at(file.heading.start) in skills
        )
        self.total = own
        self.most = max(SMALL_TOKENS, SHARE * (own + references))

        self.essential: set[int] = set()  # ids of groups that stay even if something must leave
        self._kept = _Kept()

    def choose(self, *, must_move: bool) -> tuple[list[SectionGroup], list[SectionGroup]]:
        """Return (kept, moved), each in document order; together they are the whole text.

        With `must_move`, something moves if the text can be divided.
        """
        self._keep_titles()
        skills = list(dict.fromkeys(group.skill for group in self.groups))
        for skill in skills:
            self._keep_essentials(skill, 1 / len(skills))
            self._keep_processes(skill, 1 / len(skills))
            self._keep_best(skill, 1 / len(skills))
        for skill in skills:
            self._top_up(skill, 1 / len(skills))
        self._keep_best(None, 1.0)
        self._keep_lone()
        self._keep_minimum()
        if must_move:
            self._move_something()
        kept = self._staying()
        stays = {id(group) for group in kept}
        parted = {group.sequence for group in kept}
        moved: list[SectionGroup] = []
        for group in self.groups:
            if id(group) not in stays:
                continues = group.continued or group.sequence in parted
                moved.append(replace(group, continued=continues))
                parted.discard(group.sequence)
        return kept, moved

    def _staying(self) -> list[SectionGroup]:
        """Kept groups in document order; a heading without text stays if something below it stays."""
        texts = [group for group in self.groups if not group.heading_only]
        over_texts = {start for group in texts for start in group.above}
        over_kept = {start for group in texts if group in self._kept for start in group.above}
        return [
            group
            for group in self.groups
            if (
                group.start in over_kept or group.start not in over_texts
                if group.heading_only and group is not self.groups[0]
                else group in self._kept
            )
        ]

    def _worth(self, part: _Part) -> float:
        line = self.budget.tokens / self.budget.lines
        return part.worth / max(1, part.tokens, part.lines * line)

    def _sum(self, groups: Iterable[SectionGroup]) -> float:
        return sum(self.flat.worth.worth(group.ranges) for group in groups)

    def _is_code(self, group: SectionGroup) -> bool:
        fences = [fence for lines in group.ranges for fence in self.flat.fences_in(*lines)]
        code = sum(one.end - one.start for one in fences if not self.flat.worth.is_prose_fence(one))
        return code > group.lines / 2

    def _is_process(self, rest: Sequence[SectionGroup]) -> bool:
        steps = sum(self.flat.worth.steps(group.ranges) for group in rest)
        return rest[-1].sequence in self.flat.processes or steps >= STEPS

    def _opens(self, group: SectionGroup) -> bool:
        return group is self.groups[0] or group.start in self.flat.skill_openings

    def _fits(self, part: _Part, share: float = 1.0, skill: str | None = None) -> bool:
        return (
            self._kept.lines(skill) + part.lines <= self.budget.lines * share
            and self._kept.tokens(skill) + part.tokens <= self.budget.tokens * share
            and self._kept.tokens() + part.tokens <= self.most
        )

    def _first_parts(self, rest: Sequence[SectionGroup]) -> Iterator[_Part]:
        """First parts of a sequence that end in text, the shortest first."""
        lines, tokens, worth = 0, 0, 0.0
        for n, group in enumerate(rest, 1):
            lines, tokens = lines + group.lines, tokens + group.tokens
            worth += self.flat.worth.worth(group.ranges)
            if not group.heading_only:
                yield _Part(rest[:n], lines, tokens, worth)

    def _part(self, groups: Sequence[SectionGroup]) -> _Part:
        return _Part(groups, _lines(groups), _tokens(groups), self._sum(groups))

    def _left(self, skill: str | None) -> dict[int, list[SectionGroup]]:
        """Groups that are not kept, by sequence; only a first part of each can be kept next."""
        left: dict[int, list[SectionGroup]] = defaultdict(list)
        for group in self.groups:
            if group not in self._kept and skill in {None, group.skill}:
                left[group.sequence].append(group)
        return left

    def _rests(self, skill: str | None) -> list[list[SectionGroup]]:
        heads = self._heads()
        rests = (self._rest(groups, heads) for groups in self._left(skill).values())
        return [rest for rest in rests if rest]

    def _rest(
        self, groups: Sequence[SectionGroup], heads: Mapping[int, SectionGroup]
    ) -> list[SectionGroup]:
        """The remaining groups of a sequence, with the headings above them that must stay in place; empty if
        none can be kept."""
        if not groups or groups[0].continued or all(group.heading_only for group in groups):
            return []
        above = (heads[start] for start in groups[0].above if start in heads)
        return [
            *(one for one in above if one.sequence != groups[0].sequence and one not in self._kept),
            *groups,
        ]

    def _heads(self) -> dict[int, SectionGroup]:
        """First line -> heading with its text, titles excluded."""
        return {one.start: one for one in self.groups if one.is_head and not one.is_title}

    def _keep_titles(self) -> None:
        """Keep titles and the text before the first section; cut them at a block if too long."""
        share = self.budget.tokens // max(1, len({group.skill for group in self.groups}))
        for group in list(self.groups):
            if not group.is_title:
                continue
            if self._fits(self._part([group])) and (group.tokens <= share or group.heading_only):
                self._kept.add([group])
            elif self._opens(group):
                room = max(4, self.budget.lines - self._kept.lines())
                self._kept.add([self._cut(group, room, share) or group])

    def _cut(self, group: SectionGroup, lines: int, tokens: int) -> SectionGroup | None:
        halves = self.flat.split(group, lines, tokens)
        if halves is None:
            return None
        place = self.groups.index(group)
        self.groups[place : place + 1] = halves
        return halves[0]

    def _keep_essentials(self, skill: str, share: float) -> None:
        """Keep short sections that bind, overviews and prerequisites, and text before the first process."""
        before = True
        room = OPENING_SHARE * share * self.budget.tokens
        for rest in self._rests(skill):
            before = before and not self._is_process(rest)
            if not rest[-1].is_top:
                continue
            short = len(rest) == 1 and rest[0].tokens <= SHORT_TOKENS
            binds = short and self.flat.worth.duties(rest[0].ranges) > 0
            first = len(rest) == 1 and _ALWAYS.search(rest[0].title) is not None
            opens = before and (short or not any(map(self._is_code, rest)))
            opens = opens and _tokens(rest) <= room
            if (opens or first or binds) and self._fits(self._part(rest), share, skill):
                room -= _tokens(rest)
                self._kept.add(rest)
                self.essential |= {id(group) for group in rest}

    def _keep_processes(self, skill: str, share: float) -> None:
        rests = [rest for rest in self._rests(skill) if self._is_process(rest)]
        lines = self.budget.lines * share * PROCESS_SHARE
        tokens = self.budget.tokens * share * PROCESS_SHARE
        rests.sort(key=lambda one: (-self._sum(one), one[0].start))
        main = next(iter(rests), None)
        for rest in rests:
            best = None
            for part in self._first_parts(rest):
                if part.tokens > tokens or part.lines > lines or not self._fits(part, share, skill):
                    break
                if rest is main or len(part.groups) == len(rest):
                    best = part
            if best:
                self._kept.add(best.groups)
                self.essential |= {id(group) for group in best.groups}
                lines, tokens = lines - best.lines, tokens - best.tokens

    def _keep_best(self, skill: str | None, share: float) -> None:
        """Keep first parts of the remaining sequences, those with the most worth per token first.

        Kept text takes room, so a queued part never fits better than before. A sequence is reconsidered if its
        part no longer fits, or if a part of it or a heading above it is kept.
        """
        heads, left = self._heads(), self._left(skill)
        touched: dict[int, set[int]] = defaultdict(set)
        """First line of a group -> sequences that change if it is kept."""
        for sequence, groups in left.items():
            for start in {line for group in groups for line in (group.start, *group.above)}:
                touched[start].add(sequence)
        offers: dict[int, _Part | None] = {}
        queue: list[tuple[float, int, int, int]] = []
        changed = set(left)
        while changed:
            for sequence in changed:
                left[sequence] = [one for one in left[sequence] if one not in self._kept]
                part = self._best_part(self._rest(left[sequence], heads), share, skill)
                offers[sequence] = part
                if part:
                    heappush(queue, (*self._rank(part), left[sequence][0].start, sequence))
            changed, best = self._take(queue, offers)
            if best and self._fits(best, share, skill):
                self._kept.add(best.groups)
                changed.update(*(touched[group.start] for group in best.groups))

    def _take(
        self, queue: list[tuple[float, int, int, int]], offers: Mapping[int, _Part | None]
    ) -> tuple[set[int], _Part | None]:
        """The sequence with the best offer, and its part; empty if nothing is left."""
        while queue:
            *rank, _, sequence = heappop(queue)
            part = offers[sequence]
            if part and rank == [*self._rank(part)]:  # else it offers another one by now
                return {sequence}, part
        return set(), None

    def _best_part(
        self, rest: Sequence[SectionGroup], share: float, skill: str | None
    ) -> _Part | None:
        best: _Part | None = None
        least = DENSITY if rest and rest[-1].is_top else APART
        for part in self._first_parts(rest):
            if not self._fits(part, share, skill):
                break
            if self._worth(part) >= least and (not best or self._worth(part) > self._worth(best)):
                best = part
        return best

    def _rank(self, part: _Part) -> tuple[float, int]:
        return -self._worth(part), part.groups[0].start

    def _top_up(self, skill: str, share: float) -> None:
        """Keep sections in document order until the root says enough of a skill."""
        total = sum(group.tokens for group in self.groups if group.skill == skill)
        enough = min(TOP_UP * total, TOP_UP_TOKENS * share)
        for rest in self._rests(skill):
            if self.total > SMALL_TOKENS and self._kept.tokens(skill) >= enough:
                return
            prose = len(rest) == 1 and rest[0].is_top and not self._is_code(rest[0])
            if prose and self._fits(self._part(rest), share, skill):
                self._kept.add(rest)

    def _keep_lone(self) -> None:
        """Keep a section that is as short as its row and would be alone in its file."""
        for before, group, after in zip(
            [None, *self.groups], self.groups, [*self.groups[1:], None], strict=False
        ):
            siblings = [one for one in (before, after) if one and one.above == group.above]
            alone = all(one in self._kept for one in siblings) and group not in self._kept
            lone = alone and group.sequence == group.start and not group.is_head
            if lone and group.tokens <= SHORT_TOKENS and self._fits(self._part([group])):
                self._kept.add([group])

    def _keep_minimum(self) -> None:
        used = sum(group.tokens for group in self._kept if not group.heading_only)
        firsts = [next(self._first_parts(rest)).groups[-1] for rest in self._rests(None)]
        rests = [group for group in firsts if len(group.ranges) == 1]
        if used >= min(LEAST_TOKENS, LEAST_SHARE * self.total) or not rests:
            return
        best = min(rests, key=lambda group: self._rank(self._part([group])))
        head = self._cut(best, self.budget.lines // 2, max(60, best.tokens // 2))
        self._kept.add([head] if head else [])

    def _move_something(self) -> None:
        """If everything would stay, move the least valuable text, or the tail of the longest one."""
        if any(group not in self._kept and not group.heading_only for group in self.groups):
            return
        sequences: dict[int, list[SectionGroup]] = {}
        for group in self._kept:
            sequences.setdefault(group.sequence, []).append(group)
        bodies = [one for one in sequences.values() if not all(g.heading_only for g in one)]
        movable = [groups for groups in bodies if not groups[0].is_title]
        movable = movable or [groups for groups in bodies if not self._opens(groups[0])]
        movable = [one for one in movable if id(one[0]) not in self.essential] or movable
        if movable and len(self._kept) > 1:
            process = {id(one[0]) for one in movable if self._is_process(one)}
            leaving = [one[-1:] if id(one[0]) in process else one for one in movable]
            ranks = [self._rank(self._part(one)) for one in leaving]
            self._kept.drop(leaving[ranks.index(max(ranks))])
            return
        for group in sorted(self._kept, key=lambda one: (-one.tokens, one.start)):
            head = self._cut(group, group.lines, group.tokens // 2)
            if head:
                self._kept.drop([group])
                self._kept.add([head])
                return


def _lines(groups: Iterable[SectionGroup]) -> int:
    return sum(group.lines for group in groups)


def _tokens(groups: Iterable[SectionGroup]) -> int:
    return sum(group.tokens for group in groups)


def without_bare_structure(kept: Sequence[SectionGroup]) -> list[SectionGroup]:
    """Return the groups without markers, and without shared titles that have no text below."""
    return [
        group for group in kept if not (group.heading_only and is_structural_heading(group.title))
    ]
