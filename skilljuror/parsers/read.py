"""Reading a source with a format, with one kind of error."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from inspect import isabstract

from skilljuror.errors import TrajectoryError, UsageError
from skilljuror.models.trajectory import AgentTraits, Trajectory
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import Parser, Source
from skilljuror.registry import resolve


@lru_cache(maxsize=64)
def parser(format: str) -> Parser:
    """The parser of a registered format, or the one that `module:attribute` leads to.

    Raises UsageError where there is none.
    """
    found = resolve(FORMATS, format, "format")
    if not (isinstance(found, type) and issubclass(found, Parser)) or isabstract(found):
        raise UsageError(
            f"format {format!r} is no class that extends skilljuror.parsers.base.Parser with a"
            " sniff and a parse"
        )
    return found(format)


def read(source: Source, format: str) -> Iterator[Trajectory]:
    """The runs in a source. Raises TrajectoryError with the file and the reason.

    A format may yield none: a Harbor trial that left no log is a trial all the same.
    """
    try:
        yield from parser(format).parse(source)
    except OSError as error:
        raise TrajectoryError(
            f"{str(source.path)!r} cannot be read as {format}: {error.strerror or error}",
            file=str(source.path),
        ) from error


def claims(source: Source, formats: Sequence[str] = ()) -> list[str]:
    """The formats whose signature claims a source, of those named or of all that are registered."""
    return [name for name in formats or FORMATS if parser(name).sniff(source)]


@lru_cache(maxsize=64)
def traits_of(agent: str | None) -> AgentTraits:
    """How a program behaves that a log names, as interchange formats do.

    The first word of the name tells the program (`codex`, `codex-cli`); one whose own logs no
    format reads has the default traits.
    """
    for name in FORMATS:
        known = parser(name).agent
        if agent and known and agent.startswith(known.partition("-")[0]):
            return parser(name).traits
    return AgentTraits()
