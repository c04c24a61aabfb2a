"""Outputs that show a resource although no command names it: the content witness alone."""

import re
from collections.abc import Iterator

from skilljuror.attribution.catalog import Location, tail_of
from skilljuror.attribution.content import Key, Match
from skilljuror.attribution.evidence import Output, Shown
from skilljuror.attribution.gather import Gathered, Touch

_READERS = frozenset({"shell", "python", "poll", "read", "other"})
_NOT_READS = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:diff|log|show|blame|stash|commit|apply)\b|\bdiff\b|\btmux\b|\bscreen\b"
    r"|\bworkmux\b|\bapply_patch\b|\bgh\s+(?:pr|issue|api)\b"
)
"""Other agents' screens, and differences: what they show was not read by this agent from the file."""


def may_show(touch: Touch, run: Gathered) -> bool:
    """Whether the output of a call can prove anything by itself."""
    return bool(run.prints.pages) and touch.call.action in _READERS


def unexplained(touch: Touch, run: Gathered, output: Output) -> Iterator[tuple[Location, Shown]]:
    """Resources that the output of a call shows and none of its claims names."""
    if not may_show(touch, run) or len(output.lines) < 2:
        return
    if _NOT_READS.search((touch.call.command or "")[:4000]):
        return
    claimed = {claim.key for claim in touch.claims}
    matches = run.prints.matches(output.lines)
    taken: set[int] = _lines(matches, claimed)
    for key in sorted(matches, key=lambda k: (-matches[k].lines, k)):
        match = matches[key]
        places = {n for start, end in match.places for n in range(start, end + 1)}
        if key in claimed or not match.strong or len(places & taken) * 2 > len(places):
            continue
        taken |= places
        page = run.prints.pages[key]
        size = page.size(match.ranges)
        yield (
            Location(key[0], key[1], tail_of(key[0]) in run.catalog.bundled),
            Shown(
                "full" if match.full else "partial",
                match.ranges,
                ok=True,
                witness="content",
                note="no command names the file; its text is in the output",
                quote=match.first[:120],
                size=size,
            ),
        )


def _lines(matches: dict[Key, Match], keys: set[Key]) -> set[int]:
    return {
        number
        for key in keys
        if key in matches
        for start, end in matches[key].places
        for number in range(start, end + 1)
    }
