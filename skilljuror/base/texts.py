"""What a text is in numbers: its tokens, what they cost, and fingerprints that identify copies.

tiktoken would download the vocabulary. It is packaged here instead, compressed; its hash is checked
when it is loaded. NOTICE says where it comes from."""

import csv
import gzip
import hashlib
import re
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import UsageError
from skilljuror.base.results import Price
from skilljuror.base.trajectory import Usage

if TYPE_CHECKING:
    from skilljuror.base.study import ModelPrice

VOCABULARY = Path(__file__).parent / "tokens" / "o200k_base.tiktoken.gz"
"""A line per token: its bytes in base64, and its number."""
PATTERN = Path(__file__).parent / "tokens" / "o200k_base.pattern"
"""How a text is divided before its parts are encoded."""
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""The SHA-256 that the publisher gives for the uncompressed vocabulary."""
COUNTED = 200_000
"""Characters counted at once: the tokenizer's pattern overflows its stack at some 300,000 blanks in a row. A longer
text may count a token more for each further piece."""
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]+")


def tokenizer_name() -> str:
    """Return the tokenizer's name for manifests: "o200k_base/tiktoken-x.y.z"."""
    from importlib import metadata  # slow to load, and readers of logs count nothing

    return f"o200k_base/tiktoken-{metadata.version('tiktoken')}"


def count(text: str) -> int:
    """Tokens of `text`. Raises UsageError for a damaged installation."""
    encoder, starts = _encoder(), range(0, len(text), COUNTED)
    return sum(len(encoder.encode_ordinary(text[start : start + COUNTED])) for start in starts)


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
    return tiktoken.Encoding(
        "o200k_base",
        pat_str=PATTERN.read_text(encoding="utf-8").rstrip("\n"),
        mergeable_ranks={b64decode(token): int(number) for token, number in lines},
        special_tokens={},
    )


# Fingerprints of texts: runs of words that identify copies of a text.


RUN = 12
"""Words of a fingerprint. With 63 public tasks and 247 real agent logs, a Skill matched an unrelated
log 14 times by runs of 8 words, and twice by runs of 12, both times in common CI settings."""
DISTINCT = 8
"""Minimum of different words in a run: repetitions of one number or word identify nothing."""
LEAST = 4
"""Minimum of matching fingerprints for a text to count as shown: 15 consecutive words."""
LARGEST = 1_000_000
"""Bytes; a larger file is not treated as written text."""
_MARKS = re.compile(
    r"\\+[nrt\"]|\x1b\[[0-9;]{0,20}[A-Za-z]"  # escapes of JSON and of terminals
    r"|^[ \t]{0,12}L?\d{1,7}(?:→|\t|[ \t]?[|│] ?|: ?)|^[^\s:]{1,300}:\d{1,7}:",  # line numbers
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W_]+")
_KNOWN = b"\1" * RUN


def tokenize(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return _WORD.findall(_MARKS.sub(" ", text).lower())


@lru_cache(maxsize=1 << 15)  # the trials of a task show the same texts
def _digest(run: str) -> int:
    return int.from_bytes(blake2b(run.encode("utf-8", "replace"), digest_size=8).digest())


def run_digest(run: Sequence[str]) -> int:
    """Return the 64-bit digest of a run of words."""
    return _digest(" ".join(run))


class Fingerprints(Struct, frozen=True):
    """The fingerprints of a text, which do not reveal it."""

    digests: frozenset[int]
    """Digests of the runs."""
    words: frozenset[str]
    """The words of the runs, a quick filter for other texts."""

    @staticmethod
    def of(words: Sequence[str]) -> "Fingerprints":
        """Return the fingerprints of a tokenized text."""
        runs = [words[at : at + RUN] for at in range(len(words) - RUN + 1)]
        distinctive = [run for run in runs if len(set(run)) >= DISTINCT]
        return Fingerprints(
            frozenset(map(run_digest, distinctive)),
            frozenset(word for run in distinctive for word in run),
        )

    @staticmethod
    def union(many: Iterable["Fingerprints"]) -> "Fingerprints":
        """Return the fingerprints of several texts together."""
        parts = list(many)
        return Fingerprints(
            frozenset().union(*(one.digests for one in parts)),
            frozenset().union(*(one.words for one in parts)),
        )

    def without(self, digests: Iterable[int]) -> "Fingerprints":
        """Return the fingerprints except `digests`."""
        return Fingerprints(self.digests.difference(digests), self.words)

    def places(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield (number of the first word, digest) of every fingerprint in a tokenized text.

        A digest is computed only after `RUN` consecutive known words, which are rare.
        """
        known = bytes(map(self.words.__contains__, words))
        at = known.find(_KNOWN)
        while at >= 0:
            digest = run_digest(words[at : at + RUN])
            if digest in self.digests:
                yield at, digest
            at = known.find(_KNOWN, at + 1)

    def found_in(self, texts: Iterable[str]) -> frozenset[int]:
        """Return the digests found in any of the texts."""
        return frozenset(digest for text in texts for _, digest in self.places(tokenize(text)))


def texts_below(folder: Path, skip: str = "") -> dict[str, str]:
    """Path -> text of the text files below a folder, sorted, except in its subfolder `skip`; links are
    not followed."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.parts[0] == skip or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size <= LARGEST:
            try:
                text = path.read_bytes().decode()
            except UnicodeDecodeError:
                continue
            if "\0" not in text:
                texts[inside.as_posix()] = text
    return texts


def copies(texts: Mapping[str, str], held: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (file of `held`, file of `texts`) if the first contains at least half of the second's
    fingerprints."""
    wanted = {path: Fingerprints.of(tokenize(text)) for path, text in texts.items()}
    wanted = {path: prints for path, prints in wanted.items() if len(prints.digests) >= LEAST}
    every = Fingerprints.union(wanted.values())
    for path, text in held.items():
        found = every.found_in([text])
        for name, prints in wanted.items():
            if 2 * len(prints.digests & found) >= len(prints.digests):
                yield path, name


# Dated list prices, and the cost of tokens (measures §2.2, §2.3).


AS_OF = "2026-11-20"
"""Date of the packaged list, read from the price table of litellm 1.106.2."""

with (Path(__file__).parent / "prices.csv").open(encoding="utf-8") as _rows:
    PRICES = tuple(
        Price(
            model,
            float(plain),
            float(written),
            float(read),
            float(output),
            AS_OF,
            int(long) if long else None,
        )
        for model, plain, written, read, output, long in list(csv.reader(_rows))[1:]
    )
"""The packaged list. Cache writes without a price of their own cost as much as plain input."""


HOUR_WRITE = 2
"""Price of a token that a cache keeps for an hour, as a multiple of the input price (Anthropic; only its logs say so)."""

LONG_INPUT, LONG_OUTPUT = 2, 1.5
"""Prices of a long prompt and of its answer, as multiples of the usual ones; the same for every model that has them."""


def long_price(price: Price) -> Price:
    """The price of an answer to a prompt of more than `long_above` tokens."""
    return replace(
        price,
        **{
            name: LONG_INPUT * getattr(price, name)
            for name in ("input", "cache_write", "cache_read")
        },
        output=LONG_OUTPUT * price.output,
    )


def with_packaged(own: Iterable["ModelPrice"]) -> tuple[Price, ...]:
    """The packaged list, overridden by a study's own prices."""
    return (*PRICES, *(Price(**price.model_dump(mode="json")) for price in own))


def price_of(model: str | None, prices: tuple[Price, ...] | None) -> Price | None:
    """Return the price of a model, ignoring provider prefix, date and punctuation of its name."""
    if model is None:
        return None
    return _table(PRICES if prices is None else prices).get(plain_model(model))


@lru_cache(maxsize=4)
def _table(prices: tuple[Price, ...]) -> dict[str, Price]:
    return {plain_model(price.model): price for price in prices}


def cost(usage: Usage, price: Price) -> float | str:
    """Return the cost of tokens in US dollars, or the reason why it is unknown.

    A log without separate cache writes counts them as plain input; the cost is known only if both have
    the same price.
    """
    if usage.input is None or usage.output is None:
        return "no_input_or_output"
    if usage.input < 0:
        return "cache_above_input"
    if usage.cache_read is None:
        return "no_cache_read"
    if usage.cache_write is None and price.cache_write != price.input:
        return "no_cache_write"
    return (
        price.input * usage.input
        + price.cache_write * (usage.cache_write or 0)
        + (HOUR_WRITE * price.input - price.cache_write) * (usage.hour_write or 0)
        + price.cache_read * usage.cache_read
        + price.output * usage.output
    ) / 1e6


# Names of models, as plans and logs of several providers spell them.


_DATE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})$")
_CLOUD = re.compile(r"^(?:[a-z]{2,6}\.)?anthropic\.|-v\d+(?::\d+)?$")


@lru_cache(maxsize=256)
def plain_model(model: str) -> str:
    """Return a name without provider, date and punctuation."""
    return _DATE.sub("", _without_provider(model)).replace(".", "-")


def model_date(model: str) -> str | None:
    """Return the date in a name, as YYYYMMDD."""
    found = _DATE.search(_without_provider(model))
    return found[1].replace("-", "") if found else None


def _without_provider(model: str) -> str:
    return _CLOUD.sub("", model.rpartition("/")[2].lower())
