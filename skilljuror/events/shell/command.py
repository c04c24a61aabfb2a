"""One command of a shell text as run: words, folder, input and output."""

from collections.abc import Mapping

from msgspec import Struct, field

from skilljuror.events.shell.expansion import Word

_OUTPUTS = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_SCREENS = frozenset({"/dev/stderr", "/dev/stdout", "/dev/tty"})


class Redirect(Struct, frozen=True, gc=False):
    """Source or target of a stream of a command."""

    op: str
    target: Word
    """The file, or the text of a here-document."""
    descriptor: str = ""

    @property
    def output(self) -> bool:
        """Whether standard output goes to the target."""
        return self.op in _OUTPUTS and self.descriptor in {"", "1"}

    @property
    def to_file(self) -> bool:
        """Whether standard output leaves the screen."""
        return self.output and not self.target.text.isdigit() and self.target.text not in _SCREENS


class Command(Struct, frozen=True, gc=False):
    words: tuple[Word, ...]
    cwd: str | None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables visible to the program."""
    redirects: tuple[Redirect, ...] = ()
    pipeline: int = 0
    captured: bool = False
    """Its output goes into another command's word or a file, not to the screen."""
    text: str = ""
    """The source, shortened."""
    piped: bool = False
    """Its output goes into the next command."""
    guarded: bool = False
    """May not run: see `Pipeline` of the syntax tree."""
    feeds: int | None = None
    """Pipeline that takes its output, if not its own."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        return self.words[1:]

    @property
    def heredoc(self) -> str | None:
        """Text of a here-document or here-string."""
        return next((one.target.text for one in self.redirects if one.op.startswith("<<")), None)
