"""Pieces of files with the lines that matter marked."""

from collections.abc import Iterable

from skilljuror.models.review_queue import ReviewText

AROUND = 12
"""Lines shown before and after what is marked."""
HEAD = 40
"""Lines shown of a file in which nothing is marked."""


def excerpt(heading: str, text: str, places: Iterable[tuple[int, int]]) -> ReviewText:
    """The part of a text around some of its lines, given as inclusive ranges from 1, and these marked;
    its beginning where there are none. The heading gets the numbers of the lines."""
    lines = text.split("\n")
    ranges = [(max(1, first), min(last, len(lines))) for first, last in places]
    ranges = [(first, last) for first, last in ranges if first <= last]
    begin = max(1, min((first for first, _ in ranges), default=1) - AROUND)
    end = min(len(lines), max((last for _, last in ranges), default=HEAD - AROUND) + AROUND)
    starts = {begin: 0}
    for number in range(begin, end + 1):
        starts[number + 1] = starts[number] + len(lines[number - 1]) + 1
    marks = tuple((starts[first], starts[last + 1] - 1) for first, last in sorted(set(ranges)))
    return ReviewText(f"{heading}:{begin}-{end}", "\n".join(lines[begin - 1 : end]), marks)
