"""Text as lines: split on newline only, with what the bytes have on top of the lines."""

from collections.abc import Iterable
from dataclasses import dataclass

from skilljuror.models.bundle import Blob

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file: its lines, and the flags that give its bytes back exactly."""

    lines: tuple[str, ...]
    bom: bool = False
    crlf: bool = False
    final_newline: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of the flags that are not plain, sorted."""
        names = {
            "bom": self.bom,
            "crlf": self.crlf,
            "no-final-newline": not self.final_newline,
        }
        return tuple(name for name, on in sorted(names.items()) if on)


def text_with_flags(lines: Iterable[str], flags: Iterable[str]) -> TextFile:
    """A Text from lines and flag names."""
    names = set(flags)
    return TextFile(
        tuple(lines),
        bom="bom" in names,
        crlf="crlf" in names,
        final_newline="no-final-newline" not in names,
    )


def read_text(blob: Blob) -> TextFile | None:
    """The lines of a blob, or None when it is not UTF-8 text.

    CRLF is a flag only when every line end is CRLF; otherwise carriage returns stay in the lines.
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


def write_text(text: TextFile) -> bytes:
    """The bytes of a Text; the inverse of `read_text`."""
    end = "\r\n" if text.crlf else "\n"
    body = end.join(text.lines) + (end if text.final_newline and text.lines else "")
    return (BOM if text.bom else b"") + body.encode()
