"""Correct links and file mentions in copied lines after text moves."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from skilljuror.audit.comparison.inline_spans import command_spans
from skilljuror.base.skill import Copy, Generated, PlannedFile, Substitution, SubstitutionKind
from skilljuror.layouts.disclosure.file_layout import FileLayout
from skilljuror.layouts.editing.links import (
    is_local,
    link_between,
    link_spans,
    resolve_from,
    rewrite_links,
    split_target,
)
from skilljuror.layouts.editing.page_builder import PageBuilder


class LineRelocator:
    """Rewrite the copied lines of the pages of one layout."""

    def __init__(self, layout: FileLayout, pages: Sequence[PageBuilder]) -> None:
        self.layout = layout
        self.flat = layout.flat
        self.pages = pages
        self._lines: dict[str, list[int]] = defaultdict(list)
        """Anchor in the flat file -> 0-based lines of its headings."""
        for line, anchor in self.flat.markdown.anchor_at.items():
            self._lines[anchor].append(line)
        self._embedded = {
            file.heading.start: (layout.variant_paths[file.path], "")
            for file in self.flat.embedded_files
        }
        self._places: dict[str, tuple[str, str] | None] = {}
        self._anchors: dict[str, list[tuple[int, str]]] = {}
        self._mentions = PathMentions(layout)

    def planned(self, page: PageBuilder) -> PlannedFile:
        pieces = [
            piece if isinstance(piece, Generated) else self._relocated(piece, page)
            for piece in page.pieces
        ]
        return PlannedFile(page.path, tuple(pieces))

    def line(self, number: int, page: str) -> str:
        """Return line `number` (0-based) of the flat file, corrected for a page."""
        return self._relocated_line(number, page)[0]

    def _relocated(self, piece: Copy, page: PageBuilder) -> Copy:
        changes = tuple(self._substitutions(piece, page.path))
        if not changes:
            return piece
        return Copy(piece.source, piece.start, piece.end, piece.shift, changes)

    def _substitutions(self, piece: Copy, page: str) -> Iterator[Substitution]:
        first = max(piece.start, self.flat.markdown.frontmatter_lines + 1)
        for number in range(first, piece.end + 1):
            after, kind = self._relocated_line(number - 1, page)
            before = self.flat.lines[number - 1]
            if after != before:
                yield Substitution(number, before, after, kind)

    def _relocated_line(self, line: int, page: str) -> tuple[str, SubstitutionKind]:
        """Correct a line of prose. Code is unchanged: it must mean the same in every layout."""
        before = self.flat.lines[line]
        if line not in self.flat.markdown.link_lines:
            return before, "link"
        skill = self.flat.skill_at(line)
        text = rewrite_links(before, lambda target: self._new_target(target, page, skill))
        renamed = self._mentions.renamed(text, skill)
        return renamed, ("link" if renamed == text else "mention")

    def _new_target(self, target: str, page: str, skill: str) -> str | None:
        if not is_local(target):
            return None
        path, anchor = split_target(target)
        if not path:
            place = self._place(anchor)
            new = link_between(page, *place) if place else target
        else:
            sources = (self.flat.path, f"{self.layout.folder}/{skill or '.'}/SKILL.md")
            wanted = (resolve_from(source, path) for source in sources)
            known = next(filter(self.layout.has, wanted), None)
            new = link_between(page, known, anchor) if known else target
        return None if new == target else new

    def _place(self, anchor: str) -> tuple[str, str] | None:
        """(file, anchor there) of an anchor in the flat file; the last page counts if several hold its heading."""
        if anchor not in self._places:
            place = None
            for line in self._lines.get(anchor, ()):
                place = self._embedded.get(line, place)
            for page in self.pages if anchor in self._lines else ():
                place = self._on_page(page, anchor) or place
            self._places[anchor] = place
        return self._places[anchor]

    def _on_page(self, page: PageBuilder, anchor: str) -> tuple[str, str] | None:
        lines = set(self._lines[anchor])
        copies = [piece for piece in page.pieces if isinstance(piece, Copy)]
        if not any(piece.start <= line + 1 <= piece.end for piece in copies for line in lines):
            return None
        if page.path not in self._anchors:
            self._anchors[page.path] = [(line, name) for _, line, name in page.copied_headings()]
        names = [name for line, name in self._anchors[page.path] if line in lines]
        return (page.path, names[-1]) if names else None


Renaming = tuple[re.Pattern[str], Mapping[str, str]]
"""Pattern of the old names, and the new name of each."""


class PathMentions:
    """New names of one layout's files, relative to the skill's folder."""

    def __init__(self, layout: FileLayout) -> None:
        self.layout = layout
        self._renamings = {
            skill: _renaming(names) for skill, names in self._new_names().items() if names
        }

    def renamed(self, text: str, skill: str) -> str:
        """Return text of a source skill with mentions of moved files corrected."""
        for key in dict.fromkeys((skill, "")):
            renaming = self._renamings.get(key)
            if renaming is not None:
                text = _rename_in_prose(text, *renaming)
        return text

    def _new_names(self) -> dict[str, dict[str, str]]:
        """Source skill ("" for any) -> old name of a moved file -> path from the root."""
        flat, anywhere = self.layout.flat, dict[str, str]()
        new_names: dict[str, dict[str, str]] = {"": anywhere}
        for file in flat.embedded_files:
            path = self.layout.shown(self.layout.variant_paths[file.path])
            if path != file.path:
                anywhere[file.path] = path
                skill = flat.skill_at(file.heading.start)
                new_names.setdefault(skill, {})[flat.inner_path(file)] = path
        return new_names


def _renaming(names: Mapping[str, str]) -> Renaming:
    longest = sorted(names, key=lambda name: (-len(name), name))
    alternatives = "|".join(re.escape(name) for name in longest)
    return re.compile(rf"(?<![\w./-])(?:{alternatives})(?![\w/-]|\.\w)"), names


def _rename_in_prose(text: str, pattern: re.Pattern[str], names: Mapping[str, str]) -> str:
    kept = sorted([*link_spans(text), *command_spans(text)])
    parts, place = [], 0
    for start, end in [*kept, (len(text), len(text))]:
        if start >= place:
            parts.append(pattern.sub(lambda match: names[match[0]], text[place:start]))
            parts.append(text[start:end])
            place = end
    return "".join(parts)
