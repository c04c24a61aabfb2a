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
    """Only the last `last` lines of a file whose length is unknown."""
    by_content: bool = False
    """Lines selected by content (`grep`) or bytes: only the output shows which."""

    @property
    def whole(self) -> bool:
        return self == WHOLE_FILE

    def narrowed(self, outer: "LineSelection") -> "LineSelection":
        """This selection after a later program shows only `outer` of it. Lines of a part are not
        counted."""
        if outer.whole:
            return self
        return outer if self.whole else self.filtered()

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
