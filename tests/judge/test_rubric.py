"""Work graded by rubrics: what code, a model and people decide, and what a judge is not shown."""

import json
import shutil

import pytest
from msgspec.structs import replace

from skilljuror.base.errors import ModelError, StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.base.review import MAX_BYTES, CodeCheck
from skilljuror.judge.rubric import judge_rubrics
from skilljuror.review.desk import StudyDesk
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.check import check_tasks
from skilljuror.study.rubric import Work, decide, read_rubric, rubric_findings
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.harness_tasks import make_task, write_tree
from tests.support.loopback import model_server
from tests.support.rubric_answers import client
from tests.support.scripted_model import WARNINGS, blocks
from tests.support.studies import make_study

pytestmark = WARNINGS

LOG = {
    "schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "tiny", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "cat /root/.agents/skills/brew/SKILL.md"}},
            {"tool_call_id": "2", "function_name": "bash", "arguments": {"command": "wc -l report.md"}},
        ]},
        {"step_id": 2, "source": "agent", "message": "The Skill says 4 minutes.\nThe report is written."},
    ],
}  # fmt: skip
SCRIPT = f"""\
printf '# Tea\\n\\nSteep for 4 minutes.\\n' > report.md; echo done > out.txt; echo x > my-skill.md
printf '%s' '{json.dumps(LOG)}' > $2/trajectory.json
"""
QUOTE = "Steep for 4 minutes."


def item(name, text="It is so.", **more):
    return {"id": name, "text": text, "group": "goal", **more}


ITEMS = [
    item("done", points=3, check={"file": "out.txt", "contains": "done"}),
    item("counted", group="following", check={"command": "wc -l"}),
    item("time", "The report says how long to steep.", points=2),
    item("tone", "The report is friendly."),
]


def rubric(*items, name="tea"):
    return json.dumps({"format_version": 1, "name": name, "items": items or ITEMS})


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A study of two trials by an agent that writes a report and a log."""
    base = tmp_path_factory.mktemp("ran")
    file = make_study(base, script=SCRIPT, trials=1)
    run_study(file, base / "out")
    ingest_trials(base / "out")
    return base


@pytest.fixture
def study(ran, tmp_path):
    """A copy of it, with a rubric."""
    shutil.copytree(ran, tmp_path / "s")
    (tmp_path / "s/tea/tests/rubric.json").write_text(rubric(), encoding="utf-8")
    return tmp_path / "s"


def entry(name, answer="yes", file="report.md", quote=QUOTE):
    return {"item": name, "answer": answer, "evidence": "So it is.", "file": file, "quote": quote}


def judged(study, *texts, model=None):
    """(summary, requests) after a model gave these texts in turn."""
    out = study / "out"
    with model_server(lambda body, n: texts[n]) as (address, requests):
        asked = client(address, out / "calls.jsonl")
        if model:
            asked.choice = replace(asked.choice, model=model)
        return judge_rubrics(out, study / "study.yaml", client=asked, threads=1), requests


def items(study, trial="tea__a__1"):
    found = run(StudyFolder(study / "out").database, "FROM check_results").records()
    return {
        row["name"]: (row["outcome"], row["award"], row["judge"], row["said"])
        for row in found
        if row["trial"] == trial
    }


@pytest.mark.slow
def test_code_decides_first_then_a_model_whose_quotes_are_looked_up_once_paid(study):
    text = json.dumps({"answers": [entry("time"), entry("tone", quote="Welcome, dear reader.")]})
    summary, requests = judged(study, text, text)
    assert items(study) == {
        "done": ("passed", 3.0, "code", "done"),
        "counted": ("passed", 1.0, "code", "wc -l report.md"),
        "time": ("passed", 2.0, "openai/scripted", QUOTE),
        "tone": ("unjudged", None, None, "the quote is not in 'report.md'"),
    }
    (row,) = summary.rubrics
    assert (row.items, row.code, row.model, row.unjudged, row.points) == (8, 4, 2, 2, (7.0,))
    before = items(study)
    StudyFolder(study / "out").database.unlink()
    ingest_trials(study / "out")
    assert items(study) == before
    assert (
        len({json.dumps(one) for one in requests}) == 1
    )  # both arms ask the same, in the same words
    assert judged(study)[1] == []


def test_a_judge_is_shown_neither_arm_nor_skill(study):
    _, (body, *_) = judged(study, *["no"] * 2)
    parts = {one["file"]: one["text"] for one in blocks(body["messages"])["work"]}
    assert parts == {
        "out.txt": "done\n", "report.md": "# Tea\n\nSteep for 4 minutes.\n",
        "(commands)": "wc -l report.md", "(last message)": "The report is written.",
    }  # fmt: skip


def test_what_nobody_decides_and_what_two_models_dispute_is_a_question_for_people(study):
    def said(time):
        return json.dumps({"answers": [entry("time", time), entry("tone", "no", quote="")]})

    judged(study, said("yes"), said("yes"))
    assert items(study)["tone"][:3] == ("failed", 0.0, "openai/scripted")
    judged(study, said("no"), said("no"), model="openai/other")
    assert items(study)["time"] == (
        "unjudged", None, None, "openai/scripted: yes; openai/other: no",
    )  # fmt: skip
    desk, question = StudyDesk(study / "out"), "item:tea__a__1/tea/time"
    asked = [one for one in desk.queue("Ann", blind=False) if one.kind == "item"]
    assert [one.id for one in asked] == [question, "item:tea__b__1/tea/time"]
    assert (asked[0].machine, asked[0].texts[0].heading) == (
        "openai/scripted: yes; openai/other: no", "work · report.md:1-4",
    )  # fmt: skip
    desk.decide("Ann", question, "yes", "", blind=False)
    assert items(study)["time"][:3] == ("passed", 2.0, "Ann")
    desk.decide("Bo", question, "no", "", blind=False)
    assert items(study)["time"] == ("unjudged", None, None, "people differ")


@pytest.mark.slow
def test_a_model_that_fails_leaves_the_rest_judged_and_the_earlier_answers(study):
    good = json.dumps({"answers": [entry("time"), entry("tone")]})
    judged(study, good, good)
    (study / "tea/tests/rubric.json").write_text(
        rubric(*ITEMS, item("new", "It is new.")), encoding="utf-8"
    )
    with pytest.raises(ModelError):
        judged(study, (401, "no key"))
    assert items(study)["done"][0] == "passed"
    assert items(study)["time"][:3] == ("passed", 2.0, "openai/scripted")


def test_a_rerun_trial_loses_its_verdicts(study):
    judge_rubrics(study / "out", study / "study.yaml")
    record = StudyFolder(study / "out").trial_record("tea__a__1")
    record.write_text(record.read_text().replace('"seed"', ' "seed"'))
    ingest_trials(study / "out")
    assert items(study) == {}
    assert items(study, "tea__b__1")["done"][0] == "passed"


@pytest.mark.slow
def test_the_command_prints_what_waits_for_people(study):
    done = call("judge", study / "out", "--rubric", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["rubrics"][0] == {
        "rubric": "tea", "trials": 2, "items": 8, "points": [7.0], "code": 4, "model": 0, "people": 0,
        "unjudged": 4,
    }  # fmt: skip
    other = study / "later.json"
    other.write_text(rubric(ITEMS[0], name="later"), encoding="utf-8")
    assert call("judge", study / "out", other, "--rubric").returncode == 3
    assert call("judge", study / "out", other).returncode == 2
    assert set(items(study)) == {"done", "counted", "time", "tone"}


WORK = Work(
    files={"a.txt": "one\ntwo\n", "n.json": '{"x": [1, {"y": 2.5}], "t": true}', "deep.json": "[" * 90_000},
    left=frozenset({"a.txt", "n.json", "deep.json", "b.bin", "out/c"}),
    changed=("a.txt",),
    not_kept={"b.bin": "not text"},
    commands=("ls", "python3 run.py\nls"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        ({"file": "a.txt", "contains": "two"}, "yes"),
        ({"file": "./a.txt", "absent": "two"}, "no"),
        ({"file": "a.txt", "absent": "six"}, "yes"),
        ({"file": "gone.txt", "absent": "six"}, "no"),
        ({"file": "gone.txt", "exists": False}, "yes"),
        ({"file": "out", "exists": True}, "yes"),
        ({"file": "b.bin", "exists": True}, "yes"),
        ({"file": "b.bin", "contains": "x"}, None),
        ({"file": "a.txt", "regex": "^tw.$"}, "yes"),
        ({"file": "n.json", "value": {"path": "x.1.y", "equals": 2.4, "within": 0.11}}, "yes"),
        ({"file": "n.json", "value": {"path": "x.1.y", "equals": 2}}, "no"),
        ({"file": "n.json", "value": {"path": "t", "equals": 1}}, "no"),
        ({"file": "n.json", "value": {"path": "x.7", "equals": 1}}, "no"),
        ({"file": "deep.json", "value": {"path": "", "equals": 1}}, "no"),
        ({"command": r"python3 \w+"}, "yes"),
        ({"command": "rm", "used": False}, "yes"),
    ],
)
def test_what_code_says(check, answer):
    assert decide(CodeCheck(**check), WORK).answer == answer


@pytest.mark.slow
def test_a_regular_expression_that_never_ends_is_one_line():
    check = CodeCheck(file="a.txt", regex="(a|aa)+$")
    with pytest.raises(StudyError, match="takes more than 2 s on one text"):
        decide(check, Work({"a.txt": "a" * 80 + "b"}, frozenset({"a.txt"})))


def test_what_is_unknown_is_not_no():
    named = CodeCheck(file="gone.txt", exists=True)
    assert decide(named, Work(whole=False)).answer is None
    assert decide(named, Work(missing="nothing was kept")).reason == "nothing was kept"
    assert decide(CodeCheck(command="ls", used=False), Work(commands=None)).answer is None
    nothing_left = Work(left=frozenset({"input.txt"}))
    assert decide(CodeCheck(file="gone.txt", exists=False), nothing_left).answer == "no"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (rubric(item("x", points=float("nan"))), "items.0.points"),
        (rubric(item("x", points=-1)), "items.0.points"),
        (rubric(item("x", check={"file": "../x", "exists": True})), "inside the working directory"),
        (rubric(item("x", check={"file": "/etc/x", "exists": True})), "inside the working directory"),
        (rubric(item("x", check={"file": "x", "regex": "("})), "invalid regular expression"),
        (rubric(*[item(f"x{n}") for n in range(501)]), "500"),
        (rubric(*[item(f"x{n}") for n in range(20_000)]), f"more than {MAX_BYTES}"),
        ("[" * 900_000, "rubric.json"),
        ("a: &a [*a, *a]", "rubric.json"),
    ],
    ids=["nan", "negative", "outside", "absolute", "pattern", "many", "a-million", "deep", "yaml"],
)  # fmt: skip
def test_a_rubric_that_is_none_is_refused_in_one_line(tmp_path, text, said):
    path = tmp_path / "rubric.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as refused:
        read_rubric(path)
    assert said in refused.value.message
    assert "\n" not in refused.value.message


def test_other_tasks_than_those_that_ran_are_refused(study):
    (study / "tea/instruction.md").write_text("Brew.\n", encoding="utf-8")
    with pytest.raises(StudyError, match="name the study file of the run with --tasks"):
        judge_rubrics(study / "out", study / "study.yaml")


def test_weak_items_of_a_rubric_are_found(tmp_path):
    task = make_task(
        tmp_path / "tea", **{"environment/base.json": '{"heat": 80}', "instruction.md": "Write `out.txt`.\n"}
    )  # fmt: skip
    skill = "Steep for 240 seconds with `--slow`.\n"
    assert rubric_findings(task, [skill]) == []
    weak = [
        item("told", "`out.txt` is written.", group="following"),
        item("earned", "It uses `--slow`.", group="following"),
        item("hidden", "It steeps for 240 seconds."),
        item("free", "The heat is kept.", check={"file": "base.json", "value": {"path": "heat", "equals": 80}}),
        item("nowhere", "It names `kettle.yaml`."),
        item("words", "It reads well."),
    ]  # fmt: skip
    (task / "tests/rubric.json").write_text(rubric(*weak), encoding="utf-8")
    assert [(one.rule, one.item, one.tokens) for one in rubric_findings(task, [skill])] == [
        ("following", "told", ("out.txt",)),
        ("goal", "hidden", ("240",)),
        ("free points", "free", ()),
        ("orphan", "nowhere", ("kettle.yaml",)),
    ]
    write_tree(task / "environment/skills/brew", {"SKILL.md": skill})
    (checked,) = check_tasks([task]).tasks
    assert {one.rule: one.verdict for one in checked.rules}.items() >= {
        "rubric": "ok", "following": "review", "goal": "review", "free points": "review", "orphan": "note",
    }.items()  # fmt: skip
    (task / "tests/rubric.json").write_text("{}", encoding="utf-8")
    assert "rubric.json" in check_tasks([task]).tasks[0].problems[-1]
