"""Trials that no model answered are no failures of an agent: real HTTP, a server that fails as told."""

from contextlib import contextmanager

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run as ask
from skilljuror.study.run import run_study
from tests.support.harbor_venv import HARBOR, needs_harbor
from tests.support.model_server import Fault, Step, model_server, shell
from tests.support.places import ROOT
from tests.support.studies import edit_study, make_study

SCRIPT = ROOT / "tests" / "support" / "retrying_agent.py"
NO_ANSWER = ("unscored", None, "no_answer")
IN_HARBOR = {"name": "harbor", "options": {"program": str(HARBOR)}, "timeout_sec": 30}


def agent(address, *, retries=0):
    argv = [str(SCRIPT), "{prompt}", "{logs}", str(retries)]
    return {"name": "command", "options": {"argv": argv, "env": {"BASE_URL": address}}}


@contextmanager
def studies(base, fault=None, *, command="echo done > out.txt", retries=0, **more):
    """(a study of one arm whose agent asks a server with a fault, where it runs to)."""
    steps = {"": [shell("mini-swe-agent", command), Step("It is done.")]}
    with model_server(steps, fault) as (address, _):
        study = make_study(
            base, **{"trials": 1, "variants": {"a": None}, "agent": agent(address, retries=retries)} | more
        )  # fmt: skip
        yield study, base / "out"


def records(out):
    folder = StudyFolder(out)
    return [
        read_record(TrialRecord, folder.trial_record(name)) for name in folder.finished_trials()
    ]


def end(out):
    (record,) = records(out)
    return record.status, record.reward, record.reason


@pytest.mark.parametrize(
    ("fault", "reward"),
    [(Fault(429), 0.0), (Fault(500, after=1), 1.0), (Fault(None, after=1), 1.0)],
    ids=["429 at once", "500 after an answer", "a hang after an answer"],
)
def test_a_trial_whose_provider_failed_is_unscored_whatever_its_reward(tmp_path, fault, reward):
    limit = {"options": {"isolation": "none"}, "timeout_sec": 4 if fault.status is None else 30}
    with studies(tmp_path, fault, harness=limit) as (study, out):
        assert run_study(study, out).statuses == {"no_answer": 1}
    assert end(out) == NO_ANSWER
    assert records(out)[0].rewards == {"reward": reward}
    assert "no answer of the model" in records(out)[0].message


@pytest.mark.parametrize(
    ("fault", "more", "ended"),
    [
        (Fault(429, after=1, times=1), {"retries": 1}, ("scored", 1.0, None)),
        (Fault(400, after=1), {}, ("scored", 1.0, None)),
        (None, {"command": "echo done > out.txt; sleep 60",
                "harness": {"options": {"isolation": "none"}, "timeout_sec": 2}}, ("timeout", 1.0, None)),
    ],
    ids=["recovered", "a request that is refused", "a long tool call"],
)  # fmt: skip
def test_what_an_agent_did_itself_is_scored(tmp_path, fault, more, ended):
    with studies(tmp_path, fault, **more) as (study, out):
        run_study(study, out)
    assert end(out) == ended


def test_an_unanswered_trial_is_tried_again_after_a_pause(tmp_path):
    study_fields = {"stop_after_unanswered": 1}
    with studies(tmp_path, Fault(429, times=1), **study_fields) as (study, out):
        edit_study(study, retries=1)
        assert run_study(study, out).statuses == {"scored": 1}
    folder = StudyFolder(out)
    ((trial, number),) = folder.earlier_attempts()
    first = read_record(TrialRecord, folder.attempt(trial, number) / "trial.json")
    assert (first.status, first.reward, first.reason) == NO_ANSWER
    (last,) = records(out)
    assert last.started_at > first.finished_at


def test_a_run_stops_after_so_many_in_a_row_and_goes_on(tmp_path):
    arms = {"a": None, "b": None}
    fields = {"trials": 2, "variants": arms, "stop_after_unanswered": 2}
    with studies(tmp_path, Fault(429, times=2), **fields) as (study, out):
        with pytest.raises(HarnessError, match=r"2 trials in a row .* --rerun no_answer"):
            run_study(study, out)
        assert [(one.status, one.reward, one.reason) for one in records(out)] == [NO_ANSWER] * 2
        ingest_trials(out)
        rows = ask(out / "study.duckdb", "coverage").records()
        assert sum(row["no_answer"] for row in rows) == 2
        assert [(row["unscored"], row["scored"]) for row in rows] == [(0, 0)] * 2
        assert run_study(study, out, rerun={"no_answer"}).statuses == {"scored": 4}


@pytest.mark.parametrize("harness", ["local", pytest.param("harbor", marks=needs_harbor)])
@pytest.mark.parametrize(("logs", "ended"), [
    ("{logs}", ("error", None, "no_log")), ("none", ("scored", 0.0, None)),
])  # fmt: skip
def test_an_agent_that_leaves_no_log_though_it_writes_one_is_an_error(
    tmp_path, harness, logs, ended
):
    cannot_start = {"name": "command", "options": {"argv": ["bash", "-c", "exit 1", logs]}}
    more = {"harness": IN_HARBOR} if harness == "harbor" else {}
    study = make_study(
        tmp_path, trials=1, variants={"a": None}, agent=cannot_start, retries=3, **more
    )
    run_study(study, tmp_path / "out")
    assert end(tmp_path / "out") == ended
    assert records(tmp_path / "out")[0].left_out == ()
    assert StudyFolder(tmp_path / "out").earlier_attempts() == []


@needs_harbor
def test_so_it_is_in_harbor(tmp_path):
    with studies(tmp_path, Fault(429, after=1), harness=IN_HARBOR) as (study, out):
        edit_study(study, stop_after_unanswered=1)
        with pytest.raises(HarnessError, match="no model answer"):
            run_study(study, out)
    assert end(out) == NO_ANSWER
    assert records(out)[0].rewards == {"reward": 1.0}
