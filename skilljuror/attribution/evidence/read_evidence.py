"""What an output proves about the claims of its call: exposure, real lines, success.

Two ways lead from a claim to lines. Where the resource's text is known, the content witness
says which lines the output shows. Where it is not, lines are counted: `sed -n 1,240p` that
prints 74 lines printed a whole file of 74 lines.
"""

import re
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import Access
from skilljuror.attribution.accesses.line_selection import LineSelection
from skilljuror.attribution.evidence.error_messages import (
    command_not_found_line,
    error_line_for,
    only_error_messages,
    says_file_missing,
    traceback_line,
)
from skilljuror.attribution.evidence.line_index import (
    ContentMatch,
    IndexedFile,
    LineIndex,
    LineRanges,
    TextLines,
    utf8_size,
)
from skilljuror.attribution.evidence.terminal_screens import is_screen, screen_output
from skilljuror.attribution.paths import name_of
from skilljuror.attribution.resolution.resolver import ResolvedAccess
from skilljuror.models.events import Exposed, Witness
from skilljuror.models.trajectory import ToolCall, ToolResult

_FAILED = re.compile(
    r"Traceback \(most recent call last\)|^\w*Error: |command not found|No such file or directory"
    r"|can't open file|Permission denied",
    re.MULTILINE,
)
_CUT = ("truncated", "omitted", "clipped", "elided", "output too large", "total output lines")
_NOTICE = re.compile(
    r"\d[\d,]{0,20} (?:tokens|characters|chars|bytes|lines) truncated ?(?:…|\.\.\.|\]|\))"
    r"|^[ \t]*[\[<(.…][^\n]{0,80}(?:truncated|omitted|clipped|elided)"
    r"|^(?:output too large|warning: truncated output|total output lines: \d)",
    re.MULTILINE | re.IGNORECASE,
)
"""What a harness writes where it left out a part; a file that talks of truncation is none."""
_HUSHED = re.compile(r"2>(?!&1)|&>")
DISAGREE = "witnesses disagree: the output does not show the text known for this file"
"""Note of a read whose text is known and not seen."""
_EDGE = 4000
"""Characters at the end of an output that are searched for a failure."""


class ReadEvidence(Struct, frozen=True, gc=False):
    """What one claim is found to have shown."""

    exposed: Exposed
    lines: LineRanges | None
    ok: bool | None
    witness: Witness = "command"
    note: str = ""
    quote: str = ""
    size: int | None = None
    """Bytes of the resource shown; None when not known."""


def output_text(result: ToolResult | None) -> str:
    """The output itself, without what the harness wrote around it."""
    if result is None:
        return ""
    return result.clean if result.clean is not None else result.text


def call_succeeded(result: ToolResult | None) -> bool | None:
    """Exit status 0 of the whole command, or what the harness says."""
    if result is None:
        return None
    if result.exit_code is not None:
        return result.exit_code == 0
    return result.ok


class CallOutput:
    """The output of a call, with what later polls brought; looked into only when asked."""

    def __init__(self, result: ToolResult | None, command: str = "", more: str = "") -> None:
        self.text = output_text(result) + more
        self.screen = is_screen(self.text[:100])
        """The text is a picture of a terminal."""
        if self.screen:
            self.text = screen_output(self.text, command)
        self._head = result.text[:600] if result is not None else ""
        self.ok = call_succeeded(result)
        self.answered = result is not None
        self.refused = result is not None and result.exit_code is None and result.ok is False
        """The command was not run at all, or nobody knows how it ended: the text is a message."""
        self._lines: tuple[str, ...] | None = None
        self._lined: TextLines | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text."""
        if self._lines is None:
            self._lines = tuple(self.text.splitlines())
        return self._lines

    @property
    def lined(self) -> TextLines:
        """The lines, ready to be compared."""
        if self._lined is None:
            self._lined = TextLines.of(self.lines)
        return self._lined

    @cached_property
    def cut(self) -> bool:
        """Whether the harness says that it left out a part."""
        text = f"{self._head}\n{self.text}".lower()
        return any(mark in text for mark in _CUT) and bool(_NOTICE.search(text))

    def error_for(self, path: str) -> str | None:
        """The line that says a path could not be opened."""
        return error_line_for(self.lines[:400], path)


def evidence_of_read(
    resolved: ResolvedAccess,
    output: CallOutput,
    line_index: LineIndex,
    segment: Sequence[str] | None,
    *,
    trusted: bool = False,
    foreign: bool = False,
) -> ReadEvidence:
    """What a read shows. `segment` is the part of the output that is surely this claim's alone;
    `trusted` says that the texts are those of a manifest, `foreign` that it has no such file."""
    error = failure_of(resolved, output) if output.answered else None
    if error:
        return ReadEvidence("none", None, ok=False, note=error)
    if not output.answered:
        return ReadEvidence("none", None, ok=None, note="no answer in the log")
    match = line_index.match(resolved.key, output.lined)
    if match and _enough(match, line_index, resolved):
        shown = _by_content(resolved, match, output, line_index)
        return (
            shown if segment is None else _widened(shown, resolved.access.selection, len(segment))
        )
    if not resolved.access.shown:
        return ReadEvidence("none", None, ok=output.ok, note=resolved.access.note)
    if segment is None and foreign:
        return ReadEvidence("none", None, output.ok, note="no file of the bundle")
    counted = _by_count(resolved.access, output, segment)
    if (
        resolved.key in line_index.pages
        and counted.exposed != "none"
        and line_index.pages[resolved.key].filled
    ):
        failed = output.ok is False
        unseen = failed or (
            trusted and resolved.access.glob and _would_show(resolved.access, output)
        )
        exposed: Exposed = "none" if unseen else counted.exposed
        return ReadEvidence(exposed, None, counted.ok and not failed, note=DISAGREE)
    return counted


def _would_show(access: Access, output: CallOutput) -> bool:
    """Whether an output would show something of a file if that had been printed."""
    return not (output.cut or output.screen or access.selection.by_content)


def failure_of(resolved: ResolvedAccess, output: CallOutput) -> str | None:
    """What says that the file was not opened, or that nothing of the call worked."""
    program = name_of(resolved.access.text.partition(" ")[0])
    lines = output.lines
    found = output.error_for(resolved.access.path)
    if not found and "not found" in output.text:
        found = command_not_found_line(lines[:400], program)
    if found or output.ok is not False:
        return found
    code = traceback_line(lines) if resolved.access.via == "python" else None
    return code or only_error_messages(lines, program)


def _enough(match: ContentMatch, line_index: LineIndex, resolved: ResolvedAccess) -> bool:
    page = line_index.pages[resolved.key]
    return match.distinctive > 0 or match.lines >= min(2, page.filled)


def _by_content(
    resolved: ResolvedAccess, match: ContentMatch, output: CallOutput, line_index: LineIndex
) -> ReadEvidence:
    selection = resolved.access.selection
    note = ""
    page = line_index.pages[resolved.key]
    if selection.cut:
        match = replace(match, ranges=_with_broken_line(match, page, output))
    whole = match.full or _reaches(match, len(page.lines))
    if resolved.access.shown and selection.whole and not whole and not output.cut:
        note = "witnesses disagree: the command asks for the whole file, the output shows a part"
    exposed: Exposed = "full" if whole else "partial"
    size = page.size(match.ranges)
    lines = ((1, len(page.lines)),) if whole and match.ranges[0][0] == 1 else match.ranges
    return ReadEvidence(exposed, lines, True, "both", note, match.first[:120], size)


def _widened(shown: ReadEvidence, selection: LineSelection, count: int) -> ReadEvidence:
    """The blank lines at the ends of a part, which only counting sees."""
    _, counted = _counted(selection, count)
    if shown.exposed == "full" or selection.cut or not counted or not shown.lines:
        return shown
    if len(counted) == len(shown.lines) == 1:
        (first, last), (start, end) = counted[0], shown.lines[0]
        if first <= start <= first + 2 and last - 2 <= end <= last:
            return replace(shown, lines=counted)
    return shown


def _with_broken_line(match: ContentMatch, page: IndexedFile, output: CallOutput) -> LineRanges:
    """`head -c` ends inside a line: its beginning was shown too."""
    last = match.ranges[-1][1]
    at = max(end for _, end in match.places) + 1
    if last >= len(page.lines) or at >= len(output.lines):
        return match.ranges
    wanted, broken = page.lines[last], output.lines[at].strip()
    if not broken or not (wanted.startswith(broken) or wanted[:8] == broken[:8]):
        return match.ranges
    return (*match.ranges[:-1], (match.ranges[-1][0], last + 1))


def evidence_of_run(resolved: ResolvedAccess, output: CallOutput) -> ReadEvidence:
    """What a run shows of its script: nothing. Without an exit status its output is judged."""
    note = resolved.access.note
    if output.ok is None and output.text.strip():
        judged = "no exit status in the log: judged by the output"
        ok = not _FAILED.search(output.text[-_EDGE:])
        return ReadEvidence("none", None, ok, note=f"{note}; {judged}" if note else judged)
    return ReadEvidence("none", None, output.ok, note=note)


def _reaches(match: ContentMatch, total: int) -> bool:
    """Whether a single range covers the file from its first to its last line."""
    return len(match.ranges) == 1 and match.ranges[0][0] <= 1 and match.ranges[0][1] >= total


def _by_count(access: Access, output: CallOutput, segment: Sequence[str] | None) -> ReadEvidence:
    selection = access.selection
    if not output.text.strip():
        return _silent(access, output)
    if output.refused:
        return ReadEvidence("none", None, False, note=output.text.strip()[:120])
    if segment is None:
        return _shared(selection, output)
    count = len(segment)
    quote = next((line.strip()[:120] for line in segment if line.strip()), "")
    size = sum(utf8_size(line) + 1 for line in segment)
    if not count:
        return ReadEvidence("none", None, output.ok)
    exposed, lines = _counted(selection, count)
    if output.cut:
        exposed, lines = "partial", None
    return ReadEvidence(exposed, lines, True, quote=quote, size=size)


def _silent(access: Access, output: CallOutput) -> ReadEvidence:
    """Nothing printed: a log that drops the text still says that the read succeeded, unless the
    command hid its complaints."""
    selection = access.selection
    first = selection.ranges[:1] and selection.ranges[0][0] == 1 and not selection.by_content
    if output.ok and first and not _HUSHED.search(access.text):
        exposed: Exposed = "full" if selection.whole else "partial"
        return ReadEvidence(exposed, None, True, note="the log holds no text of the result")
    return ReadEvidence("none", None, output.ok)


def _shared(selection: LineSelection, output: CallOutput) -> ReadEvidence:
    """The output belongs to several commands: only what the total length allows is said."""
    whole = selection.whole
    if (
        not whole
        and len(selection.ranges) == 1
        and selection.ranges[0][0] == 1
        and not selection.by_content
    ):
        end = selection.ranges[0][1]
        whole = selection.last is None and end is not None and len(output.lines) < end
    exposed: Exposed = "full" if whole and not output.cut else "partial"
    return ReadEvidence(
        exposed, None, True if output.ok is None else output.ok or bool(output.text)
    )


def _counted(selection: LineSelection, count: int) -> tuple[Exposed, LineRanges | None]:
    """Exposure and lines from the number of lines printed."""
    if selection.by_content:
        return "partial", None
    if selection.last is not None:
        whole = selection.ranges == ((1, None),) and count < selection.last
        return ("full", ((1, count),)) if whole else ("partial", None)
    if len(selection.ranges) != 1:
        asked = tuple((a, b) for a, b in selection.ranges if b is not None)
        total = sum(b - a + 1 for a, b in asked)
        return "partial", asked if total == count and len(asked) == len(selection.ranges) else None
    start, end = selection.ranges[0]
    if selection.cut:
        return "partial", ((start, start + count - 1),)
    if end is None or count < end - start + 1:
        exposed: Exposed = "full" if start == 1 else "partial"
        return exposed, ((start, start + count - 1),)
    return "partial", ((start, end),) if count == end - start + 1 else None


def evidence_of_tool_read(
    call: ToolCall, resolved: ResolvedAccess, line_index: LineIndex, *, trusted: bool
) -> ReadEvidence:
    """What a file tool shows: the tool itself says which lines, else the text does where it is
    `trusted` (a manifest's, not one learned from an earlier state of the file)."""
    result = call.result
    if result is None:
        return ReadEvidence("none", None, None, note="no answer in the log")
    output = CallOutput(result)
    refused = _refused(result, output)
    if refused is not None:
        return ReadEvidence("none", None, ok=False, note=refused)
    if not output.text:
        return _dropped(result, resolved.access.selection)
    return _tool_lines(result, output, resolved, line_index, trusted=trusted)


def _refused(result: ToolResult, output: CallOutput) -> str | None:
    """Why a tool gave no content; None where it gave some."""
    if result.unchanged:
        return "the harness said the file is unchanged"
    short = len(output.lines) <= 3
    if result.ok is False or (result.ok is None and short and says_file_missing(output.text[:500])):
        return result.text.strip()[:120]
    return None


def _dropped(result: ToolResult, selection: LineSelection) -> ReadEvidence:
    """An answer without a text: the status tells what was shown, where there is one."""
    if not result.ok:
        return ReadEvidence("none", None, ok=None, note="the log says nothing of the result")
    exposed: Exposed = "full" if selection.whole else "partial"
    return ReadEvidence(exposed, None, ok=True, note="the log holds no text of the result")


def _tool_lines(
    result: ToolResult,
    output: CallOutput,
    resolved: ResolvedAccess,
    line_index: LineIndex,
    *,
    trusted: bool,
) -> ReadEvidence:
    selection, count = resolved.access.selection, len(output.lines)
    match = line_index.match(resolved.key, output.lined)
    quote = next((line.strip()[:120] for line in output.lines if line.strip()), "")
    size = utf8_size(output.text)
    shown = ReadEvidence("full", None, True, "both" if match else "command", quote=quote, size=size)
    if result.first_line is not None:
        return _told(result, count, selection, shown)
    if match and (trusted or match.full or not selection.whole or output.cut):
        return _by_content(resolved, match, output, line_index)
    exposed, lines = _counted(selection, count)
    if output.cut:
        exposed, lines = "partial", None
    return replace(shown, exposed=exposed, lines=lines)


def _told(
    result: ToolResult, count: int, selection: LineSelection, shown: ReadEvidence
) -> ReadEvidence:
    """Lines from the numbers that the tool printed."""
    first = result.first_line or 1
    last = first + max(count, 1) - 1
    total = result.total_lines
    asked = selection.ranges[0][1] if selection.ranges else None
    whole = first <= 1 and (
        last >= total - 1 if total is not None else asked is None or last < asked
    )
    if total:
        last = min(last, total)
    return replace(shown, exposed="full" if whole else "partial", lines=((first, last),))
