"""Read a Skill bundle from a folder or a zip, find its skills, name what a reader should know of it; write it.

Every bundle is treated as hostile: nothing in it is executed, imported or followed, and what is no plain file
with a plain name, or exceeds the limits, is refused, never trimmed.
"""

import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob, Bundle, BundleIssue, Skill, is_root_name, name_key
from skilljuror.skill.markdown import (
    frontmatter_end,
    parse_frontmatter,
    plain_field,
    read_text,
    slug,
)

MAX_FILES = 5_000
MAX_DEPTH = 20  # folders above a file; the deepest real bundle seen has 6
MAX_FILE_BYTES = 8 << 20
MAX_TOTAL_BYTES = 64 << 20

_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
SCOPES = ".scope.jsonl"
"""End of the name of a file in which `layouts` keeps what was judged of a source."""
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", "__MACOSX"})
_UNIX = 3  # value of create_system for which the upper attribute bits are a Unix mode


def is_skipped(name: str) -> bool:
    """Whether a file or folder was left by a tool and belongs to no skill."""
    return name in _SKIPPED or name.endswith((".pyc", ".pyo", SCOPES))


def skipped_file(path: str) -> BundleIssue:
    return BundleIssue("skipped-file", "info", path, "left by a tool; not read")


def submodule(path: str) -> BundleIssue:
    message = "is a submodule, of another repository; not read"
    return BundleIssue("skipped-file", "info", path, message)


def odd_mode(path: str) -> BundleIssue:
    """Return the issue of a file with set-id or world-write permissions."""
    message = "set-id and world-write bits are not kept"
    return BundleIssue("odd-mode", "warning", path, message)


def check_path(path: str) -> None:
    """Raise BundleError for a path that leaves the bundle, is too deep, or could mislead a reader or a marker."""
    parts = path.split("/")
    if path.startswith("/") or len(parts) > MAX_DEPTH:
        raise BundleError(
            f"path {path!r} is absolute or deeper than {MAX_DEPTH} folders", file=path
        )
    for part in parts:
        problem = None
        if any("\ud800" <= char <= "\udfff" for char in part):
            problem = "not UTF-8"
        elif part in {"", ".", ".."} or part != part.strip():
            problem = "empty, a dot path, or white space at either end"
        elif "\\" in part or "`" in part:
            problem = "has a backslash or a backtick"
        elif any(unicodedata.category(char) in _INVISIBLE for char in part):
            problem = "has control or invisible characters"
        if problem:
            raise BundleError(
                f"invalid name {part!r} in {path!r}: {problem}; rename it in the source", file=path
            )
    if any(part.lower() == "skill.md" for part in parts[:-1]):
        raise BundleError(f"{path!r} is in a folder named SKILL.md", file=path)


def look_alike(path: str, names: Iterable[str]) -> str:
    """Return words about the name that macOS and Windows take for a missing `path`; empty without one."""
    alike = _by_key(frozenset(names)).get(name_key(path))
    return f" ({alike!r} differs in case or Unicode form)" if alike else ""


@lru_cache(maxsize=8)
def _by_key(names: frozenset[str]) -> dict[str, str]:
    return {name_key(name): name for name in sorted(names, reverse=True)}


class ReadBudget:
    """Count files and bytes while a bundle is read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.files = 0
        self.bytes = 0

    def add(self, path: str, size: int) -> None:
        """Count one file. Raises BundleError if a limit is exceeded."""
        self.files += 1
        self.bytes += size
        if size > MAX_FILE_BYTES:
            raise BundleError(f"{path!r} is larger than {MAX_FILE_BYTES} bytes", file=path)
        if self.files > MAX_FILES or self.bytes > MAX_TOTAL_BYTES:
            raise BundleError(
                f"{self.source!r} has more than {MAX_FILES} files or {MAX_TOTAL_BYTES} bytes; "
                "use a smaller folder"
            )


def read_folder(root: Path) -> tuple[dict[str, Blob], list[BundleIssue]]:
    """Return every regular file below `root`. Raises BundleError for links, devices, invalid names
    and anything over the limits."""
    files, issues, budget = dict[str, Blob](), list[BundleIssue](), ReadBudget(str(root))

    def walk(folder: Path, prefix: str) -> None:
        with os.scandir(folder) as entries:
            names = sorted(entries, key=lambda entry: entry.name)
        for entry in names:
            path = f"{prefix}{entry.name}"
            if is_skipped(entry.name):
                issues.append(skipped_file(path))
                continue
            check_path(path)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                walk(folder / entry.name, f"{path}/")
            elif stat.S_ISREG(status.st_mode):
                budget.add(path, status.st_size)
                data = (folder / entry.name).read_bytes()
                files[path] = Blob(data, bool(status.st_mode & stat.S_IXUSR))
                if status.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH):
                    issues.append(odd_mode(path))
            else:
                link = stat.S_ISLNK(status.st_mode)
                kind = "a symbolic link" if link else "a device, a socket or a pipe"
                raise BundleError(f"{path!r} is {kind}; use only files and folders", file=path)

    try:
        walk(root.resolve(), "")
    except OSError as error:
        place = error.filename or root
        raise BundleError(f"{str(place)!r} cannot be read: {error.strerror}") from error
    return files, issues


def read_archive(path: Path) -> tuple[dict[str, Blob], list[BundleIssue]]:
    """Return the files of a zip. Raises BundleError for anything but a plain zip of plain files."""
    issues = list[BundleIssue]()
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_members(archive, ReadBudget(str(path)), issues), issues
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError) as error:
        raise BundleError(f"{str(path)!r} is not a readable zip file: {error}") from error


def _read_members(
    archive: zipfile.ZipFile, budget: ReadBudget, issues: list[BundleIssue]
) -> dict[str, Blob]:
    files = dict[str, Blob]()
    for member in archive.infolist():
        name = member.orig_filename
        if any(is_skipped(part) for part in name.split("/")):
            issues.append(skipped_file(name))
        elif not name.endswith("/"):
            check_path(name)
            mode = member.external_attr >> 16 if member.create_system == _UNIX else 0
            if name in files or stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
                raise BundleError(f"{name!r} is a link, a device or a duplicate", file=name)
            budget.add(name, member.file_size)
            files[name] = Blob(archive.read(member), bool(mode & stat.S_IXUSR))
    return files


def write_bundle(files: dict[str, Blob], target: Path) -> None:
    """Write every file below `target`; nothing is overwritten.

    Modes are 0644, or 0755 for executables. Raises BundleError for a path that would leave
    `target` or that is both a file and a folder.
    """
    target.mkdir(parents=True, exist_ok=True)
    for path, blob in files.items():
        check_path(path)
        place = target / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as opened:
                opened.write(blob.data)
            place.chmod(0o755 if blob.executable else 0o644)
        except OSError as error:
            raise BundleError(f"{path!r} cannot be written: {error.strerror}", file=path) from error


def load_bundle(
    path: Path, name: str | None = None, *, inspect: bool = True, under: str | None = None
) -> Bundle:
    """Load the bundle at `path`.

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
        check_path(folder)
        files = {f"{folder}/{inner}": blob for inner, blob in files.items()}
        if issues is not None:
            issues = [
                BundleIssue(
                    issue.rule, issue.severity, f"{folder}/{issue.file}", issue.message, issue.line
                )
                for issue in issues
            ]
    return make_bundle(name or source_slug(label), files, source, issues)


def make_bundle(
    name: str, files: dict[str, Blob], source: str = "", issues: list[BundleIssue] | None = None
) -> Bundle:
    """Return a Bundle of files in memory with its skills, and with its issues unless None."""
    files = {path: files[path] for path in sorted(files, key=str.encode)}
    skills = _find_skills(files)
    if issues is None:
        return Bundle(name, files, skills, source)
    issues = [*issues, *_file_issues(files), *_skill_issues(files, skills)]
    issues.sort(key=lambda issue: (issue.file, issue.line or 0, issue.rule, issue.message))
    return Bundle(name, files, skills, source, tuple(issues))


def source_slug(text: str) -> str:
    """Return a name for a source: lower-case letters, digits and single hyphens."""
    return slug(text, 64, "source")


def _find_skills(files: dict[str, Blob]) -> tuple[Skill, ...]:
    """The outermost folders with a SKILL.md (in any case), in bytewise path order."""
    roots: dict[str, str] = {}
    for path in sorted(files, key=lambda name: (PurePosixPath(name).name != "SKILL.md", name)):
        if is_root_name(path) and files[path].text is not None:
            roots.setdefault(str(PurePosixPath(path).parent), path)
    skills = []
    for folder in sorted(roots, key=str.encode):
        if not any(str(above) in roots for above in PurePosixPath(folder).parents):
            text = read_text(files[roots[folder]])
            fields, _ = parse_frontmatter(text.lines if text else ())
            name = plain_field(fields, "name") or PurePosixPath(folder).name
            skills.append(Skill(name, folder, roots[folder], plain_field(fields, "description")))
    return tuple(skills)


def _skill_issues(files: dict[str, Blob], skills: tuple[Skill, ...]) -> Iterator[BundleIssue]:
    """Issues of the roots: names, missing or invalid frontmatter, nesting."""
    roots = {skill.path for skill in skills}
    for path, blob in files.items():
        if not is_root_name(path):
            continue
        if path not in roots and blob.text is None:
            message = f"{blob.encoding_problem}; it is not a root"
            yield BundleIssue("root-unreadable", "error", path, message)
        elif path not in roots:
            message = "is inside another skill's folder, or next to its root; it counts as support"
            yield BundleIssue("nested-root", "warning", path, message)
        elif not path.endswith("/SKILL.md"):
            message = "is not spelled SKILL.md; many agents do not find it"
            yield BundleIssue("root-name", "warning", path, message)
    for skill in skills:
        text = read_text(files[skill.path])
        lines = text.lines if text else ()
        if not frontmatter_end(lines):
            yield BundleIssue("frontmatter-missing", "warning", skill.path, "has no frontmatter", 1)
            continue
        _, problem = parse_frontmatter(lines)
        if problem:
            yield BundleIssue("frontmatter-invalid", "warning", skill.path, problem, 1)
            continue
        for finding in _validated("\n".join(lines), PurePosixPath(skill.directory).name):
            yield BundleIssue("skills-ref", "warning", skill.path, " ".join(finding.split()), 1)


def _validated(content: str, folder: str) -> list[str]:
    """Findings of skills-ref in the text of a root; it gets text, never a path to open."""
    from skills_ref.errors import SkillError
    from skills_ref.parser import parse_frontmatter as parse
    from skills_ref.validator import validate_metadata

    try:
        metadata, _ = parse(content)
        return list(validate_metadata(metadata, Path(folder)))
    except (
        SkillError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        RecursionError,
    ) as error:
        return [str(error)]


_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh", b"7z\xbc\xaf")
_NATIVE = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_TEXT_RULES = (
    ("invisible-characters", "has invisible or direction characters",
     re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")),
    ("pipe-to-shell", "pipes a download into a shell",
     re.compile(r"\b(?:curl|wget)\b[^|\n]{0,300}\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh\b")),
    ("hardcoded-skill-path", "names an absolute path of a skill folder",
     re.compile(r"(?:/root|~|/home/\w{1,40}|/mnt)/(?:\.[\w-]{1,30}/)?skills/")),
)  # fmt: skip


def _file_issues(files: dict[str, Blob]) -> Iterator[BundleIssue]:
    """Paths that are equal on some file systems, archives, native programs, hidden files, invisible characters,
    absolute paths and HTML comments."""
    seen: dict[str, str] = {}
    for path, blob in files.items():
        key = name_key(path)
        if seen.setdefault(key, path) != path:
            message = f"differs from {seen[key]!r} only in case or Unicode form"
            yield BundleIssue("path-collision", "warning", path, message)
        if any(part.startswith(".") for part in PurePosixPath(path).parts):
            yield BundleIssue("hidden-file", "warning", path, "is a hidden file")
        if blob.data.startswith(_ARCHIVES):
            yield BundleIssue("archive-inside", "info", path, "is an archive; it is not unpacked")
        if blob.data.startswith(_NATIVE):
            yield BundleIssue("native-binary", "warning", path, "is a native program")
        text = blob.text or ""
        for rule, message, pattern in _TEXT_RULES:
            match = pattern.search(text)
            if match:
                line = text.count("\n", 0, match.start()) + 1
                yield BundleIssue(rule, "warning", path, message, line)
        if "<!--" in text and path.lower().endswith(".md"):
            line = text.count("\n", 0, text.index("<!--")) + 1
            message = "has an HTML comment, which agents read and the rendered page hides"
            yield BundleIssue("html-comment", "info", path, message, line)
