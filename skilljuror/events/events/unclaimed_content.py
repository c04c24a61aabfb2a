"""Outputs that show a resource although no command names it: content witness only.

Documents, code and reports quote a Skill, and files written from its template share its lines, but
are not the resource. A copy of it, or code that prints it, shows it in one piece and little else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from skilljuror.events.evidence.line_index import ContentMatch, LineRanges, ResourceKey
from skilljuror.events.evidence.read_evidence import ReadEvidence
from skilljuror.events.evidence.terminal_screens import is_screen
from skilljuror.events.paths import contains_any
from skilljuror.events.resolution.skill_catalog import ResourceLocation
from skilljuror.events.run_context import AnalysedCall, RunContext

_READERS = frozenset({"shell", "python", "poll", "read", "other"})
_NO_READ = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:diff|log|show|blame|stash|commit|apply)\b|\bdiff\b|\btmux\b|\bscreen\b"
    r"|\bworkmux\b|\bapply_patch\b|\bgh\s+(?:pr|issue|api)\b"
)
"""Other agents' screens, and diffs: the agent did not read the file itself."""
_NO_READ_WORDS = ("git", "diff", "tmux", "screen", "workmux", "apply_patch", "gh")
"""Every match of that expression contains one of these."""
_LONGEST_COMMAND = 4000
_LEAST_SHARE = 2 / 3
"""Minimum share of an output's non-blank lines that come from resources."""
_NOTE = "no command names the file; its text is in the output"


def may_show(analysed: AnalysedCall, run: RunContext) -> bool:
    """Whether the output of a call can be evidence by itself."""
    return bool(run.line_index.files) and analysed.call.action in _READERS


class SharedScreens(Struct):
    """Outputs shared by several calls, and terminals that still show earlier output."""

    named: dict[int, set[ResourceKey]] = field(default_factory=dict)
    """`id` of a result -> resources named by any of its calls."""
    last_call: dict[int, int] = field(default_factory=dict)
    """`id` of a result -> number of its last call."""
    on_screen: dict[str, dict[ResourceKey, LineRanges]] = field(default_factory=dict)
    """Agent -> resources on its terminal."""

    @staticmethod
    def of(analysed_calls: Iterable[AnalysedCall]) -> "SharedScreens":
        screens = SharedScreens()
        for analysed in analysed_calls:
            if analysed.result is not None:
                keys = {resolved.key for resolved in analysed.resolved_accesses}
                screens.named.setdefault(id(analysed.result), set()).update(keys)
                screens.last_call[id(analysed.result)] = analysed.number
        return screens

    def already_shown(
        self, analysed: AnalysedCall, matches: Mapping[ResourceKey, ContentMatch]
    ) -> set[ResourceKey]:
        """Resources already on the terminal; the matches then replace them."""
        if analysed.result is None or not is_screen(analysed.result.text[:100]):
            return set()
        before = self.on_screen.get(analysed.step.agent, {})
        now = {key: match.ranges for key, match in matches.items()}
        self.on_screen[analysed.step.agent] = now
        return {key for key, ranges in now.items() if set(ranges) <= set(before.get(key, ()))}


def unclaimed_reads(
    analysed: AnalysedCall, run: RunContext, screens: SharedScreens
) -> Iterator[tuple[ResourceLocation, ReadEvidence]]:
    """Resources that a call's output shows and none of its accesses names."""
    output, shared = analysed.output, id(analysed.result)
    if not may_show(analysed, run) or screens.last_call.get(shared, -1) > analysed.number:
        return
    if len(output.lines) < 2:
        screens.already_shown(analysed, {})
        return
    if _is_no_read((analysed.call.command or "")[:_LONGEST_COMMAND]):
        return
    matches = run.line_index.matches(output.text_lines)
    explained = {resolved.key for resolved in analysed.resolved_accesses}
    explained |= screens.named.get(shared, set()) | screens.already_shown(analysed, matches)
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
        file = run.line_index.files[key]
        yield (
            ResourceLocation(skill, resource, skill in run.catalog.bundled),
            ReadEvidence(
                "full" if match.full else "partial",
                match.ranges,
                ok=True,
                witness="content",
                note=_NOTE,
                quote=match.first[:120],
                size=file.size(match.ranges),
                digest=file.digest(match),
            ),
        )


def _is_no_read(command: str) -> bool:
    """Check the words first, because most commands contain none and the expression is slow."""
    return contains_any(command, _NO_READ_WORDS) and bool(_NO_READ.search(command))


def _places(match: ContentMatch) -> set[int]:
    """Lines of the text that a match covers."""
    return {at for start, end in match.places for at in range(start, end + 1)}
