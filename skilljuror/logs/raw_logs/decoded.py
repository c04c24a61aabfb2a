"""Open log files; gzip and zstd are decoded while they are read, whatever the file is named."""

import gzip
import io
import sys
import zlib
from errno import EFBIG, EIO
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_DECODED = 1 << 30
"""Maximum bytes of a decoded log: a few kilobytes can decode to terabytes."""
BUFFER_BYTES = 1 << 18
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_SUFFIXES = (".gz", ".zst")


def open_decoded(path: Path) -> Any:
    """Open a log for reading its decoded bytes. Raises OSError."""
    raw: Any = path.open("rb", buffering=BUFFER_BYTES)
    decode = _decoder(raw.peek(len(_ZSTD)))
    return io.BufferedReader(_Decoded(raw, decode(raw)), BUFFER_BYTES) if decode else raw


def read_start(path: Path, size: int) -> bytes:
    """The first `size` decoded bytes. Raises OSError."""
    with path.open("rb", buffering=0) as log:
        data = log.read(size)
    if _decoder(data) is None:
        return data
    with open_decoded(path) as log:
        start: bytes = log.read(size)
    return start


def name_of_log(path: Path) -> str:
    """A log's file name without its suffix and that of its compression."""
    return Path(path.stem).stem if path.suffix in _SUFFIXES else path.stem


def _decoder(start: bytes) -> Any:
    if start.startswith(_GZIP):
        return lambda raw: gzip.GzipFile(fileobj=raw)
    if start.startswith(_ZSTD):
        return zstd.ZstdFile
    return None


class _Decoded(io.RawIOBase):
    """Decoded bytes of a file, up to MAX_DECODED. Where the file is cut off, they end."""

    def __init__(self, raw: Any, decoded: Any) -> None:
        self._raw, self._decoded = raw, decoded
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._decoded.read(len(buffer))
        except EOFError:
            data = b""
        except (OSError, zlib.error, zstd.ZstdError) as error:
            raise OSError(EIO, f"damaged: {error}") from error
        self._read += len(data)
        if self._read > MAX_DECODED:
            problem = f"decodes to more than {MAX_DECODED >> 20:,} MiB; decompress and divide it"
            raise OSError(EFBIG, problem)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._raw.close()
        super().close()
