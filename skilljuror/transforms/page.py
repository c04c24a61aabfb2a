"""A page in the making: pieces, and the lines they will render to."""

from skilljuror.knowledge.headings import shift_line
from skilljuror.knowledge.render import Sources
from skilljuror.knowledge.templates import fill
from skilljuror.models.plan import Copy, Generated, PlannedFile


class Page:
    """Pieces of one output file, in order, with their lines as they will stand."""

    def __init__(self, path: str, sources: Sources) -> None:
        self.path = path
        self.sources = sources
        self.pieces: list[Copy | Generated] = []
        self.lines: list[str] = []

    def make(self, template: str, **params: str) -> None:
        """Add a generated line."""
        self.pieces.append(Generated(template, params))
        self.lines.append(fill(template, params))

    def gap(self) -> None:
        """Make the last line blank, unless the page is empty or it is already."""
        if self.lines and self.lines[-1].strip():
            self.make("blank")

    def copy(self, source: str, start: int, end: int, shift: int = 0) -> None:
        """Add lines `start..end` (1-based, inclusive) of a parent file."""
        if end < start:
            return
        self.pieces.append(Copy(source, start, end, shift))
        lines = list(self.sources.text(source).lines[start - 1 : end])
        if shift:
            for heading in self.sources.document(source).headings:
                if start - 1 <= heading.start < end:
                    place = heading.start - start + 1
                    lines[place] = shift_line(lines[place], shift)
        self.lines += lines

    def planned(self, *, executable: bool = False) -> PlannedFile:
        """The finished file: LF line ends, a final newline."""
        return PlannedFile(self.path, tuple(self.pieces), executable)
