from skilljuror.events.shell.command import Command
from skilljuror.events.shell.expansion import Environment
from skilljuror.events.shell.reader import ShellReader


def read_shell(text: str, cwd: str | None = None, home: str | None = None) -> list[Command]:
    """The simple commands of a shell text that runs in `cwd`."""
    return ShellReader(Environment(cwd, home)).read(text)
