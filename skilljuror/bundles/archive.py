"""Read a bundle out of a zip file (.skill, .zip) without unpacking it to disk."""

import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from skilljuror.bundles.limits import MAX_RATIO, ReadBudget, check_path, is_skipped, skipped_file
from skilljuror.errors import BundleError
from skilljuror.models.bundle import Blob, BundleIssue

_CHUNK = 1 << 16
_UNIX = 3  # value of create_system for which the upper attribute bits are a Unix mode


def read_archive(path: Path) -> tuple[dict[str, Blob], list[BundleIssue]]:
    """Return the files of a zip. Raises BundleError for anything but a plain zip of plain files."""
    files: dict[str, Blob] = {}
    issues: list[BundleIssue] = []
    budget = ReadBudget(str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            for member in _plain(archive, issues):
                _add(files, archive, member, budget)
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError) as error:
        raise BundleError(f"{str(path)!r} is not a readable zip file: {error}") from error
    return files, issues


def _plain(archive: zipfile.ZipFile, issues: list[BundleIssue]) -> Iterator[zipfile.ZipInfo]:

    for member in archive.infolist():
        name = member.orig_filename
        if "\0" in name:  # `filename` ends there, and would be another member's
            raise BundleError(f"invalid name {name!r} in the archive: NUL; rename it", file=name)
        if any(is_skipped(part) for part in name.split("/")):
            issues.append(skipped_file(name))
        elif not member.is_dir():
            yield member


def _add(
    files: dict[str, Blob], archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: ReadBudget
) -> None:
    name = member.orig_filename
    check_path(name)
    mode = member.external_attr >> 16 if member.create_system == _UNIX else 0
    if name in files or (stat.S_IFMT(mode) not in {0, stat.S_IFREG}):
        raise BundleError(f"{name!r} is a link, a device or a duplicate", file=name)
    if member.file_size > MAX_RATIO * max(member.compress_size, 1024):
        raise BundleError(f"{name!r} unpacks to more than {MAX_RATIO} times its size", file=name)
    budget.add(name, member.file_size)
    data = bytearray()
    with archive.open(member) as opened:
        while chunk := opened.read(_CHUNK):
            data += chunk
            if len(data) > member.file_size:
                raise BundleError(f"{name!r} is larger than its declared size", file=name)
    files[name] = Blob(bytes(data), bool(mode & stat.S_IXUSR))
