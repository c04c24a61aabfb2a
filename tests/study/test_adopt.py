"""Finished jobs become a study whose rows say what Harbor recorded, and nothing else."""

import json
import shutil
from pathlib import Path

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, digest_tree, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run
from skilljuror.study.adopt import adopt
from tests.support.harbor_jobs import harbor_job, lock_skill, rewarded
from tests.support.places import CORPUS

MAP = """
name: mine
conditions:
  - {name: no_skill, trials: "*/none-*"}
  - {name: pd, variant: pd, trials: "*/pd-*"}
"""
FAILED = {"exception_info": {"exception_type": "RuntimeError", "exception_message": "no image"}}
LATE = {"exception_info": {"exception_type": "AgentTimeoutError", "exception_message": "60 s"}}


@pytest.fixture
def jobs(tmp_path):
    harbor_job(
        tmp_path / "jobs", "none-1", kiln=rewarded(0.0), glaze=rewarded(None) | FAILED,
        clay=rewarded(0.5) | LATE,
    )  # fmt: skip
    harbor_job(
        tmp_path / "jobs", "pd-1", kiln=rewarded(1.0), glaze=rewarded(1.0), clay=rewarded(None)
    )
    (tmp_path / "map.yaml").write_text(MAP)
    return tmp_path


def adopted(place, **options):
    return adopt([place / "jobs"], place / "map.yaml", place / "study", **options)


def records(place):
    folder = StudyFolder(place / "study")
    return [
        read_record(TrialRecord, folder.trial_record(name)) for name in folder.finished_trials()
    ]


def test_a_record_says_what_harbor_recorded(jobs):
    adopted(jobs)
    found = {r.trial: (r.status, r.reward, r.exception) for r in records(jobs)}
    assert found == {
        "clay__no_skill__1": ("timeout", 0.5, "AgentTimeoutError"),
        "clay__pd__1": ("unscored", None, None),
        "glaze__no_skill__1": ("error", None, "RuntimeError"),
        "glaze__pd__1": ("scored", 1.0, None),
        "kiln__no_skill__1": ("scored", 0.0, None),
        "kiln__pd__1": ("scored", 1.0, None),
    }
    first = records(jobs)[0]
    assert (first.harness, first.agent, first.model) == ("harbor", "codex", "scripted-1")
    assert first.agent_seconds is not None


def test_a_trial_that_no_model_answered_is_unscored_as_in_a_study_of_our_own(jobs):
    """Its log ends before any answer; of one without a log nobody knows."""
    for job, trial in (("none-1", "kiln"), ("pd-1", "glaze")):
        (place,) = (jobs / "jobs" / job).glob(f"{trial}__*")
        logs = place / "agent"
        if trial == "glaze":
            shutil.rmtree(logs)
            continue
        (logs / "trajectory.json").unlink(missing_ok=True)
        for log in logs.rglob("rollout-*.jsonl"):
            made = (
                '"role":"assistant"',
                "function_call",
                "reasoning",
                "token_count",
                "agent_message",
            )
            lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
            log.write_text("".join(one for one in lines if not any(m in one for m in made)))
    cells = {(one.task, one.condition): one.scored for one in adopted(jobs).outcomes}
    assert (cells["kiln", "no_skill"], cells["glaze", "pd"], cells["kiln", "pd"]) == (0, 1, 1)
    found = {one.trial: one for one in records(jobs)}
    kiln = found["kiln__no_skill__1"]
    assert (kiln.status, kiln.reward, kiln.reason) == ("unscored", None, "no_answer")
    assert (kiln.rewards, "no answer of the model" in kiln.message) == ({"reward": 0.0}, True)
    assert found["glaze__pd__1"].reward == 1.0


def test_a_reward_that_does_not_count_is_a_row_without_one(jobs):
    harbor_job(jobs / "jobs", "pd-2", kiln=rewarded(2.0))
    alone = {"verifier_result": {"rewards": {"score": 1.0}}}
    harbor_job(jobs / "jobs", "pd-3", kiln=alone)
    cells = {(one.task, one.condition): one for one in adopted(jobs).outcomes}
    cell = cells["kiln", "pd"]
    assert (cell.trials, cell.scored, cell.strict_pass) == (3, 2, 2)
    (odd,) = [one for one in records(jobs) if (one.task, one.status) == ("kiln", "unscored")]
    assert odd.message == "reward 2.0 is outside [0, 1]"


def test_the_questions_of_a_study_answer(jobs):
    adopted(jobs)
    ingest_trials(jobs / "study")
    database = StudyFolder(jobs / "study").database
    outcomes = {row["condition"]: row for row in run(database, "outcomes").records()}
    passes = {name: row["strict_passes"] for name, row in outcomes.items()}
    assert passes == {"no_skill": 0, "pd": 2}
    seconds = run(database, "SELECT count(agent_seconds) AS n FROM trials").records()
    assert seconds == [{"n": 6}]
    assert run(database, "SELECT count(*) AS n FROM trajectories").records() == [{"n": 6}]


def test_every_artifact_is_kept_byte_for_byte(jobs):
    adopted(jobs)
    rows = [
        json.loads(line) for line in (jobs / "study" / "adopted.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 6
    for row in rows:
        raw = StudyFolder(jobs / "study").trial_raw(row["trial"])
        assert digest_tree(raw) == digest_tree(Path(row["source"]))


def test_what_was_offered_is_known_by_the_map(jobs, tmp_path):
    skill = tmp_path / "skills" / "ledger"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: ledger\ndescription: Books.\n---\nRead on.\n")
    (jobs / "map.yaml").write_text(MAP.replace('"*/pd-*"', '"*/pd-*", skills: skills'))
    for trial in (jobs / "jobs" / "pd-1").iterdir():
        lock_skill(trial, skill)
    assert adopted(jobs).notes == ()
    ingest_trials(jobs / "study")
    coverage = run(
        StudyFolder(jobs / "study").database,
        "SELECT DISTINCT condition, variant_digest IS NULL AS unknown FROM trials ORDER BY ALL",
    )
    assert [tuple(row.values()) for row in coverage.records()] == [
        ("no_skill", True), ("pd", False),
    ]  # fmt: skip


def test_an_arm_may_say_what_was_offered_and_another_not(jobs, tmp_path):
    skill = tmp_path / "skills" / "ledger"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: ledger\ndescription: Books.\n---\nRead on.\n")
    arms = MAP.replace("name: no_skill,", "name: own, variant: own,")
    (jobs / "map.yaml").write_text(arms.replace('"*/pd-*"', '"*/pd-*", skills: skills'))
    adopted(jobs)
    ingest_trials(jobs / "study")
    rows = run(
        StudyFolder(jobs / "study").database,
        "SELECT condition, count(variant_digest) AS known FROM trials GROUP BY ALL ORDER BY ALL",
    ).records()
    assert [tuple(row.values()) for row in rows] == [("own", 0), ("pd", 3)]


def two_arms_of_one_variant(jobs, one, other):
    for name in ("a", "b"):
        skill = jobs / name / "ledger"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\nname: ledger\ndescription: {name}.\n---\nRead.\n")
    arms = MAP.replace("name: no_skill,", f"name: told, variant: pd, skills: {one},")
    (jobs / "map.yaml").write_text(arms.replace('"*/pd-*"', f'"*/pd-*", skills: {other}'))


def test_two_arms_may_be_offered_one_variant(jobs):
    two_arms_of_one_variant(jobs, "a", "a")
    adopted(jobs)
    assert len({record.variant_digest for record in records(jobs)}) == 1


def test_one_variant_is_not_two_things(jobs):
    two_arms_of_one_variant(jobs, "a", "b")
    with pytest.raises(StudyError, match=r"'pd' of task 'clay' differs between 'told' and"):
        adopted(jobs, dry_run=True)


def test_attempts_of_a_cell_are_numbered_in_time(jobs):
    harbor_job(jobs / "jobs", "pd-2", kiln=rewarded(0.0) | {"started_at": "2020-01-01T00:00:00Z"})
    adopted(jobs)
    rewards = {r.trial: r.reward for r in records(jobs) if r.task == "kiln"}
    assert rewards == {"kiln__no_skill__1": 0.0, "kiln__pd__1": 0.0, "kiln__pd__2": 1.0}


def test_nothing_is_written_that_was_not_asked_for(jobs):
    adoption = adopted(jobs, dry_run=True)
    assert [(arm.condition, arm.trials, arm.tasks) for arm in adoption.arms] == [
        ("no_skill", 3, 3), ("pd", 3, 3),
    ]  # fmt: skip
    assert not (jobs / "study").exists()


def test_the_same_again_changes_nothing_and_something_else_is_refused(jobs):
    adopted(jobs)
    before = digest_tree(jobs / "study")
    adopted(jobs)
    assert digest_tree(jobs / "study") == before
    harbor_job(jobs / "jobs", "pd-2", kiln=rewarded(1.0))
    with pytest.raises(StudyError, match="is not empty; name a new folder"):
        adopted(jobs)
    assert digest_tree(jobs / "study") == before


def test_a_task_that_differs_between_its_trials_is_told(jobs):
    harbor_job(jobs / "jobs", "pd-2", kiln=rewarded(1.0) | {"task_checksum": "f" * 64})
    assert [note for note in adopted(jobs).notes if "trials of kiln" in note]


def test_attributes_come_from_the_folders_of_the_tasks(jobs):
    task = jobs / "tasks" / "kiln"
    (task / "environment").mkdir(parents=True)
    (task / "tests").mkdir()
    (task / "tests" / "test.sh").write_text("true\n")
    (task / "instruction.md").write_text("Fire it.\n")
    (task / "task.toml").write_text('[metadata]\ndomain = "pottery"\n')
    (jobs / "map.yaml").write_text(MAP + "tasks: [{path: tasks/kiln}]\n")
    adopted(jobs)
    ingest_trials(jobs / "study")
    rows = run(StudyFolder(jobs / "study").database, "FROM task_attributes").records()
    assert [(row["task"], row["value"]) for row in rows] == [("kiln", "pottery")]


WRONG = {
    "an arm without a rule": (
        'name: a\nconditions: [{name: b}]', r"field 'conditions.0.trials': Field required; add it"),
    "an unknown field": (
        'name: a\nconditions: [{name: b, trials: "*", skill: x}]', r"did you mean 'skills'\?"),
    "rules that fit nothing": (
        'name: a\nconditions: [{name: b, trials: "nowhere"}]', "no arm matches any of 6 trials"),
    "a contrast of nobody": (
        'name: a\nconditions: [{name: b, trials: "*"}]\ncontrast: {treatment: x, control: b}',
        "unknown condition 'x'"),
    "skills where none was offered": (
        'name: a\nconditions: [{name: b, trials: "*", skills: x}]',
        r"map.yaml: field 'conditions.0.variant': null .*'b', but it has skills; name the"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_map_is_one_clear_line(jobs, what):
    text, message = WRONG[what]
    (jobs / "map.yaml").write_text(text)
    with pytest.raises(StudyError, match=message):
        adopted(jobs)


def test_no_skill_is_not_said_of_trials_that_harbor_gave_some(jobs, tmp_path):
    skill = tmp_path / "ledger"
    skill.mkdir()
    (skill / "SKILL.md").write_text("Read on.\n")
    lock_skill(next((jobs / "jobs" / "none-1").iterdir()), skill)
    with pytest.raises(StudyError, match=r"the lock.json of 'jobs/none-1/\S+' has Skills; name"):
        adopted(jobs)
    assert not (jobs / "study").exists()


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real logs is not here")
def test_real_jobs_keep_every_reward(tmp_path):
    """Trials of Harbor 0.24 and of January 2026: none invented, every reward as recorded but that of the
    trial whose one request hung until its time ran out."""
    january = (
        '[{name: no_skill, trials: "*-noskills-*"}, {name: skills, variant: any, trials: "*-skills-*"},'
        ' {name: generated, variant: own, trials: "*/withgenerate-*"}]'
    )
    loopback = '[{name: all, variant: any, trials: "*"}]'
    real = (
        ("harbor-jobs", loopback, {"codex": 7, "terminus-2": 1, "oracle": 2, "nop": 2}),
        ("skillsbench-trajectories", january,
         {"codex": 1, "gemini-cli": 3, "claude-code": 1, "terminus-2": 1}),
    )  # fmt: skip
    hung = "harbor-jobs", "codex"
    for folder, arms, agents in real:
        for agent, trials in agents.items():
            place = tmp_path / folder / agent
            place.mkdir(parents=True)
            (place / "map.yaml").write_text(f"name: real\nagent: {agent}\nconditions: {arms}\n")
            adopt([CORPUS / folder], place / "map.yaml", place / "study")
            found = records(place)
            assert len(found) == trials
            changed = [one for one in found if one.reward != reward_of(place, one)]
            assert [(one.reward, one.reason, one.exception) for one in changed] == (
                [(None, "no_answer", "AgentTimeoutError")] if (folder, agent) == hung else []
            )


def reward_of(place, record):
    raw = StudyFolder(place / "study").trial_raw(record.trial)
    result = json.loads((raw / "result.json").read_text())
    return ((result["verifier_result"] or {}).get("rewards") or {}).get("reward")
