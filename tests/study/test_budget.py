"""A budget stops a run between trials; raised, the run goes on under the same plan."""

import os
import shutil
import signal
from datetime import date
from uuid import uuid4

import pytest

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import Budget, StudyConfig, TrialRecord
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run as ask
from skilljuror.study.attempts import set_aside
from skilljuror.study.budget import Spending
from skilljuror.study.plan import freeze
from skilljuror.study.run import run_study
from skilljuror.study.study_file import load_study
from tests.support.harness_tasks import alive, write_tree
from tests.support.places import GOLDENS
from tests.support.programs import KEY
from tests.support.studies import PROGRAMS, edit_study, make_study, start, until

PRICED = GOLDENS / "claude-stream"
"""A log that says what its run cost."""
UNPRICED = GOLDENS / "codex-rollout"
"""One that does not."""


def test_a_reached_budget_stops_and_a_raised_one_goes_on(tmp_path):
    study = make_study(
        tmp_path, trials=2, script="sleep 0.2; echo done > out.txt", budget={"minutes": 0.003}
    )
    out = tmp_path / "out"
    first = run_study(study, out)
    assert first.finished == 1
    assert first.stopped == "budget.minutes: 0.0 of 0.003 are used"
    assert run_study(study, out).ran == 0
    edit_study(study, budget={"minutes": 10})
    last = run_study(study, out)
    assert (last.finished, last.ran, last.stopped) == (4, 3, None)


def test_an_attempt_that_was_run_again_counts_once(tmp_path):
    study, folder = make_study(tmp_path, trials=1), StudyFolder(tmp_path / "out")
    run_study(study, folder.root)
    spent = Spending(folder, Budget(minutes=1))
    trial = folder.finished_trials()[0]
    set_aside(folder, trial)
    assert run_study(study, folder.root).ran == 1
    spent.count(trial)
    again = Spending(folder, Budget(minutes=1))
    assert spent.minutes == pytest.approx(again.minutes)


def test_a_budget_that_keeps_trials_from_running_again_is_said(tmp_path):
    study, out = make_study(tmp_path, trials=1), tmp_path / "out"
    write_tree(tmp_path / "tea", {"tests/test.sh": "#!/bin/bash\n"})
    assert run_study(study, out).statuses == {"unscored": 2}
    edit_study(study, budget={"minutes": 0.00001})
    last = run_study(study, out, rerun={"unscored"})
    assert (last.ran, last.finished) == (0, 2)
    assert "budget.minutes" in str(last.stopped)


def test_neither_budget_nor_retries_change_the_plan(tmp_path):
    study = make_study(tmp_path)
    plain = freeze(load_study(study), tmp_path)
    edit_study(study, budget={"dollars": 3}, retries=4)
    config = load_study(study)
    assert (config.budget, config.retries) == (Budget(dollars=3), 4)
    assert freeze(config, tmp_path).config_digest == plain.config_digest
    assert "budget" not in config.planned
    assert StudyConfig.model_validate_json(config.model_dump_json()) == config


@pytest.fixture
def talking(tmp_path, monkeypatch):
    """Makes the study of an agent with a model, which leaves a copy of a log."""
    monkeypatch.setenv(KEY, "of no worth")

    def make(log, dollars):
        script = f"cp -r {log} $2/; echo done > out.txt"
        agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
        budget = {"dollars": dollars}
        return make_study(tmp_path, trials=1, agent=agent, budget=budget), tmp_path / "out"

    return make


def test_dollars_are_read_from_the_logs_of_finished_trials(talking):
    study, out = talking(PRICED, 0.0001)
    first = run_study(study, out)
    assert first.finished == 1
    assert "budget.dollars: " in str(first.stopped)
    edit_study(study, budget={"dollars": 100})
    assert run_study(study, out).finished == 2


def test_what_an_agent_used_counts_also_where_its_trial_broke_off(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "of no worth")
    script = f"mv {tmp_path}/tea/tests/test.sh {tmp_path}; cp -r {PRICED} $2/"
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
    study, out = make_study(tmp_path, trials=1, variants={"a": None}, agent=agent), tmp_path / "out"
    assert run_study(study, out).statuses == {"error": 1}
    spent = Spending(StudyFolder(out), Budget(minutes=1, dollars=1))
    assert (spent.minutes > 0, spent.dollars > 0, spent.unpriced) == (True, True, {})
    shutil.rmtree(out / "trials/tea__a__1/raw/agent")
    spent = Spending(StudyFolder(out), Budget(dollars=1))
    assert (spent.dollars, spent.unpriced) == (0.0, {"no_trajectory": 1})


def test_an_unknown_cost_is_said_and_is_no_zero(talking):
    summary = run_study(*talking(UNPRICED, 0.0001))
    assert (summary.finished, summary.stopped) == (2, None)
    (note,) = [note for note in summary.notes if note.startswith("budget.dollars")]
    assert "the cost of 2 attempts is unknown (no_usage 2)" in note
    assert "as 0, because no other is known" in note


def test_a_scripted_policy_costs_nothing(tmp_path):
    summary = run_study(make_study(tmp_path, trials=1, budget={"dollars": 1}), tmp_path / "out")
    assert not [note for note in summary.notes if "budget" in note]


def cost_of(out):
    ingest_trials(out)
    rows = ask(
        StudyFolder(out).database, "SELECT DISTINCT value FROM measures WHERE metric = 'cost_usd'"
    )
    return [value for (value,) in rows.rows]


def test_prices_of_the_study_go_before_the_packaged_ones(talking):
    """They are no part of the plan: what is changed counts for the next ingest."""
    study, out = talking(PRICED, 100)
    run_study(study, out)
    assert cost_of(out) == [None]
    price = {"model": "tea-1", "input": 1, "cache_write": 0, "cache_read": 0, "output": 0}
    price |= {"as_of": date(2026, 11, 1)}
    edit_study(study, prices=[price])
    assert run_study(study, out).ran == 0
    (first,) = cost_of(out)
    assert first > 0
    edit_study(study, prices=[price | {"input": 3}])
    run_study(study, out)
    assert cost_of(out) == [pytest.approx(3 * first)]


def test_what_an_attempt_spent_that_was_stopped_counts(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "of no worth")
    mark, folder = f"mark-{uuid4().hex}", StudyFolder(tmp_path / "out")
    name = f"{mark[:4]}''{mark[4:]}"  # the mark itself shows once the log is copied
    script = f"cp -r {PRICED} $2/; exec -a {name} sleep 60"
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
    run = start(make_study(tmp_path, trials=1, variants={"a": None}, agent=agent), folder.root)
    until(lambda: alive(mark))
    os.killpg(run.pid, signal.SIGINT)
    assert run.communicate(timeout=60)[0].split() == ["0", "True"]
    assert not alive(mark)
    ((trial, number),) = folder.earlier_attempts()
    record = read_record(TrialRecord, folder.attempt(trial, number) / "trial.json")
    assert (record.status, record.exception) == ("error", "RunStoppedError")
    spent = Spending(folder, Budget(minutes=1, dollars=1))
    assert (spent.minutes > 0, spent.dollars > 0, spent.unpriced) == (True, True, {})


def test_an_attempt_that_was_killed_is_of_unknown_length_and_cost(talking):
    study, out = talking(PRICED, 100)
    run_study(study, out)
    folder = StudyFolder(out)
    known = Spending(folder, Budget(minutes=1, dollars=1))
    trial = folder.finished_trials()[0]
    path = set_aside(folder, trial) / "trial.json"
    killed = {"status": "error", "reward": None, "exception": "RunStoppedError"}
    record = read_record(TrialRecord, path)
    path.write_text(record.model_copy(update=killed | {"agent_seconds": None}).model_dump_json())
    shutil.rmtree(path.parent / "raw")
    spent = Spending(folder, Budget(minutes=1, dollars=1))
    (other,) = folder.finished_trials()
    longest = read_record(TrialRecord, folder.trial_record(other)).agent_seconds or 0.0
    assert spent.minutes == pytest.approx(2 * longest / 60)
    assert spent.dollars == pytest.approx(known.dollars)
    minutes, dollars = spent.notes()
    assert "duration of 1 stopped attempts is unknown; each is counted as the longest" in minutes
    assert "(no_trajectory 1); each is counted as the most expensive" in dollars
