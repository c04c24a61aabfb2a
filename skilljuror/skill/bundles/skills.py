"""Find the skills of a bundle, and validate them with skills-ref."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from skilljuror.base.skill import Blob, BundleIssue, Skill, is_root_name
from skilljuror.skill.bundles.limits import MAX_NAME
from skilljuror.skill.markdown.frontmatter import (
    frontmatter_end,
    parse_frontmatter,
    plain_field,
)
from skilljuror.skill.markdown.text_file import read_text

MAX_VALIDATED = 16_384
"""Maximum characters of frontmatter to validate with skills-ref; its parser is slow."""


def find_skills(files: dict[str, Blob]) -> tuple[Skill, ...]:
    """Return the outermost folders with a SKILL.md (in any case), in bytewise path order."""
    roots: dict[str, str] = {}
    for path in sorted(files, key=lambda name: (PurePosixPath(name).name != "SKILL.md", name)):
        folder = str(PurePosixPath(path).parent)
        if is_root_name(path) and files[path].text is not None:
            roots.setdefault(folder, path)
    outer = [
        folder
        for folder in roots
        if not any(str(above) in roots for above in PurePosixPath(folder).parents)
    ]
    return tuple(_skill(folder, roots[folder], files) for folder in sorted(outer, key=str.encode))


def _skill(folder: str, path: str, files: dict[str, Blob]) -> Skill:
    text = read_text(files[path])
    fields, _ = parse_frontmatter(text.lines if text else ())
    name = plain_field(fields, "name") or PurePosixPath(folder).name
    return Skill(name[:MAX_NAME], folder, path, plain_field(fields, "description"))


def skill_issues(files: dict[str, Blob], skills: tuple[Skill, ...]) -> Iterator[BundleIssue]:
    """Yield issues of the roots: names, missing or invalid frontmatter, nesting."""
    roots = {skill.path for skill in skills}
    for path, blob in files.items():
        if not is_root_name(path):
            continue
        if path not in roots:
            yield _nested(path, blob)
        elif not path.endswith("/SKILL.md"):
            message = "is not spelled SKILL.md; many agents do not find it"
            yield BundleIssue("root-name", "warning", path, message)
    for skill in skills:
        yield from _frontmatter_issues(skill, files[skill.path])


def _nested(path: str, blob: Blob) -> BundleIssue:
    if blob.text is None:
        return BundleIssue(
            "root-unreadable", "error", path, f"{blob.encoding_problem}; it is not a root"
        )
    message = "is inside another skill's folder, or next to its root; it counts as support"
    return BundleIssue("nested-root", "warning", path, message)


def _frontmatter_issues(skill: Skill, blob: Blob) -> Iterator[BundleIssue]:
    text = read_text(blob)
    lines = text.lines if text else ()
    end = frontmatter_end(lines)
    if not end:
        yield BundleIssue("frontmatter-missing", "warning", skill.path, "has no frontmatter", 1)
        return
    _, problem = parse_frontmatter(lines)
    if problem:
        yield BundleIssue("frontmatter-invalid", "warning", skill.path, problem, 1)
    content = "\n".join(lines)
    if sum(len(line) for line in lines[:end]) > MAX_VALIDATED:
        yield BundleIssue("frontmatter-long", "warning", skill.path, "too long to validate", 1)
        return
    for finding in _validated(content, PurePosixPath(skill.directory).name):
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
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_PIPE = re.compile(r"\b(?:curl|wget)\b[^|\n]{0,300}\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh\b")
_SKILL_FOLDER = re.compile(r"(?:/root|~|/home/\w{1,40}|/mnt)/(?:\.[\w-]{1,30}/)?skills/")


def content_issues(files: dict[str, Blob]) -> Iterator[BundleIssue]:
    """Yield archives, native programs, hidden files, invisible characters and absolute paths."""
    for path, blob in files.items():
        if any(part.startswith(".") for part in PurePosixPath(path).parts):
            yield BundleIssue("hidden-file", "warning", path, "is a hidden file")
        if blob.data.startswith(_ARCHIVES):
            yield BundleIssue("archive-inside", "info", path, "is an archive; it is not unpacked")
        if blob.data.startswith(_NATIVE):
            yield BundleIssue("native-binary", "warning", path, "is a native program")
        text = blob.text
        if text is not None:
            yield from _text_issues(path, text)


def _text_issues(path: str, text: str) -> Iterator[BundleIssue]:
    for rule, pattern, message in (
        ("invisible-characters", _INVISIBLE, "has invisible or direction characters"),
        ("pipe-to-shell", _PIPE, "pipes a download into a shell"),
        ("hardcoded-skill-path", _SKILL_FOLDER, "names an absolute path of a skill folder"),
    ):
        match = pattern.search(text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            yield BundleIssue(rule, "warning", path, message, line)
    if "<!--" in text and path.lower().endswith(".md"):
        line = text.count("\n", 0, text.index("<!--")) + 1
        message = "has an HTML comment, which agents read and the rendered page hides"
        yield BundleIssue("html-comment", "info", path, message, line)
