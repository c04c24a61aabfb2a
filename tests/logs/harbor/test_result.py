"""Harbor's own words about a trial."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.base import Source
from skilljuror.logs.harbor.result import is_trial, read_result, record_fields
from skilljuror.logs.read import read
from tests.support import places
from tests.support.harbor_trials import TRIAL, copied_trial
from tests.support.odd_json import spoil

NO_LOG = places.GOLDENS / "harbor-trial" / "no-log" / "raw"


def test_a_scored_trial():
    result = read_result(TRIAL)
    assert (result.trial_name, result.task_name) == ("tides__Abc1234", "sea/tides")
    assert result.rewards == {"format": 0.5, "reward": 1.0}
    assert (result.reward, result.exception) == (1.0, None)
    assert (result.input_tokens, result.cached_tokens, result.output_tokens) == (900, 400, 30)
    assert result.seconds == {
        "environment_setup": 2.0, "agent_setup": 6.0, "agent_execution": 32.0, "verifier": 2.0,
    }  # fmt: skip
    assert result.skills == ("/study/skills/tide-table",)
    assert (result.agent, result.agent_version, result.model) == ("codex", "0.169.0", "scripted-1")


def test_a_reward_beside_an_exception_and_no_log():
    result = read_result(NO_LOG)
    assert (result.reward, result.exception) == (1.0, "AgentTimeoutError")
    assert result.message == "Agent execution timed out after 6.0 seconds"
    assert result.agent_version is None
    assert result.skills_loaded == ("tide-table",)
    assert result.references_loaded == ()
    assert list(read(Source(NO_LOG), "harbor-trial")) == []


def test_three_zeros_say_nothing():
    result = read_result(NO_LOG)
    assert (result.input_tokens, result.cached_tokens, result.output_tokens) == (None, None, None)


def test_a_folder_without_a_result(tmp_path):
    assert not is_trial(tmp_path)
    with pytest.raises(TrajectoryError, match=r"result\.json.*cannot be read"):
        read_result(tmp_path)


def test_a_job_is_no_trial(tmp_path):
    (tmp_path / "result.json").write_text('{"id": "x", "stats": {}}')
    with pytest.raises(TrajectoryError, match="task_name and trial_name are missing"):
        read_result(tmp_path)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(chance=st.randoms(use_true_random=False))
def test_results_of_wrong_types(tmp_path, chance):
    given_result = json.loads((TRIAL / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(spoil(given_result, chance)))
    if is_trial(tmp_path):
        assert read_result(tmp_path).trial_name


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


@pytest.mark.parametrize(
    "text",
    [
        lambda shown: "\ufeff" + shown,
        lambda shown: shown.replace('"sea/tides"', '"sea/\\ud800"'),
        lambda shown: shown.replace('"format": 0.5', '"format": Infinity'),
    ],
    ids=["byte order mark", "half a character", "infinity"],
)
def test_a_result_that_strict_readers_refuse(tmp_path, text):
    folder = copied_trial(tmp_path, text=text)
    assert is_trial(folder)
    (run,) = read(Source(folder), "harbor-trial")
    assert run.outcome is not None
    assert run.outcome.reward == 1.0
    json.dumps(read_result(folder).task_name).encode()
