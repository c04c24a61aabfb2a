"""Harbor trials: results in odd shape, which log is read, and what the trial adds to it."""

import shutil

import pytest

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.base import Source
from skilljuror.logs.harbor import read_result, record_fields
from skilljuror.logs.read import read
from tests.support import places
from tests.support.harbor_trials import TRIAL, copied_trial

NO_LOG = places.GOLDENS / "harbor-trial" / "no-log" / "raw"


def test_a_reward_beside_an_exception_and_no_log():
    result = read_result(NO_LOG)
    assert (result.reward, result.exception) == (1.0, "AgentTimeoutError")
    assert result.message == "Agent execution timed out after 6.0 seconds"
    assert result.agent_version is None
    assert list(read(Source(NO_LOG), "harbor-trial")) == []


def test_a_job_is_no_trial(tmp_path):
    (tmp_path / "result.json").write_text('{"id": "x", "stats": {}}')
    with pytest.raises(TrajectoryError, match="task_name and trial_name are missing"):
        read_result(tmp_path)


def test_a_result_with_a_reward_that_is_no_number(tmp_path):
    folder = copied_trial(tmp_path, lambda given: given["verifier_result"].update(rewards={"reward": float("nan"), "x": 1}))  # fmt: skip
    result = read_result(folder)
    assert (result.reward, result.rewards) == (None, {"x": 1.0})


@pytest.mark.parametrize(
    ("rewards", "reward", "why"),
    [({"score": 0.5}, 0.5, None), ({"a": 1.0, "b": 1.0}, None, "no key 'reward' among: a, b"),
     ({"reward": 2}, None, "outside"), ({"reward": None, "x": 1}, None, "outside"), ({}, None, None)],
)  # fmt: skip
def test_the_reward_that_counts_is_that_of_a_run(tmp_path, rewards, reward, why):
    change = {"verifier_result": {"rewards": rewards}, "exception_info": None}
    result = read_result(copied_trial(tmp_path, lambda given: given.update(change)))
    fields = record_fields(result)
    assert fields["reward"] == reward
    assert fields["status"] == ("unscored" if reward is None else "scored")
    assert why in fields["message"] if why else fields["message"] is None


def without(tmp_path, *names):
    trial = tmp_path / "trial"
    shutil.copytree(TRIAL, trial)
    for name in names:
        path = trial / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return trial


@pytest.mark.parametrize(
    ("gone", "format"),
    [
        ((), "codex-rollout"),
        (("agent/sessions",), "codex-exec"),
        (("agent/sessions", "agent/codex.txt"), "atif"),
    ],
    ids=["all there", "no session", "conversion alone"],
)
def test_the_most_native_log_is_read(tmp_path, gone, format):
    runs = list(read(Source(without(tmp_path, *gone)), "harbor-trial"))
    assert [run.format for run in runs] == [format]
    assert runs[0].trajectory == read_result(TRIAL).id
    assert runs[0].session == "01b00000-0000-7000-8000-0000000000d1"
    assert (runs[0].agent, runs[0].model) == ("codex", "scripted-1")


def test_tokens_of_the_trial_fill_in(tmp_path):
    trial = without(tmp_path, "agent/sessions", "agent/codex.txt")
    usage = next(read(Source(trial), "harbor-trial")).usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.output, usage.cost_usd) == (500, 400, 30, 0.01)


def test_a_broken_native_log_falls_back(tmp_path):
    trial = without(tmp_path, "agent/sessions", "agent/codex.txt")
    broken = trial / "agent" / "old.json"
    broken.write_text('{"info": {"mini_version": "2"}, "messages": 7}')
    run = next(read(Source(trial), "harbor-trial"))
    assert run.format == "atif"
    assert "has no list of messages" in run.warnings[0]


def shifted(given):
    """Eight hours later and without a zone: local times, as older versions wrote them."""
    window = {
        name: value.replace("T0", "T1").rstrip("Z")
        for name, value in given["agent_execution"].items()
    }
    given["agent_execution"] = window


def test_local_times_leave_no_run_out(tmp_path):
    (run,) = read(Source(copied_trial(tmp_path)), "harbor-trial")
    runs = list(read(Source(copied_trial(tmp_path / "local", shifted)), "harbor-trial"))
    assert run.session in {one.session for one in runs}
    assert any("no time zone" in warning for one in runs for warning in one.warnings)
