"""A repository at a commit as a task: its files in an archive, a requirement as the instruction."""

import io
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from skilljuror.base.errors import BundleError, UsageError
from skilljuror.base.files import sha256
from skilljuror.base.review import RUBRIC_FILE
from skilljuror.base.skill import Blob, is_root_name
from skilljuror.skill.bundles.folder import read_folder
from skilljuror.skill.bundles.revision import TreeFile, tree_at
from skilljuror.skill.markdown.block_index import slug
from skilljuror.study.task_sources import TaskDraft, refused, relative, text_at

ARCHIVE = "repo.tar"
MAX_REQUIREMENT = 1_000_000
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SKILLS = re.compile(r"(?:^|.*/)\.[a-z0-9_-]+/skills?/")
"""Folders in which agents look for a repository's own Skills, such as .claude/skills."""
DOCKERFILE = f"FROM python:3.12\nWORKDIR /app\nADD {ARCHIVE} /app/\n"
TEST = """\
#!/bin/bash
# Reward 1 if every test passes.
logs="${LOGS_DIR:-/logs}/verifier"
if python3 -m pytest -q --junitxml="$logs/junit.xml" "${TESTS_DIR:-/tests}"; then r=1; else r=0; fi
echo $r > "$logs/reward.txt"
"""
RUBRIC = """\
{
 "name": "requirement",
 "items": [
  {"id": "requirement", "text": "The repository meets every requirement of the instruction."}
 ]
}
"""


class RepositorySource(Struct, frozen=True):
    """A repository, one of its commits, and what is asked of it."""

    path: Path
    """A folder in a git repository on this machine."""
    commit: str
    """Full hash of the commit."""
    requirement: Path
    """Text of the task."""
    tests: Path | None = None
    """The verifier: a folder with test.sh, or with test_*.py for pytest; None: a rubric judges the work."""


def task_of_repository(source: RepositorySource, base: Path) -> TaskDraft:
    """Return the task. Raises UsageError with the option and fix."""
    _check_commit(source)
    kept, stripped = list[TreeFile](), list[str]()
    for file in _tree(source):
        if folder := _SKILLS.match(file.path):
            stripped.append(folder[0].rstrip("/"))
        elif is_root_name(file.path):
            raise UsageError(
                f"--repo {str(source.path)!r}: {file.path} at {source.commit[:12]} would be visible to an arm"
                " without a Skill; choose a commit without it",
                file=file.path, field="repo",
            )  # fmt: skip
        else:
            kept.append(file)
    archive = _archive(kept)
    return TaskDraft(
        name=slug(source.requirement.stem, empty="requirement"),
        files={
            "instruction.md": Blob(_requirement(source.requirement)),
            "environment/Dockerfile": Blob(DOCKERFILE.encode()),
            f"environment/{ARCHIVE}": Blob(archive),
            **_verifier(source.tests),
        },
        settings={"schema_version": "1.4", "metadata": {"source": "repository"}},
        origin={
            "kind": "repository",
            "path": relative(source.path, base),
            "digest": sha256(archive),
            "commit": source.commit,
            "stripped": sorted(set(stripped)),
        },
    )


def _tree(source: RepositorySource) -> list[TreeFile]:
    try:
        return [*tree_at(source.path, source.commit)]
    except BundleError as error:
        raise UsageError(
            f"--repo {str(source.path)!r}: commit {source.commit[:12]} cannot be read: {error.message}",
            field="commit",
        ) from error


def _check_commit(source: RepositorySource) -> None:
    if "://" in str(source.path) or ":/" in str(source.path):
        raise UsageError(
            f"--repo {str(source.path)!r} is an address; clone it, and name the folder",
            field="repo",
        )
    if not _SHA.fullmatch(source.commit):
        raise UsageError(
            f"--commit {source.commit!r} is not a full hash of 40 or 64 hexadecimal digits; git rev-parse"
            " REVISION prints it",
            field="commit",
        )


def _requirement(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_REQUIREMENT:
            raise refused(path, "requirement", f"is larger than {MAX_REQUIREMENT} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not UTF-8"
        raise refused(path, "requirement", f"{why}; name a text file") from error
    return f"{text_at(text, path, 'requirement').rstrip()}\n".encode()


def _verifier(folder: Path | None) -> dict[str, Blob]:
    if folder is None:
        return {f"tests/{RUBRIC_FILE}": Blob(RUBRIC.encode())}
    files, _ = read_folder(folder)
    found = {f"tests/{path}": blob for path, blob in files.items()}
    if "tests/test.sh" in found:
        return found
    if not any(re.search(r"(?:^|/)test_[^/]*\.py$", path) for path in files):
        raise refused(folder, "tests", "has neither test.sh nor a test_*.py; add one")
    return found | {"tests/test.sh": Blob(TEST.encode(), executable=True)}


def _archive(files: Sequence[TreeFile]) -> bytes:
    """A tar that depends on paths, modes and contents alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            member = tarfile.TarInfo(file.path)
            member.mode = 0o755 if file.executable else 0o644
            if file.link:
                member.type, member.linkname = tarfile.SYMTYPE, file.data.decode()
                archive.addfile(member)
            else:
                member.size = len(file.data)
                archive.addfile(member, io.BytesIO(file.data))
    return buffer.getvalue()
