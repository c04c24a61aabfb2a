"""Fingerprints of texts: runs of words by which a text is known again wherever it turns up.

A text is taken down to its words, in lower case, so that reflowed lines, markup, comment signs, line
numbers of tools and the escapes of JSON change nothing. A fingerprint is a run of `RUN` of them that
carries enough (`DISTINCT` different words). What is packed or encoded (gz, base64), translated or
retold is not known again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

RUN = 12
"""Words of a fingerprint. Over 63 public tasks and 247 real agent logs, a Skill met a foreign
log 14 times by runs of 8 words, and twice by runs of 12, both times in a commonplace of CI settings."""
DISTINCT = 8
"""Different words that such a run needs: rows of one number or word tell nothing."""
LEAST = 4
"""Fingerprints from which on a text counts as shown: 15 words in one row, or pieces of them."""
LARGEST = 1_000_000
"""Bytes of a file from which on it is not taken for text that anybody wrote."""
_MARKS = re.compile(
    r"\\+[nrt\"]|\x1b\[[0-9;]{0,20}[A-Za-z]"  # escapes of JSON and of terminals
    r"|^[ \t]{0,12}L?\d{1,7}(?:→|\t|[ \t]?[|│] ?|: ?)|^[^\s:]{1,300}:\d{1,7}:",  # line numbers
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W_]+")
_KNOWN = b"\1" * RUN


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return _WORD.findall(_MARKS.sub(" ", text).lower())


def digest_of(run: Sequence[str]) -> int:
    """The digest of a run of words: 64 bits."""
    return _digest(" ".join(run))


@lru_cache(maxsize=1 << 15)
def _digest(run: str) -> int:
    """Kept, for the trials of a task show the same texts."""
    return int.from_bytes(blake2b(run.encode("utf-8", "replace"), digest_size=8).digest())


class Fingerprints(Struct, frozen=True):
    """The fingerprints of a text, which cannot be turned back into it."""

    digests: frozenset[int]
    """Digests of the runs."""
    words: frozenset[str]
    """The words of the runs, which most other texts hold no run of."""

    @staticmethod
    def of(words: Sequence[str]) -> "Fingerprints":
        """The fingerprints of a text's words."""
        runs = [words[at : at + RUN] for at in range(len(words) - RUN + 1)]
        telling = [run for run in runs if len(set(run)) >= DISTINCT]
        return Fingerprints(
            frozenset(map(digest_of, telling)), frozenset(word for run in telling for word in run)
        )

    @staticmethod
    def union(many: Iterable["Fingerprints"]) -> "Fingerprints":
        """Those of several texts."""
        parts = list(many)
        return Fingerprints(
            frozenset().union(*(one.digests for one in parts)),
            frozenset().union(*(one.words for one in parts)),
        )

    def without(self, digests: Iterable[int]) -> "Fingerprints":
        """Those that are none of `digests`."""
        return Fingerprints(self.digests.difference(digests), self.words)

    def places(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """(number of the first word, digest) of every fingerprint that stands in a text.

        Only where `RUN` known words stand in a row, which is seldom, a digest is taken.
        """
        known = bytes(map(self.words.__contains__, words))
        at = known.find(_KNOWN)
        while at >= 0:
            digest = digest_of(words[at : at + RUN])
            if digest in self.digests:
                yield at, digest
            at = known.find(_KNOWN, at + 1)

    def found_in(self, texts: Iterable[str]) -> frozenset[int]:
        """The digests of those that stand in any of the texts."""
        return frozenset(digest for text in texts for _, digest in self.places(words_of(text)))


def texts_below(folder: Path, skip: str = "") -> dict[str, str]:
    """Path -> text of the text files below a folder, in order, without its subfolder `skip`; links are
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
    """(file of `held`, file of `texts`) where the one holds at least half of the other's fingerprints."""
    wanted = {path: Fingerprints.of(words_of(text)) for path, text in texts.items()}
    wanted = {path: prints for path, prints in wanted.items() if len(prints.digests) >= LEAST}
    every = Fingerprints.union(wanted.values())
    for path, text in held.items():
        found = every.found_in([text])
        for name, prints in wanted.items():
            if 2 * len(prints.digests & found) >= len(prints.digests):
                yield path, name
