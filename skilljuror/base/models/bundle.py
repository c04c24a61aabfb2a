"""A Skill bundle in memory: every file as bytes, and the skills in it."""

import hashlib
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

ResourceClass = Literal["root", "support", "code", "data"]
IssueSeverity = Literal["error", "warning", "info"]


class Blob(Struct, frozen=True):
    """One file's content."""

    data: bytes
    """The bytes on disk."""
    executable: bool = False
    """Whether the owner's execute bit is set."""

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def text(self) -> str | None:
        """The content as UTF-8 text without its byte order mark, or None for a binary file."""
        if b"\0" in self.data:
            return None
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    @property
    def encoding_problem(self) -> str | None:
        """Why it is not text; None for text."""
        if self.text is not None:
            return None
        if self.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "is UTF-16, which agents do not read: save it as UTF-8"
        return "is not UTF-8 text: save it as UTF-8"


class Skill(Struct, frozen=True):
    """One skill of a bundle: a directory with a SKILL.md."""

    name: str
    """Name from the frontmatter, else the directory's name."""
    directory: str
    """Posix path of the skill's directory inside the bundle; never "": a bundle that is a single
    skill directory is loaded under its folder name."""
    path: str
    """Posix path of its SKILL.md inside the bundle, spelled as on disk."""
    description: str | None = None
    """Description from the frontmatter; None when it has none."""


class BundleIssue(Struct, frozen=True):
    """An issue of a source; every variant inherits it."""

    rule: str
    """Stable rule id, such as "frontmatter-invalid"."""
    severity: IssueSeverity
    """Severity."""
    file: str
    """Posix path inside the bundle; "" for the bundle as a whole."""
    message: str
    """One line for a person."""
    line: int | None = None
    """1-based line, if known."""


class Bundle(Struct, frozen=True):
    """A safely loaded bundle of one or more skills."""

    name: str
    """Slug of the source."""
    files: dict[str, Blob]
    """Every file by its posix path inside the bundle, in bytewise order of the paths."""
    skills: tuple[Skill, ...]
    """The skills found, in path order; empty for a bundle without any SKILL.md."""
    source: str = ""
    """Path as the user wrote it; never part of a digest."""
    issues: tuple[BundleIssue, ...] = ()
    """Issues found while it was read."""

    @property
    def digest(self) -> str:
        """sha256 over the sorted paths, execute bits and content digests ("tree digest")."""
        return tree_digest(self.files)


def tree_digest(files: dict[str, Blob]) -> str:
    """sha256 over (path, execute bit, content sha256) of every file in bytewise path order."""
    return digest_of_digests({path: (one.sha256, one.executable) for path, one in files.items()})


def digest_of_digests(files: Mapping[str, tuple[str, bool]]) -> str:
    """The tree digest of files of which sha256 and execute bit are known."""
    tree = hashlib.sha256()
    for path in sorted(files, key=lambda name: name.encode()):
        digest, executable = files[path]
        tree.update(f"{path}\0{int(executable)}\0{digest}\n".encode())
    return tree.hexdigest()
