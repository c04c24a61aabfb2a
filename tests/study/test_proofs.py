"""`check --prove`: repeated and stuffed runs, checks that tell a solution, and criteria that tests name."""

import json

from skilljuror.study.check import check_study, prove_folders
from skilljuror.study.proofs import Attempt, prove, stuffing
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.harness_tasks import make_task, write_tree
from tests.support.studies import edit_study, make_study

SOLUTION = {"solution/solve.sh": "echo done > out.txt\n"}
HEAD = '#!/bin/bash\nout="$APP_DIR/out.txt"; logs="$LOGS_DIR/verifier"\n'
CHECKS = """says() { if "${@:2}"; then echo "{\\"id\\": \\"$1\\", \\"outcome\\": \\"passed\\"}"
  else echo "{\\"id\\": \\"$1\\", \\"outcome\\": \\"failed\\"}"; fi; }
list() { local IFS=,; echo "{\\"checks\\": [$*]}" > "$logs/checks.json"; }
done_() { [ "$(cat "$out" 2>/dev/null)" = done ]; }
done_; echo $((1 - $?)) > "$logs/reward.txt"
"""
SOUND = f'{HEAD}{CHECKS}list "$(says a test -d "$APP_DIR")" "$(says b done_)"\n'
TASKS = {
    "sound": {"tests/test.sh": SOUND},
    "wordy": {"tests/test.sh": f'{HEAD}grep -qs "done" "$out" && r=1 || r=0; echo $r > "$logs/reward.txt"\n'},
    "restless": {"tests/test.sh": f'{HEAD}{CHECKS}list "$(says "at $(date +%N)" true)"\n'},
    "blind": {"tests/test.sh": f'{HEAD}{CHECKS}list "$(says a test -d "$APP_DIR")"\n'},
    "mute": {"tests/test.sh": f'{HEAD}[ ! -e "$out" ] || grep -qx done "$out" || exit 1\n{CHECKS}'},
}  # fmt: skip
REQUIREMENT = """Write done to out.txt.

## Acceptance criteria

- The folder is there.
- out.txt says done.
- out.txt has one line.
"""
TESTS = '''
"""Parsed, never imported."""
raise SystemExit(1)

def test_folder():
    """AC-1: there before and after."""

@pytest.mark.criterion("AC-2")
def test_word():
    pass

def test_other():
    pass

def test_helper_that_no_report_names():
    pass
'''
TRACED = {
    "instruction.md": REQUIREMENT,
    "tests/test_out.py": TESTS,
    "tests/test.sh": f'{HEAD}{CHECKS}list "$(says tests/test_out.py::test_folder true)"'
    ' "$(says "tests/test_out.py::test_word[utf-8]" done_)" "$(says test_other done_)" "$(says test_ac_9 done_)"\n',
}


def folders(tmp_path, **tasks):
    """Task folders: name -> files that are others than usual."""
    return [write_tree(make_task(tmp_path / name), SOLUTION | files) for name, files in tasks.items()]  # fmt: skip


def proof_of(task):
    assert task.proof is not None
    return task.proof


def verdicts(task):
    return {one.rule: one.verdict for one in proof_of(task).rules}


def test_each_proof_fails_the_task_that_breaks_it(tmp_path):
    tasks = {one.task: one for one in prove_folders(folders(tmp_path, **TASKS), jobs=2).tasks}
    assert list(tasks) == list(TASKS)
    assert {name: one.verdict for name, one in tasks.items()} == {
        "sound": "ok", "wordy": "fails", "restless": "fails", "blind": "fails", "mute": "fails",
    }  # fmt: skip
    assert verdicts(tasks["sound"]) == {
        "repeated": "ok", "stuffed": "ok", "checks": "ok", "trace": "note",
    }  # fmt: skip
    assert verdicts(tasks["wordy"])["checks"] == "unknown"
    assert tasks["wordy"].problems == (
        "a run that only writes the strings of the tests gets reward 1; expected less than 1",
    )
    assert tasks["restless"].problems[0].endswith("of the solution is missing, then passed") or (
        tasks["restless"].problems[0].endswith("of the solution is passed, then missing")
    )
    assert tasks["blind"].problems == ("0 of 1 checks pass with the solution alone",)
    assert tasks["mute"].problems == (
        "a run that only writes the strings of the tests gets no reward; expected less than 1",
    )


def test_criteria_and_tests_make_a_matrix_with_orphans_on_both_sides(tmp_path):
    (task,) = prove_folders(folders(tmp_path, traced=TRACED)).tasks
    rows = [(one.criterion, one.test, one.empty, one.solution) for one in proof_of(task).trace]
    assert rows == [
        ("AC-1", "tests/test_out.py::test_folder", "passed", "passed"),
        ("AC-2", "tests/test_out.py::test_word[utf-8]", "failed", "passed"),
        ("AC-3", None, None, None),
        ("AC-9", "test_ac_9", "failed", "passed"),
        (None, "test_other", "failed", "passed"),
    ]
    assert [one.text for one in proof_of(task).trace][2:4] == ["out.txt has one line.", None]
    assert task.problems == ("no test names AC-3",)


def test_untraced_criteria_are_a_note_where_no_test_has_a_marker(tmp_path):
    plain = TRACED | {"tests/test_out.py": "def test_word():\n    pass\n", "tests/test.sh": SOUND}
    traced = TRACED | {"instruction.md": REQUIREMENT.rpartition("- ")[0]}
    tasks = prove_folders(folders(tmp_path, plain=plain, traced=traced)).tasks
    assert [one.verdict for one in tasks] == ["ok", "ok"]
    assert proof_of(tasks[0]).trace == ()
    assert [proof_of(one).rules[3].reason for one in tasks] == [
        "3 criteria, and no test names one",
        "each of 2 criteria has a test; an empty run passes every test of AC-1",
    ]


def test_a_study_is_proved_in_its_own_sandbox(tmp_path):
    study = make_study(tmp_path)
    folders(tmp_path, wordy=TASKS["wordy"])
    tasks = [{"path": "wordy", "skills": "brew"}]
    edit_study(study, tasks=tasks, harness={"options": {"isolation": "none"}})
    summary = check_study(study, prove=True)
    assert summary.isolation == "none"
    assert verdicts(summary.tasks[0])["stuffed"] == "fail"


def test_stuffing_fills_the_named_files_and_stays_in_the_task(tmp_path):
    text = "Write /app/out/a.json, `b.py` and /etc/motd.txt, not ../up.txt; see https://a.example/c.md.\n"
    tests = {"tests/test_a.py": 'KEY = "key \\"1\\""\nassert "x" in KEY\n'}
    (task,) = folders(tmp_path, task={"instruction.md": text, **tests})
    script, *files = stuffing(task, tmp_path / "plain", sandboxed=False)
    assert [json.loads(files[0].read_text())[key] for key in ('key "1"', "x")] == ['key "1"', "x"]
    compile(files[1].read_text(), "b.py", "exec")
    assert len(files) == 2
    assert '>> "out/a.json"' in script.read_text()
    sandboxed, *more = stuffing(task, tmp_path / "boxed", sandboxed=True)
    assert len(more) == 3
    assert '>> "/etc/motd.txt"' in sandboxed.read_text()
    assert "up.txt" not in sandboxed.read_text().replace("/motd.txt", "")


def test_a_folder_that_cannot_run_is_a_row(tmp_path):
    image = {"environment/Dockerfile": "FROM debian\nRUN make\n"}
    leak = {"environment/SKILL.md": "---\nname: a\n---\n"}
    tasks = prove_folders(folders(tmp_path, image=image, leak=leak, sound=TASKS["sound"])).tasks
    assert [(one.task, one.verdict) for one in tasks] == [
        ("image", "unknown"), ("leak", "fails"), ("sound", "ok"),
    ]  # fmt: skip
    assert "RUN" in tasks[0].problems[0]


def test_the_command_prints_the_sentence_the_table_and_the_matrix(tmp_path):
    (task,) = folders(tmp_path, traced=TRACED)
    done = call("check", task, "--prove")
    assert done.returncode == 1
    assert done.stdout.startswith("0 of 1 tasks are proved: ")
    assert "traced: no test names AC-3" in done.stdout
    assert "out.txt has one line." in done.stdout
    found = json.loads(call("check", task, "--prove", "--json").stdout)
    assert found["proofs"][0]["proof"]["trace"][2]["criterion"] == "AC-3"


def test_three_runs_without_a_reward_prove_nothing(tmp_path):
    """As after an outage of the machine: equal, and unknown."""
    none = Attempt(fake.trial("tea", "a", status="unscored", reward=None), None, None)
    runs = dict.fromkeys(("solution", "solution-2", "solution-3", "empty"), none)
    (repeated,) = (
        one for one in prove(make_task(tmp_path / "tea"), runs).rules if one.rule == "repeated"
    )
    assert (repeated.verdict, repeated.reason) == ("unknown", "the solution gets no reward")
