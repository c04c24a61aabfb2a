"""Issues of a bundle's content; reported, never changed."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from skilljuror.models.bundle import Blob, BundleIssue

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
        ("invisible-characters", _INVISIBLE, "holds invisible or direction characters"),
        ("pipe-to-shell", _PIPE, "pipes a download into a shell"),
        ("hardcoded-skill-path", _SKILL_FOLDER, "names an absolute path of a skill folder"),
    ):
        match = pattern.search(text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            yield BundleIssue(rule, "warning", path, message, line)
    if "<!--" in text and path.lower().endswith(".md"):
        line = text.count("\n", 0, text.index("<!--")) + 1
        message = "holds an HTML comment: agents read it, people do not see it rendered"
        yield BundleIssue("html-comment", "info", path, message, line)
