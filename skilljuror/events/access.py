"""An access: a path that a call asks for, before it is resolved to a resource; and paths as text."""

import fnmatch
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.trajectory import EventKind, Via

LineRange = tuple[int, int | None]
"""First and last line, inclusive; None = to the end of the file."""


class LineSelection(Struct, frozen=True, gc=False):
    """Lines requested of a file, as far as the command tells."""

    ranges: tuple[LineRange, ...] = ((1, None),)
    last: int | None = None
    """Only the last `last` lines of a file whose length is unknown."""
    by_content: bool = False
    """Lines selected by content (`grep`) or bytes: only the output shows which."""

    @property
    def whole(self) -> bool:
        return self == WHOLE_FILE

    def narrowed(self, outer: "LineSelection") -> "LineSelection":
        """This selection after a later program shows only `outer` of it. Lines of a part are not
        counted."""
        if outer.whole:
            return self
        return outer if self.whole else self.filtered()

    def filtered(self) -> "LineSelection":
        """Lines of this selection chosen by content."""
        return replace(self, by_content=True)


WHOLE_FILE = LineSelection()

_SED_PRINT = re.compile(r"(?:^|[;\s{])(\d{1,9})(?:,(\d{1,9}|\$))?p")
_SED_DROP = re.compile(r"^(?:\d{1,9}|\$|/[^/]*/)(?:,(?:\d{1,9}|\$|/[^/]*/))?!?[dq]$")


def sed_selection(script: str, *, silent: bool) -> LineSelection:
    """Lines that a `sed` script prints; all without line numbers."""
    script = script.strip().strip(";").strip()
    if not silent:
        return LineSelection(by_content=True) if _SED_DROP.match(script) else WHOLE_FILE
    ranges: list[LineRange] = []
    for first, last in _SED_PRINT.findall(script):
        ranges.append((int(first), None if last == "$" else int(last or first)))
    return LineSelection(tuple(ranges)) if ranges else LineSelection(by_content=True)


class Access(Struct, frozen=True, gc=False):
    path: str
    """As the command resolves it; may be a glob."""
    kind: EventKind
    via: Via = "shell"
    selection: LineSelection = WHOLE_FILE
    """Lines requested (read)."""
    shown: bool = True
    """Whether its output reaches the model."""
    glob: bool = False
    """The path is a glob."""
    bundle_files_only: bool = False
    """Only valid if the path is a file of a bundle (an operand of an unknown program)."""
    needs_evidence: bool = False
    """Only valid if the output confirms it: another program chose the file, or the command runs if the
    one before it fails."""
    text: str = ""
    """Source text of the access."""
    note: str = ""
    written: str | None = None
    """Text written (write), if known."""
    source: str | None = None
    """Source of a copy (write)."""

    @property
    def prints(self) -> bool:
        """Whether text of the access, or of a program without a file (a mention), reaches the output."""
        return self.shown and self.kind in {"read", "search", "exec", "list", "mention"}


# Paths as text, independent of this file system.

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_IRREGULAR = re.compile(r"\\|//|(?:^|/)\.\.?(?:/|$)|./$")
"""What a path without it needs no normalising for."""


def absolute(path: str) -> bool:
    """Whether a path is absolute; "~" counts, because it never depends on the folder."""
    return path.startswith(("/", "~")) or bool(_DRIVE.match(path))


@lru_cache(maxsize=4096)
def normalised(path: str) -> str:
    """The path without ".", "..", doubled or trailing slashes; "" for the current folder."""
    if not _IRREGULAR.search(path):
        return path
    if "\\" in path and "/" not in path:
        path = path.replace("\\", "/")
    kept: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part != ".." or not path.startswith("/"):
            kept.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(kept)


def join(folder: str | None, path: str) -> str:
    """Resolve `path` in `folder`; an unknown folder leaves it relative."""
    if absolute(path) or not folder:
        return normalised(path)
    return normalised(f"{folder}/{path}")


def expand_home(path: str, home: str | None) -> str:
    """Replace `~` by the home folder if known."""
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return path


def folder_of(path: str) -> str:
    """Parent folder of a path; "" for a bare name."""
    head, slash, _ = path.rpartition("/")
    return head or ("/" if slash else "")


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def is_glob(text: str) -> bool:
    return any(mark in text for mark in "*?[")


@lru_cache(maxsize=4096)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """Glob as a regex in which `*` stays inside a folder and `**` does not."""
    regex = ""
    for piece in re.split(r"(\*\*/?|\*|\?|\[[^\]]*\])", pattern):
        if piece == "**/":
            regex += r"(?:[^/]+/)*"
        elif piece in {"**", "*", "?"}:
            regex += {"**": r".*", "*": r"[^/]*", "?": r"[^/]"}[piece]
        elif len(piece) > 2 and piece.startswith("["):
            regex += fnmatch.translate(piece).removeprefix("(?s:").removesuffix(")\\Z")
        else:
            regex += re.escape(piece)
    return re.compile(regex + r"\Z", re.DOTALL)


def glob_fits(pattern: str) -> Callable[[str], object]:
    """Return a matcher for a glob. Collapses runs of stars to keep matching cheap."""
    return glob_regex(re.sub(r"(?:\*\*/){2,}", "**/", re.sub(r"\*{3,}", "**", pattern))).match


def contains_any(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)
