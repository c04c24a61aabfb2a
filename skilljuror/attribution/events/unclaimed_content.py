"""Outputs that show a resource although no command names it: the content witness alone.

Documents, code and reports around a skill quote it, and what is written from its template holds lines
of that: a file that has lines in common with a resource is not the resource. A copy of it, or code that
prints it, shows it in one row and little else.
"""

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
_NO_READ = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:diff|log|show|blame|stash|commit|apply)\b|\bdiff\b|\btmux\b|\bscreen\b"
    r"|\bworkmux\b|\bapply_patch\b|\bgh\s+(?:pr|issue|api)\b"
)
"""Other agents' screens, and differences: what they show was not read by this agent from the file."""
_NO_READ_WORDS = ("git", "diff", "tmux", "screen", "workmux", "apply_patch", "gh")
"""One of them stands in whatever that expression finds."""
_LONGEST_COMMAND = 4000
_LEAST_SHARE = 2 / 3
"""Share of an output's filled lines that the text of resources has to make up."""
_NOTE = "no command names the file; its text is in the output"


def may_show(analysed: AnalysedCall, run: RunContext) -> bool:
    """Whether the output of a call can prove anything by itself."""
    return bool(run.line_index.files) and analysed.call.action in _READERS


class SharedScreens(Struct):
    """Outputs that several calls share, and terminals that still show what was there before."""

    named: dict[int, set[ResourceKey]] = field(default_factory=dict)
    """`id` of a result -> what any of its calls names."""
    last_call: dict[int, int] = field(default_factory=dict)
    """`id` of a result -> number of the last call that it answers."""
    standing: dict[str, dict[ResourceKey, LineRanges]] = field(default_factory=dict)
    """Agent -> what its terminal shows."""

    @staticmethod
    def of(analysed_calls: Iterable[AnalysedCall]) -> "SharedScreens":
        """The outputs of a run."""
        screens = SharedScreens()
        for analysed in analysed_calls:
            if analysed.result is not None:
                keys = {resolved.key for resolved in analysed.resolved_accesses}
                screens.named.setdefault(id(analysed.result), set()).update(keys)
                screens.last_call[id(analysed.result)] = analysed.number
        return screens

    def is_last(self, analysed: AnalysedCall) -> bool:
        """Whether no later call shares the output of this one."""
        return self.last_call.get(id(analysed.result), analysed.number) == analysed.number

    def named_by_any(self, analysed: AnalysedCall) -> set[ResourceKey]:
        """What any of the calls names that share the output of this one."""
        return self.named.get(id(analysed.result), set())

    def still_standing(
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
    """Resources that the output of a call shows and none of its accesses names."""
    if not may_show(analysed, run) or not screens.is_last(analysed):
        return
    if len(output.lines) < 2:
        screens.still_standing(analysed, {})
        return
    if _is_no_read((analysed.call.command or "")[:_LONGEST_COMMAND]):
        return
    matches = run.line_index.matches(output.text_lines)
    explained = screens.named_by_any(analysed) | screens.still_standing(analysed, matches)
    explained |= {resolved.key for resolved in analysed.resolved_accesses}
    taken = {at for key in explained & matches.keys() for at in _places(matches[key])}
    unbroken = {key: match for key, match in matches.items() if match.unbroken}
    shown = taken.union(*map(_places, unbroken.values()))
    bare = output.text_lines.bare
    filled = sum(map(bool, bare))
    if sum(bool(bare[at]) for at in shown) < _LEAST_SHARE * filled:
        return
    for key in sorted(unbroken.keys() - explained, key=lambda key: (-matches[key].lines, key)):
        match, places = matches[key], _places(matches[key])
        if len(places & taken) * 2 > len(places):
            continue
        taken |= places
        skill, resource = key
        yield (
            ResourceLocation(skill, resource, bare_skill_name(skill) in run.catalog.bundled),
            ReadEvidence(
                "full" if match.full else "partial",
                match.ranges,
                ok=True,
                witness="content",
                note=_NOTE,
                quote=match.first[:120],
                size=run.line_index.files[key].size(match.ranges),
            ),
        )


def _is_no_read(command: str) -> bool:
    """Most commands hold none of the words, and only the others are searched slowly."""
    return contains_any(command, _NO_READ_WORDS) and bool(_NO_READ.search(command))


def _places(match: ContentMatch) -> set[int]:
    """The lines of the text that a match covers."""
    return {at for start, end in match.places for at in range(start, end + 1)}
