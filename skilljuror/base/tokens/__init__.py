"""Offline token counting with o200k_base.

tiktoken would download the vocabulary. It is packaged here instead, compressed; its hash is checked
when it is loaded. NOTICE says where it comes from.
"""

import gzip
import hashlib
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from skilljuror.base.errors import UsageError

VOCABULARY = Path(__file__).parent / "o200k_base.tiktoken.gz"
"""A line per token: its bytes in base64, and its number."""
PATTERN = Path(__file__).parent / "o200k_base.pattern"
"""How a text is divided before its parts are encoded."""
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""The SHA-256 that the publisher gives for the uncompressed vocabulary."""
LONG_BLANK = 50_000
"""Blanks in a row above which a text is counted in pieces, which may add a token for each: the
tokenizer's pattern overflows its stack somewhere above 300,000."""
_LONG_BLANK = re.compile(rf"[^\S\r\n]{{{LONG_BLANK}}}")
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]+")


def tokenizer_name() -> str:
    """Return the tokenizer's name for manifests: "o200k_base/tiktoken-x.y.z"."""
    from importlib import metadata  # slow to load, and readers of logs count nothing

    return f"o200k_base/tiktoken-{metadata.version('tiktoken')}"


def count(text: str) -> int:
    """Tokens of `text`. Raises UsageError for a damaged installation."""
    encoder = _encoder()
    return sum(len(encoder.encode_ordinary(part)) for part in _encodable_parts(text))


def _encodable_parts(text: str) -> Iterator[str]:
    """The text, cut where blanks go on for too long for the tokenizer."""
    start = 0
    if len(text) > LONG_BLANK:
        for blanks in _LONG_BLANK.finditer(text):
            yield text[start : blanks.end()]
            start = blanks.end()
    yield text[start:]


def estimate(text: str) -> int:
    """A vocabulary-free estimate: within about 10 % of o200k_base on prose and Python."""
    return scaled(sum(weight(line) for line in text.split("\n")))


def scaled(total: float) -> int:
    """Estimated tokens of texts that weigh so much together."""
    return round(total / 0.9)


@lru_cache(maxsize=1 << 16)
def weight(line: str) -> float:
    """The estimate of one line before it is scaled: a multiple of one half, the sum of its words'.
    Kept, for variants share their lines."""
    total = 0.0
    for piece in _PIECE.findall(line):
        if piece[0].isalpha() and piece.isascii():
            total += 1 if len(piece) <= 7 else -(-len(piece) // 6)
        elif piece[0].isdigit():
            total += -(-len(piece) // 3)
        else:
            total += len(piece) / 2
    return total


@lru_cache(maxsize=1)
def _encoder() -> Any:
    import tiktoken

    return tiktoken.Encoding(
        "o200k_base",
        pat_str=PATTERN.read_text(encoding="utf-8").rstrip("\n"),
        mergeable_ranks=_ranks(),
        special_tokens={},
    )


def _ranks() -> dict[bytes, int]:
    try:
        content = gzip.decompress(VOCABULARY.read_bytes())
    except (OSError, EOFError, ValueError, zlib.error):
        content = b""
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise UsageError(
            f"the vocabulary {str(VOCABULARY)!r} is missing or damaged: install skilljuror again",
            file=str(VOCABULARY),
        )
    lines = (line.split() for line in content.splitlines())
    return {b64decode(token): int(number) for token, number in lines}
