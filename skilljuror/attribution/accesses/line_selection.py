"""Which lines of a file a command shows: windows that pipelines narrow down."""

import re

from msgspec import Struct
from msgspec.structs import replace

Span = tuple[int, int | None]
"""First and last line, inclusive; None = to the end of the file."""

_SED_PRINT = re.compile(r"(?:^|[;\s{])(\d{1,9})(?:,(\d{1,9}|\$))?p")
_SED_DELETE = re.compile(r"^(\d{1,9})(?:,(\d{1,9}|\$))?d$")
_SED_DROP = re.compile(r"^(?:\d{1,9}|\$|/[^/]*/)(?:,(?:\d{1,9}|\$|/[^/]*/))?!?d$")
_SED_QUIT = re.compile(r"^(\d{1,9})q$")
_AWK_RANGE = re.compile(r"F?NR\s*==\s*(\d{1,9})\s*,\s*F?NR\s*==\s*(\d{1,9})")
_AWK_ALL = re.compile(r"\{\s*(?:print|printf\b[^{}]*\$0[^{}]*|print\b[^{}]*\$0)\s*;?\s*\}\Z")
_AWK_REST = re.compile(r"\}\s*(?:1|\{\s*print(?:\s+\$0)?\s*;?\s*\})\Z")
"""After its other rules, a program that prints every line."""
_AWK_EXIT = re.compile(r"F?NR\s*(>=|==|>)\s*(\d{1,9})\s*\{\s*exit;?\s*\}\s*;?")
"""A rule that ends the program at a line."""
_AWK_BOUND = re.compile(r"F?NR\s*(>=|<=|==|>|<)\s*(\d{1,9})")


class View(Struct, frozen=True, gc=False):
    """What is asked of a file's lines."""

    spans: tuple[Span, ...] = ((1, None),)
    last: int | None = None
    """Only the last so many lines of the spans, where their end is not known."""
    cut: bool = False
    """Cut off by a number of bytes: the end is where the output ends."""
    picked: bool = False
    """Lines chosen by what they say; which ones only the output tells."""

    @property
    def whole(self) -> bool:
        """Whether the whole file is asked for."""
        return self.spans == ((1, None),) and self.last is None and not self.cut and not self.picked

    def head(self, count: int) -> "View":
        """The first `count` lines of this view; a negative count leaves out the last ones."""
        if self.picked or self.last is not None or count < 0:
            return replace(self, picked=True)
        kept: list[Span] = []
        for start, end in self.spans:
            if count <= 0:
                break
            stop = start + count - 1
            stop = stop if end is None else min(end, stop)
            kept.append((start, stop))
            count -= stop - start + 1
        return replace(self, spans=tuple(kept))

    def tail(self, count: int) -> "View":
        """The last `count` lines of this view."""
        if self.picked or self.last is not None:
            return replace(self, picked=True)
        if any(end is None for _, end in self.spans):
            return replace(self, last=count)
        kept: list[Span] = []
        for start, end in reversed(self.spans):
            if count <= 0 or end is None:
                break
            kept.append((max(start, end - count + 1), end))
            count -= end - start + 1
        return replace(self, spans=tuple(reversed(kept)))

    def since(self, line: int) -> "View":
        """This view from its `line`-th line on."""
        if self.picked or self.last is not None or len(self.spans) != 1:
            return replace(self, picked=True)
        start, end = self.spans[0]
        return replace(self, spans=((start + line - 1, end),))

    def within(self, spans: tuple[Span, ...]) -> "View":
        """The lines of this view that have these numbers in it."""
        if self.whole:
            return replace(self, spans=spans)
        if self.picked or self.last is not None or len(self.spans) != 1:
            return replace(self, picked=True)
        start, end = self.spans[0]
        kept = []
        for first, last in spans:
            stop = end if last is None else start + last - 1
            stop = stop if end is None or stop is None else min(end, stop)
            kept.append((start + first - 1, stop))
        return replace(self, spans=tuple(kept))

    def until(self, line: int) -> "View":
        """What of this view stands in the first `line` lines of the file."""
        spans = tuple(
            (first, line if last is None else min(last, line))
            for first, last in self.spans
            if first <= line
        )
        return replace(self, spans=spans)

    def narrowed(self, outer: "View") -> "View":
        """What is left of this view where another program shows a view of it."""
        if outer.picked:
            return self.pick()
        if outer.last is not None:
            return self.tail(outer.last)
        if outer.cut:
            return replace(self, cut=True)
        return self.within(outer.spans)

    def pick(self) -> "View":
        """Some lines of this view, chosen by what they say."""
        return replace(self, picked=True)


WHOLE = View()


def sed_view(script: str, *, silent: bool) -> View | None:
    """The lines a `sed` script shows; None when it says nothing about line numbers."""
    script = script.strip().strip(";").strip()
    if silent:
        found = tuple(_span(*match) for match in _SED_PRINT.findall(script))
        return View(spans=found) if found else View(picked=True)
    quits = _SED_QUIT.match(script)
    if quits:
        return WHOLE.head(int(quits[1]))
    deletes = _SED_DELETE.match(script)
    if deletes and deletes[1] == "1":
        first, last = _span(deletes[1], deletes[2] or "")
        return View(spans=(((last or first) + 1, None),))
    return View(picked=True) if _SED_DROP.match(script) else None


def _span(first: str, last: str) -> Span:
    if not last:
        return int(first), int(first)
    return int(first), None if last == "$" else int(last)


def awk_view(script: str) -> View:
    """The lines an `awk` program shows, as far as line numbers say it."""
    script = script.strip()
    ends = _AWK_EXIT.search(script[:2000])
    if ends is None:
        return _awk_view(script)
    view = _awk_view(f"{script[: ends.start()]} {script[ends.end() :]}".strip(" ;") or "1")
    last = int(ends[2]) + (ends[1] == ">") - bool(script[ends.end() :])
    return view.within(((1, last),)) if view.whole else view.until(last)


def _awk_view(script: str) -> View:
    if _AWK_REST.search(script[:2000]) and "next" not in script and "exit" not in script:
        return WHOLE
    ranged = _AWK_RANGE.search(script)
    if ranged:
        return View(spans=((int(ranged[1]), int(ranged[2])),))
    bounds = _AWK_BOUND.findall(script[:2000])
    if not bounds:
        whole = script.strip() in {"1", "//"} or _AWK_ALL.match(script.strip()[:2000])
        return WHOLE if whole else View(picked=True)
    first, last = 1, None
    for operator, number in bounds:
        value = int(number)
        if operator in {">", ">="}:
            first = max(first, value + (operator == ">"))
        elif operator in {"<", "<="}:
            last = value - (operator == "<")
        else:
            first = last = value
    return View(spans=((first, last),))
