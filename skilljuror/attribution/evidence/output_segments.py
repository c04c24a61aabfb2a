"""One output, several reads: which lines belong to which."""

import re
from collections.abc import Sequence
from itertools import pairwise

from skilljuror.attribution.accesses.file_access import OTHER_OUTPUT, UNCERTAIN, Access
from skilljuror.attribution.evidence.line_index import LineIndex, TextLines
from skilljuror.attribution.paths import absolute, is_glob, name_of
from skilljuror.attribution.resolution.resolver import ResolvedAccess
from skilljuror.attribution.resolution.skill_catalog import bare_skill_name
from skilljuror.attribution.shell.printed_text import lines_matching, separator_line

_HEADER = re.compile(r"^(?:==> (?P<head>.{1,500}) <==|--- (?P<many>.{1,500}) ---)$")
"""What `head` and tools that read many files print before each."""

_HEADS = frozenset({"==> ", "--- "})

Segment = tuple[str, ...]
Segments = dict[int, Segment]
"""Order of a claim -> the lines that are surely its own."""


def printing_accesses(resolved_accesses: Sequence[ResolvedAccess]) -> list[ResolvedAccess]:
    """The claims whose text reaches the output."""
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
) -> dict[int, Segment]:
    """order of a claim -> the lines that are surely its own; claims without an entry share."""
    reading = printing_accesses(resolved_accesses)
    if not reading:
        return {}
    own = {id(resolved.access) for resolved in reading}
    others = [one for one in accesses if _prints(one) and id(one) not in own]
    has_file_headers = _by_headers(reading, lines)
    if has_file_headers:
        return has_file_headers
    if not others and len(reading) == 1:
        return {reading[0].order: lines}
    marks = _marks(accesses, lines)
    if marks:
        return _by_marks(reading, accesses, lines, marks)
    if others:
        return _after_others(reading, accesses, lines)
    return _by_front_matter(reading, lines) or _by_known(reading, lines, line_index)


def _after_others(
    reading: Sequence[ResolvedAccess], accesses: Sequence[Access], lines: tuple[str, ...]
) -> dict[int, Segment]:
    """A SKILL.md printed last begins at its front matter, whatever stands before it."""
    printed = [one for one in accesses if _prints(one)]
    last = reading[-1]
    if len(reading) != 1 or printed[-1] is not last.access:
        return {}
    if last.location.resource != "SKILL.md" or last.access.selection.ranges[:1] == ():
        return {}
    starts = front_matter_starts(lines)
    alone = len(starts) == 1 and last.access.selection.ranges[0][0] == 1
    return {last.order: lines[starts[0] :]} if alone else {}


def front_matter_starts(lines: tuple[str, ...]) -> list[int]:
    """Where the front matter of a skill begins."""
    return [
        at
        for at, line in enumerate(lines[:-1])
        if line.strip() == "---" and lines[at + 1].startswith(("name:", "description:"))
    ]


def _prints(access: Access) -> bool:
    """Whether an access puts text into the output."""
    if access.kind == "mention":
        return bool(access.printed) or access.note == OTHER_OUTPUT
    return access.shown and access.kind in {"read", "search", "exec", "list"}


def _by_known(
    reading: Sequence[ResolvedAccess], lines: tuple[str, ...], line_index: LineIndex
) -> dict[int, Segment]:
    """Where all texts but one are known, the rest of the output is that one's."""
    unknown = [resolved for resolved in reading if resolved.key not in line_index.pages]
    if len(unknown) != 1 or len(lines) > 20_000:
        return {}
    taken: set[int] = set()
    text = TextLines.of(lines)
    for resolved in reading:
        match = line_index.match(resolved.key, text)
        if resolved is not unknown[0] and (match is None or not match.full):
            return {}
        for start, end in match.places if match else ():
            taken.update(range(start, end + 1))
    left = [at for at in range(len(lines)) if at not in taken]
    while left and not lines[left[0]].strip():
        left.pop(0)
    if not left or left[-1] - left[0] != len(left) - 1:
        return {}
    return {unknown[0].order: lines[left[0] : left[-1] + 1]}


def _by_headers(reading: Sequence[ResolvedAccess], lines: tuple[str, ...]) -> dict[int, Segment]:
    """`head a b` prints `==> a <==` before each file."""
    starts = [
        (at, found["head"] or found["many"])
        for at, line in enumerate(lines)
        if line[:4] in _HEADS and (found := _HEADER.match(line))
    ]
    if not starts:
        return {}
    ends = [at for at, _ in starts[1:]] + [len(lines)]
    result: dict[int, Segment] = {}
    for (at, path), end in zip(starts, ends, strict=True):
        resolved = _headed_by(path, reading, result)
        if resolved is not None:
            body = lines[at + 1 : end]
            if lines[at].startswith("-"):
                body = _unpadded(body)
            elif end < len(lines) and body and not body[-1].strip():
                body = body[:-1]
            result[resolved.order] = body
    return result


def has_file_headers(lines: Sequence[str]) -> bool:
    """Whether a heading stands before each file of an output."""
    return any(line[:4] in _HEADS and _HEADER.match(line) for line in lines)


def _unpadded(lines: Segment) -> Segment:
    """Without the blank lines around."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


def _headed_by(
    path: str, reading: Sequence[ResolvedAccess], taken: Segments
) -> ResolvedAccess | None:
    """The claim that a heading names best: by its path, by skill and resource, by the resource;
    one that has lines already comes last."""
    best: tuple[int, ResolvedAccess] | None = None
    for resolved in reading:
        fit = _fit(resolved, path)
        if fit and resolved.order not in taken:
            fit += 3
        if fit and (best is None or fit > best[0]):
            best = fit, resolved
    return best[1] if best is not None else None


def _fit(resolved: ResolvedAccess, path: str) -> int:
    """How well a heading names a claim; 0 for not at all."""
    resource, asked = resolved.location.resource, resolved.access.path
    if asked == path or asked.endswith("/" + path):
        return 3
    if absolute(path) and absolute(asked) and not is_glob(asked):
        return 0
    if f"/{path}".endswith(f"/{bare_skill_name(resolved.location.skill)}/{resource}"):
        return 2
    return int(f"/{path}".endswith("/" + resource))


def _marks(accesses: Sequence[Access], lines: tuple[str, ...]) -> list[tuple[int, int]] | None:
    """(position in the accesses, line) of every echoed text, in order; None if one is missing.

    A text that stands in the output more often than it was echoed marks nothing.
    """
    marks: dict[str, list[int]] = {}
    for position, one in enumerate(accesses):
        if one.printed and (mark := separator_line(one.printed)):
            marks.setdefault(mark, []).append(position)
    if not marks:
        return None
    fences = _fences(lines)
    bare = ["" if at in fences else line.strip() for at, line in enumerate(lines)]
    found: list[tuple[int, int]] = []
    for mark, positions in marks.items():
        places = lines_matching(mark, bare)
        if len(places) > len(positions):
            places = [at for at in places if at + 1 in fences]
        if len(places) == len(positions):
            found.extend(zip(positions, places, strict=True))
        elif places or any(accesses[one].note != UNCERTAIN for one in positions):
            return None
    found.sort()
    return found if all(before[1] < after[1] for before, after in pairwise(found)) else None


def _fences(lines: tuple[str, ...]) -> set[int]:
    """Lines that open or close the front matter of a skill."""
    found = set()
    for start in front_matter_starts(lines):
        found.add(start)
        closing = (at for at in range(start + 1, len(lines)) if lines[at].strip() == "---")
        found.update([next(closing, start)])
    return found


def _by_marks(
    reading: Sequence[ResolvedAccess],
    accesses: Sequence[Access],
    lines: tuple[str, ...],
    marks: list[tuple[int, int]],
) -> dict[int, Segment]:
    """Between two echoed texts stands the output of the commands between them."""
    bounds = [(-1, -1), *marks, (len(accesses), len(lines))]
    result: dict[int, Segment] = {}
    for (first, start), (last, end) in pairwise(bounds):
        inside = [
            one for one in accesses[first + 1 : last] if _prints(one) and one.note != UNCERTAIN
        ]
        owners = [resolved for resolved in reading if any(resolved.access is one for one in inside)]
        if len(owners) == 1 and len(inside) == 1:
            result[owners[0].order] = lines[start + 1 : end]
    return result


def _by_front_matter(
    reading: Sequence[ResolvedAccess], lines: tuple[str, ...]
) -> dict[int, Segment]:
    """Every SKILL.md begins with its front matter; several of them in a row part themselves."""
    if any(name_of(resolved.location.resource) != "SKILL.md" for resolved in reading):
        return {}
    if any(
        resolved.access.selection.ranges[:1] and resolved.access.selection.ranges[0][0] != 1
        for resolved in reading
    ):
        return {}
    starts = front_matter_starts(lines)
    if len(starts) != len(reading) or starts[:1] != [0]:
        return {}
    ends = [*starts[1:], len(lines)]
    return {
        resolved.order: lines[start:end]
        for resolved, start, end in zip(reading, starts, ends, strict=True)
    }
