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
    label = PurePosixPath(inner).name or None
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, f"{label or 'skills'}.zip")
        _git(name, "archive", "--format=zip", f"--output={archive}", tree)
        return load_bundle(archive, under=under)


def _git(name: str, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], capture_output=True, text=True, check=False, timeout=WAIT_SECONDS
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
