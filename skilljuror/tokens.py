"""Offline token counting.

tiktoken wants to download its vocabulary. The litellm wheel carries the files, so we
find them without importing litellm, check their hashes and let tiktoken read them where
they lie: it would delete a file whose hash differs and ask the network for another.
Without the files an estimator answers, and its name says so.
"""

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from skilljuror.errors import UsageError

VOCABULARIES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""Vocabulary -> the name of its file, and the SHA-256 that its publisher gives for the content."""
ESTIMATOR = "estimate-v1"
LONG_BLANK = 50_000
"""Blanks in a row above which a text is counted in pieces, which may add a token for each: the
tokenizer's pattern overflows its stack somewhere above 300,000."""
_LONG_BLANK = re.compile(rf"[^\S\r\n]{{{LONG_BLANK}}}")
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]+")


def available(name: str = "o200k_base") -> bool:
    """Whether the vocabulary lies on this machine."""
    return _vocabulary(name) is not None


def tokenizer_name(name: str = "o200k_base") -> str:
    """What to write into a manifest: "o200k_base/tiktoken-x.y.z", or the estimator's name."""
    if available(name):
        from importlib import metadata  # slow to load, and readers of logs count nothing

        return f"{name}/tiktoken-{metadata.version('tiktoken')}"
    return ESTIMATOR


def count(text: str, name: str = "o200k_base") -> int:
    """Tokens of `text`, exactly where the vocabulary is at hand, else estimated."""
    encoder = _encoder(name)
    if encoder is None:
        return estimate(text)
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


def _vocabulary(name: str) -> Path | None:
    if name not in VOCABULARIES:
        raise UsageError(f"unknown tokenizer {name!r}; choose one of {', '.join(VOCABULARIES)}")
    file_name, _ = VOCABULARIES[name]
    spec = find_spec("litellm")
    for base in (spec.submodule_search_locations or ()) if spec else ():
        for folder in ("litellm_core_utils/tokenizers", "llms/tokenizers"):
            candidate = Path(base, folder, file_name)
            if candidate.is_file():
                return candidate
    return None


@lru_cache(maxsize=4)
def _encoder(name: str) -> Any:
    source = _vocabulary(name)
    if source is None:
        return None
    if hashlib.sha256(source.read_bytes()).hexdigest() != VOCABULARIES[name][1]:
        raise UsageError(
            f"{source}: the vocabulary {name!r} is damaged; install litellm again", file=str(source)
        )
    import tiktoken

    with _read_from(source.parent):
        return tiktoken.get_encoding(name)


_ENVIRONMENT = threading.Lock()


@contextmanager
def _read_from(folder: Path) -> Iterator[None]:
    """tiktoken takes its files from `folder`."""
    with _ENVIRONMENT:
        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before
