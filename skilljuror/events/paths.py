"""Paths as text (joining, normalising, globs), independent of this file system."""

import fnmatch
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def absolute(path: str) -> bool:
    """Whether a path is absolute; "~" counts, because it never depends on the folder."""
    return path.startswith(("/", "~")) or bool(_DRIVE.match(path))


_IRREGULAR = re.compile(r"\\|//|(?:^|/)\.\.?(?:/|$)|./$")
"""What a path without it needs no normalising for."""


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


MOST_DOUBLE_STARS = 3
"""Maximum double stars of a glob; each one multiplies the ways to match."""


@lru_cache(maxsize=4096)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """Glob as a regex in which `*` stays inside a folder and `**` does not.

    Of several stars in a name only the last backtracks, which matches the same names faster. Globs
    with more than MOST_DOUBLE_STARS match nothing.
    """
    pieces = re.split(r"(\*\*/?|\*|\?|\[[^\]]*\])", pattern)
    if sum(piece.startswith("**") for piece in pieces) > MOST_DOUBLE_STARS:
        return re.compile(r"(?!)")
    stars = [at for at, piece in enumerate(pieces) if piece.startswith("*")]
    regex = "".join(map(_piece, pieces[: stars[0] if stars else None]))
    for at, end in zip(stars, [*stars[1:], len(pieces)], strict=False):
        fixed = "".join(map(_piece, pieces[at + 1 : end]))
        last = pieces[end : end + 1] != ["*"] or any("/" in one for one in pieces[at + 1 : end])
        one_more = pieces[at] == "*" and not last
        regex += f"(?>[^/]*?{fixed})" if one_more else _piece(pieces[at]) + fixed
    return re.compile(regex + r"\Z", re.DOTALL)


def _piece(piece: str) -> str:
    if piece == "**/":
        return r"(?:[^/]+/)*"
    if piece == "**":
        return r".*"
    if piece == "*":
        return r"[^/]*"
    if piece == "?":
        return r"[^/]"
    if len(piece) > 2 and piece.startswith("[") and piece.endswith("]"):
        return fnmatch.translate(piece).removeprefix("(?s:").removesuffix(")\\Z")
    return re.escape(piece)


def glob_fits(pattern: str) -> Callable[[str], object]:
    """Return a matcher for a glob. Collapses runs of stars to keep matching cheap."""
    return glob_regex(re.sub(r"(?:\*\*/){2,}", "**/", re.sub(r"\*{3,}", "**", pattern))).match


def contains_any(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)
