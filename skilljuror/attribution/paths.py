"""Paths as text: joining, folding and globs, for file systems that are not this one."""

import fnmatch
import re
from functools import lru_cache

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def absolute(path: str) -> bool:
    """Whether a path stands on its own; "~" counts, because it never depends on the folder."""
    return path.startswith(("/", "~")) or bool(_DRIVE.match(path))


def normal(path: str) -> str:
    """The path without ".", "..", doubled or trailing slashes; "" for the current folder."""
    if _is_normal(path):
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


def _is_normal(path: str) -> bool:
    """Most paths are; told without taking them apart."""
    return not (
        "//" in path
        or "/./" in path
        or "/../" in path
        or path.endswith(("/", "/.", "/.."))
        or path.startswith(("./", "../"))
        or path in {".", ".."}
        or ("\\" in path and "/" not in path)
    )


def join(folder: str | None, path: str) -> str:
    """`path` as seen from `folder`; an unknown folder leaves it relative."""
    if absolute(path) or not folder:
        return normal(path)
    return normal(f"{folder}/{path}")


def expand_home(path: str, home: str | None) -> str:
    """`~/x` with the home folder put in, where it is known."""
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return path


def folder_of(path: str) -> str:
    """The folder that holds a path; "" for a bare name."""
    head, slash, _ = path.rpartition("/")
    return head or ("/" if slash else "")


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def is_glob(text: str) -> bool:
    """Whether a path holds a wildcard."""
    return any(mark in text for mark in "*?[")


@lru_cache(maxsize=4096)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob as a regex in which one star stays inside a folder and two do not."""
    pieces = re.split(r"(\*\*/?|\*|\?|\[[^\]]*\])", pattern)
    return re.compile("".join(_piece(piece) for piece in pieces) + r"\Z", re.DOTALL)


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


def glob_match(pattern: str, path: str) -> bool:
    """Whether a path fits a glob. Collapses runs of stars, so that matching stays cheap."""
    return bool(glob_regex(re.sub(r"\*{3,}", "**", pattern)).match(path))
