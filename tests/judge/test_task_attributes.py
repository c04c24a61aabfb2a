"""Attributes of tasks by a model: what it is shown, what counts, and who stands above it."""

import json

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, write_record
from skilljuror.judge.rubric import judge_tasks
from skilljuror.store import open_write
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.plan import freeze, load_study
from tests.support.loopback import model_server
from tests.support.rubric_answers import client
from tests.support.scripted_model import WARNINGS, blocks
from tests.support.studies import edit_study, make_study

pytestmark = WARNINGS
QUOTE = "Write done to out.txt."


def answer(attribute, value, quote=QUOTE):
    return {
        "attribute": attribute, "value": value, "evidence": "It says so.",
        "file": "instruction.md", "quote": quote,
    }  # fmt: skip


def both(**changes):
    entries = [
        answer("workflow_type", "document_processing"),
        answer("validation_type", "exact_artifact"),
    ]
    return json.dumps({"attributes": [one | changes.get(one["attribute"], {}) for one in entries]})


@pytest.fixture
def study(tmp_path):
    make_study(tmp_path)
    return tmp_path


def planned(study):
    """The study's folder, planned and in a database."""
    out = study / "out"
    plan = freeze(load_study(study / "study.yaml"), study)
    write_record(StudyFolder(out).plan_file, plan)
    with open_write(StudyFolder(out).database) as store:
        store.put_plan(plan)
    return out


def judged(study, out, *texts):
    """(what is known of the tasks, requests) after a model gave these texts in turn."""
    with model_server(lambda body, n: texts[n]) as (address, requests):
        found = judge_tasks(out, study / "study.yaml", client(address, out / "calls.jsonl"), 2)
    return found, requests


def attributes(out):
    found = run(StudyFolder(out).database, "FROM task_attributes").records()
    return {row["attribute"]: (row["value"], row["judged_by"]) for row in found}


def test_attributes_are_judged_with_a_quote_and_outlive_the_database(study):
    out = planned(study)
    found, (body,) = judged(study, out, both())
    assert {one.line for one in found} == {1}
    files = [row["file"] for row in blocks(body["messages"])["task"]]
    assert files == ["instruction.md", "tests/test.sh"]
    expected = {
        "domain": ("kitchen", None), "difficulty": ("2", None),
        "workflow_type": ("document_processing", "openai/scripted"),
        "validation_type": ("exact_artifact", "openai/scripted"),
    }  # fmt: skip
    assert attributes(out) == expected
    ingest_trials(out)
    assert attributes(out) == expected
    assert judged(study, out)[1] == []


def test_the_study_file_stands_above_the_model(study):
    mine = {"path": "tea", "skills": "brew", "attributes": {"workflow_type": "brewing"}}
    edit_study(study / "study.yaml", tasks=[mine])
    out = planned(study)
    judged(study, out, both())
    assert attributes(out)["workflow_type"] == ("brewing", None)
    assert attributes(out)["validation_type"] == ("exact_artifact", "openai/scripted")


def test_a_category_is_the_domain_where_none_is_named(study):
    (study / "tea/task.toml").write_text('[metadata]\ncategory = "finance"\n')
    assert attributes(planned(study))["domain"] == ("finance", None)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("no idea", {"unparsed"}),
        (both(workflow_type={"value": "cooking"}), {"unparsed"}),
        (both(workflow_type={"quote": "Write tea to out.txt."}), {"quote_not_found", None}),
    ],
    ids=["refusal", "wrong enum", "made-up quote"],
)
def test_what_is_not_proved_is_no_value(study, text, reasons):
    out = planned(study)
    found, _ = judged(study, out, text)
    assert {one.reason for one in found} == reasons
    assert "workflow_type" not in attributes(out)


def test_a_question_that_is_refused_is_no_value_and_asked_again(study):
    out = planned(study)
    found, _ = judged(study, out, (422, "against our policy"))
    assert {one.reason for one in found} == {"unparsed"}
    assert "against our policy" in found[0].evidence
    found, requests = judged(study, out, both())
    assert ({one.reason for one in found}, len(requests)) == ({None}, 1)


def test_another_task_than_the_one_that_ran_is_refused(study):
    out = planned(study)
    (study / "tea/instruction.md").write_text("Write tea to out.txt.\n")
    with pytest.raises(StudyError, match="differs from the one that the study ran"):
        judged(study, out)
