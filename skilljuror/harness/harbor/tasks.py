"""Tasks for Harbor: copies without their own Skills."""

import posixpath
import shlex
import shutil
import tomllib
from pathlib import Path

from skilljuror.base.errors import HarnessError
from skilljuror.harness.base import TrialJob
from skilljuror.harness.environment import BAKED_SKILLS
from skilljuror.harness.inside_harbor.skilljuror_bwrap import own_file

NO_TESTS = "#!/bin/sh\n# This task has no verifier, and Harbor requires one: it writes no reward.\n"


def prepare_task(job: TrialJob, folder: Path) -> Path:
    """Copy the job's task below `folder`, without its Skill, as the plan says. Raises HarnessError
    for a Dockerfile line that cannot be separated."""
    target = folder / job.task.name
    shutil.rmtree(target, ignore_errors=True)
    baked = job.task_dir / "environment" / BAKED_SKILLS

    def without_skills(base: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(base, name) == baked}

    shutil.copytree(job.task_dir, target, symlinks=True, ignore=without_skills)
    if job.task.judged_by != "verifier":
        own_file(target, "tests/test.sh").write_text(NO_TESTS, encoding="utf-8")
    lines = [line.removeprefix("Dockerfile: ") for line in job.task.stripped if ": " in line]
    dockerfile = target / "environment" / "Dockerfile"
    if dockerfile.is_file():
        _edit(target, [line for line in lines if not line.startswith("task.toml: ")])
    settings = target / "task.toml"
    if "task.toml: environment.skills_dir" in lines:
        _drop_skills_dir(settings)
    return target


def _edit(task: Path, baked: list[str]) -> None:
    """Remove the Skill from COPY lines, and lines that copy nothing else."""
    name, kept = "environment/Dockerfile", []
    for line in (task / name).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        kept += [line] if line.strip() not in baked else _without_skills(line)
    text = "\n".join(kept) + "\n"
    own_file(task, name).write_text(text, encoding="utf-8", errors="surrogateescape")


def _without_skills(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    flags = [word for word in words[1:] if word.startswith("--")]
    *sources, target = [word for word in words[1:] if not word.startswith("--")]
    kept = [
        word
        for word in sources
        if posixpath.normpath(word.lstrip("/")).split("/")[0] != BAKED_SKILLS
    ]
    return [" ".join([words[0], *flags, *kept, target])] if kept else []


def _drop_skills_dir(settings: Path) -> None:
    text = settings.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines(keepends=True) if not _sets_skills_dir(line)]
    own_file(settings.parent, settings.name).write_text("".join(lines), encoding="utf-8")
    left = tomllib.loads("".join(lines)).get("environment")
    if isinstance(left, dict) and left.get("skills_dir"):
        raise HarnessError(
            f"cannot remove environment.skills_dir from {settings.parent.name}/task.toml; put it on a line"
            " of its own"
        )


def _sets_skills_dir(line: str) -> bool:
    return line.partition("=")[0].strip() in {"skills_dir", "environment.skills_dir"}
