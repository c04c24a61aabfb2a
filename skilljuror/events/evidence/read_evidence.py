"""Evidence in an output for the accesses of its call: exposure, line numbers, success.

If a resource's text is known, the content witness determines the lines shown. Otherwise lines are
counted: if `sed -n 1,240p` prints 74 lines, the file has 74 lines.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.trajectory import Exposed, ToolCall, ToolResult, Witness
from skilljuror.events.accesses.file_access import Access
from skilljuror.events.accesses.line_selection import LineSelection
from skilljuror.events.evidence.error_messages import (
    command_not_found_line,
    error_line_for,
    only_error_messages,
    says_file_missing,
    traceback_line,
)
from skilljuror.events.evidence.line_index import (
    ContentMatch,
    IndexedFile,
    LineIndex,
    LineRanges,
    ResourceKey,
    TextLines,
    text_digest,
    utf8_size,
)
from skilljuror.events.evidence.terminal_screens import is_screen, screen_output
from skilljuror.events.paths import name_of
from skilljuror.events.resolution.resolver import ResolvedAccess

_FAILED = re.compile(
    r"Traceback \(most recent call last\)|^\w*Error: |command not found|No such file or directory"
    r"|can't open file|Permission denied",
    re.MULTILINE,
)
_FAILURE_TAIL = 4000
"""Characters at the end of an output to search for a failure."""
_CUT_WORDS = ("truncated", "omitted", "clipped", "elided", "output too large", "total output lines")
_CUT_NOTICE = re.compile(
    r"\d[\d,]{0,20} (?:tokens|characters|chars|bytes|lines) truncated ?(?:…|\.\.\.|\]|\))"
    r"|^[ \t]*[\[<(.…][^\n]{0,80}(?:truncated|omitted|clipped|elided)"
    r"|^(?:output too large|warning: truncated output|total output lines: \d)",
    re.MULTILINE | re.IGNORECASE,
)
"""Notice of a harness about omitted output; a file that merely mentions truncation does not count."""
_HIDES_ERRORS = re.compile(r"2>(?!&1)|&>")
DISAGREE = "witnesses disagree: the output does not show the text known for this file"
"""Note of a read whose known text is not in the output."""
_IN_PART = "witnesses disagree: the command requests the whole file, the output shows a part"
_NO_ANSWER = "no answer in the log"
_NO_TEXT = "the log has no text of the result"
_LONGEST_QUOTE = 120
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tiff", ".pdf")
"""Files that a file tool shows as pictures, without lines."""


class ReadEvidence(Struct, frozen=True, gc=False):
    """Evidence of one access."""

    exposed: Exposed
    lines: LineRanges | None
    """Line numbers in the file; None if unknown."""
    ok: bool | None
    witness: Witness = "command"
    note: str = ""
    quote: str = ""
    size: int | None = None
    """Bytes of the resource shown; None if unknown."""
    digest: str | None = None
    """`text_digest` of what was shown, if that is a whole file; None if unknown."""


def output_text(result: ToolResult | None) -> str:
    """The output without the harness's frame."""
    if result is None:
        return ""
    return result.clean if result.clean is not None else result.text


def call_succeeded(result: ToolResult | None) -> bool | None:
    """Success of the whole command: exit status 0, or the harness's report; None if unknown."""
    if result is None:
        return None
    if result.exit_code is not None:
        return result.exit_code == 0
    return result.ok


def first_filled(lines: Iterable[str]) -> str:
    """First non-blank line, shortened to a quote."""
    return next((line.strip()[:_LONGEST_QUOTE] for line in lines if line.strip()), "")


class CallOutput:
    """Output of a call and its later polls; analysed on demand."""

    def __init__(self, result: ToolResult | None, command: str = "", polled: str = "") -> None:
        self.text = output_text(result) + polled
        self.screen = is_screen(self.text[:100])
        """The text is a terminal screen."""
        if self.screen:
            self.text = screen_output(self.text, command)
        self._head = result.text[:600] if result is not None else ""
        self._partial = result is not None and result.partial
        self.ok = call_succeeded(result)
        self._matches: dict[ResourceKey, ContentMatch | None] = {}
        self.answered = result is not None
        self.refused = result is not None and result.exit_code is None and result.ok is False
        """The command did not run, or its end is unknown: the text is a message."""

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.text.splitlines())

    @cached_property
    def text_lines(self) -> TextLines:
        """Lines prepared for comparison."""
        return TextLines.of(self.lines)

    @cached_property
    def cut(self) -> bool:
        """Whether the harness reports omitted output, or a program may have omitted some."""
        if self._partial:
            return True
        text = f"{self._head}\n{self.text}".lower()
        return any(word in text for word in _CUT_WORDS) and bool(_CUT_NOTICE.search(text))

    def match(self, key: ResourceKey, line_index: LineIndex) -> ContentMatch | None:
        """Match with a resource, cached because a command may name it often."""
        if key not in line_index.files:
            return None
        if key not in self._matches:
            self._matches[key] = line_index.match(key, self.text_lines)
        return self._matches[key]

    def error_for(self, path: str) -> str | None:
        """Line that reports a path as unreadable."""
        return error_line_for(self.lines[:400], path)


def evidence_of_read(
    resolved: ResolvedAccess,
    output: CallOutput,
    line_index: LineIndex,
    segment: Sequence[str] | None,
    *,
    foreign: bool = False,
) -> ReadEvidence:
    """Evidence of a read by a command. `segment` is the part of the output that is surely this
    access's; `foreign` means that the manifest has no such file."""
    access = resolved.access
    if not output.answered:
        return ReadEvidence("none", None, ok=None, note=_NO_ANSWER)
    error = failure_of(resolved, output)
    if error:
        return ReadEvidence("none", None, ok=False, note=error)
    file = line_index.files.get(resolved.key)
    match = output.match(resolved.key, line_index)
    if file and match and (match.distinctive or match.lines >= min(2, file.filled)):
        evidence = _by_content(access, match, output, file)
        if segment is None:
            return evidence
        widened = _widened(evidence, access.selection, len(segment))
        return replace(widened, digest=_digest(widened.exposed, segment))
    if not access.shown:
        return ReadEvidence("none", None, ok=output.ok, note=access.note)
    if segment is None and foreign:
        return ReadEvidence("none", None, output.ok, note="not a file of the bundle")
    counted = _by_count(access, output, segment)
    if file and file.filled and counted.exposed != "none":
        failed = output.ok is False
        exposed: Exposed = "none" if failed else counted.exposed
        digest = None if failed else counted.digest
        return ReadEvidence(exposed, None, counted.ok and not failed, note=DISAGREE, digest=digest)
    return counted


def failure_of(resolved: ResolvedAccess, output: CallOutput) -> str | None:
    """Line showing that the file was not opened, or that the whole call failed."""
    program = name_of(resolved.access.text.partition(" ")[0])
    error = output.error_for(resolved.access.path)
    if not error and "not found" in output.text:
        error = command_not_found_line(output.lines[:400], program)
    if error or output.ok is not False:
        return error
    failed = traceback_line(output.lines) if resolved.access.via == "python" else None
    return failed or only_error_messages(output.lines, program)


def _by_content(
    access: Access, match: ContentMatch, output: CallOutput, file: IndexedFile
) -> ReadEvidence:
    """Evidence by the file's known text."""
    ranges, total = match.ranges, len(file.lines)
    whole = match.full or (len(ranges) == 1 and ranges[0][0] <= 1 and ranges[0][1] >= total)
    partly = access.shown and access.selection.whole and not whole and not output.cut
    exposed: Exposed = "full" if whole else "partial"
    lines = ((1, total),) if whole and ranges[0][0] == 1 else ranges
    note, quote = _IN_PART if partly else "", match.first[:_LONGEST_QUOTE]
    size, digest = file.size(ranges), file.digest(match)
    return ReadEvidence(exposed, lines, True, "both", note, quote, size, digest)


def _digest(exposed: Exposed, lines: Sequence[str]) -> str | None:
    """`text_digest` of lines that are surely the file's own."""
    return text_digest(lines) if exposed == "full" else None


def _widened(evidence: ReadEvidence, selection: LineSelection, count: int) -> ReadEvidence:
    """Add blank lines at the ends of a part, which only counting shows."""
    _, counted = _counted(selection, count)
    if evidence.exposed == "full" or not counted or not evidence.lines:
        return evidence
    if len(counted) == len(evidence.lines) == 1:
        (first, last), (start, end) = counted[0], evidence.lines[0]
        if first <= start <= first + 2 and last - 2 <= end <= last:
            return replace(evidence, lines=counted)
    return evidence


def evidence_of_run(resolved: ResolvedAccess, output: CallOutput) -> ReadEvidence:
    """A run shows nothing of its script. Without an exit status its output is judged."""
    note = resolved.access.note
    if output.ok is None and output.text.strip():
        judged = "no exit status in the log: judged by the output"
        ok = not _FAILED.search(output.text[-_FAILURE_TAIL:])
        return ReadEvidence("none", None, ok, note=f"{note}; {judged}" if note else judged)
    return ReadEvidence("none", None, output.ok, note=note)


def _by_count(access: Access, output: CallOutput, segment: Sequence[str] | None) -> ReadEvidence:
    """Evidence by the number of lines, if the file's text is unknown."""
    selection = access.selection
    if not output.text.strip():
        return _silent(access, output)
    if output.refused:
        return ReadEvidence("none", None, False, note=output.text.strip()[:_LONGEST_QUOTE])
    if segment is None:
        return _shared(selection, output)
    if not segment:
        return ReadEvidence("none", None, output.ok)
    exposed, lines = _counted(selection, len(segment), cut=output.cut)
    size, digest = sum(utf8_size(line) + 1 for line in segment), _digest(exposed, segment)
    return ReadEvidence(exposed, lines, True, quote=first_filled(segment), size=size, digest=digest)


def _silent(access: Access, output: CallOutput) -> ReadEvidence:
    """Without output: a log that drops the text still reports success, unless the command hid its
    errors."""
    asked = access.selection
    from_start = asked.ranges[:1] and asked.ranges[0][0] == 1 and not asked.by_content
    if output.ok and from_start and not output.cut and not _HIDES_ERRORS.search(access.text):
        exposed: Exposed = "full" if asked.whole else "partial"
        return ReadEvidence(exposed, None, True, note=_NO_TEXT)
    return ReadEvidence("none", None, output.ok)


def _shared(asked: LineSelection, output: CallOutput) -> ReadEvidence:
    """The output belongs to several commands: only its total length is evidence."""
    whole = asked.whole
    if not whole and len(asked.ranges) == 1 and asked.ranges[0][0] == 1 and not asked.by_content:
        end = asked.ranges[0][1]
        whole = asked.last is None and end is not None and len(output.lines) < end
    exposed: Exposed = "full" if whole and not output.cut else "partial"
    return ReadEvidence(exposed, None, True if output.ok is None else output.ok or bool(output.text))  # fmt: skip


def _counted(asked: LineSelection, count: int, *, cut: bool = False) -> tuple[Exposed, LineRanges | None]:  # fmt: skip
    """Exposure and lines from the number of printed lines; `cut` if some were omitted."""
    if cut or asked.by_content:
        return "partial", None
    if asked.last is not None:
        whole = asked.ranges == ((1, None),) and count < asked.last
        return ("full", ((1, count),)) if whole else ("partial", None)
    if len(asked.ranges) != 1:
        ranges = tuple((first, last) for first, last in asked.ranges if last is not None)
        total = sum(last - first + 1 for first, last in ranges)
        return "partial", ranges if total == count and len(ranges) == len(asked.ranges) else None
    start, end = asked.ranges[0]
    if end is None or count < end - start + 1:
        exposed: Exposed = "full" if start == 1 else "partial"
        return exposed, ((start, start + count - 1),)
    return "partial", ((start, end),) if count == end - start + 1 else None


def evidence_of_tool_read(
    call: ToolCall, resolved: ResolvedAccess, line_index: LineIndex, *, trusted: bool
) -> ReadEvidence:
    """Evidence of a file tool: line numbers of the tool, else the file's text if it is `trusted`
    (from a manifest, not learned from an earlier state)."""
    result, asked = call.result, resolved.access.selection
    if result is None:
        return ReadEvidence("none", None, None, note=_NO_ANSWER)
    output = CallOutput(result)
    refusal = _refusal(result, output)
    if refusal is not None:
        return ReadEvidence("none", None, ok=False, note=refusal)
    if not output.text:
        if not result.ok:
            return ReadEvidence("none", None, ok=None, note="no result in the log")
        if output.cut:
            return ReadEvidence("none", None, ok=True)
        return ReadEvidence("full" if asked.whole else "partial", None, ok=True, note=_NO_TEXT)
    if resolved.access.path.lower().endswith(_PICTURES):
        return ReadEvidence("full" if asked.whole else "partial", None, ok=True)
    match = output.match(resolved.key, line_index)
    lines: LineRanges | None
    if result.first_line is not None:
        exposed, lines = _numbered(result, len(output.lines), asked)
    elif match and (trusted or match.full or not asked.whole or output.cut):
        return _by_content(resolved.access, match, output, line_index.files[resolved.key])
    else:
        exposed, lines = _counted(asked, len(output.lines), cut=output.cut)
    witness: Witness = "both" if match else "command"
    quote, size = first_filled(output.lines), utf8_size(output.text)
    digest = _digest(exposed, output.lines)
    return ReadEvidence(exposed, lines, True, witness, quote=quote, size=size, digest=digest)


def _refusal(result: ToolResult, output: CallOutput) -> str | None:
    """Why a tool returned no content, or None."""
    if result.unchanged:
        return "the harness reported the file as unchanged"
    short = len(output.lines) <= 3
    if result.ok is False or (result.ok is None and short and says_file_missing(output.text[:500])):
        return result.text.strip()[:_LONGEST_QUOTE]
    return None


def _numbered(result: ToolResult, count: int, asked: LineSelection) -> tuple[Exposed, LineRanges]:
    """Exposure and lines from the tool's line numbers."""
    first = result.first_line or 1
    last, total = first + max(count, 1) - 1, result.total_lines
    end = asked.ranges[0][1] if asked.ranges else None
    to_end = last >= total - 1 if total is not None else end is None or last < end
    if total:
        last = min(last, total)
    return "full" if first <= 1 and to_end else "partial", ((first, last),)
