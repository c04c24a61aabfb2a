"""Reading a source with a format, with one kind of error."""

from collections.abc import Iterator
from functools import lru_cache

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import Parser, Source
from skilljuror.registry import resolve


@lru_cache(maxsize=64)
def parser(format: str) -> Parser:
    """The parser of a registered format, or of a `module:attribute` path."""
    made: Parser = resolve(FORMATS, format, "format")()
    return made


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


def claims(source: Source) -> list[str]:
    """Names of the registered formats whose signature claims a source, in the registry's order."""
    return [name for name in FORMATS if parser(name).sniff(source)]
