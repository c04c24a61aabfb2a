"""What conditions of a study differ in reaches their trials, their records and the database."""

import shutil

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.base.files import StudyFolder, digest_tree, read_record, write_record
from skilljuror.base.study import StudyPlan, TrialRecord
from skilljuror.layouts.build.manifests import offered_by
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run
from skilljuror.study.plan import freeze
from skilljuror.study.run import run_study
from skilljuror.study.study_file import load_study
from tests.support.harness_tasks import SKILL, needs_bwrap, write_tree
from tests.support.studies import PROGRAMS, edit_study, make_study


@needs_bwrap
def test_two_versions_of_a_skill_are_a_study(tmp_path):
    """Each arm gets its own, and ingest knows what each could open."""
    study = make_study(tmp_path, trials=1)
    write_tree(tmp_path, {"new/brew/SKILL.md": SKILL, "new/brew/cups.md": "# Cups\n\nTwo.\n"})
    arms = [{"name": "old", "skill": "brew"}, {"name": "new", "skill": "new"}]
    edit_study(study, conditions=arms, tasks=[{"path": "tea"}])
    out = tmp_path / "out"
    summary = run_study(study, out)
    assert summary.statuses == {"scored": 2}
    assert any("old, new: the Skill's knowledge is not matched" in note for note in summary.notes)
    records = [
        read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json") for arm in ("old", "new")
    ]
    assert [record.variant for record in records] == ["old", "new"]
    assert records[1].variant_digest == digest_tree(tmp_path / "new")
    offered = offered_by(StudyFolder(out), records[1])
    assert offered is not None
    assert [resource.path for resource in offered.resources] == ["SKILL.md", "cups.md"]
    ingest_trials(out)
    rows = run(StudyFolder(out).database, "given_skills").records()
    assert [(row["condition"], row["files"], row["compared_with"]) for row in rows] == [
        ("old", 1, None),
        ("new", 2, "old"),
    ]
    assert rows[1]["shared_rate"] == 1
    assert run(StudyFolder(out).database, "SELECT * FROM contaminations").rows == []
    assert run_study(study, out).ran == 0


def test_the_prompt_names_the_skills_of_the_arms_that_have_any(tmp_path):
    study = make_study(
        tmp_path, script='cp "$1" "$2/seen.txt"; echo done > out.txt', trials=1,
        variants={"bare": None, "flat": "baseline"}, disclosure="named",
    )  # fmt: skip
    out = tmp_path / "out"
    run_study(study, out)
    seen = {
        arm: (out / f"trials/tea__{arm}__1/raw/agent/seen.txt").read_text()
        for arm in ("bare", "flat")
    }
    sentence = "Skills available for this task: brew."
    assert seen == {"bare": "Write done to out.txt.\n", "flat": f"{seen['bare']}\n{sentence}\n"}
    record = read_record(TrialRecord, out / "trials/tea__flat__1/trial.json")
    assert record.disclosed == sentence
    assert read_record(TrialRecord, out / "trials/tea__bare__1/trial.json").disclosed is None


def test_a_condition_may_name_another_agent(tmp_path):
    study = make_study(tmp_path, trials=1)
    other = {"name": f"{PROGRAMS}:echo", "model": "large", "effort": "high"}
    arms = [{"name": "one"}, {"name": "two", "agent": other}]
    edit_study(study, conditions=arms, agent={"name": "scripted"})
    with pytest.raises(UsageError, match="differ in agent"):
        run_study(study, tmp_path / "out")
    edit_study(study, vary=["agent", "model", "effort"])
    out = tmp_path / "out"
    assert run_study(study, out).finished == 2
    records = {
        arm: read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json")
        for arm in ("one", "two")
    }
    assert (records["one"].agent, records["one"].model) == ("scripted", None)
    assert (records["two"].agent, records["two"].model) == ("echo", "large")
    ingest_trials(out)
    database = StudyFolder(out).database
    cells = {row["condition"]: row for row in run(database, "cells").records()}
    assert cells["one"]["agent"] == "scripted"
    assert (cells["two"]["agent"], cells["two"]["model"]) == (f"{PROGRAMS}:echo", "large")
    (setup,) = run(database, "setup").records()
    assert setup["agent"] == f"scripted, {PROGRAMS}:echo"
    assert run(database, "SELECT * FROM contaminations").rows == []


def test_model_and_effort_of_a_condition_reach_its_agent_and_its_records(tmp_path):
    study = make_study(tmp_path, trials=1)
    arms = [{"name": "low", "model": "small", "effort": "low"}, {"name": "high", "model": "large"}]
    agent = {"name": f"{PROGRAMS}:echo", "effort": "high"}
    edit_study(study, conditions=arms, vary=["model", "effort"], agent=agent)
    out = tmp_path / "out"
    run_study(study, out)
    told = {}
    for arm in ("low", "high"):
        record = read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json")
        said = (out / f"trials/tea__{arm}__1/raw/agent-stdout.txt").read_text().strip()
        told[arm] = said, record.model, record.effort
    assert told == {"low": ("small low", "small", "low"), "high": ("large high", "large", "high")}
    ingest_trials(out)
    rows = run(StudyFolder(out).database, "provenance").records()
    assert {(row["model"], row["effort"], row["conditions"]) for row in rows} == {
        ("small", "low", "low"),
        ("large", "high", "high"),
    }


@pytest.mark.parametrize("name", ["effort", "reasoning_effort"])
@pytest.mark.parametrize("also", [{}, {"effort": "high"}], ids=["alone", "beside agent.effort"])
def test_an_effort_among_the_agents_options_is_refused_with_its_mend(tmp_path, name, also):
    agent = {"name": f"{PROGRAMS}:echo", "options": {name: "low"}} | also
    study = make_study(tmp_path, trials=1, agent=agent)
    with pytest.raises(UsageError, match=f"agent.options.{name}: .*use agent.effort: low") as told:
        run_study(study, tmp_path / "out")
    assert told.value.file == str(study)
    assert not (tmp_path / "out").exists()


def test_a_study_that_began_with_an_effort_among_the_options_goes_on(tmp_path):
    study, out = make_study(tmp_path, trials=1), tmp_path / "out"
    edit_study(study, agent={"name": f"{PROGRAMS}:echo", "effort": "low"})
    run_study(study, out)
    edit_study(study, agent={"name": f"{PROGRAMS}:echo", "options": {"effort": "low"}})
    old = freeze(load_study(study), tmp_path)
    digest = read_record(StudyPlan, out / "plan.json").agent_digest
    write_record(out / "plan.json", old.model_copy(update={"agent_digest": digest}))
    shutil.rmtree(out / "trials/tea__b__1")
    kept = out / "trials/tea__a__1/trial.json"
    record = read_record(TrialRecord, kept)
    write_record(kept, record.model_copy(update={"config_digest": old.config_digest}))
    assert run_study(study, out).ran == 1
    assert read_record(TrialRecord, out / "trials/tea__b__1/trial.json").effort == "low"
