"""Build the pieces of an output file together with its lines."""

from collections.abc import Iterator, Sequence

from skilljuror.audit.plans.render import BundleTexts, shift_line
from skilljuror.base.skill import Copy, Generated, PlannedFile
from skilljuror.skill.generated import fill_template
from skilljuror.skill.markdown import markdown_index


class PageBuilder:
    """The pieces of one output file, in order, and its lines as rendered."""

    def __init__(self, path: str, parent_texts: BundleTexts) -> None:
        self.path = path
        self.parent_texts = parent_texts
        self.pieces: list[Copy | Generated] = []
        self.lines: list[str] = []

    def generate(self, template: str, **params: str) -> None:
        self.pieces.append(Generated(template, params))
        self.lines.append(fill_template(template, params))

    def gap(self) -> None:
        """Add a blank line, unless the page is empty or ends with one."""
        if self.lines and self.lines[-1].strip():
            self.generate("blank")

    def copy(self, source: str, start: int, end: int, shift: int = 0) -> None:
        """Add lines `start..end` (1-based, inclusive) of a parent file; nothing if end < start."""
        self.pieces.append(Copy(source, start, end, shift))
        lines = list(self.parent_texts.text(source).lines[start - 1 : end])
        if shift:
            for heading in self.parent_texts.markdown(source).headings:
                if start - 1 <= heading.start < end:
                    place = heading.start - start + 1
                    lines[place] = shift_line(lines[place], shift)
        self.lines += lines

    def insert(self, place: int, generated: Sequence[Generated]) -> None:
        """Insert generated lines before piece number `place`, with blank lines around them."""
        pieces = [Generated("blank", {}), *generated, Generated("blank", {})]
        line = sum(piece.size for piece in self.pieces[:place])
        self.pieces[place:place] = pieces
        self.lines[line:line] = [fill_template(one.template, one.params) for one in pieces]

    def anchor_at(self) -> dict[int, str]:
        """Return the line of each heading of the page -> its anchor."""
        return markdown_index(tuple(self.lines)).anchor_at

    def copied_headings(self) -> Iterator[tuple[str, int, str]]:
        """Yield (parent file, 0-based line in it, anchor on the page) of each copied heading."""
        parent_lines: list[tuple[str, int] | None] = []
        for piece in self.pieces:
            if isinstance(piece, Copy):
                first = piece.start - 1
                parent_lines += [(piece.source, first + n) for n in range(piece.size)]
            else:
                parent_lines.append(None)
        for line, anchor in self.anchor_at().items():
            copied = parent_lines[line]
            if copied is not None:
                yield (*copied, anchor)

    def is_fenced(self, piece: Copy) -> bool:
        """Whether a piece is inside a generated fence."""
        place = next(number for number, one in enumerate(self.pieces) if one is piece)
        before = self.pieces[place - 1] if place else None
        return isinstance(before, Generated) and before.template == "fence-open"

    def planned(self, *, executable: bool = False) -> PlannedFile:
        """Return the finished file, with LF line ends and a final newline; for transforms of other
        packages."""
        return PlannedFile(self.path, tuple(self.pieces), executable)
