"""A database of another version gives way to a new one once that is whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def database_to_fill(path: Path) -> Iterator[Path]:
    """Where ingest writes: the database at `path`, or a new one beside it where that is not of
    this version or not there at all.

    The new one takes its place when the block ends well; the old one is kept as `<name>.old`. Until
    then a kill leaves the old one as it is, and the next ingest goes on with the new one.
    Raises StoreError where a database is in use or may not be opened.
    """
    if _is_current(path):
        yield path
        return
    new = path.with_name(f"{path.name}.new")
    if not _is_current(new):
        _remove(new)
    yield new
    if path.exists():
        path.replace(path.with_name(f"{path.name}.old"))
        _log_of(path).unlink(missing_ok=True)
    new.replace(path)


def _is_current(path: Path) -> bool:
    if not path.exists():
        return False
    from skilljuror.store.connect import is_current  # a first ingest loads DuckDB later

    return is_current(path)


def _remove(path: Path) -> None:
    for left in (path, _log_of(path)):
        left.unlink(missing_ok=True)


def _log_of(path: Path) -> Path:
    """Where DuckDB keeps what a killed writer has not yet merged into its file."""
    return path.with_name(f"{path.name}.wal")
