"""Harbor trials: which of their logs is read, and what the trial adds to it."""

import shutil

import pytest

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.base import Source
from skilljuror.logs.discovery.find_logs import discover
from skilljuror.logs.harbor.result import read_result
from skilljuror.logs.read import read
from tests.support.harbor_trials import TRIAL, copied_trial


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


def test_only_broken_logs_are_an_error(tmp_path):
    trial = without(tmp_path, "agent/sessions", "agent/codex.txt")
    (trial / "agent" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.7"}')
    with pytest.raises(TrajectoryError, match="has no list of steps"):
        list(read(Source(trial), "harbor-trial"))


def test_a_result_that_is_cut_off_leaves_the_logs(tmp_path):
    folder = copied_trial(tmp_path, text=lambda shown: shown[:-40])
    found = [one for one in discover([folder]) if one.format]
    assert {one.format for one in found} >= {"codex-rollout", "atif"}
    assert "harbor-trial" not in {one.format for one in found}


def test_an_empty_agent_folder_is_a_trial_without_a_run(tmp_path):
    folder = copied_trial(tmp_path)
    shutil.rmtree(folder / "agent")
    (folder / "agent").mkdir()
    assert list(read(Source(folder), "harbor-trial")) == []


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
