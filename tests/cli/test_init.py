"""`init`: what it says, and what comes next."""

import json

from tests.support.cli_process import call, complaint, write_skill
from tests.support.harness_tasks import make_task


def test_what_comes_next_is_said_and_works(tmp_path):
    make_task(tmp_path / "tea")
    write_skill(tmp_path / "csv")
    words = ("init", "--task", "tea", "--skill", "csv", "--out", "a study.yaml")
    done = call(*words, cwd=tmp_path)
    first, *_, last = done.stdout.splitlines()
    assert first == "a study.yaml: 1 task × no_skill, flat-files, pd, 15 trials on harness local"
    steps = [f"skilljuror {step} 'a study.yaml'" for step in ("check", "plan", "run")]
    assert last == f"next: {'   then: '.join(steps)}"
    assert "1 tasks × 3 conditions × 5" in call("plan", "a study.yaml", cwd=tmp_path).stdout
    (tmp_path / "a study.yaml").write_text("name: mine\n")
    assert "already exists" in complaint(call(*words, cwd=tmp_path))


def test_a_folder_of_tasks_says_what_is_left_out(tmp_path):
    make_task(tmp_path / "bench/tasks/tea", **{"environment__skills__brew__SKILL.md": "# Brew\n"})
    make_task(tmp_path / "bench/tasks/bare")
    done = call("init", "--skillsbench", "bench", cwd=tmp_path)
    assert "1 of 2 tasks found is excluded" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("next: skilljuror check study.yaml   then: ")
    told = json.loads(call("init", "--skillsbench", "bench", "--json", cwd=tmp_path).stdout)
    assert (told["tasks"], told["excluded"], told["trials"]) == (2, {"no Skill": 1}, 15)
