"""Load a bundle from a git revision, independent of the repository's configuration.

Only plumbing commands that read objects are used. Attributes, filters, line endings and replaced objects
are ignored, and the repository's configuration runs no program.
"""

import os
import posixpath
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob, Bundle, BundleIssue
from skilljuror.skill.bundles import (
    ReadBudget,
    bundle_of_files,
    check_path,
    is_skipped,
    load_bundle,
    skipped_file,
    submodule,
)

WAIT_SECONDS = 60
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
_GIT = ("git", "--no-pager", *(word for option in _OVERRIDES for word in ("-c", option)))
OBJECT = ("rev-parse", "--verify", "--quiet", "--end-of-options")
"""Words of git before the name of an object whose hash it prints."""


def load_named(name: str, under: str | None = None) -> Bundle:
    """Load the bundle at a path, or at a git `REVISION:PATH` such as `HEAD~3:skills/pdf`.

    An existing path takes precedence. `under` as for `load_bundle`. Raises BundleError.
    """
    named = revision_of(name)
    if named is None:
        return load_bundle(Path(name), under=under)
    label = PurePosixPath(named[1]).name or "skills"
    repository = Repository(name, Path())
    return repository.load(repository.text(*OBJECT, name), label, under)


def revision_of(name: str) -> tuple[str, str] | None:
    """Split a git `REVISION:PATH` into both; None for a path that exists."""
    revision, colon, inner = name.partition(":")
    return (revision, inner) if revision and colon and not Path(name).exists() else None


def commit_of(revision: str) -> str:
    """Return the full hash of a commit of the repository around the working folder. Raises BundleError."""
    return Repository(revision, Path()).text(*OBJECT, f"{revision}^{{commit}}")


def file_at(revision: str, path: str) -> bytes | None:
    """Return the bytes of a file, by its path from the top of the repository around the working folder, or None
    if the revision lacks it. Raises BundleError for an unknown revision."""
    repository = Repository(f"{revision}:{path}", Path())
    commit = repository.text(*OBJECT, f"{revision}^{{commit}}")
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
    folders = (real, *real.parents)
    top = next((folder for folder in folders if (folder / ".git").exists()), around)
    inner = real.relative_to(top.resolve()).as_posix()
    repository = Repository(f"{revision}:{path}", top)
    commit = repository.text(*OBJECT, f"{revision}^{{commit}}")
    tree = repository.text(*OBJECT, f"{commit}:{'' if inner == '.' else inner}")
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
    repository = Repository(f"{commit}:{folder}", folder)
    tree = repository.text(*OBJECT, f"{commit}^{{tree}}")
    blobs = [entry for entry in repository.entries(tree) if entry[1] == "blob"]
    contents = repository.contents([digest for *_, digest, _ in blobs])
    for (mode, _, _, path), data in zip(blobs, contents, strict=True):
        link = mode == "120000"
        if link:
            target = os.fsdecode(data)
            inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if target.startswith("/") or inside.split("/")[0] == "..":
                raise BundleError(
                    f"{str(folder)!r}: {path!r} at {commit[:12]} is a link out of the repository; choose a commit"
                    " without it",
                    file=path,
                )
        yield TreeFile(path, data, mode == "100755", link)


class Repository:
    """The repository around a folder; `name` is the user's name for the bundle, for messages."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder

    def load(self, tree: str, label: str, under: str | None) -> Bundle:
        """The bundle of the plain files of a tree. Raises BundleError for links and invalid names."""
        issues: list[BundleIssue] = []
        executables, hashes = dict[str, bool](), list[str]()
        for mode, kind, digest, path in self.entries(tree):
            if any(is_skipped(part) for part in path.split("/")):
                issues.append(skipped_file(path))
                continue
            check_path(path)
            if kind == "commit":
                issues.append(submodule(path))
                continue
            if not mode.startswith("100") or path in executables:
                raise BundleError(f"{path!r} is a link or a duplicate", file=path)
            executables[path] = mode == "100755"
            hashes.append(digest)
        budget, files = ReadBudget(self.name), dict[str, Blob]()
        contents = self.contents(hashes)
        for (path, executable), data in zip(executables.items(), contents, strict=True):
            budget.add(path, len(data))
            files[path] = Blob(data, executable)
        return bundle_of_files(files, issues, label, self.name, under=under)

    def entries(self, tree: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield (mode, kind, hash, path) of the files and submodules of a tree."""
        for line in self.output("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
            fields, _, name = line.partition(b"\t")
            mode, kind, digest = fields.decode().split()
            yield mode, kind, digest, name.decode(errors="surrogateescape")

    def contents(self, hashes: list[str]) -> Iterator[bytes]:
        """Yield the bytes of blobs. Raises BundleError for one that is missing."""
        output, place = self.output("cat-file", "--batch", given="\n".join(hashes).encode()), 0
        for digest in hashes:
            header, _, _ = output[place : place + 200].partition(b"\n")
            if not header.startswith(f"{digest} blob ".encode()):
                raise BundleError(
                    f"{self.name!r}: git object {digest} is missing or damaged; fetch it (git fetch"
                    " --refetch), or check the repository (git fsck)",
                    file=self.name,
                )
            start = place + len(header) + 1
            end = start + int(header.rpartition(b" ")[2])
            yield output[start:end]
            place = end + 1

    def text(self, *words: str) -> str:
        return self.output(*words).decode(errors="surrogateescape").strip()

    def output(self, *words: str, given: bytes = b"") -> bytes:
        """Git's output, without configuration. Raises BundleError if git fails."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            git = subprocess.run(
                [*_GIT, *words],
                cwd=self.folder,
                env=own | _ENV,
                input=given,
                capture_output=True,
                timeout=WAIT_SECONDS,
                check=False,
            )
        except OSError as error:
            raise BundleError(
                f"{self.name!r} is not an existing folder, and git is unavailable: {error}"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise BundleError(
                f"{self.name!r}: git gave no answer in {WAIT_SECONDS} seconds", file=self.name
            ) from error
        if git.returncode:
            why = " ".join(git.stderr[:2_000].decode(errors="replace").split())
            raise BundleError(
                f"{self.name!r} is not an existing folder, nor a REVISION:PATH of this repository (PATH starts at its top):"
                f" {why or 'unknown revision or folder'}",
                file=self.name,
            )
        return git.stdout
