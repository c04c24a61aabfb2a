"""Outputs that show a resource although no command names it: the content witness alone."""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from skilljuror.attribution.evidence.line_index import ContentMatch, LineRanges, ResourceKey
from skilljuror.attribution.evidence.read_evidence import CallOutput, ReadEvidence
from skilljuror.attribution.evidence.terminal_screens import is_screen
from skilljuror.attribution.paths import contains_any
from skilljuror.attribution.resolution.skill_catalog import ResourceLocation, bare_skill_name
from skilljuror.attribution.run_context import AnalysedCall, RunContext

_READERS = frozenset({"shell", "python", "poll", "read", "other"})
_NOT_READS = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:diff|log|show|blame|stash|commit|apply)\b|\bdiff\b|\btmux\b|\bscreen\b"
    r"|\bworkmux\b|\bapply_patch\b|\bgh\s+(?:pr|issue|api)\b"
)
"""Other agents' screens, and differences: what they show was not read by this agent from the file."""
_WORDS = ("git", "diff", "tmux", "screen", "workmux", "apply_patch", "gh")
"""One of them stands in whatever that expression finds."""


def may_show(analysed: AnalysedCall, run: RunContext) -> bool:
    """Whether the output of a call can prove anything by itself."""
    return bool(run.line_index.pages) and analysed.call.action in _READERS


class SharedScreens(Struct):
    """Outputs that several calls share, and terminals that still show what was there before."""

    claimed: dict[int, set[ResourceKey]] = field(default_factory=dict)
    """`id` of a result -> what any of its calls names."""
    last: dict[int, int] = field(default_factory=dict)
    """`id` of a result -> number of the last call that it answers."""
    standing: dict[str, dict[ResourceKey, LineRanges]] = field(default_factory=dict)
    """Agent -> what its terminal shows."""

    @staticmethod
    def of(analysed_calls: Iterable[AnalysedCall]) -> "SharedScreens":
        """The outputs of a run."""
        found = SharedScreens()
        for analysed in analysed_calls:
            if analysed.result is not None:
                keys = {resolved.key for resolved in analysed.resolved_accesses}
                found.claimed.setdefault(id(analysed.result), set()).update(keys)
                found.last[id(analysed.result)] = analysed.number
        return found

    def is_last(self, analysed: AnalysedCall) -> bool:
        """Whether no later call shares the output of this one."""
        return self.last.get(id(analysed.result), analysed.number) == analysed.number

    def still(
        self, analysed: AnalysedCall, matches: Mapping[ResourceKey, ContentMatch]
    ) -> set[ResourceKey]:
        """What the terminal showed before already; from now on it shows the matches."""
        if analysed.result is None or not is_screen(analysed.result.text[:100]):
            return set()
        before = self.standing.get(analysed.step.agent, {})
        now = {key: match.ranges for key, match in matches.items()}
        self.standing[analysed.step.agent] = now
        return {key for key, ranges in now.items() if set(ranges) <= set(before.get(key, ()))}


def unclaimed_reads(
    analysed: AnalysedCall, run: RunContext, output: CallOutput, screens: SharedScreens
) -> Iterator[tuple[ResourceLocation, ReadEvidence]]:
    """Resources that the output of a call shows and none of its claims names."""
    if not may_show(analysed, run) or not screens.is_last(analysed):
        return
    if len(output.lines) < 2:
        screens.still(analysed, {})
        return
    if _is_no_read((analysed.call.command or "")[:4000]):
        return
    matches = run.line_index.matches(output.lined)
    claimed = {resolved.key for resolved in analysed.resolved_accesses} | screens.claimed.get(
        id(analysed.result), set()
    )
    claimed |= screens.still(analysed, matches)
    taken: set[int] = _lines(matches, claimed)
    for key in sorted(matches, key=lambda k: (-matches[k].lines, k)):
        match = matches[key]
        places = {n for start, end in match.places for n in range(start, end + 1)}
        if key in claimed or not match.strong or len(places & taken) * 2 > len(places):
            continue
        taken |= places
        page = run.line_index.pages[key]
        size = page.size(match.ranges)
        yield (
            ResourceLocation(key[0], key[1], bare_skill_name(key[0]) in run.catalog.bundled),
            ReadEvidence(
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
    return contains_any(command, _WORDS) and bool(_NOT_READS.search(command))


def _lines(matches: dict[ResourceKey, ContentMatch], keys: set[ResourceKey]) -> set[int]:
    return {
        number
        for key in keys
        if key in matches
        for start, end in matches[key].places
        for number in range(start, end + 1)
    }
