"""A page in the making: pieces, and the lines they will render to."""

from collections.abc import Sequence

from skilljuror.knowledge.markdown.headings import shift_line
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.knowledge.generated.templates import fill_template
from skilljuror.models.plan import Copy, Generated, PlannedFile


class Page:
    """Pieces of one output file, in order, with their lines as they will stand."""

    def __init__(self, path: str, sources: BundleTexts) -> None:
        self.path = path
        self.sources = sources
        self.pieces: list[Copy | Generated] = []
        self.lines: list[str] = []

    def make(self, template: str, **params: str) -> None:
        """Add a generated line."""
        self.pieces.append(Generated(template, params))
        self.lines.append(fill_template(template, params))

    def gap(self) -> None:
        """Make the last line blank, unless the page is empty or it is already."""
        if self.lines and self.lines[-1].strip():
            self.make("blank")

    def copy(self, source: str, start: int, end: int, shift: int = 0) -> None:
        """Add lines `start..end` (1-based, inclusive) of a parent file; none when end < start."""
        self.pieces.append(Copy(source, start, end, shift))
        lines = list(self.sources.text(source).lines[start - 1 : end])
        if shift:
            for heading in self.sources.markdown(source).headings:
                if start - 1 <= heading.start < end:
                    place = heading.start - start + 1
                    lines[place] = shift_line(lines[place], shift)
        self.lines += lines

    def insert(self, place: int, made: Sequence[tuple[str, dict[str, str]]]) -> None:
        """Put generated lines before piece number `place`, with blank lines around them."""
        lines = [("blank", {}), *made, ("blank", {})]
        at = sum(
            1 if isinstance(piece, Generated) else max(0, piece.end - piece.start + 1)
            for piece in self.pieces[:place]
        )
        self.pieces[place:place] = [Generated(name, dict(params)) for name, params in lines]
        self.lines[at:at] = [fill_template(name, params) for name, params in lines]

    def is_fenced(self, piece: Copy) -> bool:
        """Whether a piece stands inside a generated fence."""
        place = next(number for number, one in enumerate(self.pieces) if one is piece)
        before = self.pieces[place - 1] if place else None
        return isinstance(before, Generated) and before.template == "fence-open"

    def planned(self, *, executable: bool = False) -> PlannedFile:
        """The finished file: LF line ends, a final newline."""
        return PlannedFile(self.path, tuple(self.pieces), executable)
