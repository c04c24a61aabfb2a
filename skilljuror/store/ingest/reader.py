"""Digest of everything except the files that determines the result of reading a log."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from sys import modules

import msgspec

from skilljuror.base import __version__
from skilljuror.base.files import sha256
from skilljuror.store.ingest.analysis import MeasureOptions

UNITS = (
    "base", "measures/metrics", "logs", "events", "store",
)  # fmt: skip
"""Units loaded to read logs, attribute and measure."""
LIBRARIES = ("jiter", "msgspec", "orjson")
"""Libraries whose versions can change the result."""


def reader_digest(options: MeasureOptions, formats: Iterable[str] = ()) -> str:
    """Digest of the reading code, plugins included, and of the options; if it changes, every log is
    read again."""
    plugins = [(name, file_digest(name)) for name in (*formats, *options.metrics) if ":" in name]
    return sha256(msgspec.json.encode([code_digest(), plugins, options]))


@cache
def code_digest(*more: str) -> str:
    """Digest of the reading code and of further units of the package."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256(f"{__version__} {[*map(version, LIBRARIES)]}".encode())
    for unit in (*UNITS, *more):
        inside = (package / unit).rglob("*") if (package / unit).is_dir() else [package / unit]
        for path in sorted(one for one in inside if one.suffix in {".py", ".sql"}):
            digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def file_digest(plugin: str) -> str:
    """Digest of the file of a loaded plugin."""
    file = getattr(modules.get(plugin.partition(":")[0]), "__file__", None)
    return sha256(Path(file).read_bytes()) if file else ""
