"""One command of a shell text as it runs: its words, its folder, what feeds it and what it feeds."""

from collections.abc import Mapping

from msgspec import Struct, field

from skilljuror.attribution.shell.expansion import Word

_OUTPUTS = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_SCREENS = frozenset({"/dev/stderr", "/dev/stdout", "/dev/tty"})


class Redirect(Struct, frozen=True, gc=False):
    """Where a stream of a command goes or comes from."""

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
    """One simple command."""

    words: tuple[Word, ...]
    cwd: str | None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the program gets to see."""
    redirects: tuple[Redirect, ...] = ()
    pipeline: int = 0
    captured: bool = False
    """Its output goes into a word of another command or into a file, not to the screen."""
    text: str = ""
    """The source, shortened."""
    piped: bool = False
    """Its output goes into the next command."""
    guarded: bool = False
    """Runs only where the command before it failed."""
    feeds: int | None = None
    """The pipeline that takes what it prints, if that is not its own."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the program."""
        return self.words[1:]

    @property
    def heredoc(self) -> str | None:
        """Text fed by a here-document or here-string."""
        return next((one.target.text for one in self.redirects if one.op.startswith("<<")), None)
