"""What stays in the root: overview, workflow and constraints first, within a budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skilljuror.transforms.disclosure.sections import FlatSkill, Group

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

_ROOT = re.compile(
    r"\b(overview|when to use|when not|purpose|introduction|quick ?start|getting started|workflow|"
    r"process|steps?|procedure|instructions?|principles?|decision|selecting|choosing|critical|"
    r"important|warning|caution|rules?|constraints?|requirements?|prerequisites?|must|checklist|"
    r"guidelines?|task|goal|summary|key|output)\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(reference|api|examples?|schemas?|catalog|troubleshooting|advanced|appendix|patterns?|"
    r"templates?|faq|resources?|further|implementation|recipes?|common|details?|cheat ?sheet|"
    r"installation|testing|changelog|background)\b",
    re.IGNORECASE,
)
_DUTY = re.compile(r"\b(MUST|NEVER|ALWAYS|DO NOT|IMPORTANT|CRITICAL|WARNING|REQUIRED)\b")
_STEP = re.compile(r"^\d{1,3}\. ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Budget:
    """What the copied text of the root may take."""

    lines: int
    tokens: int = ROOT_TOKENS


def score(flat: FlatSkill, group: Group) -> float:
    """How much a group belongs into the root: its title's words, its duties, its share of code."""
    text = flat.text(group.ranges)
    code = sum(
        len("\n".join(flat.lines[block.start : block.end]))
        for block in flat.markdown.blocks
        if block.kind == "fence" and any(a <= block.start < b for a, b in group.ranges)
    )
    value = 2.0 if _ROOT.search(group.title) else 0.0
    value -= 2.0 if _REFERENCE.search(group.title) else 0.0
    value -= CODE_WEIGHT * code / max(1, len(text))
    value += min(2.0, 0.5 * len(_DUTY.findall(text)))
    return value + (0.5 if _STEP.search(text) else 0.0)


class Chooser:
    """Picks groups for the root, an equal share for every source skill on the page."""

    def __init__(self, flat: FlatSkill, groups: Sequence[Group], budget: Budget) -> None:
        self.flat = flat
        self.groups = list(groups)
        self.budget = budget
        self.total = sum(group.tokens for group in groups)
        self.kept: list[Group] = []
        self.scores = {id(group): score(flat, group) for group in groups}

    def choose(self, *, must_move: bool) -> tuple[list[Group], list[Group]]:
        """(what stays, what moves), each in document order; together they are all the text.

        With `must_move` something moves as long as there are two things to tell apart.
        """
        self._leads()
        units = list(dict.fromkeys(group.unit for group in self.groups))
        for unit in units:
            self._scored(unit, 1 / len(units))
        for unit in units:
            self._top_up(unit, 1 / len(units))
        self._scored(None, 1.0)
        self._say_something()
        if must_move:
            self._leave_something()
        kept = {id(group) for group in self.kept}
        self.kept.sort(key=lambda group: group.start)
        return self.kept, [group for group in self.groups if id(group) not in kept]

    def _leads(self) -> None:
        """Titles and the text before the first sections; cut at a block where it is too long."""
        share = self.budget.tokens // max(1, len({group.unit for group in self.groups}))
        for number, group in enumerate(list(self.groups)):
            if not group.lead:
                continue
            first = number == 0 or len(group.path) == 0 or group.start in self.flat.fixed
            if self._fits(group) and (group.tokens <= share or group.bare):
                self.kept.append(group)
            elif first:
                self._keep_head(group, share)

    def _keep_head(self, group: Group, tokens: int) -> None:
        room = max(4, self.budget.lines - sum(one.lines + 1 for one in self.kept))
        halves = self.flat.split(group, room, tokens)
        if halves is None:
            self.kept.append(group)
            return
        place = self.groups.index(group)
        self.groups[place : place + 1] = halves
        self.scores[id(halves[1])] = score(self.flat, halves[1])
        self.kept.append(halves[0])

    def _fits(self, group: Group, share: float = 1.0, unit: str | None = None) -> bool:
        mine = [one for one in self.kept if unit is None or one.unit == unit]
        used = sum(one.tokens for one in mine) + group.tokens
        lines = sum(one.lines + 1 for one in mine) + group.lines
        whole = sum(one.tokens for one in self.kept) + group.tokens
        return (
            lines <= self.budget.lines * share
            and used <= self.budget.tokens * share
            and whole <= SHARE * self.total + 1
        )

    def _open(self, unit: str | None) -> list[Group]:
        kept = {id(group) for group in self.kept}
        return [
            group
            for group in self.groups
            if not group.lead and id(group) not in kept and unit in {None, group.unit}
        ]

    def _scored(self, unit: str | None, share: float) -> None:
        rest = self._open(unit)
        for group in sorted(rest, key=lambda one: (-self.scores[id(one)], one.start)):
            wanted = self.scores[id(group)] > 0 and not group.is_step
            if wanted and self._fits(group, share, unit):
                self.kept.append(group)
        for group in rest:
            if group.is_step and self._in_turn(group) and self._fits(group, share, unit):
                self.kept.append(group)

    def _in_turn(self, step: Group) -> bool:
        """Whether the steps before it stay, so that the root never starts in the middle."""
        kept = {id(group) for group in self.kept}
        return all(
            id(group) in kept
            for group in self.groups
            if group.is_step and group.path == step.path and group.start < step.start
        )

    def _top_up(self, unit: str, share: float) -> None:
        total = sum(group.tokens for group in self.groups if group.unit == unit)
        for group in self._open(unit):
            used = sum(one.tokens for one in self.kept if one.unit == unit)
            if used >= min(TOP_UP * total, TOP_UP_TOKENS * share):
                return
            told = self.scores[id(group)] > LEAST_SCORE and not group.is_step
            if told and self._fits(group, share, unit):
                self.kept.append(group)

    def _say_something(self) -> None:
        """A root that says next to nothing keeps the head of the section that fits it best."""
        used = sum(group.tokens for group in self.kept if not group.bare)
        rest = [group for group in self._open(None) if len(group.ranges) == 1]
        if used >= min(LEAST_TOKENS, LEAST_SHARE * self.total) or not rest:
            return
        best = max(rest, key=lambda group: (self.scores[id(group)], -group.start))
        halves = self.flat.split(best, self.budget.lines // 2, max(60, best.tokens // 2))
        if halves:
            place = self.groups.index(best)
            self.groups[place : place + 1] = halves
            self.kept.append(halves[0])

    def _leave_something(self) -> None:
        kept = {id(group) for group in self.kept}
        if any(id(group) not in kept and not group.bare for group in self.groups):
            return
        movable = [group for group in self.kept if not group.lead]
        if movable and len(self.kept) > 1:
            worst = min(movable, key=lambda group: (self.scores[id(group)], -group.start))
            self.kept = [group for group in self.kept if group is not worst]
            return
        for group in sorted(self.kept, key=lambda one: (-one.tokens, one.start)):
            halves = self.flat.split(group, group.lines, group.tokens // 2)
            if halves:
                self.groups[self.groups.index(group) : self.groups.index(group) + 1] = halves
                self.kept = [one for one in self.kept if one is not group] + [halves[0]]
                return


def carry_bare(kept: list[Group], moved: list[Group]) -> tuple[list[Group], list[Group]]:
    """Headings without text whose sections all moved go with the first of them."""
    stays = [
        group
        for number, group in enumerate(kept)
        if number == 0 or not group.bare or _has_below(group, kept)
    ]
    rest = sorted([one for one in kept if one not in stays] + moved, key=lambda one: one.start)
    result: list[Group] = []
    waiting: list[Group] = []
    for group in rest:
        stays += [one for one in waiting if not _is_below(group, one)]
        waiting = [one for one in waiting if _is_below(group, one)]
        if group.bare:
            waiting.append(group)
        else:
            result.append(_headed(waiting, group))
            waiting = []
    return sorted([*stays, *waiting], key=lambda group: group.start), result


def _headed(heads: Sequence[Group], group: Group) -> Group:
    if not heads:
        return group
    ranges = [*(one for head in heads for one in head.ranges), *group.ranges]
    return Group(ranges, heads[0].title, heads[0].path, group.tokens, unit=group.unit)


def _has_below(parent: Group, groups: Sequence[Group]) -> bool:
    return any(_is_below(group, parent) for group in groups if not group.bare)


def _is_below(group: Group, parent: Group) -> bool:
    path = (*parent.path, parent.title)
    return group.start > parent.start and group.path[: len(path)] == path
