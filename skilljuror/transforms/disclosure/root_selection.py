"""What stays in the root: overview, workflow and constraints first, within a budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skilljuror.knowledge.generated.embedded_files import is_structural_heading
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup

ROOT_TOKENS = 3_000
"""Estimated tokens of the root's copied text."""
SHARE = 0.7
"""Largest share of the text that stays in the root when anything can move."""
TOP_UP = 0.35
"""Share of the text that the root is filled up to in document order."""
TOP_UP_TOKENS = 600
LEAST_TOKENS = 120
LEAST_SHARE = 0.2
"""Estimated tokens, and share of the text, below which a root says too little."""
CODE_WEIGHT = 3.0
"""What a text of code alone loses."""
LEAST_SCORE = -0.5
"""Score below which a group (catalogues, code) never fills up the root."""

_ROOT_TITLE = re.compile(
    r"\b(overview|when to use|when not|purpose|introduction|quick ?start|getting started|workflow|"
    r"process|steps?|procedure|instructions?|principles?|decision|selecting|choosing|critical|"
    r"important|warning|caution|rules?|constraints?|requirements?|prerequisites?|must|checklist|"
    r"guidelines?|task|goal|summary|key|output)\b",
    re.IGNORECASE,
)
_REFERENCE_TITLE = re.compile(
    r"\b(reference|api|examples?|schemas?|catalog|troubleshooting|advanced|appendix|patterns?|"
    r"templates?|faq|resources?|further|implementation|recipes?|common|details?|cheat ?sheet|"
    r"installation|testing|changelog|background)\b",
    re.IGNORECASE,
)
_DUTY = re.compile(r"\b(MUST|NEVER|ALWAYS|DO NOT|IMPORTANT|CRITICAL|WARNING|REQUIRED)\b")
_STEP = re.compile(r"^\d{1,3}\. ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RootBudget:
    """What the copied text of the root may take."""

    lines: int
    tokens: int = ROOT_TOKENS


def root_score(flat: FlatSkill, group: SectionGroup) -> float:
    """How much a group belongs into the root: its title's words, its duties, its share of code."""
    text = flat.text(group.ranges)
    fences = {block.start: block for lines in group.ranges for block in flat.fences_in(*lines)}
    code = sum(len("\n".join(flat.lines[one.start : one.end])) for one in fences.values())
    value = 2.0 if _ROOT_TITLE.search(group.title) else 0.0
    value -= 2.0 if _REFERENCE_TITLE.search(group.title) else 0.0
    value -= CODE_WEIGHT * code / max(1, len(text))
    value += min(2.0, 0.5 * len(_DUTY.findall(text)))
    return value + (0.5 if _STEP.search(text) else 0.0)


class RootSelector:
    """Picks groups for the root, an equal share for every source skill on the page."""

    def __init__(self, flat: FlatSkill, groups: Sequence[SectionGroup], budget: RootBudget) -> None:
        self.flat = flat
        self.groups = list(groups)
        self.budget = budget
        self.total = sum(group.tokens for group in groups)
        self.kept: list[SectionGroup] = []
        self.scores = {id(group): root_score(flat, group) for group in groups}

    def choose(self, *, must_move: bool) -> tuple[list[SectionGroup], list[SectionGroup]]:
        """(what stays, what moves), each in document order; together they are all the text.

        With `must_move` something moves as long as there are two things to tell apart.
        """
        self._keep_openings()
        skills = list(dict.fromkeys(group.skill for group in self.groups))
        for skill in skills:
            self._keep_best(skill, 1 / len(skills))
        for skill in skills:
            self._top_up(skill, 1 / len(skills))
        self._keep_best(None, 1.0)
        self._say_something()
        if must_move:
            self._leave_something()
        kept = {id(group) for group in self.kept}
        self.kept.sort(key=lambda group: group.start)
        return self.kept, [group for group in self.groups if id(group) not in kept]

    def _keep_openings(self) -> None:
        """Titles and the text before the first sections; cut at a block where it is too long."""
        share = self.budget.tokens // max(1, len({group.skill for group in self.groups}))
        for number, group in enumerate(list(self.groups)):
            if not group.is_head:
                continue
            first = number == 0 or len(group.path) == 0 or group.start in self.flat.skill_openings
            if self._fits(group) and (group.tokens <= share or group.heading_only):
                self.kept.append(group)
            elif first:
                room = max(4, self.budget.lines - sum(one.lines + 1 for one in self.kept))
                self.kept.append(self._cut(group, room, share) or group)

    def _cut(self, group: SectionGroup, lines: int, tokens: int) -> SectionGroup | None:
        """The first part of a group that is put in two; None where it cannot be cut."""
        halves = self.flat.split(group, lines, tokens)
        if halves is None:
            return None
        place = self.groups.index(group)
        self.groups[place : place + 1] = halves
        self.scores |= {id(half): root_score(self.flat, half) for half in halves}
        return halves[0]

    def _fits(self, group: SectionGroup, share: float = 1.0, skill: str | None = None) -> bool:
        """Whether a group fits a share of the budget beside what is kept, of one skill or of all."""
        beside = [one for one in self.kept if skill is None or one.skill == skill]
        tokens = sum(one.tokens for one in beside) + group.tokens
        lines = sum(one.lines + 1 for one in beside) + group.lines
        total = sum(one.tokens for one in self.kept) + group.tokens
        return (
            lines <= self.budget.lines * share
            and tokens <= self.budget.tokens * share
            and total <= SHARE * self.total + 1
        )

    def _undecided(self, skill: str | None) -> list[SectionGroup]:
        kept = {id(group) for group in self.kept}
        return [
            group
            for group in self.groups
            if not group.is_head and id(group) not in kept and skill in {None, group.skill}
        ]

    def _keep_best(self, skill: str | None, share: float) -> None:
        """Groups of a positive score, best first; numbered steps in their order."""
        rest = self._undecided(skill)
        for group in sorted(rest, key=lambda one: (-self.scores[id(one)], one.start)):
            wanted = self.scores[id(group)] > 0 and not group.is_step
            if wanted and self._fits(group, share, skill):
                self.kept.append(group)
        for group in rest:
            if group.is_step and self._is_next_step(group) and self._fits(group, share, skill):
                self.kept.append(group)

    def _is_next_step(self, step: SectionGroup) -> bool:
        """Whether the steps before it stay, so that the root never starts in the middle."""
        kept = {id(group) for group in self.kept}
        return all(
            id(group) in kept
            for group in self.groups
            if group.is_step and group.path == step.path and group.start < step.start
        )

    def _top_up(self, skill: str, share: float) -> None:
        """Groups in document order, until the root says enough of a skill."""
        total = sum(group.tokens for group in self.groups if group.skill == skill)
        for group in self._undecided(skill):
            used = sum(one.tokens for one in self.kept if one.skill == skill)
            if used >= min(TOP_UP * total, TOP_UP_TOKENS * share):
                return
            telling = self.scores[id(group)] > LEAST_SCORE and not group.is_step
            if telling and self._fits(group, share, skill):
                self.kept.append(group)

    def _say_something(self) -> None:
        """A root that says next to nothing keeps the head of the section that fits it best."""
        used = sum(group.tokens for group in self.kept if not group.heading_only)
        rest = [group for group in self._undecided(None) if len(group.ranges) == 1]
        if used >= min(LEAST_TOKENS, LEAST_SHARE * self.total) or not rest:
            return
        best = max(rest, key=lambda group: (self.scores[id(group)], -group.start))
        head = self._cut(best, self.budget.lines // 2, max(60, best.tokens // 2))
        self.kept += [head] if head else []

    def _leave_something(self) -> None:
        """Where all would stay, the least fitting section moves, or the tail of the longest text."""
        kept = {id(group) for group in self.kept}
        if any(id(group) not in kept and not group.heading_only for group in self.groups):
            return
        movable = [group for group in self.kept if not group.is_head]
        if movable and len(self.kept) > 1:
            worst = min(movable, key=lambda group: (self.scores[id(group)], -group.start))
            self.kept = [group for group in self.kept if group is not worst]
            return
        for group in sorted(self.kept, key=lambda one: (-one.tokens, one.start)):
            head = self._cut(group, group.lines, group.tokens // 2)
            if head:
                self.kept = [*(one for one in self.kept if one is not group), head]
                return


def move_bare_headings(
    kept: list[SectionGroup], moved: list[SectionGroup]
) -> tuple[list[SectionGroup], list[SectionGroup]]:
    """Headings without text whose sections all moved go with the first of them."""
    stays = [
        group
        for number, group in enumerate(kept)
        if number == 0 or not group.heading_only or _has_below(group, kept)
    ]
    rest = sorted(
        [*(group for group in kept if group not in stays), *moved], key=lambda group: group.start
    )
    goes: list[SectionGroup] = []
    headings: list[SectionGroup] = []
    for group in rest:
        stays += [heading for heading in headings if not _is_below(group, heading)]
        headings = [heading for heading in headings if _is_below(group, heading)]
        if group.heading_only:
            headings.append(group)
        else:
            goes.append(group.below(headings))
            headings = []
    return sorted([*stays, *headings], key=lambda group: group.start), goes


def without_bare_structure(kept: Sequence[SectionGroup]) -> list[SectionGroup]:
    """The groups without markers, and titles over files of no skill, below which nothing stayed."""
    return [
        group for group in kept if not (group.heading_only and is_structural_heading(group.title))
    ]


def _has_below(parent: SectionGroup, groups: Sequence[SectionGroup]) -> bool:
    return any(_is_below(group, parent) for group in groups if not group.heading_only)


def _is_below(group: SectionGroup, parent: SectionGroup) -> bool:
    path = (*parent.path, parent.title)
    return group.start > parent.start and group.path[: len(path)] == path
