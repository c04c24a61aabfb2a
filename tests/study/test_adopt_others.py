"""Records that others released become studies: each miniature has the layout and fields of their sources."""

import json
import shutil

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run
from skilljuror.study.adopt import adopt
from tests.support.harbor_trials import TRIAL


def trial(place, task, **result):
    """A copy of a golden trial of Codex, with another task and other fields of its result."""
    shutil.copytree(TRIAL, place)
    path = place / "result.json"
    given = json.loads(path.read_text(encoding="utf-8"))
    own = {"id": str(place), "trial_name": place.name, "task_name": task}
    path.write_text(json.dumps(given | own | result), encoding="utf-8")
    shutil.rmtree(place / "verifier")
    return place


def rewards(**given):
    return {"verifier_result": {"rewards": given}}


def adopted(base, arms, **more):
    (base / "map.yaml").write_text(json.dumps({"name": "others", "conditions": arms, **more}))
    return adopt([base / "released"], base / "map.yaml", base / "study")


def records(base):
    folder = StudyFolder(base / "study")
    found = [
        read_record(TrialRecord, folder.trial_record(name)) for name in folder.finished_trials()
    ]
    return {one.trial: (one.status, one.reward) for one in found}


def asked(base, question):
    return run(StudyFolder(base / "study").database, question).records()


def test_skill_placebo(tmp_path):
    """simonether/skill-placebo: block/arm/job/trial, the logs from its release archive, tasks of SWE-bench."""
    root = tmp_path / "released" / "main" / "claude-code" / "block-1"
    for number, (arm, reward) in enumerate((
        ("baseline", 1.0),
        ("placebo-cc-2", 0.0),
        ("skill-caveman", 1.0),
    )):
        job = f"b01-000{number}__claude-code__{arm}__django__django-11265"
        trial(root / arm / job / f"django__django-11265__aB{number}", "django__django-11265",
              **rewards(reward=reward))  # fmt: skip
    arms = [
        {"name": "no_skill", "trials": "*/baseline/*"},
        {"name": "placebo", "variant": "placebo", "trials": "*/placebo-cc-*/*"},
        {"name": "caveman", "variant": "caveman", "trials": "*/skill-caveman/*"},
    ]
    assert not adopted(tmp_path, arms).left_out
    assert records(tmp_path) == {
        "django_django-11265__no_skill__1": ("scored", 1.0),
        "django_django-11265__placebo__1": ("scored", 0.0),
        "django_django-11265__caveman__1": ("scored", 1.0),
    }
    ingest_trials(tmp_path / "study")
    assert {row["condition"]: row["strict_passes"] for row in asked(tmp_path, "outcomes")} == {
        "no_skill": 1, "placebo": 0, "caveman": 1,
    }  # fmt: skip
    found = asked(tmp_path, "SELECT count(*) AS n FROM trajectories WHERE steps > 0")
    assert found[0]["n"] == 3


def test_tasks_that_would_have_one_name_are_refused(tmp_path):
    for name in ("a__b", "a_b"):
        trial(tmp_path / "released" / "job" / f"{name}__1", name, **rewards(reward=1.0))
    with pytest.raises(StudyError, match="'a__b' and 'a_b' would both be 'a_b' in the study"):
        adopted(tmp_path, [{"name": "all", "trials": "*"}])


@pytest.mark.parametrize(
    ("reward", "found"), [("overall", ("scored", 0.9)), ("accuracy", ("scored", 1.0)),
                          ("reward", ("unscored", None)), ("speed", ("unscored", None))],
)  # fmt: skip
def test_skill_evaluator(tmp_path, reward, found):
    """NVIDIA SkillEvaluator: agent/arm/trials/trial with the log beside the result, and several rewards."""
    root = tmp_path / "released" / "20260709_141530_12345_a1b2c3d4e5f6" / "codex"
    for arm in ("with-skill", "without-skill"):
        place = trial(root / arm / "trials" / f"case-1__{arm[:4]}", "case-1",
                      **rewards(accuracy=1.0, security=1.0, overall=0.9))  # fmt: skip
        *_, log = sorted(place.glob("agent/sessions/**/rollout-*.jsonl"))
        log.rename(place / "codex.txt")
        shutil.rmtree(place / "agent")
        (place / "reward.json").write_text('{"overall": 0.9, "accuracy": 1.0}')
    arms = [
        {"name": "no_skill", "trials": "*/without-skill/*"},
        {"name": "skill", "variant": "origin", "trials": "*/with-skill/*"},
    ]
    adopted(tmp_path, arms, reward=reward)
    assert records(tmp_path) == dict.fromkeys(("case-1__no_skill__1", "case-1__skill__1"), found)
    ingest_trials(tmp_path / "study")
    counted = "SELECT min(steps) AS steps FROM trajectories"
    assert asked(tmp_path, counted)[0]["steps"] > 0


def rollout(place, task, **fields):
    """A rollout of BenchFlow."""
    (place / "trajectory").mkdir(parents=True)
    result = {
        "task_name": task, "rollout_name": place.name, "agent": "openhands", "agent_name": "openhands",
        "model": "gpt-5.4", "skill_mode": "with-skill", "error": None, "verifier_error": None,
        "agent_result": {"n_input_tokens": 1200, "n_output_tokens": 240, "n_cache_read_tokens": 900},
        "started_at": "2026-06-01 10:00:00.000001", "finished_at": "2026-06-01 10:07:00.5",
        "timing": {"agent_setup": 3.1, "agent_execution": 400.2, "verifier": 6.4, "total": 420.5},
    }  # fmt: skip
    (place / "result.json").write_text(json.dumps(result | fields))
    call = {
        "type": "tool_call",
        "tool_call_id": "c1",
        "kind": "execute",
        "title": "ls",
        "status": "completed",
    }
    (place / "trajectory" / "acp_trajectory.jsonl").write_text(json.dumps(call) + "\n")


def test_the_leaderboard_of_skillsbench(tmp_path):
    """BenchFlow's rollouts, as SkillsBench's leaderboard has them; what ended badly is a row."""
    root = tmp_path / "released" / "submissions" / "skillsbench" / "v1.1" / "openhands__gpt-5.4"
    rollout(root / "with-skills" / "jax__1", "jax", rewards={"reward": 1.0})
    rollout(
        root / "with-skills" / "jax__2",
        "jax",
        rewards=None,
        error="timed out",
        error_category="timed_out",
    )
    rollout(root / "without-skills" / "jax__3", "jax", rewards={"reward": 0.0})
    rollout(root / "without-skills" / "jax__4", "jax", rewards=None, verifier_error="no pytest")
    arms = [
        {"name": "no_skill", "trials": "*/without-skills/*"},
        {"name": "skills", "variant": "origin", "trials": "*/with-skills/*"},
    ]
    assert not adopted(tmp_path, arms).left_out
    assert sorted(records(tmp_path).values(), key=str) == [
        ("error", None), ("scored", 0.0), ("scored", 1.0), ("timeout", None),
    ]  # fmt: skip
    folder = StudyFolder(tmp_path / "study")
    one = read_record(TrialRecord, folder.trial_record("jax__skills__1"))
    assert (one.agent, one.model, one.agent_seconds, one.verifier_seconds) == (
        "openhands",
        "gpt-5.4",
        400.2,
        6.4,
    )
    ingest_trials(tmp_path / "study")
    told = asked(tmp_path, "SELECT DISTINCT status, reason FROM sources")
    assert told == [{"status": "error", "reason": "contains no run"}]  # BenchFlow's log is not read
