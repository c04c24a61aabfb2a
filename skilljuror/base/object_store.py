"""Studies in an object store, such as `s3://bucket/fleet`: DuckDB reads the parts of their databases that it needs.

fsspec gives it the bytes. `s3://` needs `skilljuror[s3]`; another store needs the package that fsspec names. Keys and
endpoint come from where that package looks for them, such as AWS_ENDPOINT_URL.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skilljuror.base.errors import StoreError

_ADDRESS = re.compile(r"([a-z][a-z0-9]+):/+(.+)", re.DOTALL)
_OURS = "object"
"""Protocol of the names that DuckDB sees; it would ask an extension for `s3`."""
_BLOCK = 1 << 20
"""Fewest bytes of a request; DuckDB reads 256 KiB at a time."""


def address(path: Path) -> str:
    """The address that a path stands for, since `Path("s3://bucket")` is `s3:/bucket`; "" for a path of this machine."""
    found = _ADDRESS.fullmatch(path.as_posix())
    return f"{found[1]}://{found[2]}" if found else ""


def name_for_duckdb(path: Path) -> str:
    """The name of an object that `filesystem` opens."""
    return f"{_OURS}://{address(path)}"


def paths_at(root: Path, pattern: str) -> list[Path]:
    """What matches a pattern below a folder, in a store too. Raises StoreError if the store does not answer."""
    if not (url := address(root / pattern)):
        return [*root.glob(pattern)]
    with _errors_translated(url):
        store, inside = _store(url)
        return [Path(store.unstrip_protocol(name)) for name in store.glob(inside)]


def is_file(path: Path) -> bool:
    """Whether a file exists, in a store too. Raises StoreError as `paths_at`."""
    return bool(paths_at(path.parent, path.name)) if address(path) else path.is_file()


def filesystem() -> Any:
    """The filesystem of fsspec to register with a connection, which then opens objects for reading."""
    from fsspec import AbstractFileSystem

    class Objects(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
        protocol = _OURS

        def info(self, path: str, **_: Any) -> Any:
            store, inside = _store(path)
            return store.info(inside)

        def modified(self, path: str) -> Any:
            store, inside = _store(path)
            return store.modified(inside)

        def open(self, path: str, *_: Any, **__: Any) -> Any:
            store, inside = _store(path)
            return store.open(inside, "rb", block_size=_BLOCK)

    return Objects()


def _store(name: str) -> tuple[Any, str]:
    """The store of an address, or of a name for DuckDB, and the object in it."""
    from fsspec.core import url_to_fs

    store, inside = url_to_fs(name.removeprefix(f"{_OURS}://"))
    return store, inside


@contextmanager
def _errors_translated(url: str) -> Iterator[None]:
    """Each store raises errors of its own."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        extra = "; pip install 'skilljuror[s3]'" if re.search("s3fs|fsspec", reason) else ""
        raise StoreError(f"{url!r} cannot be read: {reason}{extra}", file=url) from error
