from pathlib import Path

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.harness.harbor.tasks import prepare_task
from tests.support.harness_tasks import SKILL, make_job, make_task

DOCKERFILE = """\
FROM python:3.12-slim
WORKDIR /app
COPY input.txt /app/
COPY skills /root/.claude/skills
COPY deep/../skills /app/skills
COPY --chmod=755 ./skills/brew notes.txt /app/
"""
SETTINGS = '[environment]\nskills_dir = "/skills"\ncpus = 2\n\n[metadata]\ndomain = "tea"\n'


def test_a_task_that_bakes_no_skill_is_copied_as_it_is(tmp_path):
    task = make_task(tmp_path / "tea", solution__solve_sh="true\n")
    copied = prepare_task(make_job(task), tmp_path / "copies")
    files = [path.relative_to(task) for path in sorted(task.rglob("*")) if path.is_file()]
    assert files == [
        path.relative_to(copied) for path in sorted(copied.rglob("*")) if path.is_file()
    ]
    assert all((task / name).read_bytes() == (copied / name).read_bytes() for name in files)
    assert (copied / "tests" / "test.sh").stat().st_mode & 0o100


def test_nothing_of_a_baked_skill_is_left(tmp_path):
    more = {
        "environment/Dockerfile": DOCKERFILE,
        "environment/skills/brew/SKILL.md": SKILL,
        "environment/notes.txt": "notes\n",
        "environment/deep/skills/keep.txt": "data of the task\n",
        "task.toml": SETTINGS,
    }
    task = make_task(tmp_path / "tea", **more)
    before = {path: path.read_bytes() for path in task.rglob("*") if path.is_file()}
    copied = prepare_task(make_job(task), tmp_path / "copies")
    assert not (copied / "environment" / "skills").exists()
    assert (copied / "environment/deep/skills/keep.txt").exists()
    assert (copied / "environment/Dockerfile").read_text().splitlines() == [
        "FROM python:3.12-slim",
        "WORKDIR /app",
        "COPY input.txt /app/",
        "COPY --chmod=755 notes.txt /app/",
    ]
    assert (copied / "task.toml").read_text() == SETTINGS.replace('skills_dir = "/skills"\n', "")
    assert {path: path.read_bytes() for path in task.rglob("*") if path.is_file()} == before


def test_what_is_taken_out_is_not_taken_out_of_the_host(tmp_path):
    """A task may link to any file; what is edited is the copy."""
    more = {"environment/Dockerfile": DOCKERFILE, "task.toml": SETTINGS}
    task = make_task(tmp_path / "tea", **more, environment__skills__brew__SKILL=SKILL)
    for name in more:
        host = tmp_path / Path(name).name
        (task / name).rename(host)
        (task / name).symlink_to(host)
    copied = prepare_task(make_job(task), tmp_path / "copies")
    assert (tmp_path / "Dockerfile").read_text() == DOCKERFILE
    assert (tmp_path / "task.toml").read_text() == SETTINGS
    assert "skills" not in (copied / "task.toml").read_text()


def test_a_skills_dir_that_cannot_be_taken_out_alone_is_refused(tmp_path):
    settings = 'environment = {cpus = 2, skills_dir = "/skills"}\n'
    job = make_job(make_task(tmp_path / "tea", **{"task.toml": settings}))
    with pytest.raises(HarnessError, match="put it on a line of its own"):
        prepare_task(job, tmp_path / "copies")
