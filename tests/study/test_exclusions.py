import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import StudyPlan
from skilljuror.report.forecast import forecast
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run
from skilljuror.study.run import prepared, run_study
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.studies import edit_study, make_study

LONG = f"{SKILL}\n## Examples\n\n" + "\n".join(
    f"{n}. Pour {n} ml of water over the leaves." for n in range(90)
)


@pytest.fixture
def study(tmp_path):
    """Four tasks: tea; one with a long Skill; two that a person may leave out, one of them no task."""
    study = make_study(tmp_path, trials=1, variants={"bare": None, "flat": "baseline", "pd": "pd"})
    for name, text in (("tea", SKILL), ("pot", LONG), ("cup", SKILL)):
        make_task(tmp_path / "tasks" / name)
        write_tree(tmp_path, {f"skills/{name}/SKILL.md": text})
    (tmp_path / "tasks" / "drafts").mkdir()
    drafts = {"task": "drafts", "category": "no task", "reason": "Not finished."}
    cup = {"task": "cup", "category": "credential", "reason": "Needs a key."}
    edit_study(
        study,
        tasks=[{"path": "tasks/*", "skills": "skills/{task}"}],
        exclude=[drafts, cup],
    )
    return study


def test_an_excluded_task_is_a_row_without_trials(study, tmp_path):
    out = tmp_path / "out"
    arms = [{"name": "bare"}, {"name": "flat", "variant": "baseline"}]
    edit_study(study, exclude_rules={"max_tokens": 400}, conditions=arms)
    assert any("after the variants are built" in note for note in forecast(study).notes)
    assert run_study(study, out).statuses == {"scored": 2}
    plan = read_record(StudyPlan, out / "plan.json")
    assert [task.name for task in plan.tasks] == ["tea"]
    assert [(one.name, one.decided_by) for one in plan.excluded] == [
        ("cup", "person"),
        ("drafts", "person"),
        ("pot", "max_tokens"),
    ]
    assert run_study(study, out).ran == 0
    ingest_trials(out)
    database = StudyFolder(out).database
    assert run(database, "task_set").rows == [
        ("found", 4, "tasks"),
        ("left out: credential", 1, "tasks"),
        ("left out: no task", 1, "tasks"),
        ("left out: over the token limit", 1, "tasks"),
        ("in the study", 1, "tasks"),
        ("planned", 2, "trials"),
    ]
    rows = run(database, "excluded_tasks").records()
    assert rows[0] == {
        "task": "cup", "category": "credential", "reason": "Needs a key.", "decided_by": "person",
    }  # fmt: skip
    assert rows[2]["reason"].endswith("tokens, more than 400")


@pytest.mark.parametrize("worth", ["none", "small"])
def test_a_pd_with_nothing_to_open_may_be_left_out(study, tmp_path, worth):
    edit_study(study, exclude_rules={"pd_worth": worth})
    run_study(study, tmp_path / "out")
    plan = read_record(StudyPlan, tmp_path / "out" / "plan.json")
    assert [task.name for task in plan.tasks] == ["pot"]
    assert [one.decided_by for one in plan.excluded] == ["person", "person", "pd_worth"]
    assert plan.excluded[-1].reason == "nothing in it can be opened on demand"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"exclude": [{"task": "cups", "category": "c", "reason": "r"}]}, "did you mean 'cup'"),
        ({"exclude": [{"task": "cup", "category": "c"}]}, r"'exclude\.0\.reason': Field required"),
        ({"exclude_rules": {"max_token": 3}}, "did you mean 'max_tokens'"),
        ({"exclude_rules": {"pd_worth": "small"}, "conditions": [{"name": "a"}]}, "condition with the variant pd"),
        ({"exclude_rules": {"max_tokens": 3}, "conditions": [{"name": "a"}]}, "condition with a Skill"),
    ],
)  # fmt: skip
def test_what_leaves_nothing_out_is_named(study, tmp_path, more, said):
    edit_study(study, **more)
    with pytest.raises(StudyError, match=said):
        prepared(study, tmp_path / "out")


def test_somebody_must_stay(study, tmp_path):
    edit_study(study, exclude_rules={"max_tokens": 1})
    with pytest.raises(StudyError, match="every task is excluded; include at least one"):
        run_study(study, tmp_path / "out")
