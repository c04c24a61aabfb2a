"""Load a bundle: a folder of skills, one skill's folder, or a zip file of either."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from skilljuror.bundles.archive import read_archive
from skilljuror.bundles.folder import read_folder
from skilljuror.bundles.limits import check_name
from skilljuror.bundles.skills import content_issues, find_skills, skill_issues
from skilljuror.errors import BundleError
from skilljuror.knowledge.markdown.block_index import slug
from skilljuror.models.bundle import Blob, Bundle, BundleIssue
from skilljuror.models.resource_class import is_root_name


def load_bundle(
    path: Path, name: str | None = None, *, inspect: bool = True, under: str | None = None
) -> Bundle:
    """Load the bundle at `path`; nothing in it is executed, imported or followed.

    Paths of the bundle are relative to a folder of skills: one skill's folder is loaded under its
    own name, or as `under`. `name` is the slug of the source; default: that of the folder.
    `inspect=False` skips the issues. Raises BundleError."""
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
        issues = None if issues is None else [_moved(issue, folder) for issue in issues]
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


def _moved(issue: BundleIssue, folder: str) -> BundleIssue:
    return BundleIssue(
        issue.rule, issue.severity, f"{folder}/{issue.file}", issue.message, issue.line
    )


def _collisions(files: dict[str, Blob]) -> Iterator[BundleIssue]:
    """Paths that are equal on some file systems."""
    seen: dict[str, str] = {}
    for path in files:
        key = unicodedata.normalize("NFC", path).casefold()
        if key in seen:
            message = f"differs from {seen[key]!r} only in case or Unicode form"
            yield BundleIssue("path-collision", "warning", path, message)
        seen.setdefault(key, path)
