"""What stays in the root: overview, workflow and constraints first, within a budget of lines."""

import re
from collections.abc import Sequence

from skilljuror.transforms.sections import FlatSkill, Group

ROOT_TOKENS = 3_000
"""Estimated tokens of the root's copied text."""
SHARE = 0.7
"""Largest share of a skill's text that stays in the root when anything can move."""
TOP_UP = 0.35
"""Share of the text that the root is filled up to in document order."""
TOP_UP_TOKENS = 600

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


def score(flat: FlatSkill, group: Group) -> float:
    """How much a group belongs into the root: its title's words, its duties, its share of code."""
    text = flat.text(group.ranges)
    code = sum(
        len("\n".join(flat.lines[block.start : block.end]))
        for block in flat.document.blocks
        if block.kind == "fence" and any(a <= block.start < b for a, b in group.ranges)
    )
    value = 2.0 if _ROOT.search(group.title) else 0.0
    value -= 2.0 if _REFERENCE.search(group.title) else 0.0
    value -= 2.0 * code / max(1, len(text))
    value += min(2.0, 0.5 * len(_DUTY.findall(text)))
    return value + (0.5 if _STEP.search(text) else 0.0)


def choose(
    flat: FlatSkill, groups: Sequence[Group], lines: int, tokens: int = ROOT_TOKENS
) -> list[Group]:
    """The groups that stay, in document order, within so many lines and estimated tokens."""
    total = sum(group.tokens for group in groups)
    kept: list[Group] = []

    def fits(group: Group, share: float = 1.0) -> bool:
        used = sum(one.tokens for one in kept) + group.tokens
        rows = sum(one.lines + 1 for one in kept) + group.lines
        return rows <= lines and used <= tokens and used <= max(share * total, 1)

    for group in groups:
        if group.lead and fits(group):
            kept.append(group)
    rest = [group for group in groups if not group.lead]
    scores = {id(group): score(flat, group) for group in rest}
    for group in sorted(rest, key=lambda one: (-scores[id(one)], one.start)):
        if scores[id(group)] > 0 and fits(group, SHARE):
            kept.append(group)
    for group in rest:
        used = sum(one.tokens for one in kept)
        full = used >= min(TOP_UP * total, TOP_UP_TOKENS)
        if not full and group not in kept and fits(group, SHARE):
            kept.append(group)
    return sorted(kept, key=lambda group: group.start)
