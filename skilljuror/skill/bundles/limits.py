"""Limits of a bundle: sizes, counts and names. Anything beyond is rejected, never trimmed."""

import unicodedata
from collections.abc import Collection
from pathlib import PurePosixPath

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import BundleIssue

MAX_FILES = 5_000
MAX_DEPTH = 20  # folders above a file; the deepest real bundle seen has 6
MAX_FILE_BYTES = 8 << 20
MAX_TOTAL_BYTES = 64 << 20
MAX_NAME = 180  # characters of one path component
MAX_RATIO = 200  # unpacked size of an archive's member, as a multiple of its packed size

_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}  # fmt: skip
SCOPES = ".scope.jsonl"
"""End of the name of a file in which `build/scopes.py` keeps what was judged of a source."""
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", "__MACOSX"})


def is_skipped(name: str) -> bool:
    """Whether a file or folder was left by a tool and belongs to no skill."""
    return name in _SKIPPED or name.endswith((".pyc", ".pyo", SCOPES))


def skipped_file(path: str) -> BundleIssue:
    return BundleIssue("skipped-file", "info", path, "left by a tool; not read")


def submodule(path: str) -> BundleIssue:
    message = "is a submodule, of another repository; not read"
    return BundleIssue("skipped-file", "info", path, message)


def odd_mode(path: str) -> BundleIssue:
    """Return the issue of a file with set-id or world-write permissions."""
    message = "set-id and world-write bits are not kept"
    return BundleIssue("odd-mode", "warning", path, message)


def is_around(issue: BundleIssue, files: Collection[str]) -> bool:
    """Whether an issue describes the place that `files` were read from, not their content."""
    path = issue.file
    if path in files:
        return issue == odd_mode(path)
    named = any(is_skipped(part) for part in path.split("/"))
    return issue == submodule(path) or (named and issue == skipped_file(path))


def check_name(name: str, path: str) -> None:
    """Raise BundleError for a path component that could mislead a reader, a marker or a system."""
    problem = _name_problem(name)
    if problem:
        raise BundleError(
            f"invalid name {name!r} in {path!r}: {problem}; rename it in the source", file=path
        )


def _name_problem(name: str) -> str | None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    if name in {"", ".", ".."} or name != name.strip():
        return "empty, a dot path, or white space at either end"
    if "/" in name or "\\" in name or "`" in name:
        return "has a slash, a backslash or a backtick"
    if any(unicodedata.category(char) in _INVISIBLE for char in name):
        return "has control or invisible characters"
    if len(name) > MAX_NAME:
        return f"longer than {MAX_NAME} characters"
    if name.split(".")[0].lower() in _RESERVED:
        return "a device name on some systems"
    return None


def check_path(path: str) -> None:
    """Raise BundleError for a path that is absolute, too deep, or has an invalid component."""
    parts = path.split("/")
    if path.startswith("/") or len(parts) > MAX_DEPTH:
        raise BundleError(
            f"path {path!r} is absolute or deeper than {MAX_DEPTH} folders", file=path
        )
    for part in parts:
        check_name(part, path)
    if any(part.lower() == "skill.md" for part in PurePosixPath(path).parts[:-1]):
        raise BundleError(f"{path!r} is in a folder named SKILL.md", file=path)


class ReadBudget:
    """Count files and bytes while a bundle is read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.files = 0
        self.bytes = 0

    def add(self, path: str, size: int) -> None:
        """Count one file. Raises BundleError if a limit is exceeded."""
        self.files += 1
        self.bytes += size
        if size > MAX_FILE_BYTES:
            raise BundleError(f"{path!r} is larger than {MAX_FILE_BYTES} bytes", file=path)
        if self.files > MAX_FILES or self.bytes > MAX_TOTAL_BYTES:
            raise BundleError(
                f"{self.source!r} has more than {MAX_FILES} files or {MAX_TOTAL_BYTES} bytes; "
                "use a smaller folder"
            )
