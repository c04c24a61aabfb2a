"""A task.md package as a task folder: front matter is the settings, the body the instruction.

Two spellings occur: `sandbox:` with a heading `## prompt`, and `environment:` with a bare body.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skilljuror.base.errors import BundleError
from skilljuror.base.files import digest_tree
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles.folder import read_folder
from skilljuror.skill.markdown.frontmatter import frontmatter_end, parse_frontmatter
from skilljuror.study.task_sources import TaskDraft, refused, relative, text_at

TASK_MD = "task.md"
_SAME = {"sandbox": "environment", "oracle": "solution"}
"""Table in task.md -> table in task.toml."""
_FOLDERS = {"verifier": "tests", "oracle": "solution"}
"""Folder of a package -> folder of a task."""
_TABLES = ("task", "metadata", "agent", "verifier", "environment", "solution")
_PLAIN = ("schema_version", "version", "source", "artifacts")
_NOT_RUNNABLE = (
    "agents",
    "roles",
    "scenes",
    "steps",
    "user",
    "benchflow",
    "multi_step_reward_strategy",
)
"""Keys of packages with several agents, turns or steps, which no harness here runs."""  # fmt: skip
_PROMPT = re.compile(r"^## prompt[ \t]*$", re.MULTILINE)
_ROLES = re.compile(r"^## ((?:role|scene):\S+|user-persona)", re.MULTILINE)


def task_of_package(folder: Path, base: Path) -> TaskDraft:
    """Return the task of a folder with a task.md. Raises StudyError and BundleError with file, field and fix."""
    try:
        files, _ = read_folder(folder)
    except BundleError as error:
        raise refused(folder, "(files)", error.message) from error
    file = folder / TASK_MD
    text = text_at(files[TASK_MD].text, file, "(whole file)")
    lines = text.splitlines()
    fields, problem = parse_frontmatter(lines)
    if problem:
        raise refused(
            file, "front matter", f"{problem}; it holds the settings, between two lines '---'"
        )
    settings = _settings(fields, file)
    body = "\n".join(lines[frontmatter_end(lines) :])
    if role := _ROLES.search(body):
        raise refused(file, f"## {role[1]}", "roles and scenes are not runnable here")
    prompt = text_at(_PROMPT.split(body, maxsplit=1)[-1].strip(), file, "body")
    kept, left_out = _renamed(files, folder)
    if "tests/test.sh" not in kept:
        raise refused(
            folder, "verifier/test.sh", "is missing; only verifiers of type test-script run here"
        )
    return TaskDraft(
        name=folder.resolve().name,
        files={"instruction.md": Blob(f"{prompt}\n".encode()), **kept},
        settings=settings,
        origin={
            "kind": TASK_MD,
            "path": relative(folder, base),
            "digest": digest_tree(folder),
            "commit": None,
            "left_out": left_out,
        },
    )


def _settings(fields: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The content of task.toml."""
    if several := [key for key in _NOT_RUNNABLE if fields.get(key)]:
        raise refused(
            file,
            several[0],
            "several agents, turns or steps are not runnable here",
        )
    for old, new in _SAME.items():
        if old in fields and new in fields:
            raise refused(file, old, f"both {old!r} and {new!r} are given; keep one")
    known = {*_TABLES, *_PLAIN, *_SAME, *_NOT_RUNNABLE}
    if unknown := sorted(set(fields) - known):
        raise refused(
            file, unknown[0], f"is unknown; choose one of {', '.join((*_PLAIN, *_TABLES))}"
        )
    tables = {_SAME.get(key, key): fields[key] for key in fields if key not in _NOT_RUNNABLE}
    for key in _TABLES:
        if not isinstance(tables.get(key) or {}, dict):
            raise refused(file, key, f"is a {type(tables[key]).__name__}; write a mapping")
    kind = (tables.get("verifier") or {}).get("type", "test-script")
    if kind != "test-script":
        raise refused(file, "verifier.type", f"{kind!r} does not run here; use test-script")
    for key in ("agent", "verifier", "environment"):
        table = tables.get(key) or {}
        if table.get("network_mode") == "allowlist" and not table.get("allowed_hosts"):
            raise refused(
                file, f"{key}.allowed_hosts", "is missing; network_mode allowlist requires hosts"
            )
    return {key: value for key, value in tables.items() if value is not None}


def _renamed(files: Mapping[str, Blob], folder: Path) -> tuple[dict[str, Blob], list[str]]:
    """The files of a task by their new paths, and the others."""
    kept, left_out = dict[str, Blob](), list[str]()
    tops = {path.split("/")[0] for path in files}
    for old, new in _FOLDERS.items():
        if {old, new} <= tops:
            raise refused(folder, f"{old}/", f"both {old}/ and {new}/ are there; keep one")
    for path, blob in files.items():
        top, _, rest = path.partition("/")
        top = _FOLDERS.get(top, top)
        if top in {"environment", *_FOLDERS.values()} and rest:
            kept[f"{top}/{rest}"] = blob
        elif path != TASK_MD:
            left_out.append(path)
    return kept, left_out
