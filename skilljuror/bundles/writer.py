"""Write the files of a bundle: regular files only, plain modes, never outside the target."""

import os
from pathlib import Path

from skilljuror.bundles.limits import check_path
from skilljuror.errors import BundleError
from skilljuror.models.bundle import Blob

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_bundle(files: dict[str, Blob], target: Path) -> None:
    """Write every file below `target`, which must be fresh: nothing is overwritten.

    Modes are 0644, or 0755 for executables. Raises BundleError for a path that would leave
    `target` or that is both a file and a folder.
    """
    target.mkdir(parents=True, exist_ok=True)
    for path, blob in files.items():
        check_path(path)
        mode = 0o755 if blob.executable else 0o644
        try:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target / path, _NEW, mode)
        except OSError as error:
            raise BundleError(f"{path!r} cannot be written: {error.strerror}", file=path) from error
        with os.fdopen(handle, "wb") as opened:
            opened.write(blob.data)
            os.fchmod(handle, mode)
