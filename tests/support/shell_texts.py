from skilljuror.events.access import Access
from skilljuror.events.commands import Shell


def accesses(text: str, cwd: str | None = "/w", home: str | None = "/h") -> list[Access]:
    """The accesses of a shell text that runs in `cwd`."""
    return Shell(cwd, home).read(text)
