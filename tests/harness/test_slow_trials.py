"""Trials whose agents leave what takes long to read, judged by root and by an ordinary user."""

from pathlib import Path

import pytest

from skilljuror.harness.artifacts import GONE
from tests.support.as_user import WHO, told_by
from tests.support.harness_tasks import needs_bwrap

pytestmark = [needs_bwrap, pytest.mark.slow]


@pytest.fixture(scope="module", params=WHO)
def told(request):
    """Attack -> how its trial ended."""
    return told_by("slow_trials.py", request.param, 400)


def test_sparse_files_cost_no_time_and_are_judged(told):
    """Wherever they are: as a result, as a log, in the Skill."""
    trial = told["sparse files"]
    assert trial["seconds"] < 60
    assert (trial["reward"], trial["judged"]) == (1.0, ["1", "2", "input.txt", "out.txt"])
    assert (trial["skill"], trial["logs"]) == (GONE, ["a"])
    left_out = [Path(line.partition(":")[0]).name for line in trial["left out"]]
    assert left_out == ["5", "3", "4", "1", "2"]


def test_folders_of_any_depth_are_judged_in_time(told):
    trial = told["deep folders"]
    assert trial["seconds"] < 300
    assert (trial["status"], trial["reward"], trial["logs"]) == ("scored", 1.0, ["a"])


@pytest.mark.parametrize("limit", ["many files", "no time"])
def test_what_is_read_after_the_agent_has_one_budget(told, limit):
    trial = told[limit]
    assert trial["reward"] == 1.0
    assert trial["judged"][-3:] == (["6"] if limit == "many files" else ["4"]) + [
        "input.txt",
        "out.txt",
    ]
    assert trial["left out"][0].endswith(
        "more than 5 files and folders" if limit == "many files" else "reading took -1 s"
    )


@pytest.mark.parametrize("attack", ["locked folders", "brackets"])
def test_no_output_of_an_agent_voids_its_trial(told, attack):
    trial = told[attack]
    assert (trial["status"], trial["reward"], trial["left out"]) == ("scored", 1.0, [])


@pytest.mark.parametrize("attack", ["slow copy", "deep folders, slow copy"])
def test_a_trial_whose_files_take_too_long_to_copy_is_unscored(told, attack):
    """As a folder is that is nested some thousands deep; its files are removed all the same."""
    trial = told[attack]
    assert (trial["status"], trial["reward"], trial["judged"]) == ("unscored", None, [])
    assert "copying the trial's files took more than 0.5 s" in trial["message"]
    assert trial["listed"]


def test_nothing_of_a_trial_stays(told):
    assert told["left behind"] == []
