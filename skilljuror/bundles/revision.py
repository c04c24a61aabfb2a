"""A bundle as it stood in a revision of a git repository."""

import subprocess
import tempfile
from pathlib import Path, PurePosixPath

from skilljuror.bundles.reader import load_bundle
from skilljuror.errors import BundleError
from skilljuror.models.bundle import Bundle

WAIT_SECONDS = 60


def load_named(name: str, under: str | None = None) -> Bundle:
    """The bundle at a path, or of a `REVISION:PATH` as git names it, such as `HEAD~3:skills/pdf`.

    What there is on disk goes before a revision. `under` as for `load_bundle`. Raises BundleError.
    """
    revision, colon, inner = name.partition(":")
    if not (revision and colon) or Path(name).exists():
        return load_bundle(Path(name), under=under)
    tree = _git(name, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    return _load_tree(name, tree, PurePosixPath(inner).name or "skills", under=under)


def load_at(path: Path, revision: str) -> tuple[str, Bundle]:
    """The bundle at a path as it stood in a revision of the repository around it, and the full hash of
    that commit. Raises BundleError."""
    name = f"{revision}:{path}"
    place = path.absolute()
    around = next(folder for folder in (place, *place.parents) if folder.is_dir())
    top = Path(_git(name, "rev-parse", "--show-toplevel", folder=around))
    inner = (around.resolve() / place.relative_to(around)).relative_to(top.resolve())
    wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    commit = _git(name, *wanted, f"{revision}^{{commit}}", folder=top)
    tree = _git(
        name, *wanted, f"{commit}:{'' if inner == Path() else inner.as_posix()}", folder=top
    )
    return commit, _load_tree(name, tree, inner.name or top.name, folder=top)


def _load_tree(
    name: str, tree: str, label: str, *, folder: Path | None = None, under: str | None = None
) -> Bundle:
    """The bundle that a tree of git holds, with the bytes that were committed."""
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch, f"{label}.zip")
        bytes_as_they_are = ("-c", "core.autocrlf=false", "archive", "--format=zip")
        _git(name, *bytes_as_they_are, f"--output={archive}", tree, folder=folder)
        return load_bundle(archive, under=under)


def _git(name: str, *words: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BundleError(
            f"{name!r} is no folder here, and git cannot be asked: {error}"
        ) from error
    if done.returncode:
        said = " ".join(done.stderr.split()) or "git knows no such folder in such a revision"
        raise BundleError(
            f"{name!r} is no folder here, nor REVISION:PATH of this repository: {said}", file=name
        )
    return done.stdout.strip()
