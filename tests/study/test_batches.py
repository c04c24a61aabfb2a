"""Trials that a harness runs several at a time: every attempt is kept once, and the machine's faults run again."""

import pytest
from msgspec.structs import replace

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import Budget, TrialRecord
from skilljuror.harness.base import trial_record
from skilljuror.harness.local import LocalHarness
from skilljuror.study.batches import run_in_batch, save_stopped
from skilljuror.study.budget import Spending
from skilljuror.study.lock import workers_lock
from skilljuror.study.trial import RunSetup
from tests.support.harness_tasks import make_job, make_task

TRIALS = ("tea__a__1", "tea__b__1")


class Stumbling(LocalHarness):
    """Hands out what is in its list of ends for a trial, one after the other."""

    def __init__(self, ends):
        super().__init__()
        self.ends = {name: list(given) for name, given in ends.items()}
        self.batches = []
        self.kept = []
        self.broken_off = []

    def own_agent(self, choice):
        return None

    def stopped(self, batch):
        for name in self.broken_off:
            job = next(job for job in batch.jobs if job.trial.trial == name)
            yield job, lambda raw, job=job: self.collect(job, raw)
        self.broken_off = []

    def run_batch(self, batch):
        self.batches.append([job.trial.trial for job in batch.jobs])
        self.kept.append(batch.kept)
        for job in batch.jobs:
            yield job, lambda raw, job=job: self.collect(job, raw)

    def collect(self, job, raw):
        end = self.ends[job.trial.trial].pop(0)
        status, reward = ("scored", 1.0) if end is None else ("error", None)
        return trial_record(
            job, status=status, reward=reward, exception=end, harness="stumbling", isolation="none",
            variant_digest=None, skill_root=None, started_at=f"{len(self.batches)}", finished_at="9",
            agent_seconds=1.0, verifier_seconds=None,
        )  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """Runs two trials with ends of their own: (records that were told, the harness, its study)."""
    job, folder = make_job(make_task(tmp_path / "tea")), StudyFolder(tmp_path / "out")
    folder.trials.mkdir(parents=True)
    jobs = [
        replace(job, trial=job.trial.model_copy(update={"trial": name, "condition": name[5]}))
        for name in TRIALS
    ]

    def go(retries, *ends):
        harness = Stumbling(dict(zip(TRIALS, ends, strict=True)))
        setup = RunSetup(folder.root, tmp_path, workers_lock(folder), job.choice, retries)
        told = run_in_batch(harness, setup, jobs, jobs=1)
        return list(told), harness, folder

    return go


def test_what_the_machine_broke_runs_again_with_every_attempt_kept(run):
    told, harness, folder = run(2, ["OSError", None], [None])
    assert harness.batches == [list(TRIALS), [TRIALS[0]]]
    assert [(record.trial, record.reward) for record in told] == [
        (TRIALS[1], 1.0), (TRIALS[0], 1.0),
    ]  # fmt: skip
    assert harness.kept == [frozenset(), {(TRIALS[0], "1")}]
    assert folder.earlier_attempts() == [(TRIALS[0], 1)]
    first = read_record(TrialRecord, folder.attempt(TRIALS[0], 1) / "trial.json")
    assert first.exception == "OSError"


def test_the_last_attempt_stands_and_a_failing_agent_has_no_other(run):
    told, harness, folder = run(1, ["OSError", "OSError"], ["NonZeroAgentExitCodeError"])
    assert harness.batches == [list(TRIALS), [TRIALS[0]]]
    assert [record.exception for record in told] == ["NonZeroAgentExitCodeError", "OSError"]
    assert folder.finished_trials() == list(TRIALS)
    _, harness, _ = run(0, [None], [None])
    assert harness.kept == [{(TRIALS[0], "1"), (TRIALS[0], "2"), (TRIALS[1], "1")}]


def test_what_a_stop_broke_off_is_an_earlier_attempt_and_the_trial_still_to_be_run(tmp_path):
    job, folder = make_job(make_task(tmp_path / "tea")), StudyFolder(tmp_path / "out")
    folder.trials.mkdir(parents=True)
    name = job.trial.trial
    harness = Stumbling({name: [None, None]})
    setup = RunSetup(folder.root, tmp_path, workers_lock(folder), job.choice)
    harness.broken_off = [name]
    save_stopped(harness, setup, [job])
    ended: list[TrialRecord] = []
    told = run_in_batch(harness, setup, [job], jobs=1, ended=ended.append)
    assert [record.reward for record in told] == [1.0]
    assert (len(ended), folder.earlier_attempts()) == (1, [(name, 1)])
    record = read_record(TrialRecord, folder.attempt(name, 1) / "trial.json")
    assert (record.status, record.reward, record.exception) == ("error", None, "RunStoppedError")
    assert Spending(folder, Budget(minutes=1)).minutes == pytest.approx(2 / 60)
