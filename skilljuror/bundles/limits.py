"""What a bundle may be: sizes, counts and names. Anything beyond is refused, never trimmed."""

import unicodedata
from pathlib import PurePosixPath

from skilljuror.errors import BundleError

MAX_FILES = 5_000
MAX_DEPTH = 20
"""Folders above a file; the deepest real bundle seen has 6."""
MAX_FILE_BYTES = 8 << 20
MAX_TOTAL_BYTES = 64 << 20
MAX_NAME = 180
"""Characters of one path component."""
MAX_RATIO = 200
"""Unpacked over packed size of an archive's member."""

_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}  # fmt: skip
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", "__MACOSX"})


def is_skipped(name: str) -> bool:
    """Whether a file or folder is left by a tool and no part of any skill."""
    return name in _SKIPPED or name.endswith((".pyc", ".pyo"))


def check_name(name: str, path: str) -> None:
    """Refuse a path component that could mislead a reader, a marker or another system."""
    problem = _name_problem(name)
    if problem:
        raise BundleError(
            f"the name {name!r} in {path!r} {problem}; rename it in the source", file=path
        )


def _name_problem(name: str) -> str | None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return "is not UTF-8"
    if name in {"", ".", ".."} or name != name.strip():
        return "is empty, a dot path or has white space at its edge"
    if "/" in name or "\\" in name or "`" in name:
        return "holds a slash, a backslash or a backtick"
    if any(unicodedata.category(char) in _INVISIBLE for char in name):
        return "holds control or invisible characters"
    if len(name) > MAX_NAME:
        return f"is longer than {MAX_NAME} characters"
    if name.split(".")[0].lower() in _RESERVED:
        return "is a device name on some systems"
    return None


def check_path(path: str) -> None:
    """Refuse a path that is absolute, too deep, or has a component that `check_name` refuses."""
    parts = path.split("/")
    if path.startswith("/") or len(parts) > MAX_DEPTH:
        raise BundleError(
            f"the path {path!r} is absolute or deeper than {MAX_DEPTH} folders", file=path
        )
    for part in parts:
        check_name(part, path)
    if any(part.lower() == "skill.md" for part in PurePosixPath(path).parts[:-1]):
        raise BundleError(f"{path!r} lies in a folder that is named SKILL.md", file=path)


class ReadBudget:
    """Counts files and bytes while a bundle is read; stops at the first excess."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.files = 0
        self.bytes = 0

    def add(self, path: str, size: int) -> None:
        """Count one file; raises BundleError when a limit is passed."""
        self.files += 1
        self.bytes += size
        if size > MAX_FILE_BYTES:
            raise BundleError(f"{path!r} is larger than {MAX_FILE_BYTES} bytes", file=path)
        if self.files > MAX_FILES or self.bytes > MAX_TOTAL_BYTES:
            raise BundleError(
                f"{self.source!r} holds more than {MAX_FILES} files or {MAX_TOTAL_BYTES} bytes; "
                "point at a smaller folder"
            )
