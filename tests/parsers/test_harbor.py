"""Harbor's own words about a trial."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.errors import TrajectoryError
from skilljuror.parsers.base import Source
from skilljuror.parsers.harbor.result import is_trial, read_result
from skilljuror.parsers.read import read
from tests.support import places
from tests.support.odd_json import spoil

TRIAL = places.GOLDENS / "harbor-trial" / "codex" / "raw"
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
    with pytest.raises(TrajectoryError, match="no task_name and trial_name"):
        read_result(tmp_path)


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


def test_only_broken_logs_are_an_error(tmp_path):
    trial = without(tmp_path, "agent/sessions", "agent/codex.txt")
    (trial / "agent" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.7"}')
    with pytest.raises(TrajectoryError, match="ATIF without a list of steps"):
        list(read(Source(trial), "harbor-trial"))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(chance=st.randoms(use_true_random=False))
def test_results_of_wrong_types(tmp_path, chance):
    given_result = json.loads((TRIAL / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(spoil(given_result, chance)))
    if is_trial(tmp_path):
        assert read_result(tmp_path).trial_name
