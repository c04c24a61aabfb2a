"""A text file as lines, split on newline only, and the flags that restore its bytes."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from skilljuror.base.skill import Blob

BOM = b"\xef\xbb\xbf"


class JoinedTexts:
    """Concatenated texts, searched at once."""

    def __init__(self, texts: Iterable[str]) -> None:
        parts = list(texts)
        self._text = "\n".join(parts)
        self._starts = [0, *accumulate(len(part) + 1 for part in parts)]

    def holding(self, word: str) -> Iterator[int]:
        """Yield the numbers of the texts that contain `word`, in order."""
        place = self._text.find(word)
        while 0 <= place < self._starts[-1]:
            number = bisect_right(self._starts, place) - 1
            yield number
            place = self._text.find(word, self._starts[number + 1])


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file: its lines, and the flags that restore its bytes exactly."""

    lines: tuple[str, ...]
    bom: bool = False  # whether it starts with a UTF-8 byte order mark
    crlf: bool = False
    final_newline: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the set flags, sorted."""
        names = {"bom": self.bom, "crlf": self.crlf, "no-final-newline": not self.final_newline}
        return tuple(name for name, on in sorted(names.items()) if on)


def text_with_flags(lines: Iterable[str], flags: Iterable[str]) -> TextFile:
    names = set(flags)
    return TextFile(
        tuple(lines),
        bom="bom" in names,
        crlf="crlf" in names,
        final_newline="no-final-newline" not in names,
    )


def read_text(blob: Blob) -> TextFile | None:
    """Return the lines of a blob, or None if it is not UTF-8 text.

    CRLF is a flag only if every line end is CRLF; otherwise carriage returns stay in the lines.
    """
    content = blob.text
    if content is None:
        return None
    bom = blob.data.startswith(BOM)
    ends = content.count("\n")
    crlf = ends > 0 and content.count("\r\n") == ends
    plain = content.replace("\r\n", "\n") if crlf else content
    final = plain.endswith("\n") or not plain
    lines = plain.split("\n")
    return TextFile(tuple(lines[:-1] if final else lines), bom=bom, crlf=crlf, final_newline=final)


def without_blank_edges(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """Return the range of lines (0-based, half-open) without leading and trailing blank lines."""
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def write_text(text: TextFile) -> bytes:
    """Return the bytes of a text file; the inverse of `read_text`."""
    end = "\r\n" if text.crlf else "\n"
    body = end.join(text.lines) + (end if text.final_newline and text.lines else "")
    return (BOM if text.bom else b"") + body.encode()
