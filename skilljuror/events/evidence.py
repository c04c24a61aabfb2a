"""What an output proves: lines of files that it shows (the content witness), the part of it that
belongs to each access, errors.

All lines of all resources are in one dict, so the cost does not depend on the number of resources.
Only long and rare (distinctive) lines start a match, which grows over its neighbours, blank and
common lines included, while they follow the file's order. If a resource's text is not known, lines
are counted: if `sed -n 1,240p` prints 74 lines, the file has 74 lines.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.base.skill import is_root
from skilljuror.base.trajectory import Exposed, ToolCall, ToolResult, Witness
from skilljuror.events.access import Access, LineSelection, is_glob, name_of
from skilljuror.events.catalog import ResolvedAccess

ResourceKey = tuple[str, str]
"""Skill and path of a resource."""
LineRanges = tuple[tuple[int, int], ...]
"""(first, last) line, inclusive, in order."""

DISTINCTIVE = 12
"""Minimum characters of a stripped line to start a match."""
RARE = 4
"""Maximum occurrences of a line that starts a match."""
MOST_OVERLAPS = 32
"""Maximum overlapping matches of one file on a text line, to bound the work for files that repeat a
line."""
_NUMBER_MARKS = frozenset("0123456789<>")
"""First characters of a line numbered or marked by a tool."""
_NUMBER_STARTS = frozenset("0123456789<>L \t")
"""The same with leading blanks."""
_NUMBERED = re.compile(r"^[ \t]{0,12}L?\d{1,7}(?:→|\t|[ \t]?[|│] ?|[:.)-] ?| {1,4})", re.ASCII)
_LOCATED = re.compile(r"^[^\s:][^:\n]{0,300}:(?:\d{1,7}:)?")


class ContentMatch(Struct, frozen=True, gc=False):
    """Lines of one resource shown by a text."""

    ranges: LineRanges
    """Line numbers in the file, adjacent ranges joined."""
    lines: int
    """Non-blank lines shown."""
    distinctive: int
    """Distinctive lines among them."""
    longest: int
    """Lines of the longest contiguous piece."""
    full: bool
    """Every non-blank line was shown."""
    body: bool
    """Every non-blank line after the front matter was shown."""
    first: str
    places: LineRanges
    """0-based lines of the text."""

    def lines_of_text(self) -> set[int]:
        """0-based lines of the text that the match covers."""
        return {at for start, end in self.places for at in range(start, end + 1)}

    @property
    def unbroken(self) -> bool:
        """A long piece of the file, or all of its body, in one contiguous piece."""
        piece = self.longest >= 12 and self.distinctive >= 6
        return piece or (self.body and len(self.places) == 1 and self.distinctive >= 2)


class IndexedFile(Struct):
    """A resource's lines prepared for comparison."""

    lines: tuple[str, ...]
    sizes: tuple[int, ...]
    """Bytes of every line of the file, line end included."""
    body: int
    """Index of the first line after the front matter."""
    filled: int
    """Non-blank lines of the body."""
    total: int
    """Non-blank lines of the file."""
    numbers: Mapping[str, Sequence[int]]
    """Non-blank line -> its first line numbers."""

    @staticmethod
    def of(text: str) -> "IndexedFile":
        raw = text.splitlines()
        lines = tuple(map(str.strip, raw))
        body = front_matter(lines)
        sizes = tuple([utf8_size(line) + 1 for line in raw])
        filled = len(lines[body:]) - lines[body:].count("")
        numbers: dict[str, list[int]] = {}
        for number, line in enumerate(lines, 1):
            if line and len(numbers.setdefault(line, [])) <= RARE:
                numbers[line].append(number)
        return IndexedFile(lines, sizes, body, filled, len(lines) - lines.count(""), numbers)

    def digest(self, match: ContentMatch) -> str | None:
        """`text_digest` of the file, if a text shows its whole body in one piece."""
        return text_digest(self.lines) if match.body and len(match.places) == 1 else None

    def size(self, ranges: LineRanges) -> int:
        """Bytes of these lines of the file."""
        return sum(size for first, last in ranges for size in self.sizes[first - 1 : last])


def front_matter(lines: Sequence[str]) -> int:
    """Lines of the YAML front matter, fences included; 0 without one."""
    if not lines or lines[0] != "---":
        return 0
    for at, line in enumerate(lines[1:200], 1):
        if line == "---":
            return at + 1
    return 0


def text_digest(lines: Sequence[str]) -> str:
    """sha256 of a SKILL.md as shown: equal for all tools that show the same text.

    Without what tools add or leave out: line numbers, blank lines and blanks at both ends of a line,
    and the front matter, which some agents cut.
    """
    bare = [*map(str.strip, lines)]
    if bare and bare[0] != "---" and without_line_prefix(lines[0]) == "---":
        bare = [*map(without_line_prefix, lines)]
    body = "\n".join(filter(None, bare[front_matter(bare) :]))
    return hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()


class TextLines(Struct, frozen=True, gc=False):
    """Lines of a text to compare."""

    raw: Sequence[str]
    bare: Sequence[str]
    """Lines without surrounding blanks."""

    @staticmethod
    def of(lines: Sequence[str]) -> "TextLines":
        return TextLines(lines, list(map(str.strip, lines)))

    def says(self, at: int, wanted: str) -> bool:
        """Whether a line equals `wanted`, with or without a tool's prefix."""
        return self.bare[at] == wanted or without_line_prefix(self.raw[at]) == wanted


class LineIndex(Struct):
    """Lines of all resources of a bundle."""

    complete: bool = False
    """Whether the bundle is known to have no other files."""
    files: dict[ResourceKey, IndexedFile] = field(default_factory=dict)
    places: dict[str, list[tuple[ResourceKey, int]]] = field(default_factory=dict)
    """Distinctive line -> its first occurrences."""

    @staticmethod
    def of(texts: Iterable[tuple[ResourceKey, str]]) -> "LineIndex":
        index = LineIndex()
        for key, text in texts:
            index.learn(key, text)
        return index

    def learn(self, key: ResourceKey, text: str) -> None:
        """Add a resource; the first text of a key is kept."""
        if key in self.files:
            return
        file = IndexedFile.of(text)
        self.files[key] = file
        for number, line in enumerate(file.lines, 1):
            if len(line) >= DISTINCTIVE:
                places = self.places.setdefault(line, [])
                if len(places) <= RARE:
                    places.append((key, number))

    def matches(self, text: TextLines) -> dict[ResourceKey, ContentMatch]:
        """Matches of a text with any resource."""
        hits: dict[ResourceKey, list[tuple[int, int]]] = {}
        places = self.places
        for at, line in _candidates(text.bare, places):
            occurrences = (
                places[line] if line in places else places.get(without_line_prefix(line), [])
            )
            if len(occurrences) <= RARE:
                for key, number in occurrences:
                    hits.setdefault(key, []).append((at, number))
        matches = ((key, self._match(key, hits[key], text)) for key in sorted(hits))
        return {key: match for key, match in matches if match}

    def match(self, key: ResourceKey, text: TextLines) -> ContentMatch | None:
        """Match of a text with one resource named by a command: short lines count too."""
        file = self.files.get(key)
        if file is None:
            return None
        hits = [
            (at, number)
            for at, line in enumerate(text.bare)
            for number in file.numbers.get(line)
            or file.numbers.get(without_line_prefix(text.raw[at]), ())
        ]
        return self._match(key, hits, text) if hits else None

    def _match(
        self, key: ResourceKey, hits: list[tuple[int, int]], text: TextLines
    ) -> ContentMatch | None:
        file = self.files[key]
        runs = _runs(hits, file.lines, text)
        if not runs:
            return None
        ranges = merged_ranges((start, end) for _, start, end in runs)
        numbers = [n for start, end in ranges for n in range(start, end + 1)]
        filled = [n for n in numbers if file.lines[n - 1]]
        return ContentMatch(
            ranges=ranges,
            lines=len(filled),
            distinctive=sum(1 for n in filled if len(file.lines[n - 1]) >= DISTINCTIVE),
            longest=max(end - start + 1 for _, start, end in runs),
            full=len(filled) == file.total,
            body=0 < file.filled == sum(1 for n in filled if n > file.body),
            first=file.lines[filled[0] - 1],
            places=merged_ranges((at, at + end - start) for at, start, end in runs),
        )


def _candidates(bare: Sequence[str], places: Mapping[str, object]) -> Iterable[tuple[int, str]]:
    """(position, line) of lines that may be known, as they are or after a number or mark.

    Most texts contain no known line; all are looked up at once.
    """
    if places.keys().isdisjoint(bare):
        return [(at, line) for at, line in enumerate(bare) if line[:1] in _NUMBER_MARKS]
    return [
        (at, line) for at, line in enumerate(bare) if line in places or line[:1] in _NUMBER_MARKS
    ]


_Run = tuple[int, int, int]
"""A piece of the file that the text contains in order: its 0-based first line in the text, its first
and its last line in the file."""


def without_line_prefix(line: str) -> str:
    """Remove the number or `path:number:` that a tool printed before a line."""
    if line[:1] not in _NUMBER_STARTS and ":" not in line:
        return line.strip()
    prefix = _NUMBERED.match(line)
    if not prefix and line.startswith(("< ", "> ")):
        return line[2:].strip()
    if not prefix and ":" in line:
        prefix = _LOCATED.match(line)
    return line[prefix.end() :].strip() if prefix else line.strip()


def _runs(hits: list[tuple[int, int]], lines: Sequence[str], text: TextLines) -> list[_Run]:
    """The pieces, longest first; each line of the text belongs to one. A single short line such as
    "}" is none, unless text or file has hardly more."""
    runs: list[_Run] = []
    done: dict[int, int] = {}
    """offset between text and file -> last text line covered by a run"""
    reaches: list[int] = []
    """Last lines of the runs that may cover later hits."""
    for at, number in hits:
        if done.get(at - number, -1) >= at:
            continue
        if len(reaches) >= MOST_OVERLAPS:
            reaches = [end for end in reaches if end >= at]
            if len(reaches) >= MOST_OVERLAPS:
                continue
        run = first, start, end = _grown(at, number, lines, text)
        done[at - number] = first + end - start
        reaches.append(done[at - number])
        runs.append(run)
    runs.sort(key=lambda run: (run[1] - run[2], *run))
    taken = bytearray(len(text.bare))
    small = len(taken) <= 3 or len(lines) <= 3
    kept = []
    for at, start, end in runs:
        stop = at + end - start + 1
        trivial = start == end and len(lines[start - 1]) < DISTINCTIVE and not small
        if trivial or any(taken[at:stop]):
            continue
        taken[at:stop] = b"\1" * (stop - at)
        kept.append((at, start, end))
    return kept


def _grown(at: int, number: int, lines: Sequence[str], text: TextLines) -> _Run:
    """Grow a hit while text and file agree; blank ends are cut off."""
    start = end = number
    bare, ahead = text.bare, at - number + 1
    last = min(len(lines), len(bare) - ahead)
    while end < last and (bare[ahead + end] == lines[end] or text.says(ahead + end, lines[end])):
        end += 1
    first = max(1, number - at)
    while start > first and text.says(ahead + start - 2, lines[start - 2]):
        start -= 1
    while end > number and not lines[end - 1]:
        end -= 1
    while start < number and not lines[start - 1]:
        start += 1
    return at - (number - start), start, end


def utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> LineRanges:
    """Ranges in order, adjacent or overlapping ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


# Errors.

_MISSING = re.compile(
    r"no such file or directory|cannot (?:open|access|find|read|stat)|can't (?:open|read|find)|not found"
    r"|does not exist|is a directory|permission denied|not in workspace|FileNotFoundError|ENOENT"
    r"|outside (?:the )?(?:workspace|allowed)",
    re.IGNORECASE,
)


def says_file_missing(text: str) -> bool:
    """Whether a text reports a missing file."""
    return bool(_MISSING.search(text))


# Screens.

_SCREEN_STARTS = (
    "New Terminal Output:", "Current Terminal Screen:", "Current terminal state:",
)  # fmt: skip
_PROMPT_ENDS = ("# ", "$ ", "% ", "> ")
_ECHOED = 60
"""Characters of a command that its echo shows; the screen wraps long ones."""


def is_screen(text: str) -> bool:
    return text.lstrip().startswith(_SCREEN_STARTS)


def screen_output(text: str, command: str) -> str:
    """Output of a command on a screen; the whole screen if its echo is missing."""
    lines = text.strip().split("\n")[1:]
    while lines and not lines[-1].strip():
        lines.pop()
    typed = command.strip().split("\n")[0].rstrip()[:_ECHOED]
    for echo, line in enumerate(lines if typed else ()):
        prompt, echoed, _ = line.partition(typed)
        if not echoed or not (prompt == "" or prompt.endswith(_PROMPT_ENDS)):
            continue
        prompt, printed = prompt.rstrip(), lines[echo + 1 :]
        for at, line in enumerate(printed):
            if prompt and (line.rstrip() == prompt or line.startswith(prompt + " ")):
                return "\n".join(printed[:at])
        return "\n".join(printed)
    return "\n".join(lines)


# Reads.

_FAILED = re.compile(
    r"Traceback \(most recent call last\)|^\w*Error: |command not found|No such file or directory"
    r"|can't open file|Permission denied",
    re.MULTILINE,
)
_COMPLAINT = re.compile(r"^(?:\S+: |usage: |Traceback |\w*Error: )", re.IGNORECASE)
"""Beginning of what a command prints that failed outright."""
_MOST_COMPLAINTS = 12
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
DISAGREE = "witnesses disagree: the output does not show the text known for this file"
"""Note of a read whose known text is not in the output."""
_IN_PART = "witnesses disagree: the command requests the whole file, the output shows a part"
_NO_ANSWER = "no answer in the log"
_NO_TEXT = "the log has no text of the result"
_LONGEST_QUOTE = 120


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
        self._unfinished = result is not None and result.exit_code is None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.text.splitlines())

    @cached_property
    def refused(self) -> bool:
        """Whether the command did not run, or failed outright: the text is a message."""
        complains = len(self.lines) <= _MOST_COMPLAINTS and _COMPLAINT.match(self.text)
        return self.ok is False and (self._unfinished or bool(complains))

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
        name = name_of(path)
        for line in self.lines[:400]:
            if name in line and _MISSING.search(line[:1000]):
                return line.strip()[:160]
        return None


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
    error = output.error_for(access.path)
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
    if foreign and segment is None:
        return ReadEvidence("none", None, output.ok, note="not a file of the bundle")
    counted = _by_count(access, output, segment)
    if file and file.filled and counted.exposed != "none":
        failed = output.ok is False
        exposed: Exposed = "none" if failed else counted.exposed
        digest = None if failed else counted.digest
        return ReadEvidence(exposed, None, counted.ok and not failed, note=DISAGREE, digest=digest)
    return counted


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


def evidence_of_run(access: Access, output: CallOutput) -> ReadEvidence:
    """A run shows nothing of its script. Without an exit status its output is judged."""
    note = access.note
    if output.ok is None and output.text.strip():
        judged = "no exit status in the log: judged by the output"
        ok = not _FAILED.search(output.text[-_FAILURE_TAIL:])
        return ReadEvidence("none", None, ok, note=f"{note}; {judged}" if note else judged)
    return ReadEvidence("none", None, output.ok, note=note)


def _by_count(access: Access, output: CallOutput, segment: Sequence[str] | None) -> ReadEvidence:
    """Evidence by the number of lines, if the file's text is unknown."""
    selection = access.selection
    if not output.text.strip():
        return ReadEvidence("none", None, output.ok)
    if output.refused:
        return ReadEvidence("none", None, False, note=output.text.strip()[:_LONGEST_QUOTE])
    if segment is None:  # The output belongs to several commands: only its length is evidence.
        ranges, by_content = selection.ranges, selection.by_content
        end = ranges[0][1] if ranges[:1] and ranges[0][0] == 1 and not by_content else None
        short = end is not None and len(output.lines) < end
        exposed: Exposed = "full" if (selection.whole or short) and not output.cut else "partial"
        return ReadEvidence(exposed, None, output.ok is not False or bool(output.text))
    if not segment:
        return ReadEvidence("none", None, output.ok)
    exposed, lines = _counted(selection, len(segment), cut=output.cut)
    size, digest = sum(utf8_size(line) + 1 for line in segment), _digest(exposed, segment)
    return ReadEvidence(exposed, lines, True, quote=first_filled(segment), size=size, digest=digest)


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
    if result.unchanged:
        note = "the harness reported the file as unchanged"
        return ReadEvidence("none", None, ok=False, note=note)
    told = result.ok is None and len(output.lines) <= 3 and says_file_missing(output.text[:500])
    if result.ok is False or told:
        return ReadEvidence("none", None, ok=False, note=result.text.strip()[:_LONGEST_QUOTE])
    if not output.text:
        if not result.ok:
            return ReadEvidence("none", None, ok=None, note="no result in the log")
        return ReadEvidence("full" if asked.whole else "partial", None, ok=True, note=_NO_TEXT)
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


def _numbered(result: ToolResult, count: int, asked: LineSelection) -> tuple[Exposed, LineRanges]:
    """Exposure and lines from the tool's line numbers."""
    first = result.first_line or 1
    last, total = first + max(count, 1) - 1, result.total_lines
    end = asked.ranges[0][1] if asked.ranges else None
    to_end = last >= total - 1 if total is not None else end is None or last < end
    if total:
        last = min(last, total)
    return "full" if first <= 1 and to_end else "partial", ((first, last),)


# Segments.

_LONGEST_OUTPUT = 20_000
"""Maximum lines of an output to search for known texts."""

Segment = tuple[str, ...]
Segments = dict[int, Segment]
"""Order of a resolved access -> lines that are surely its own; other accesses share the output."""


def segment_output(
    resolved_accesses: Sequence[ResolvedAccess],
    accesses: Sequence[Access],
    lines: tuple[str, ...],
    line_index: LineIndex,
) -> Segments:
    """Return the lines that surely belong to each access; `accesses` are all of the call, with or
    without a resource."""
    reads = [
        resolved
        for resolved in resolved_accesses
        if resolved.access.kind in {"read", "search"} and resolved.access.shown
    ]
    if not reads:
        return {}
    if not line_index.complete and any(map(_may_match_others, reads)):
        return {}
    printing = {id(resolved.access) for resolved in reads}
    if any(access.prints and id(access) not in printing for access in accesses):
        return {}
    if len(reads) == 1:
        return {reads[0].order: lines}
    return _by_front_matter(reads, lines) or _by_known_texts(reads, lines, line_index)


def _may_match_others(read: ResolvedAccess) -> bool:
    """Whether only a glob names a SKILL.md, and may match other files, whose text would be its own."""
    of_root = is_root(read.location.resource)
    return of_root and read.access.glob and is_glob(name_of(read.access.path))


def _front_matter_starts(lines: tuple[str, ...]) -> list[int]:
    """First lines of front matters of Skills."""
    return [
        at
        for at, line in enumerate(lines[:-1])
        if line.strip() == "---" and lines[at + 1].startswith(("name:", "description:"))
    ]


def _is_root_from_start(resolved: ResolvedAccess) -> bool:
    """Whether a SKILL.md is read from its first line on."""
    ranges = resolved.access.selection.ranges
    return resolved.location.resource == "SKILL.md" and (not ranges or ranges[0][0] == 1)


def _by_front_matter(reads: Sequence[ResolvedAccess], lines: tuple[str, ...]) -> Segments:
    """Every SKILL.md begins with its front matter, which separates several in a row."""
    starts = _front_matter_starts(lines)
    if len(starts) != len(reads) or starts[:1] != [0] or not all(map(_is_root_from_start, reads)):
        return {}
    ends = [*starts[1:], len(lines)]
    return {
        read.order: lines[start:end] for read, start, end in zip(reads, starts, ends, strict=True)
    }


def _by_known_texts(
    reads: Sequence[ResolvedAccess], lines: tuple[str, ...], line_index: LineIndex
) -> Segments:
    """If all texts but one are known, the rest of the output belongs to that one."""
    unknown = [read for read in reads if read.key not in line_index.files]
    if len(unknown) != 1 or len(lines) > _LONGEST_OUTPUT:
        return {}
    taken: set[int] = set()
    text = TextLines.of(lines)
    for read in reads:
        match = line_index.match(read.key, text)
        if read is not unknown[0] and (match is None or not match.full):
            return {}
        for start, end in match.places if match else ():
            taken.update(range(start, end + 1))
    left = [at for at in range(len(lines)) if at not in taken]
    while left and not lines[left[0]].strip():
        left.pop(0)
    if not left or left[-1] - left[0] != len(left) - 1:
        return {}
    return {unknown[0].order: lines[left[0] : left[-1] + 1]}
