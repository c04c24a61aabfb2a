"""`check TASK`, and what a study does with a Skill that gives the answer away."""

import json
import os

import pytest

from skilljuror.base.errors import GateError, StudyError
from skilljuror.harness.leaks import leak_verdict
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.check import check_study
from skilljuror.study.run import run_study
from skilljuror.study.task_check import check_tasks
from skilljuror.study.waivers import open_findings, waive_finding
from tests.support.cli_process import call
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.studies import edit_study, make_study

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
    (place,) = found["looks"].leak.places
    assert (place.task_file, place.skill_file) == ("solution/solve.sh", "brew/SKILL.md")
    assert place.runs == found["looks"].leak.runs
    assert place.text.startswith("kettle 21 warm pot 21")
    swapped = check_tasks(tasks[:2], str(tmp_path / "{task}" / "environment" / "skills")).tasks
    assert [one.verdict for one in swapped] == ["fail", "review"]


def test_the_null_of_a_skill_that_all_tasks_share_is_unknown(tmp_path):
    tasks = [solved(tmp_path / "one", LINES[:20]), solved(tmp_path / "two", LINES[20:])]
    write_tree(tmp_path, {"library/SKILL.md": SKILL + "".join(LINES)})
    found = check_tasks(tasks, str(tmp_path / "library"))
    assert [(one.verdict, one.null) for one in found.tasks] == [("fail", None)] * 2
    assert found.pairs == 0
    own = check_tasks([solved(tmp_path / "six", LINES[:6], LINES[6:]), tasks[1]])
    assert (own.tasks[0].null_task, own.null_failed, own.pairs) == ("two", 1, 2)


def test_planted_lines_show_what_is_found(tmp_path):
    tasks = [solved(tmp_path / "long", LINES[:20]), solved(tmp_path / "short", LINES[20:24])]
    rows = [(one.lines, one.planted, one.reviewed, one.failed)
            for one in check_tasks(tasks, assay=True).assay]  # fmt: skip
    assert rows == [(3, 2, 2, 2), (5, 1, 1, 1), (8, 1, 1, 1), (12, 1, 1, 1), (20, 1, 1, 1)]


def test_a_generated_skill_may_not_repeat_what_its_creator_saw(tmp_path):
    task = solved(tmp_path / "tea", LINES[:5], **{"instruction.md": "".join(LINES[5:20])})
    own = write_tree(tmp_path / "own", {"brew/SKILL.md": SKILL + "".join(LINES[5:20])})
    given, generated = leak_verdict(own, task), leak_verdict(own, task, generated=True)
    assert (given.verdict, given.runs, given.instance) == ("ok", 0, None)
    assert (generated.verdict, generated.runs) == ("review", 0)
    assert generated.instance
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
    done = call("check", "fails", "looks", "sound", "--assay", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("solution/solve.sh, brew/SKILL.md") == 2
    assert "1 of 3 fail (20 or more), 1 need a person (4 or more)" in done.stdout
    assert "(null) 0 and 0 of 6 pairs" in done.stdout
    assert call("check", "looks", "sound", cwd=tmp_path).returncode == 3
    done = call("check", "sound", "--json", cwd=tmp_path)
    (row,) = json.loads(done.stdout)["tasks"]
    assert (done.returncode, row["verdict"], row["leak"]["runs"]) == (0, "ok", 0)
    assert [one["rule"] for one in row["rules"]] == [
        "parts", "skill", "solution", "reward", "tests", "network", "baked", "metadata", "leak",
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
    (checked,) = check_tasks([tmp_path / "tea"], str(tmp_path / "brew")).tasks
    assert checked.leak.finding == leaks["baseline"].id
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
