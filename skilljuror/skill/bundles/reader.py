"""Load a bundle: a folder of skills, one skill's folder, or a zip of either; write and read a tar."""

import io
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob, Bundle, BundleIssue, is_root_name
from skilljuror.skill.bundles.folder import read_folder
from skilljuror.skill.bundles.limits import (
    MAX_RATIO,
    ReadBudget,
    check_name,
    check_path,
    is_skipped,
    skipped_file,
)
from skilljuror.skill.bundles.skills import content_issues, find_skills, skill_issues
from skilljuror.skill.markdown.block_index import slug

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


def load_bundle(
    path: Path, name: str | None = None, *, inspect: bool = True, under: str | None = None
) -> Bundle:
    """Load the bundle at `path`; nothing in it is executed, imported or followed.

    Paths of the bundle are relative to a folder of skills: one skill's folder is loaded under its
    own name, or as `under`. `name` is the slug of the source; default: that of the folder.
    `inspect=False` skips the issues. Raises BundleError.
    """
    path = Path(path)
    if path.is_dir():
        files, issues = read_folder(path)
        label = path.resolve().name
    elif path.is_file():
        files, issues = read_archive(path)
        label = path.resolve().stem
    else:
        raise BundleError(f"no folder or zip file at {str(path)!r}", file=str(path))
    return bundle_of_files(
        files, issues if inspect else None, label, str(path), name=name, under=under
    )


def bundle_of_files(
    files: dict[str, Blob],
    issues: list[BundleIssue] | None,
    label: str,
    source: str,
    *,
    name: str | None = None,
    under: str | None = None,
) -> Bundle:
    """Return the bundle of files from a folder named `label`; `name` and `under` as for
    `load_bundle`. Raises BundleError for an invalid label."""
    if any("/" not in inner and is_root_name(inner) for inner in files):
        folder = under or label or "skill"
        check_name(folder, source)
        files = {f"{folder}/{inner}": blob for inner, blob in files.items()}
        if issues is not None:
            issues = [
                BundleIssue(one.rule, one.severity, f"{folder}/{one.file}", one.message, one.line)
                for one in issues
            ]
    return make_bundle(name or source_slug(label), files, source, issues)


def make_bundle(
    name: str, files: dict[str, Blob], source: str = "", issues: list[BundleIssue] | None = None
) -> Bundle:
    """Return a Bundle of files in memory with its skills, and with its issues unless None."""
    ordered = {path: files[path] for path in sorted(files, key=str.encode)}
    skills = find_skills(ordered)
    if issues is None:
        return Bundle(name, ordered, skills, source)
    all_issues = [
        *issues,
        *_collisions(ordered),
        *skill_issues(ordered, skills),
        *content_issues(ordered),
    ]
    all_issues.sort(key=lambda issue: (issue.file, issue.line or 0, issue.rule, issue.message))
    return Bundle(name, ordered, skills, source, tuple(all_issues))


def source_slug(text: str) -> str:
    """Return a name for a source: lower-case letters, digits and single hyphens."""
    return slug(text, 64, "source")


def _collisions(files: dict[str, Blob]) -> Iterator[BundleIssue]:
    """Paths that are equal on some file systems."""
    seen: dict[str, str] = {}
    for path in files:
        key = unicodedata.normalize("NFC", path).casefold()
        if key in seen:
            message = f"differs from {seen[key]!r} only in case or Unicode form"
            yield BundleIssue("path-collision", "warning", path, message)
        seen.setdefault(key, path)


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
                _add_tar_member(files, archive, member, budget)
    except (tarfile.TarError, OSError, EOFError, ValueError, RecursionError) as error:
        raise BundleError(
            f"{str(path)!r} is not a readable tar file: {error}", file=str(path)
        ) from error
    return make_bundle(name, files, str(path), [])


def _add_tar_member(
    files: dict[str, Blob], archive: tarfile.TarFile, member: tarfile.TarInfo, budget: ReadBudget
) -> None:
    name = member.name
    check_path(name)
    opened = archive.extractfile(member) if member.isreg() else None
    if opened is None or name in files:
        raise BundleError(f"{name!r} is a link, a folder, a device or a duplicate", file=name)
    budget.add(name, member.size)
    files[name] = Blob(opened.read(), bool(member.mode & 0o100))
