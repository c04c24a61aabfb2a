"""Load a bundle from a git revision, independent of the repository's configuration.

Only plumbing commands that read objects are used. Attributes, filters, line endings and replaced objects
are ignored, and the repository's configuration runs no program.
"""

import hashlib
import os
import posixpath
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob, Bundle, BundleIssue
from skilljuror.skill.bundles.limits import (
    MAX_FILES,
    MAX_TOTAL_BYTES,
    ReadBudget,
    check_path,
    is_skipped,
    skipped_file,
    submodule,
)
from skilljuror.skill.bundles.reader import bundle_of_files, load_bundle

WAIT_SECONDS = 60
MAX_LISTING = MAX_FILES * 1_000
"""Maximum bytes of a listing: a tree of few objects can list more files than any disk can store."""
MAX_TREE_BYTES = 512 << 20
"""Maximum bytes of all files of a commit."""
_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "-",  # for git before 2.45: allow no protocol
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
"""Environment of git; all other GIT_* variables are removed."""
_OVERRIDES = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "safe.directory=*")
"""Configuration that the repository cannot set. Any owner is safe, since none of its programs run."""
_GIT = ("git", "--no-pager", *(word for one in _OVERRIDES for word in ("-c", one)))
_OBJECT = ("rev-parse", "--verify", "--quiet", "--end-of-options")


def load_named(name: str, under: str | None = None) -> Bundle:
    """Load the bundle at a path, or at a git `REVISION:PATH` such as `HEAD~3:skills/pdf`.

    An existing path takes precedence. `under` as for `load_bundle`. Raises BundleError.
    """
    named = revision_of(name)
    if named is None:
        return load_bundle(Path(name), under=under)
    _, inner = named
    repository = _Repository(name, Path())
    label = PurePosixPath(inner).name or "skills"
    return repository.load(repository.text(*_OBJECT, name), label, under)


def revision_of(name: str) -> tuple[str, str] | None:
    """Split a git `REVISION:PATH` into both; None for a path that exists."""
    revision, colon, inner = name.partition(":")
    return (revision, inner) if revision and colon and not Path(name).exists() else None


def commit_of(revision: str) -> str:
    """Return the full hash of a commit of the repository around the working folder. Raises BundleError."""
    return _Repository(revision, Path()).text(*_OBJECT, f"{revision}^{{commit}}")


def file_at(revision: str, path: str) -> bytes | None:
    """Return the bytes of a file, by its path from the top of the repository around the working folder, or None
    if the revision lacks it. Raises BundleError for an unknown revision."""
    repository = _Repository(f"{revision}:{path}", Path())
    commit = repository.text(*_OBJECT, f"{revision}^{{commit}}")
    listed = repository.text("ls-tree", "--full-tree", commit, "--", path)
    if not listed:
        return None
    (data,) = repository.contents([listed.split()[2]])
    return data


def load_at(path: Path, revision: str) -> tuple[str, Bundle]:
    """Return the full hash of a commit, and the bundle at a path of its repository in that commit.
    Raises BundleError."""
    place = path.absolute()
    around = next(folder for folder in (place, *place.parents) if folder.is_dir())
    real = around.resolve() / place.relative_to(around)
    top = next((one for one in (real, *real.parents) if (one / ".git").exists()), around)
    inner = real.relative_to(top.resolve()).as_posix()
    repository = _Repository(f"{revision}:{path}", top)
    commit = repository.text(*_OBJECT, f"{revision}^{{commit}}")
    tree = repository.text(*_OBJECT, f"{commit}:{'' if inner == '.' else inner}")
    return commit, repository.load(tree, real.name, None)


class TreeFile(NamedTuple):
    """A file of a commit."""

    path: str
    data: bytes
    """Content; of a link, its target."""
    executable: bool
    link: bool


def tree_at(folder: Path, commit: str) -> Iterator[TreeFile]:
    """Yield every file of a commit as it is stored, whatever the repository's attributes say, in git's order;
    submodules are left out. Raises BundleError for an unknown commit, and for a link out of the tree."""
    repository = _Repository(f"{commit}:{folder}", folder)
    tree = repository.text(*_OBJECT, f"{commit}^{{tree}}")
    lines = repository.output("ls-tree", "-r", "-z", "--full-tree", tree, limit=MAX_LISTING)
    rows = []
    for line in lines.split(b"\0")[:-1]:
        fields, _, name = line.partition(b"\t")
        mode, kind, digest = fields.decode().split()
        if kind == "blob":
            rows.append((name.decode(errors="surrogateescape"), mode, digest))
    contents = repository.contents([digest for *_, digest in rows], MAX_TREE_BYTES)
    for (path, mode, _), data in zip(rows, contents, strict=True):
        link = mode == "120000"
        target = (
            posixpath.normpath(f"{posixpath.dirname(path)}/{os.fsdecode(data)}") if link else ""
        )
        if link and (data.startswith(b"/") or target.split("/")[0] == ".."):
            raise BundleError(
                f"{str(folder)!r}: {path!r} at {commit[:12]} is a link out of the repository; choose a commit"
                " without it",
                file=path,
            )
        yield TreeFile(path, data, mode == "100755", link)


class _File(NamedTuple):
    path: str
    hash: str
    executable: bool


class _Repository:
    """The repository around a folder; `name` is the user's name for the bundle, for messages."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder

    def load(self, tree: str, label: str, under: str | None) -> Bundle:
        issues: list[BundleIssue] = []
        listed = list(self._files_of(tree, issues))
        contents = self.contents([file.hash for file in listed])
        budget, files = ReadBudget(self.name), dict[str, Blob]()
        for file, data in zip(listed, contents, strict=True):
            budget.add(file.path, len(data))
            files[file.path] = Blob(data, file.executable)
        return bundle_of_files(files, issues, label, self.name, under=under)

    def _files_of(self, tree: str, issues: list[BundleIssue]) -> Iterator[_File]:
        """The plain files of a tree. Raises BundleError for links and invalid names."""
        seen = set[str]()
        listing = self.output("ls-tree", "-r", "-z", "--full-tree", tree, limit=MAX_LISTING)
        for line in listing.split(b"\0")[:-1]:
            fields, _, name = line.partition(b"\t")
            mode, kind, digest = fields.decode().split()
            path = name.decode(errors="surrogateescape")
            if any(is_skipped(part) for part in path.split("/")):
                issues.append(skipped_file(path))
                continue
            check_path(path)
            if kind == "commit":
                issues.append(submodule(path))
                continue
            if not mode.startswith("100") or path in seen:
                raise BundleError(f"{path!r} is a link or a duplicate", file=path)
            seen.add(path)
            yield _File(path, digest, bool(int(mode, 8) & 0o100))

    def contents(self, hashes: list[str], most: int = MAX_TOTAL_BYTES) -> Iterator[bytes]:
        """The bytes of blobs. Raises BundleError for one that does not match its hash."""
        request = "".join(f"{one}\n" for one in hashes).encode()
        limit = most + 100 * len(hashes)
        output, place = self.output("cat-file", "--batch", given=request, limit=limit), 0
        for one in hashes:
            header, _, _ = output[place : place + 200].partition(b"\n")
            size = header.rpartition(b" ")[2]
            start = place + len(header) + 1
            place = start + (int(size) if size.isdigit() else 0)
            data = output[start:place]
            place += 1
            if not header.startswith(f"{one} blob ".encode()) or _git_hash(data, one) != one:
                raise BundleError(
                    f"{self.name!r}: git object {one} is missing or damaged; fetch it (git fetch"
                    " --refetch), or check the repository (git fsck)",
                    file=self.name,
                )
            yield data

    def text(self, *words: str) -> str:
        return self.output(*words).decode(errors="surrogateescape").strip()

    def output(self, *words: str, given: bytes = b"", limit: int = 1 << 16) -> bytes:
        """Git's output. Raises BundleError if it exceeds `limit` bytes, and if git fails."""
        with tempfile.TemporaryFile() as request, tempfile.TemporaryFile() as errors:
            request.write(given)
            request.seek(0)
            try:
                output, code = _run(words, self.folder, request, errors, limit)
            except OSError as error:
                raise BundleError(
                    f"{self.name!r} is not an existing folder, and git is unavailable: {error}"
                ) from error
            errors.seek(0)
            why = " ".join(errors.read(2_000).decode(errors="replace").split())
        if len(output) > limit:
            raise BundleError(
                f"{self.name!r} has more than {MAX_FILES} files or {MAX_TOTAL_BYTES} bytes; use a"
                " smaller folder"
            )
        if code:
            slow = code == -signal.SIGKILL
            unknown = "unknown revision or folder"
            why = f"git gave no answer in {WAIT_SECONDS} seconds" if slow else why or unknown
            raise BundleError(
                f"{self.name!r} is not an existing folder, nor a REVISION:PATH of this repository: {why}",
                file=self.name,
            )
        return output


def _run(
    words: tuple[str, ...], folder: Path, request: IO[bytes], errors: IO[bytes], limit: int
) -> tuple[bytes, int]:
    """Run git without configuration; return its output, cut at `limit` + 1 bytes, and exit code."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [*_GIT, *words]
    with subprocess.Popen(
        command, cwd=folder, env=own | _ENV, stdin=request, stdout=subprocess.PIPE, stderr=errors
    ) as git:
        timer = threading.Timer(WAIT_SECONDS, git.kill)
        timer.start()
        output = git.stdout.read(limit + 1) if git.stdout else b""
        if len(output) > limit:
            git.kill()
        git.wait()
        timer.cancel()
    return output, git.returncode


def _git_hash(data: bytes, like: str) -> str:
    """Git's hash of a blob, by the algorithm (SHA-1 or SHA-256) of `like`."""
    digest = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
