"""Outputs that show a resource although no command names it: the content witness alone."""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from skilljuror.attribution.evidence.line_index import Key, Match, Ranges
from skilljuror.attribution.evidence.read_evidence import Output, Shown
from skilljuror.attribution.evidence.terminal_screens import is_screen
from skilljuror.attribution.paths import holds_any
from skilljuror.attribution.resolution.skill_catalog import Location, tail_of
from skilljuror.attribution.run_context import Gathered, Touch

_READERS = frozenset({"shell", "python", "poll", "read", "other"})
_NOT_READS = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:diff|log|show|blame|stash|commit|apply)\b|\bdiff\b|\btmux\b|\bscreen\b"
    r"|\bworkmux\b|\bapply_patch\b|\bgh\s+(?:pr|issue|api)\b"
)
"""Other agents' screens, and differences: what they show was not read by this agent from the file."""
_WORDS = ("git", "diff", "tmux", "screen", "workmux", "apply_patch", "gh")
"""One of them stands in whatever that expression finds."""


def may_show(touch: Touch, run: Gathered) -> bool:
    """Whether the output of a call can prove anything by itself."""
    return bool(run.prints.pages) and touch.call.action in _READERS


class Screens(Struct):
    """Outputs that several calls share, and terminals that still show what was there before."""

    claimed: dict[int, set[Key]] = field(default_factory=dict)
    """`id` of a result -> what any of its calls names."""
    last: dict[int, int] = field(default_factory=dict)
    """`id` of a result -> number of the last call that it answers."""
    standing: dict[str, dict[Key, Ranges]] = field(default_factory=dict)
    """Agent -> what its terminal shows."""

    @staticmethod
    def of(touches: Iterable[Touch]) -> "Screens":
        """The outputs of a run."""
        found = Screens()
        for touch in touches:
            if touch.result is not None:
                keys = {claim.key for claim in touch.claims}
                found.claimed.setdefault(id(touch.result), set()).update(keys)
                found.last[id(touch.result)] = touch.number
        return found

    def is_last(self, touch: Touch) -> bool:
        """Whether no later call shares the output of this one."""
        return self.last.get(id(touch.result), touch.number) == touch.number

    def still(self, touch: Touch, matches: Mapping[Key, Match]) -> set[Key]:
        """What the terminal showed before already; from now on it shows the matches."""
        if touch.result is None or not is_screen(touch.result.text[:100]):
            return set()
        before = self.standing.get(touch.step.agent, {})
        now = {key: match.ranges for key, match in matches.items()}
        self.standing[touch.step.agent] = now
        return {key for key, ranges in now.items() if set(ranges) <= set(before.get(key, ()))}


def unexplained(
    touch: Touch, run: Gathered, output: Output, screens: Screens
) -> Iterator[tuple[Location, Shown]]:
    """Resources that the output of a call shows and none of its claims names."""
    if not may_show(touch, run) or not screens.is_last(touch):
        return
    if len(output.lines) < 2:
        screens.still(touch, {})
        return
    if _is_no_read((touch.call.command or "")[:4000]):
        return
    matches = run.prints.matches(output.lined)
    claimed = {claim.key for claim in touch.claims} | screens.claimed.get(id(touch.result), set())
    claimed |= screens.still(touch, matches)
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


def _is_no_read(command: str) -> bool:
    """Most commands hold none of the words, and only the others are searched slowly."""
    return holds_any(command, _WORDS) and bool(_NOT_READS.search(command))


def _lines(matches: dict[Key, Match], keys: set[Key]) -> set[int]:
    return {
        number
        for key in keys
        if key in matches
        for start, end in matches[key].places
        for number in range(start, end + 1)
    }
