"""Runs that are stopped or killed while Harbor is at work, and gone on with."""

import contextlib
import json
import os
import random
import signal
import tempfile
import time
from datetime import datetime

import pytest

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import Budget, TrialRecord
from skilljuror.study.budget import Spending
from skilljuror.study.run import run_study
from tests.support.harbor_venv import HARBOR, needs_harbor
from tests.support.harness_tasks import alive, make_task
from tests.support.studies import edit_study, make_study, start, until

pytestmark = [needs_harbor, pytest.mark.slow]

TASKS = ("tea", "milk", "soup", "bread", "rice")


def study_of(base, trials, seconds):
    """A study of five tasks in two arms whose agent takes its time."""
    study = make_study(
        base, trials=trials, variants={"a": None, "b": "baseline"},
        script=f"echo said > $2/early; sleep {seconds}; echo done > out.txt; echo log > $2/log",
    )  # fmt: skip
    for task in TASKS[1:]:
        make_task(base / task)
    harness = {"name": "harbor", "options": {"program": str(HARBOR)}, "timeout_sec": 60}
    tasks = [{"path": task, "skills": "brew"} for task in TASKS]
    edit_study(study, tasks=tasks, harness=harness)
    return study


def stopped_attempts(out):
    """Folder and record of every attempt that a stop or a kill broke off."""
    folder = StudyFolder(out)
    found = [folder.attempt(*one) for one in folder.earlier_attempts()]
    records = [(path, read_record(TrialRecord, path / "trial.json")) for path in found]
    assert all(
        (record.status, record.reward, record.exception) == ("error", None, "RunStoppedError")
        for _, record in records
    )
    return records


def results(folder):
    """Id of every trial below a folder that Harbor ran to its end."""
    found = {}
    for path in folder.rglob("result.json"):
        try:
            result = json.loads(path.read_bytes())
        except (ValueError, FileNotFoundError):
            continue
        cancelled = "CancelledError" in json.dumps(result.get("exception_info"))
        spoke = result.get("exception_info") or result.get("verifier_result")
        if "trial_name" in result and result["finished_at"] and spoke and not cancelled:
            found[result["id"]] = path
    return found


def test_thirty_trials_killed_ten_times_are_thirty_trials(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    study, out, moments = (
        study_of(tmp_path, trials=3, seconds=2),
        tmp_path / "out",
        random.Random(7),
    )
    seen, plans, killed = set(), set(), 0
    for _ in range(10):
        process = start(study, out)
        time.sleep(moments.uniform(3.0, 7.0))
        killed += process.poll() is None
        with contextlib.suppress(ProcessLookupError):  # it may have run all of them
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        until(lambda: not alive(str(out / "jobs")))
        seen |= results(out).keys()
        plans |= {(out / "plan.json").read_bytes()} if (out / "plan.json").exists() else set()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    summary = run_study(study, out, jobs=4)
    assert killed >= 5
    assert (summary.finished, summary.statuses) == (30, {"scored": 30})
    folder = StudyFolder(out)
    kept = {name: json.loads((folder.trial_raw(name) / "result.json").read_bytes())["id"]
            for name in folder.finished_trials()}  # fmt: skip
    assert len(set(kept.values())) == 30
    assert seen <= set(kept.values()), "a trial that had ended was run again"
    assert {(out / "plan.json").read_bytes()} == plans
    found = [read_record(TrialRecord, folder.trial_record(name)) for name in kept]
    assert len({(record.task, record.substrate_digest) for record in found}) == len(TASKS)
    assert len({(record.condition, record.variant_digest) for record in found}) == 2
    assert not alive(str(scratch))


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_takes_harbor_and_its_trials_along(tmp_path, sign):
    study, out = study_of(tmp_path, trials=1, seconds=77.7), tmp_path / "out"
    process = start(study, out)
    until(lambda: alive("sleep\x0077.7"))
    process.send_signal(sign)
    process.communicate(timeout=60)
    until(lambda: not alive(str(out / "jobs")) and not alive("sleep 77.7"))
    assert not results(out)
    assert not list((out / "trials").iterdir())
    attempts = stopped_attempts(out)
    if sign == signal.SIGTERM:  # which ends this run at once, and the next one keeps what it left
        assert not attempts
        assert list((out / "jobs").glob("*/harbor/*/config.json"))
        return
    for path in (out / "jobs").glob("*/harbor/*/result.json"):
        assert json.loads(path.read_bytes())["agent_execution"] is None, "it is handed out"
    assert all(record.agent_seconds > 0 for _, record in attempts)
    assert "said\n" in [path.read_text() for path in (out / "attempts").glob("*/raw/agent/early")]
    assert Spending(StudyFolder(out), Budget(minutes=1)).minutes > 0


@pytest.mark.parametrize("both", [False, True], ids=["the run", "the run and Harbor"])
def test_what_a_kill_broke_off_counts_in_the_next_run(tmp_path, both):
    """Harbor ends by itself when its run is killed, and fetches the logs; killed as well, nobody knows."""
    study, out = study_of(tmp_path, trials=1, seconds=8.9), tmp_path / "out"
    arms = [{"name": "a", "variant": None}]
    edit_study(study, tasks=[{"path": "tea", "skills": "brew"}], conditions=arms)
    process = start(study, out)
    until(lambda: alive("sleep\x008.9"))
    harbor = alive(str(out / "jobs"))
    os.killpg(process.pid, signal.SIGKILL)
    for one in harbor if both else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    process.communicate()
    until(lambda: not alive(str(out / "jobs")) and not alive("sleep 8.9"))
    assert not stopped_attempts(out)
    edit_study(study, budget={"minutes": 0.0001})
    summary = run_study(study, out)
    ((path, record),) = stopped_attempts(out)
    assert record.trial == "tea__a__1"
    if both:
        assert (record.agent_seconds, summary.stopped) == (None, None)
        assert any(
            "the duration of 1 stopped attempts is unknown" in note for note in summary.notes
        )
    else:
        assert record.agent_seconds > 0
        assert (path / "raw/agent/early").exists()
        assert (summary.finished, summary.ran) == (0, 0)
        assert "budget.minutes" in str(summary.stopped)


def test_under_a_budget_block_goes_after_block(tmp_path):
    study, out = study_of(tmp_path, trials=2, seconds=0), tmp_path / "out"
    edit_study(study, budget={"minutes": 60})
    summary = run_study(study, out, jobs=4)
    assert summary.statuses == {"scored": 20}
    said = [json.loads(path.read_bytes()) for path in (out / "jobs").glob("*/trials.json")]
    blocks = [{name[-1] for name in one["trials"].values()} for one in said]
    assert sorted(blocks, key=min) == [{"1"}, {"2"}]


def test_a_slot_is_given_back_when_its_trial_ends(tmp_path):
    study, out = study_of(tmp_path, trials=1, seconds="$(( $4 % 4 * 2 ))"), tmp_path / "out"
    summary = run_study(study, out, jobs=2)
    assert summary.statuses == {"scored": 10}
    folder = StudyFolder(out)
    records = [
        read_record(TrialRecord, folder.trial_record(one)) for one in folder.finished_trials()
    ]
    starts = sorted(datetime.fromisoformat(record.started_at) for record in records)
    ends = sorted(datetime.fromisoformat(record.finished_at) for record in records)
    idle = [(start - end).total_seconds() for end, start in zip(ends, starts[2:], strict=False)]
    assert min(idle) >= 0, "three ran at once"
    assert max(idle) < 1.5, "a slot was free while trials waited"
    assert len(list((out / "jobs").glob("*/trials.json"))) == 1
