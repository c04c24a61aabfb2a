"""`check` proves a study's tasks in its own sandbox, before a trial is paid for."""

import json
import os

import pytest

from skilljuror.base.errors import GateError, HarnessError, StudyError, UsageError
from skilljuror.harness.leaks import leak_verdict
from skilljuror.review.waivers import open_findings, waive_finding
from skilljuror.store.questions import run
from skilljuror.store.questions import run as ask
from skilljuror.store.trials import ingest_trials
from skilljuror.study.check import (
    Attempt,
    check_study,
    check_tasks,
    prove_folders,
    prove_task,
    stuffing,
)
from skilljuror.study.run import run_study
from tests.support import claude_logs as logs
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.harness_tasks import ISOLATIONS, SKILL, VERDICT, make_task, write_tree
from tests.support.studies import edit_study, make_study

SOLVE = 'cp "${0%/*}/answer.txt" out.txt\n'
SOLUTION = {"solution/solve.sh": SOLVE, "solution/answer.txt": "done\n"}
ALWAYS = '#!/bin/bash\necho checking nothing\necho 1 > "$LOGS_DIR/verifier/reward.txt"\n'
NEVER = '#!/bin/bash\necho 0 > "$LOGS_DIR/verifier/reward.txt"\necho "out.txt: wrong sum"\n'
OWN_SKILL = "---\nname: brew\ndescription: Brew tea.\n---\n\nSteep for 4 minutes.\n"
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
                                      "environment/skills/brew/SKILL.md": OWN_SKILL})  # fmt: skip
    edit_study(study, tasks=[{"path": "needy"}])
    (task,) = check_study(study).tasks
    assert (
        task.problems[1]
        == "its own Skill was removed, as for every trial; the solution may need it"
    )
    said = task.solution_output or ""
    assert said.splitlines()[-1] == "cat: skills/brew/steep.py: No such file or directory"


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_the_solution_runs_in_the_sandbox_of_the_study(tmp_path, isolation):
    study = study_of(tmp_path, sound=SOLUTION)
    edit_study(study, harness={"options": {"isolation": isolation}})
    summary = check_study(study)
    assert (summary.isolation, summary.failed) == (isolation, False)


def test_no_agent_needs_to_be_installed(tmp_path):
    study = study_of(tmp_path, sound=SOLUTION)
    program = {"name": "codex", "model": "openai/x", "options": {"program": "no-such-codex"}}
    edit_study(study, agent=program)
    with pytest.raises(UsageError, match=r"no-such-codex.*not installed"):
        run_study(study, tmp_path / "out")
    (task,) = check_study(study).tasks
    assert (task.verdict, task.solution, task.empty) == ("ok", 1, 0)


def test_an_unknown_agent_is_refused(tmp_path):
    study = study_of(tmp_path, sound=SOLUTION)
    edit_study(study, agent={"name": "scriptd"})
    with pytest.raises(UsageError, match="unknown agent 'scriptd'"):
        check_study(study)


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


LINES = [
    f"kettle_{n} = warm(pot_{n}, litres={n}, until=boil_{n}) + lid_{n} - steam_{n}\n"
    for n in range(40)
]
OWN = "environment__skills__brew__SKILL.md"


def solved(folder, lines, shown=(), **more):
    """A task with a solution of `lines`, whose Skill has the lines `shown`."""
    skill = SKILL + "".join(shown)
    return make_task(
        folder, solution__solve_sh="", **{OWN: skill, "solution__solve.sh": "".join(lines)}, **more
    )


def test_runs_that_only_the_solution_has_decide_beside_those_of_another_task(tmp_path):
    tasks = [
        solved(tmp_path / "fails", LINES[:20], LINES[2:14]),
        solved(tmp_path / "looks", LINES[20:30], LINES[21:23]),
        solved(
            tmp_path / "told", LINES[30:], LINES[30:], **{"instruction.md": "".join(LINES[30:])}
        ),
        make_task(tmp_path / "bare"),
    ]
    found = {one.task: one for one in check_tasks(tasks).tasks}
    verdicts = {name: (one.verdict, one.null) for name, one in found.items()}
    assert verdicts == {
        "fails": ("fail", 0), "looks": ("review", 0), "told": ("ok", 0), "bare": ("unknown", None),
    }  # fmt: skip
    assert found["told"].leak.runs == 0
    assert found["bare"].leak.runs is None
    leak = found["looks"].leak
    assert (leak.task_files, leak.skill_files) == (("solution/solve.sh",), ("brew/SKILL.md",))
    swapped = check_tasks(tasks[:2], str(tmp_path / "{task}" / "environment" / "skills")).tasks
    assert [one.verdict for one in swapped] == ["fail", "review"]


def test_the_null_of_a_skill_that_all_tasks_share_is_unknown(tmp_path):
    tasks = [solved(tmp_path / "one", LINES[:20]), solved(tmp_path / "two", LINES[20:])]
    write_tree(tmp_path, {"library/SKILL.md": SKILL + "".join(LINES)})
    found = check_tasks(tasks, str(tmp_path / "library"))
    assert [(one.verdict, one.null) for one in found.tasks] == [("fail", None)] * 2
    own = check_tasks([solved(tmp_path / "six", LINES[:6], LINES[6:]), tasks[1]])
    assert own.tasks[0].null_task == "two"


def test_a_generated_skill_may_not_repeat_what_its_creator_saw(tmp_path):
    task = solved(tmp_path / "tea", LINES[:5], **{"instruction.md": "".join(LINES[5:20])})
    own = write_tree(tmp_path / "own", {"brew/SKILL.md": SKILL + "".join(LINES[5:20])})
    given, generated = leak_verdict(own, task), leak_verdict(own, task, generated=True)
    assert (given.verdict, given.runs) == ("ok", 0)
    assert (generated.verdict, generated.runs) == ("review", 0)
    assert "the instruction or the environment" in (generated.reason or "")
    write_tree(own, {"brew/SKILL.md": SKILL + "".join(LINES[:20])})
    assert leak_verdict(own, task, generated=True).verdict == "fail"


HOSTILE = {
    "link out": ("unknown", "environment/skills is a link"),
    "linked file": ("unknown", "not compared: skills/brew/more.md is a link"),
    "linked tests": ("fail", "tests is a link"),
    "long": ("unknown", "not compared: skills/brew/more.md is longer than 1 MB"),
    "binary": ("unknown", "no text of a Skill"),
    "no root": ("fail", "no SKILL.md that is text"),
    "no parts": ("fail", "instruction.md, tests/test.sh missing"),
    "settings": ("fail", "task.toml: invalid TOML"),
    "pipe": ("ok", ""),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_task_is_one_row_that_says_what_was_not_compared(tmp_path, case):
    task = solved(tmp_path / "tea", LINES[:9])
    skill = task / "environment" / "skills" / "brew"
    if case == "link out":
        (task / "environment" / "skills").rename(tmp_path / "elsewhere")
        (task / "environment" / "skills").symlink_to(tmp_path / "elsewhere")
    elif case == "linked file":
        (skill / "more.md").symlink_to("/etc/hostname")
    elif case == "linked tests":
        (task / "tests").rename(tmp_path / "tests")
        (task / "tests").symlink_to("/")
    elif case == "long":
        with (skill / "more.md").open("wb") as sparse:
            sparse.truncate(100_000_000)
    elif case == "binary":
        (skill / "SKILL.md").write_bytes(b"\xff\xfe\0" * 9)
    elif case == "no root":
        (skill / "SKILL.md").rename(skill / "README.md")
    elif case == "no parts":
        (task / "instruction.md").unlink()
        (task / "tests" / "test.sh").unlink()
    elif case == "settings":
        (task / "task.toml").write_text("[[[", encoding="utf-8")
    else:
        os.mkfifo(skill / "pipe.md")
    (row,) = check_tasks([task]).tasks
    verdict, said = HOSTILE[case]
    assert row.verdict == verdict
    assert said in "; ".join(row.problems)
    assert not said or len(row.problems) <= 3


def test_a_rubric_stands_for_a_verifier(tmp_path):
    task = solved(tmp_path / "tea", LINES[:9])
    (task / "tests" / "test.sh").unlink()
    rubric = '{"name": "tea", "items": [{"id": "1", "text": "It reads well."}]}'
    (task / "tests" / "rubric.json").write_text(rubric, encoding="utf-8")
    (row,) = check_tasks([task]).tasks
    assert (row.verdict, row.problems) == ("ok", ())
    assert ("reward", "none: tests/rubric.json judges") in {
        (one.rule, one.reason) for one in row.rules
    }


def test_what_is_no_task_is_refused_by_name(tmp_path):
    with pytest.raises(StudyError, match="is not a folder; name a study file"):
        check_tasks([tmp_path / "gone"])
    with pytest.raises(StudyError, match=r"is not a task folder: it has none of task\.toml"):
        check_tasks([tmp_path])
    with pytest.raises(StudyError, match="not found"):
        check_tasks([make_task(tmp_path / "tea")], str(tmp_path / "gone"))


def test_the_command_prints_one_row_per_task_and_its_status_is_the_worst(tmp_path):
    solved(tmp_path / "fails", LINES[:20], LINES[2:14])
    solved(tmp_path / "looks", LINES[20:30], LINES[21:23])
    solved(tmp_path / "sound", LINES[30:])
    done = call("check", "fails", "looks", "sound", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("solution/solve.sh, brew/SKILL.md") == 2
    assert "1 of 3 fail (20 or more), 1 need a person (4 or more)" in done.stdout
    assert call("check", "looks", "sound", cwd=tmp_path).returncode == 3
    done = call("check", "sound", "--json", cwd=tmp_path)
    (row,) = json.loads(done.stdout)["tasks"]
    assert (done.returncode, row["verdict"], row["leak"]["runs"]) == (0, "ok", 0)
    assert [one["rule"] for one in row["rules"]] == [
        "parts", "skill", "solution", "reward", "leak",
    ]  # fmt: skip
    make_study(tmp_path)
    refused = call("check", "study.yaml", "sound", cwd=tmp_path)
    assert (refused.returncode, "name one study file" in refused.stderr) == (2, True)


def leaking_study(tmp_path):
    """A study whose arms baseline, sham and own offer a Skill; baseline's and own's have the answer."""
    study = make_study(tmp_path, trials=1)
    write_tree(tmp_path, {
        "tea/solution/solve.sh": "".join(LINES), "brew/SKILL.md": SKILL + "".join(LINES[3:15]),
        "own/brew/SKILL.md": SKILL + "".join(LINES[20:32]),
    })  # fmt: skip
    edit_study(study, conditions=[
        {"name": "bare", "variant": None}, {"name": "baseline", "variant": "baseline"},
        {"name": "sham", "variant": "placebo-irrelevant"}, {"name": "own", "skill": "own"},
    ])  # fmt: skip
    return study


def test_the_check_of_a_study_names_what_its_run_refuses(tmp_path):
    study = leaking_study(tmp_path)
    write_tree(
        tmp_path,
        {"tea/solution/solve.sh": "echo done > out.txt\n" + "".join(f"# {one}" for one in LINES)},
    )
    found = check_study(study)
    assert [one.verdict for one in found.tasks] == ["ok"]
    assert [("'baseline'" in line, "'own'" in line) for line in found.leaks] == [
        (False, True),
        (True, False),
    ]
    assert all("run refuses an arm that offers them" in line for line in found.leaks)


def rows(out):
    answer = run(out / "study.duckdb", "skill_leaks")
    return {row[1]: dict(zip(answer.columns, row, strict=True)) for row in answer.rows}


@pytest.mark.slow
def test_a_run_refuses_a_skill_with_the_answer_until_a_person_accepts_it(tmp_path):
    study, out = leaking_study(tmp_path), tmp_path / "out"
    with pytest.raises(GateError, match="gives the answer away") as refused:
        run_study(study, out)
    said = refused.value.message
    assert "\n" not in said
    assert not list((out / "trials").glob("*"))
    leaks = {one.variant: one for one in open_findings(out)}
    assert sorted(leaks) == ["baseline", "own"]
    assert f"skilljuror waive {out} {leaks['baseline'].id} --reason" in said
    waive_finding(out, leaks["baseline"].id, "a published formula", "Ann")
    with pytest.raises(GateError, match="of own gives the answer away"):
        run_study(study, out)
    waive_finding(out, leaks["own"].id, "the same", "Ann")
    assert open_findings(out) == []
    assert run_study(study, out).finished == 4
    ingest_trials(out)
    found = rows(out)
    assert list(found)[-1] == "sham"
    assert {name: row["verdict"] for name, row in found.items()} == {
        "baseline": "fail", "own": "fail", "sham": "ok",
    }  # fmt: skip
    assert found["baseline"]["waived"] == "a published formula (Ann)"
    assert (found["sham"]["runs"], found["sham"]["null_runs"]) == (0, None)
    assert found["baseline"]["task_file"] == "solution/solve.sh"
    waive_finding(out, leaks["own"].id, "twice", "Ann")
    assert rows(out)["own"]["waived"] == "twice (Ann)"


def test_a_changed_leak_needs_another_waiver(tmp_path):
    study, out = leaking_study(tmp_path), tmp_path / "out"
    with pytest.raises(GateError):
        run_study(study, out)
    for one in open_findings(out):
        waive_finding(out, one.id, "known", "Ann")
    write_tree(tmp_path, {"own/brew/SKILL.md": SKILL + "".join(LINES[16:32])})
    with pytest.raises((GateError, StudyError), match=r"of own gives|differs from the Skill"):
        run_study(study, out)


SOLVED = {"solution/solve.sh": "echo done > out.txt\n"}
HEAD = '#!/bin/bash\nout="$APP_DIR/out.txt"; logs="$LOGS_DIR/verifier"\n'
CHECKS = """says() { if "${@:2}"; then echo "{\\"name\\": \\"$1\\", \\"status\\": \\"passed\\"}"
  else echo "{\\"name\\": \\"$1\\", \\"status\\": \\"failed\\"}"; fi; }
list() { local IFS=,; echo "{\\"results\\": {\\"tests\\": [$*]}}" > "$logs/ctrf.json"; }
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


def folders(tmp_path, **tasks):
    """Task folders: name -> files that are others than usual."""
    return [write_tree(make_task(tmp_path / name), SOLVED | files) for name, files in tasks.items()]  # fmt: skip


def verdicts(task):
    return {one.rule: one.verdict for one in task.proof}


@pytest.mark.slow
def test_each_proof_fails_the_task_that_breaks_it(tmp_path):
    tasks = {one.task: one for one in prove_folders(folders(tmp_path, **TASKS), jobs=2).tasks}
    assert list(tasks) == list(TASKS)
    assert {name: one.verdict for name, one in tasks.items()} == {
        "sound": "ok", "wordy": "fails", "restless": "fails", "blind": "fails", "mute": "fails",
    }  # fmt: skip
    assert verdicts(tasks["sound"]) == {
        "repeated": "ok", "stuffed": "ok", "checks": "ok",
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


@pytest.mark.slow
def test_a_folder_that_cannot_run_is_a_row(tmp_path):
    image = {"environment/Dockerfile": "FROM debian\nRUN make\n"}
    leak = {"environment/SKILL.md": "---\nname: a\n---\n"}
    tasks = prove_folders(folders(tmp_path, image=image, leak=leak, sound=TASKS["sound"])).tasks
    assert [(one.task, one.verdict) for one in tasks] == [
        ("image", "unknown"), ("leak", "fails"), ("sound", "ok"),
    ]  # fmt: skip
    assert "RUN" in tasks[0].problems[0]


@pytest.mark.slow
def test_the_command_prints_the_sentence_and_the_table(tmp_path):
    (task,) = folders(tmp_path, blind=TASKS["blind"])
    done = call("check", task, "--prove")
    assert done.returncode == 1
    assert done.stdout.startswith("0 of 1 tasks are proved: ")
    assert "blind: 0 of 1 checks pass with the solution alone" in done.stdout
    found = json.loads(call("check", task, "--prove", "--json").stdout)
    assert [rule["verdict"] for rule in found["proofs"][0]["proof"]] == ["ok", "ok", "fail"]


def test_three_runs_without_a_reward_prove_nothing():
    """As after an outage of the machine: equal, and unknown."""
    none = Attempt(fake.trial("tea", "a", status="unscored", reward=None), None, None)
    runs = dict.fromkeys(("solution", "solution-2", "solution-3", "empty"), none)
    repeated = prove_task(runs)[0]
    assert (repeated.verdict, repeated.reason) == ("unknown", "the solution gets no reward")


STOPPED = "the log lists mod-making, which its condition does not offer.*accept_skills"
MISSING = "the log lists the skills on offer, and not brew of the variant"


def session(tmp_path, listed):
    """A log of Claude Code that lists these Skills."""
    listing = {"type": "skill_listing", "names": listed, "content": "", "skillCount": len(listed)}
    rows = [
        logs.user(1, "Make tea."),
        logs.row(2, "attachment", attachment=listing),
        logs.assistant(3, {"type": "text", "text": "Done."}),
    ]
    return logs.write_lines(tmp_path / "log.jsonl", *rows)


def study(tmp_path, listed, **more):
    """Arms whose agent writes such a log."""
    log = session(tmp_path, listed)
    script = f'echo done > out.txt; mkdir -p "$2"; cp {log} "$2"/{logs.SESSION}.jsonl'
    return make_study(tmp_path, trials=2, script=script, **more)


@pytest.mark.slow
def test_a_skill_that_no_condition_offers_stops_the_run_until_it_is_accepted(tmp_path):
    file, out = study(tmp_path, ["mod-making"]), tmp_path / "out"
    with pytest.raises(HarnessError, match=STOPPED):
        run_study(file, out)
    assert len([*(out / "trials").iterdir()]) == 1
    ingest_trials(out)
    flags = ask(out / "study.duckdb", "quality_flags").records()
    assert "other_skill_offered" in {row["flag"] for row in flags}
    edit_study(file, accept_skills=["mod-making"])
    assert run_study(file, out).statuses == {"scored": 4}
    ingest_trials(out)
    assert ask(out / "study.duckdb", "SELECT * FROM contaminations").rows == []


def test_a_missing_skill_stops_the_run(tmp_path):
    file = study(tmp_path, [], variants={"flat": "baseline"})
    with pytest.raises(HarnessError, match=MISSING):
        run_study(file, tmp_path / "out")
