"""Which arm a finished trial belongs to, and why one belongs to none."""

import shutil

import pytest

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.study import AdoptionMap
from skilljuror.study.condition_matching import match_trials
from tests.support.harbor_jobs import harbor_job

ARMS = (
    {"name": "no_skill", "trials": "*/none-*"},
    {"name": "pd", "variant": "pd", "trials": "*/pd-*"},
)


def matched(jobs, **fields):
    given = {"name": "mine", "conditions": ARMS, **fields}
    return match_trials([jobs], AdoptionMap.model_validate(given))


@pytest.fixture
def jobs(tmp_path):
    harbor_job(tmp_path / "jobs", "none-1", kiln={}, glaze={})
    harbor_job(tmp_path / "jobs", "pd-1", kiln={})
    return tmp_path / "jobs"


def test_the_path_of_a_trial_says_its_arm(jobs):
    trials, left_out = matched(jobs)
    assert [(t.task, t.condition) for t in trials] == [
        ("glaze", "no_skill"), ("kiln", "no_skill"), ("kiln", "pd"),
    ]  # fmt: skip
    assert left_out == []


def test_the_job_itself_may_be_named(jobs):
    given = [{"name": "pd", "variant": "pd", "trials": "pd-1/*"}]
    trials, _ = match_trials(
        [jobs / "pd-1"], AdoptionMap.model_validate({"name": "mine", "conditions": given})
    )
    assert [t.condition for t in trials] == ["pd"]


LEFT_OUT = {
    "its task 'o/../glaze jar' is not a valid name": ("pd-4", {"task_name": "o/../glaze jar"}),
    "no condition's glob matches its path": ("other-1", {}),
    "lacks a start or end time": ("pd-3", {"started_at": None}),
}


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_what_fits_no_arm_is_told_with_its_reason(jobs, reason):
    job, changes = LEFT_OUT[reason]
    harbor_job(jobs, job, kiln=changes)
    trials, left_out = matched(jobs)
    assert len(trials) == 3
    assert [reason in one.reason for one in left_out] == [True]


def test_a_copy_of_a_trial_counts_once(jobs):
    shutil.copytree(jobs / "pd-1", jobs / "pd-copy")
    trials, left_out = matched(jobs)
    assert len(trials) == 3
    assert left_out[0].reason.startswith("a copy of jobs/pd-1/kiln__")


def test_a_trial_of_two_arms_is_refused(jobs):
    arms = [*ARMS, {"name": "all", "variant": "pd", "trials": "*"}]
    with pytest.raises(StudyError, match=r"matches the trials of 'no_skill' .* and of 'all'"):
        matched(jobs, conditions=arms)


def test_one_agent_is_compared(jobs):
    harbor_job(jobs, "pd-2", glaze={"agent_info": {"name": "gemini-cli"}})
    with pytest.raises(StudyError, match=r"several agents \(codex, gemini-cli\).*agent: codex"):
        matched(jobs)
    trials, left_out = matched(jobs, agent="codex")
    assert len(trials) == 3
    assert [one.reason for one in left_out] == ["its agent is gemini-cli"]


def test_a_job_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"jobs folder .*gone' not found"):
        matched(tmp_path / "gone")
