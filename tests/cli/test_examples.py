"""The examples at the end of each command's help work one after the other, as a newcomer runs them."""

import os
import shutil
import subprocess
import sys

import pytest
import yaml

from skilljuror.cli.app import PANELS
from skilljuror.store.trials import ingest_trials
from tests.support.git_repositories import git
from tests.support.harbor_jobs import harbor_job
from tests.support.places import EXAMPLES, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ENDS = {"rubric": 3}
"""Exit statuses other than 0: the items of the rubric are not rated yet."""
STUDY = {
    "name": "mine",
    "trials_per_cell": 1,
    "tasks": [{"path": "my-task", "skills": "my-skill"}],
    "conditions": [{"name": "no_skill"}, {"name": "pd", "variant": "pd"}],
    "agent": {"name": "scripted"},
    "harness": {"options": {"isolation": "none"}},
}


@pytest.fixture
def place(tmp_path):
    """A git repository with a Skill and a task, a home with logs, and a Harbor job."""
    skill = EXAMPLES / "skills" / "log-triage" / "latency-reports"
    shutil.copytree(skill, tmp_path / "my-skill")
    text = (skill / "SKILL.md").read_text().replace("name: latency-reports", "name: my-skill")
    (tmp_path / "my-skill" / "SKILL.md").write_text(text)
    shutil.copytree(EXAMPLES / "tasks" / "redact-lines", tmp_path / "my-task")
    logs = tmp_path / "home" / ".claude" / "projects"
    shutil.copytree(ROOT / "trajectories" / "claude-session" / "skill-call", logs / "skill-call")
    harbor_job(tmp_path / "jobs", "my-job", kiln={})
    (tmp_path / "map.yaml").write_text('name: a\nconditions: [{name: all, trials: "*"}]\n')
    git(tmp_path, "init", "-q")
    for message in ("first", "second"):
        git(tmp_path, "add", "my-skill")
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", message)
    return tmp_path


def test_examples_work_one_after_the_other(place):
    env = {**os.environ, "HOME": str(place / "home")}
    examples = [one["example"] for panel in PANELS.values() for one in panel.values()]
    examples.sort(key=lambda example: example.split()[0] != "init")  # a study before it runs
    for example in examples:
        name = example.split()[0]
        if name in {"demo", "view"}:
            continue  # 200 trials, which tests of the packaged study run; a page until it is stopped
        if name == "heat":  # of the study that an earlier example ran
            ingest_trials(place / "out" / "study")
        done = subprocess.run(
            f"{sys.executable} -m skilljuror {example}",
            shell=True, cwd=place, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == ENDS.get(name, 0), f"{example}\n{done.stdout}\n{done.stderr}"
        assert done.stdout, example
        if name == "init":  # writes a study for a real agent
            (place / "study.yaml").write_text(yaml.safe_dump(STUDY))
