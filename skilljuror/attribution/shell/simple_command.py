"""One simple command of a shell text: its words, where it runs, what it is fed."""

from collections.abc import Mapping

from msgspec import Struct, field

from skilljuror.attribution.shell.expansion import Word


class Redirect(Struct, frozen=True, gc=False):
    """Where a stream of a command goes or comes from."""

    op: str
    target: Word
    descriptor: str = ""
    body: str | None = None

    @property
    def output(self) -> bool:
        """Whether standard output goes to the target."""
        return self.op in {">", ">>", ">|", "&>", "&>>", ">&"} and self.descriptor in {"", "1"}


class Command(Struct, frozen=True, gc=False):
    """One simple command."""

    words: tuple[Word, ...]
    cwd: str | None
    environment: Mapping[str, str] = field(default_factory=dict)
    redirects: tuple[Redirect, ...] = ()
    pipeline: int = 0
    captured: bool = False
    """Its output goes into a word of another command, not to the screen."""
    text: str = ""
    """The source, shortened."""
    ended_by: str = ""
    """The operator after it."""
    guarded: bool = False
    """Runs only where the command before it failed."""
    feeds: int | None = None
    """The pipeline that takes what the group around it prints."""

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
        for redirect in self.redirects:
            if redirect.body is not None:
                return redirect.body
            if redirect.op == "<<<":
                return redirect.target.text
        return None
