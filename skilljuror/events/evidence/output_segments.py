"""Assign the lines of one output to several reads.

Separators: headings that name files, texts echoed between commands, the front matter of each
SKILL.md, and the known texts of all files but one.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from skilljuror.base.skill import is_root
from skilljuror.events.accesses.file_access import OTHER_OUTPUT, UNCERTAIN, Access
from skilljuror.events.evidence.line_index import LineIndex, TextLines
from skilljuror.events.paths import absolute, is_glob, name_of
from skilljuror.events.resolution.resolver import ResolvedAccess
from skilljuror.events.resolution.skill_catalog import bare_skill_name
from skilljuror.events.shell.printed_text import lines_matching, separator_line

_HEADER = re.compile(r"^(?:==> (?P<head>.{1,500}) <==|--- (?P<many>.{1,500}) ---)$")
"""Heading that `head`, and tools that read many files, print before each."""
_HEADER_STARTS = frozenset({"==> ", "--- "})
_LONGEST_OUTPUT = 20_000
"""Maximum lines of an output to search for known texts."""

Segment = tuple[str, ...]
Segments = dict[int, Segment]
"""Order of a resolved access -> lines that are surely its own; other accesses share the output."""


def printing_accesses(resolved_accesses: Iterable[ResolvedAccess]) -> list[ResolvedAccess]:
    """Accesses whose text reaches the output."""
    return [
        resolved
        for resolved in resolved_accesses
        if resolved.access.kind in {"read", "search"} and resolved.access.shown
    ]


def segment_output(
    resolved_accesses: Sequence[ResolvedAccess],
    accesses: Sequence[Access],
    lines: tuple[str, ...],
    line_index: LineIndex,
) -> Segments:
    """Return the lines that surely belong to each access; `accesses` are all of the call, with or
    without a resource."""
    reads = printing_accesses(resolved_accesses)
    if not reads:
        return {}
    by_headers = _by_headers(reads, lines)
    if by_headers:
        return by_headers
    own = {id(resolved.access) for resolved in reads}
    others = any(prints(access) and id(access) not in own for access in accesses)
    sure = [one for one in reads if line_index.complete or not _may_match_others(one)]
    if len(sure) < len(reads):
        separators = _separators(accesses, lines)
        return _by_separators(sure, accesses, lines, separators) if separators else {}
    if not others and len(reads) == 1:
        return {reads[0].order: lines}
    separators = _separators(accesses, lines)
    if separators:
        return _by_separators(reads, accesses, lines, separators)
    if others:
        return _after_other_output(reads, accesses, lines)
    return _by_front_matter(reads, lines) or _by_known_texts(reads, lines, line_index)


def _may_match_others(read: ResolvedAccess) -> bool:
    """Whether only a glob names a SKILL.md, and may match other files, whose text would be its own."""
    of_root = is_root(read.location.resource)
    return of_root and read.access.glob and is_glob(name_of(read.access.path))


def prints(access: Access) -> bool:
    """Whether text of an access, or of a program beside it, reaches the output."""
    if access.kind == "mention":
        return bool(access.printed) or access.note == OTHER_OUTPUT
    return access.shown and access.kind in {"read", "search", "exec", "list"}


def has_file_headers(lines: Sequence[str]) -> bool:
    """Whether a heading precedes each file of an output."""
    return any(line[:4] in _HEADER_STARTS and _HEADER.match(line) for line in lines)


def _by_headers(reads: Sequence[ResolvedAccess], lines: tuple[str, ...]) -> Segments:
    """`head a b` prints `==> a <==` before each file."""
    starts = [
        (at, header["head"] or header["many"])
        for at, line in enumerate(lines)
        if line[:4] in _HEADER_STARTS and (header := _HEADER.match(line))
    ]
    ends = [*(at for at, _ in starts[1:]), len(lines)] if starts else []
    segments: Segments = {}
    for (at, path), end in zip(starts, ends, strict=True):
        fits = [
            (fit + 3 * (read.order not in segments), -read.order, read)
            for read in reads
            if (fit := _fit(read, path))
        ]
        if not fits:
            continue
        body = lines[at + 1 : end]
        if lines[at].startswith("-"):
            body = _without_blank_ends(body)
        elif end < len(lines) and body and not body[-1].strip():
            body = body[:-1]
        segments[max(fits)[2].order] = body
    return segments


def _fit(resolved: ResolvedAccess, path: str) -> int:
    """How well a heading's path names an access: 3 for its path, 2 for Skill and resource, 1 for
    the resource, 0 otherwise."""
    resource, asked = resolved.location.resource, resolved.access.path
    if asked == path or asked.endswith("/" + path):
        return 3
    if absolute(path) and absolute(asked) and not is_glob(asked):
        return 0
    if f"/{path}".endswith(f"/{bare_skill_name(resolved.location.skill)}/{resource}"):
        return 2
    return int(f"/{path}".endswith("/" + resource))


def _without_blank_ends(lines: Segment) -> Segment:
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


def _separators(accesses: Sequence[Access], lines: tuple[str, ...]) -> list[tuple[int, int]]:
    """(position in the accesses, line) of every echoed text, in order; empty if one is missing.

    A text that occurs more often than it was echoed does not separate.
    """
    echoes: dict[str, list[int]] = {}
    for position, access in enumerate(accesses):
        if access.printed and (text := separator_line(access.printed)):
            echoes.setdefault(text, []).append(position)
    if not echoes:
        return []
    fences = _fences(lines)
    bare = ["" if at in fences else line.strip() for at, line in enumerate(lines)]
    separators: list[tuple[int, int]] = []
    for text, positions in echoes.items():
        places = lines_matching(text, bare)
        if len(places) > len(positions):
            places = [at for at in places if at + 1 in fences]
        if len(places) == len(positions):
            separators.extend(zip(positions, places, strict=True))
        elif places or any(accesses[position].note != UNCERTAIN for position in positions):
            return []
    separators.sort()
    in_order = all(before[1] < after[1] for before, after in pairwise(separators))
    return separators if in_order else []


def _by_separators(
    reads: Sequence[ResolvedAccess],
    accesses: Sequence[Access],
    lines: tuple[str, ...],
    separators: list[tuple[int, int]],
) -> Segments:
    """The output of commands is between the texts echoed around them."""
    bounds = [(-1, -1), *separators, (len(accesses), len(lines))]
    segments: Segments = {}
    for (first, start), (last, end) in pairwise(bounds):
        between = accesses[first + 1 : last]
        printing = [access for access in between if prints(access) and access.note != UNCERTAIN]
        owners = [read for read in reads if any(read.access is access for access in printing)]
        if len(owners) == 1 and len(printing) == 1:
            segments[owners[0].order] = lines[start + 1 : end]
    return segments


def _front_matter_starts(lines: tuple[str, ...]) -> list[int]:
    """First lines of front matters of Skills."""
    return [
        at
        for at, line in enumerate(lines[:-1])
        if line.strip() == "---" and lines[at + 1].startswith(("name:", "description:"))
    ]


def _fences(lines: tuple[str, ...]) -> set[int]:
    """Opening and closing lines of front matters of Skills."""
    fences = set()
    for start in _front_matter_starts(lines):
        closing = (at for at in range(start + 1, len(lines)) if lines[at].strip() == "---")
        fences |= {start, next(closing, start)}
    return fences


def _is_root_from_start(resolved: ResolvedAccess) -> bool:
    """Whether a SKILL.md is read from its first line on."""
    ranges = resolved.access.selection.ranges
    return resolved.location.resource == "SKILL.md" and (not ranges or ranges[0][0] == 1)


def _after_other_output(
    reads: Sequence[ResolvedAccess], accesses: Sequence[Access], lines: tuple[str, ...]
) -> Segments:
    """A SKILL.md printed last begins at its front matter, whatever precedes it."""
    last = reads[-1]
    printing = [access for access in accesses if prints(access)]
    if len(reads) != 1 or printing[-1] is not last.access or not _is_root_from_start(last):
        return {}
    starts = _front_matter_starts(lines)
    return {last.order: lines[starts[0] :]} if len(starts) == 1 else {}


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
