"""Replace a database of another version once the new one is complete."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def database_to_fill(path: Path) -> Iterator[Path]:
    """Yield the path that ingest writes to: the database at `path`, or a new one next to it if that is
    missing or of another version.

    The new one replaces `path` when the block succeeds; the old one becomes `<name>.old`. Until then a
    kill leaves the old one unchanged, and the next ingest resumes with the new one. Raises StoreError if
    a database is in use or access is denied.
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
    """DuckDB's write-ahead log, left by a killed writer."""
    return path.with_name(f"{path.name}.wal")
