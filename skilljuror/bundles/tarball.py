"""Write a bundle as a reproducible tar file, and read it."""

import io
import tarfile
from pathlib import Path

from skilljuror.bundles.limits import ReadBudget, check_path
from skilljuror.bundles.reader import make_bundle
from skilljuror.errors import BundleError
from skilljuror.models.bundle import Blob, Bundle


def tar_of(bundle: Bundle) -> bytes:
    """Return a tar of every file in bytewise path order, with execute bits, without times or owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(bundle.files, key=str.encode):
            blob = bundle.files[path]
            member = tarfile.TarInfo(path)
            member.size = len(blob.data)
            member.mode = 0o755 if blob.executable else 0o644
            archive.addfile(member, io.BytesIO(blob.data))
    return buffer.getvalue()


def load_tar(path: Path, name: str) -> Bundle:
    """Load a bundle named `name` from a tar. Raises BundleError for anything but plain files."""
    files: dict[str, Blob] = {}
    budget = ReadBudget(str(path))
    try:
        with tarfile.open(path, mode="r:") as archive:
            for member in archive:
                _add(files, archive, member, budget)
    except (tarfile.TarError, OSError, EOFError, ValueError, RecursionError) as error:
        raise BundleError(
            f"{str(path)!r} is not a readable tar file: {error}", file=str(path)
        ) from error
    return make_bundle(name, files, str(path), [])


def _add(
    files: dict[str, Blob], archive: tarfile.TarFile, member: tarfile.TarInfo, budget: ReadBudget
) -> None:
    name = member.name
    check_path(name)
    opened = archive.extractfile(member) if member.isreg() else None
    if opened is None or name in files:
        raise BundleError(f"{name!r} is a link, a folder, a device or a duplicate", file=name)
    budget.add(name, member.size)
    files[name] = Blob(opened.read(), bool(member.mode & 0o100))
