"""Fingerprints of texts: runs of words that identify copies of a text.

A text is reduced to its lower-case words, so that reflowed lines, markup, comment signs, line numbers
of tools and JSON escapes change nothing. A fingerprint is a run of `RUN` words with at least `DISTINCT`
different ones. Compressed, encoded (base64), translated or paraphrased copies are not found.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

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


def run_digest(run: Sequence[str]) -> int:
    """Return the 64-bit digest of a run of words."""
    return _digest(" ".join(run))


@lru_cache(maxsize=1 << 15)  # the trials of a task show the same texts
def _digest(run: str) -> int:
    return int.from_bytes(blake2b(run.encode("utf-8", "replace"), digest_size=8).digest())


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
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.parts[0] != skip and not path.is_symlink() and path.is_file():
            text = _text(path)
            if text is not None:
                found[inside.as_posix()] = text
    return found


def _text(path: Path) -> str | None:
    if path.stat().st_size > LARGEST:
        return None
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


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
