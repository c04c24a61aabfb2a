import json
import os

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.harness.harbor.collect import (
    TrialPlace,
    collect,
    collect_stopped,
    finished_trials,
    remove_kept,
    stopped_trials,
)
from skilljuror.harness.harbor.job import HarborJob
from skilljuror.harness.inside_harbor.skilljuror_bwrap import LEFT_OUT
from tests.support.harbor_jobs import lock_skill
from tests.support.harbor_trials import copied_trial
from tests.support.harness_tasks import make_job, make_task, make_variant
from tests.support.programs import talkative

TIMEOUT = {"exception_type": "AgentTimeoutError", "exception_message": "out of time\nat line 3"}


PLACE = TrialPlace("bwrap", "none")


@pytest.fixture
def job(tmp_path):
    return make_job(make_task(tmp_path / "tea"))


@pytest.fixture
def offering(tmp_path):
    return make_job(make_task(tmp_path / "tea"), variant=make_variant(tmp_path / "variant"))


def kept(job, trial, target):
    target.mkdir()
    return collect(job, trial, target, PLACE, "/harbor/skills")


def result(**changes):
    return lambda given: given.update(changes)


def rewards(**numbers):
    return result(verifier_result={"rewards": numbers}, exception_info=None)


def test_every_artifact_is_kept_byte_for_byte(job, tmp_path):
    trial = copied_trial(tmp_path)
    (trial / "verifier").mkdir(exist_ok=True)
    (trial / "verifier" / "odd.bin").write_bytes(os.urandom(5_000))
    (trial / "lock.json").unlink(missing_ok=True)
    kept(job, trial, tmp_path / "raw")
    files = sorted(path.relative_to(trial) for path in trial.rglob("*") if path.is_file())
    assert len(files) > 2
    assert all(
        (tmp_path / "raw" / name).read_bytes() == (trial / name).read_bytes() for name in files
    )


def test_out_of_time_with_a_reward_is_both(job, tmp_path):
    changes = result(exception_info=TIMEOUT, verifier_result={"rewards": {"reward": 1.0}})
    record = kept(job, copied_trial(tmp_path, changes), tmp_path / "raw")
    assert (record.status, record.reward, record.exception) == ("timeout", 1.0, "AgentTimeoutError")
    assert (record.strict_pass, record.message) == (True, "out of time")


@pytest.mark.parametrize(
    ("change", "status", "reward"),
    [
        (rewards(reward=0.5, style=3.0), "scored", 0.5),
        (rewards(tests=1.0), "scored", 1.0),
        (rewards(reward=1.5), "unscored", None),
        (rewards(a=1.0, b=0.0), "unscored", None),
        (result(verifier_result=None, exception_info=None), "unscored", None),
        (result(verifier_result=None, exception_info={"exception_type": "Oops"}), "error", None),
    ],
)
def test_reward_and_status(job, tmp_path, change, status, reward):
    record = kept(job, copied_trial(tmp_path, change), tmp_path / "raw")
    assert (record.status, record.reward) == (status, reward)


def test_the_skills_that_harbor_locked_are_those_of_the_variant(offering, tmp_path):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    lock_skill(trial, offering.variant_dir / "brew")
    record = kept(offering, trial, tmp_path / "raw")
    assert (record.variant_digest, record.skill_root) == (offering.variant_digest, "/harbor/skills")


@pytest.mark.parametrize("what", ["another text", "another skill", "none", "no lock"])
def test_other_skills_are_refused(offering, tmp_path, what):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    skill = offering.variant_dir / "brew"
    lock_skill(trial, skill)
    lock = json.loads((trial / "lock.json").read_text())
    if what == "another text":
        (skill / "SKILL.md").write_text("Steep for 5 minutes.\n", encoding="utf-8")
    elif what == "another skill":
        lock["skills"].append({"name": "imagegen", "digest": "sha256:" + "0" * 64})
    elif what == "none":
        lock["skills"] = []
    (trial / "lock.json").write_text(json.dumps(lock))
    if what == "no lock":
        (trial / "lock.json").unlink()
    with pytest.raises(HarnessError, match="did not get the Skills of its condition"):
        kept(offering, trial, tmp_path / "raw")


def test_a_skill_in_the_arm_without_one_is_refused(job, tmp_path):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    lock_skill(trial, make_variant(tmp_path / "variant") / "brew")
    with pytest.raises(HarnessError, match="the arm has none"):
        kept(job, trial, tmp_path / "raw")


def in_a_job(job, tmp_path, *changes, name="tea__1"):
    """A copied trial in a job, with its start file: (trial, job)."""
    place = tmp_path / "job" / "harbor"
    place.mkdir(parents=True)
    trial = copied_trial(place, *changes).rename(place / name)
    (trial / "config.json").write_text("{}")
    return trial, HarborJob(tmp_path / "job", {"tea__1": job})


def broken_off(job, tmp_path, end, name="tea__1", **more):
    """A trial without an end of its own, and its job."""
    cancelled = {"exception_type": "CancelledError", "exception_message": ""}
    more |= {"verifier_result": None} if end == "by a signal" else {}
    exception = cancelled if end == "cancelled" else None
    change = result(exception_info=exception, **more)
    half = (lambda text: text[:99]) if end == "half a result" else (lambda text: text)
    trial, left = in_a_job(job, tmp_path, change, half, name=name)
    if end == "no result":
        (trial / "result.json").unlink()
    return trial, left


@pytest.mark.parametrize(
    "end", ["cancelled", "by a signal", "no result", "half a result", "of another run"]
)
def test_a_trial_that_never_ended_is_none(job, tmp_path, end):
    _, left = broken_off(job, tmp_path, end, "tea__2" if end == "of another run" else "tea__1")
    assert finished_trials(left) == {}


@pytest.mark.parametrize("end", ["cancelled", "by a signal", "no result", "half a result"])
def test_what_was_broken_off_is_handed_out_once_with_what_is_known(job, tmp_path, end):
    trial, left = broken_off(job, tmp_path, end)
    assert stopped_trials(left) == {"tea__1": trial}
    (tmp_path / "raw").mkdir()
    record = collect_stopped(job, trial, tmp_path / "raw", PLACE)
    assert (record.agent_seconds is None) is ("result" in end)
    assert (tmp_path / "raw" / "config.json").exists()
    remove_kept(left, {(job.trial.trial, record.started_at)})
    assert stopped_trials(left) == {}


def test_a_trial_whose_agent_never_started_spent_nothing(job, tmp_path):
    _, left = broken_off(job, tmp_path, "cancelled", agent_execution=None)
    assert stopped_trials(left) == {}


def test_what_was_not_copied_out_of_the_sandbox_is_on_the_record(job, tmp_path):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    (trial / LEFT_OUT).write_text('["/logs/agent/x: 4 bytes are more than the 3 left"]')
    record = kept(job, trial, tmp_path / "raw")
    assert record.left_out == ("/logs/agent/x: 4 bytes are more than the 3 left",)


def test_a_trial_that_ended_is_found_by_its_name(job, tmp_path):
    trial, left = in_a_job(job, tmp_path, result(exception_info=TIMEOUT))
    assert finished_trials(left) == {"tea__1": trial}


@pytest.mark.parametrize(
    ("said", "ended"), [(None, []), ("", []), ("b\na\n", ["b", "a"]), ("b\nhal", ["b"])]
)
def test_a_trial_has_ended_when_its_line_is_whole(job, tmp_path, said, ended):
    if said is not None:
        (tmp_path / "ended.txt").write_text(said)
    assert HarborJob(tmp_path, {}).ended() == ended


def test_a_key_is_in_nothing_that_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", "sk-planted-key-0123456789")
    agent = talkative({"script": "true"}, None)
    job = make_job(make_task(tmp_path / "tea"), agent=agent)
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    (trial / "agent" / "said.txt").write_text("my key is sk-planted-key-0123456789\n")
    record = kept(job, trial, tmp_path / "raw")
    assert "[redacted]" in (tmp_path / "raw" / "agent" / "said.txt").read_text()
    assert "planted" not in record.model_dump_json()


def test_a_key_is_in_nothing_that_a_job_leaves(tmp_path, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", "sk-planted-key-0123456789")
    job = make_job(make_task(tmp_path / "tea"), agent=talkative({"script": "true"}, None))
    trial, left = in_a_job(job, tmp_path)
    (trial / "result.json").unlink()
    for said in (tmp_path / "job" / "harbor.txt", trial / "agent" / "said.txt"):
        said.write_text("my key is sk-planted-key-0123456789\n")
    left.without_keys()
    for said in (tmp_path / "job" / "harbor.txt", trial / "agent" / "said.txt"):
        assert said.read_text().startswith("my key is [redacted")


def test_what_is_left_of_a_kept_attempt_is_handed_out_no_second_time(job, tmp_path):
    trial, left = in_a_job(job, tmp_path, result(exception_info=None))
    record = kept(job, trial, tmp_path / "raw")
    remove_kept(left, {(job.trial.trial, "2001-01-01T00:00:00.000+00:00")})
    assert finished_trials(left)
    remove_kept(left, {(job.trial.trial, record.started_at)})
    assert finished_trials(left) == {}
