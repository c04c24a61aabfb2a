"""placebo-unrouted: pd without routing, to separate the effect of the root's cues from the layout."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any, ClassVar

from skilljuror.base.skill import Bundle, Copy, Omitted, Plan, PlannedFile, Substitution
from skilljuror.layouts.disclosure import flat_skill
from skilljuror.layouts.editing.links import is_local, rewrite_links, split_target
from skilljuror.skill.generated import POINTERS, TEMPLATES, template_of_line
from skilljuror.skill.markdown import markdown_index

UNNAMED = "a supporting file"

_BEFORE = r"(?<![\w./-])(?:[\w.~$@{}-]{0,255}+/){0,64}"
"""The folders before a name; bounded, so that a long line of slashes stays cheap."""


class UnroutedPlacebo:
    """All files of pd, and a root that names none of them: no table, pointers or mentions.

    Commands of the root lose the names of their scripts too. The frontmatter is unchanged.
    """

    variant: ClassVar[str] = "placebo-unrouted"
    parent: ClassVar[str] = "pd"
    stands_for: ClassVar[str] = "pd"
    expected: ClassVar[tuple[str, ...]] = (
        "layout.pd-support",
        "layout.pd-unnamed",
        "layout.pd-cue",
        "knowledge.*",
        "routing.pointer",
        "size.shrunk",
    )

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        flat = flat_skill(parent, self.variant)
        others = [path for path in parent.files if path != flat.path]
        skip = flat.markdown.frontmatter_lines
        left = set(_routing(flat.lines, skip))
        pieces = tuple(_pieces(flat.path, flat.lines, left, skip, _Unnaming(flat.path, others)))
        text = flat.texts.text(flat.path)
        root = PlannedFile(flat.path, pieces, False, text.final_newline, text.bom, text.crlf)
        return Plan(
            self.variant,
            self.parent,
            (root,),
            sidecars={path: path for path in others},
            flags={flat.path: text.flags} if text.flags else {},
            omitted=tuple(Omitted(flat.path, n + 1, flat.lines[n]) for n in sorted(left)),
            notes=("a control: its root names no file",),
        )


def _routing(lines: tuple[str, ...], skip: int) -> Iterator[int]:
    prose = markdown_index(lines).prose_lines
    table = _table(lines)
    yield from table
    for number, line in enumerate(lines[skip:], skip):
        if number not in table and number in prose and template_of_line(line) in POINTERS:
            yield number


def _table(lines: tuple[str, ...]) -> set[int]:
    """The lines of the lists of files, with their titles."""
    found: set[int] = set()
    for start, line in enumerate(lines):
        rest = [n for n in range(start + 1, len(lines)) if lines[n].strip()]
        rows = [*takewhile(lambda n: _is_row(lines[n]), rest)]
        if line in {TEMPLATES["routing"], TEMPLATES["further"]} and rows:
            found.update(range(start, rows[-1] + 1))
    return found


def _is_row(line: str) -> bool:
    return line == TEMPLATES["routing-lead"] or (template_of_line(line) or "").startswith("row-")


def _pieces(
    path: str, lines: tuple[str, ...], omitted: set[int], skip: int, unname: "_Unnaming"
) -> Iterator[Copy]:
    start = 0
    for stop in [*sorted(omitted), len(lines)]:
        if start < stop:
            changes = (
                Substitution(number + 1, lines[number], after, "control")
                for number in range(max(start, skip), stop)
                if (after := unname(lines[number])) != lines[number]
            )
            yield Copy(path, start + 1, stop, substitutions=tuple(changes))
        start = stop + 1


class _Unnaming:
    def __init__(self, root: str, others: Iterable[str]) -> None:
        folder = f"{PurePosixPath(root).parent}/"
        shown = [path.removeprefix(folder) for path in others]
        self._names = {name for path in shown for name in (path, PurePosixPath(path).name)}
        folders = {f"{up}/" for path in shown for up in PurePosixPath(path).parents if up.name}
        dotted = {name for name in self._names if "." in name or "/" in name}
        self._anywhere = _pattern(_BEFORE, dotted | folders)
        self._in_ticks = _pattern("(?<=`)", self._names - dotted, "(?=`)")

    def __call__(self, line: str) -> str:
        line = rewrite_links(line, self._target)
        for pattern in (self._anywhere, self._in_ticks):
            line = pattern.sub(UNNAMED, line) if pattern else line
        return line

    def _target(self, target: str) -> str | None:
        path, _ = split_target(target)
        known = is_local(target) and PurePosixPath(path).name in self._names
        return "#" if known else None


def _pattern(before: str, names: Iterable[str], after: str = "") -> re.Pattern[str] | None:
    alternatives = [re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name))]
    after = after or r"(?![\w/-]|\.\w)"
    return (
        re.compile(f"{before}(?:{'|'.join(alternatives)}){after}", re.IGNORECASE)
        if alternatives
        else None
    )
