"""`check` proves a study's tasks in its own sandbox, before a trial is paid for."""

import json

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.study.check import check_study
from tests.support.cli_process import call
from tests.support.harness_tasks import ISOLATIONS, VERDICT, make_task, write_tree
from tests.support.studies import edit_study, make_study

SOLVE = 'cp "${0%/*}/answer.txt" out.txt\n'
SOLUTION = {"solution/solve.sh": SOLVE, "solution/answer.txt": "done\n"}
ALWAYS = '#!/bin/bash\necho checking nothing\necho 1 > "$LOGS_DIR/verifier/reward.txt"\n'
NEVER = '#!/bin/bash\necho 0 > "$LOGS_DIR/verifier/reward.txt"\necho "out.txt: wrong sum"\n'
SKILL = "---\nname: brew\ndescription: Brew tea.\n---\n\nSteep for 4 minutes.\n"
SILENT = "#!/bin/bash\n" + VERDICT


def study_of(tmp_path, **tasks):
    """A study of tasks: name -> (files of the task that are others than usual)."""
    study = make_study(tmp_path)
    for name, files in tasks.items():
        make_task(tmp_path / name)
        write_tree(tmp_path / name, files)
    edit_study(study, tasks=[{"path": name, "skills": "brew"} for name in tasks])
    return study


def test_each_task_is_proved_or_told_what_is_wrong(tmp_path):
    study = study_of(
        tmp_path, sound=SOLUTION, unproved={}, lax={**SOLUTION, "tests/test.sh": ALWAYS},
        broken={**SOLUTION, "tests/test.sh": NEVER}, mute={**SOLUTION, "tests/test.sh": SILENT},
    )  # fmt: skip
    before = sorted(tmp_path.rglob("*"))
    summary = check_study(study, jobs=2)
    assert sorted(tmp_path.rglob("*")) == before
    found = {one.task: (one.verdict, one.solution, one.empty) for one in summary.tasks}
    assert found == {
        "sound": ("ok", 1, 0),
        "unproved": ("unknown", None, 0),
        "lax": ("fails", 1, 1),
        "broken": ("fails", 0, 0),
        "mute": ("fails", None, None),
    }
    told = {one.task: one for one in summary.tasks}
    assert told["broken"].problems == ("its solution gets reward 0; expected 1",)
    assert told["broken"].output == "out.txt: wrong sum"
    assert told["lax"].output == "checking nothing"
    assert told["broken"].solution_output is None
    assert told["mute"].problems[0].startswith("its solution gets no reward (")
    assert told["unproved"].output is None


def test_a_solution_that_needs_the_skill_says_what_it_misses(tmp_path):
    solve = "python3 /root/.skills/brew/steep.py || cat skills/brew/steep.py\n"
    study = study_of(tmp_path, needy={**SOLUTION, "solution/solve.sh": solve,
                                      "environment/skills/brew/SKILL.md": SKILL})  # fmt: skip
    edit_study(study, tasks=[{"path": "needy"}])
    (task,) = check_study(study).tasks
    assert (
        task.problems[1]
        == "its own Skill was removed, as for every trial; the solution may need it"
    )
    said = task.solution_output or ""
    assert said.splitlines()[-1] == "cat: skills/brew/steep.py: No such file or directory"


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_the_solution_runs_in_the_sandbox_of_the_study(tmp_path, isolation):
    study = study_of(tmp_path, sound=SOLUTION)
    edit_study(study, harness={"options": {"isolation": isolation}})
    summary = check_study(study)
    assert (summary.isolation, summary.failed) == (isolation, False)


@pytest.mark.slow
def test_the_command_fails_where_a_task_does(tmp_path):
    study_of(tmp_path, broken={**SOLUTION, "tests/test.sh": NEVER})
    done = call("check", "study.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "broken: its solution gets reward 0; expected 1" in done.stdout
    assert "  [verifier] out.txt: wrong sum" in done.stdout
    (task,) = json.loads(call("check", "study.yaml", "--json", cwd=tmp_path).stdout)["tasks"]
    assert task["verdict"] == "fails"


def test_a_task_without_a_solution_is_unknown_and_no_failure(tmp_path):
    study_of(tmp_path, unproved={})
    done = call("check", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert "unknown" in done.stdout
    assert "unproved: solution/solve.sh is missing, so it may be unsolvable" in done.stdout


def test_a_study_that_is_none_is_refused(tmp_path):
    (tmp_path / "study.yaml").write_text("name: a\n")
    with pytest.raises(StudyError, match="tasks"):
        check_study(tmp_path / "study.yaml")
