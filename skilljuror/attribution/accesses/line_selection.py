"""Lines of a file that a command requests; each program of a pipeline narrows them."""

import re

from msgspec import Struct
from msgspec.structs import replace

LineRange = tuple[int, int | None]
"""First and last line, inclusive; None = to the end of the file."""

_SED_PRINT = re.compile(r"(?:^|[;\s{])(\d{1,9})(?:,(\d{1,9}|\$))?p")
_SED_DROP = re.compile(r"^(?:\d{1,9}|\$|/[^/]*/)(?:,(?:\d{1,9}|\$|/[^/]*/))?!?[dq]$")


class LineSelection(Struct, frozen=True, gc=False):
    """Lines requested of a file, as far as the command tells."""

    ranges: tuple[LineRange, ...] = ((1, None),)
    last: int | None = None
    """Only the last `last` lines of the ranges, whose end is unknown."""
    cut: bool = False
    """Cut off after a number of bytes: it ends where the output ends."""
    by_content: bool = False
    """Lines selected by content (`grep`): only the output shows which."""

    @property
    def whole(self) -> bool:
        return (
            self.ranges == ((1, None),)
            and self.last is None
            and not self.cut
            and not self.by_content
        )

    def head(self, count: int) -> "LineSelection":
        """First `count` lines of this selection; a negative count drops that many at the end."""
        if self.by_content or self.last is not None or count < 0:
            return replace(self, by_content=True)
        kept: list[LineRange] = []
        for start, end in self.ranges:
            if count <= 0:
                break
            stop = start + count - 1
            stop = stop if end is None else min(end, stop)
            kept.append((start, stop))
            count -= stop - start + 1
        return replace(self, ranges=tuple(kept))

    def tail(self, count: int) -> "LineSelection":
        if self.by_content or self.last is not None:
            return replace(self, by_content=True)
        if any(end is None for _, end in self.ranges):
            return replace(self, last=count)
        kept: list[LineRange] = []
        for start, end in reversed(self.ranges):
            if count <= 0 or end is None:
                break
            kept.append((max(start, end - count + 1), end))
            count -= end - start + 1
        return replace(self, ranges=tuple(reversed(kept)))

    def since(self, line: int) -> "LineSelection":
        """This selection from its `line`-th line on."""
        if self.by_content or self.last is not None or len(self.ranges) != 1:
            return replace(self, by_content=True)
        start, end = self.ranges[0]
        return replace(self, ranges=((start + line - 1, end),))

    def within(self, ranges: tuple[LineRange, ...]) -> "LineSelection":
        """Lines of this selection at these positions in it."""
        if self.whole:
            return replace(self, ranges=ranges)
        if self.by_content or self.last is not None or len(self.ranges) != 1:
            return replace(self, by_content=True)
        start, end = self.ranges[0]
        kept = []
        for first, last in ranges:
            stop = end if last is None else start + last - 1
            stop = stop if end is None or stop is None else min(end, stop)
            kept.append((start + first - 1, stop))
        return replace(self, ranges=tuple(kept))

    def narrowed(self, outer: "LineSelection") -> "LineSelection":
        """This selection after a later program shows only `outer` of it."""
        if outer.by_content:
            return self.filtered()
        if outer.last is not None:
            return self.tail(outer.last)
        if outer.cut:
            return replace(self, cut=True)
        return self.within(outer.ranges)

    def filtered(self) -> "LineSelection":
        """Lines of this selection chosen by content."""
        return replace(self, by_content=True)


WHOLE_FILE = LineSelection()


def sed_selection(script: str, *, silent: bool) -> LineSelection | None:
    """Lines that a `sed` script prints; None without line numbers."""
    script = script.strip().strip(";").strip()
    if silent:
        found = tuple(_line_range(*match) for match in _SED_PRINT.findall(script))
        return LineSelection(ranges=found) if found else LineSelection(by_content=True)
    return LineSelection(by_content=True) if _SED_DROP.match(script) else None


def _line_range(first: str, last: str) -> LineRange:
    if not last:
        return int(first), int(first)
    return int(first), None if last == "$" else int(last)
