"""The content witness: lines of resources shown by a text, judged by the text alone.

All lines of all resources are in one dict, so the cost does not depend on the number of resources.
Only long and rare (distinctive) lines start a match, which grows over its neighbours, blank and
common lines included, while they follow the file's order.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from skilljuror.base.work_budget import charge

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
_NUMBER = re.compile(r"^[ \t]{0,12}(\d{1,7})(?:→|\t|[ \t]?[|│] ?| |$)", re.ASCII)
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
        return IndexedFile(
            lines, sizes, body, filled, len(lines) - lines.count(""), _numbers(lines)
        )

    def digest(self, match: ContentMatch) -> str | None:
        """`text_digest` of the file, if a text shows its whole body in one piece."""
        return text_digest(self.lines) if match.body and len(match.places) == 1 else None

    def size(self, ranges: LineRanges) -> int:
        """Bytes of these lines of the file."""
        return sum(size for first, last in ranges for size in self.sizes[first - 1 : last])


def _numbers(lines: Sequence[str]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines, 1):
        if line and len(numbers.setdefault(line, [])) <= RARE:
            numbers[line].append(number)
    return numbers


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


class TextLines(NamedTuple):
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
        charge(len(text.bare))
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
        charge(len(text.bare))
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
        ranges = merged_ranges((run.start, run.end) for run in runs)
        numbers = [n for start, end in ranges for n in range(start, end + 1)]
        filled = [n for n in numbers if file.lines[n - 1]]
        return ContentMatch(
            ranges=ranges,
            lines=len(filled),
            distinctive=sum(1 for n in filled if len(file.lines[n - 1]) >= DISTINCTIVE),
            longest=max(run.end - run.start + 1 for run in runs),
            full=len(filled) == file.total,
            body=0 < file.filled == sum(1 for n in filled if n > file.body),
            first=file.lines[filled[0] - 1],
            places=merged_ranges((run.at, run.at + run.end - run.start) for run in runs),
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


class _MatchedRun(Struct, frozen=True, gc=False):
    """A piece of the file that the text contains in order."""

    at: int
    """0-based first line in the text."""
    start: int
    end: int
    """First and last line of the file."""


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


def without_numbers(lines: tuple[str, ...], first: int) -> tuple[str, ...]:
    """Remove the line numbers that a program printed before each line, if these are they."""
    marked = [(_NUMBER.match(line), number) for number, line in enumerate(lines, first)]
    if len(lines) < 2 or not all(found and int(found[1]) == at for found, at in marked):
        return lines
    return tuple(
        line[found.end() :] for line, (found, _) in zip(lines, marked, strict=True) if found
    )


def _runs(hits: list[tuple[int, int]], lines: Sequence[str], text: TextLines) -> list[_MatchedRun]:
    """The pieces, longest first; each line of the text belongs to one."""
    runs: list[_MatchedRun] = []
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
        run = _grown(at, number, lines, text)
        done[at - number] = run.at + run.end - run.start
        reaches.append(done[at - number])
        runs.append(run)
    charge(sum(run.end - run.start for run in runs))
    runs.sort(key=lambda run: (run.start - run.end, run.at, run.start))
    size = len(text.bare)
    taken = bytearray(size)
    kept = []
    for run in runs:
        stop = run.at + run.end - run.start + 1
        if any(taken[run.at : stop]) or (size > 3 and _is_trivial(run, lines)):
            continue
        taken[run.at : stop] = b"\1" * (stop - run.at)
        kept.append(run)
    return kept


def _is_trivial(run: _MatchedRun, lines: Sequence[str]) -> bool:
    """A single short line such as "}" is no evidence, unless the file has hardly more."""
    return run.start == run.end and len(lines[run.start - 1]) < DISTINCTIVE and len(lines) > 3


def _grown(at: int, number: int, lines: Sequence[str], text: TextLines) -> _MatchedRun:
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
    return _MatchedRun(at - (number - start), start, end)


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
