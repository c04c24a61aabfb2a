"""`judge`: what it prints, what it costs, and with which status it ends."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from skilljuror.judge.tracing import TracingJudge
from skilljuror.store.logs import ingest_logs
from tests.support.cli_process import call, complaint, error
from tests.support.loopback import model_server
from tests.support.model_judging import MODEL, environment, reader, write_logs
from tests.support.places import EXAMPLES

OTHER = "openai/gpt-5.2"
PLANNED = f"""
name: small
trials_per_cell: 1
tasks:
  - path: {EXAMPLES}/tasks/redact-lines
    skills: {EXAMPLES}/skills/log-triage
conditions: [{{name: pd, variant: pd}}]
harness: {{options: {{isolation: none}}}}
prices:
  - {{model: nobodys-own, input: 1, cache_write: 1, cache_read: 1, output: 10, as_of: 2026-01-31}}
"""


@pytest.fixture
def study(tmp_path):
    ingest_logs(tmp_path / "s", [write_logs(tmp_path / "logs", 3)])
    return tmp_path / "s"


def judge(study, address, *more, model=MODEL):
    words = ["judge", study, "--model", model, "--api-base", address, *more]
    return call(*words, env=environment())


def test_a_budget_without_a_model_is_refused(study):
    assert "require --model" in complaint(call("judge", study, "--budget-usd", 1))


@pytest.mark.slow
def test_it_says_who_settled_what_and_what_it_cost_and_pays_once(study):
    with model_server(reader) as (address, requests):
        first = judge(study, address)
        second = judge(study, address)
    assert first.returncode == 0, first.stderr
    assert len(requests) == 3
    assert f"3 events of 3 trajectories by cascade/2 ({TracingJudge.name}, {MODEL})" in first.stdout
    assert "yes 3, no 0, unknown 0 (0 of them open); ERU rate 100.0 %" in first.stdout
    assert "by the model: 3 (100.0 %)" in first.stdout
    assert "3 events asked in 3 calls: 0 undecided by the model" in first.stdout
    assert "($0.0000 of it now); estimated saving by" in second.stdout
    report = call("report", study)
    assert report.returncode == 0, report.stderr
    page = (study / "report" / "report.html").read_text()
    assert "decided_by_model" in page
    assert f"cascade/2 ({TracingJudge.name}, {MODEL})" in page


@pytest.mark.slow
def test_too_many_answers_without_use_are_said_and_end_with_1(study):
    with model_server(lambda body, n: "Everything was used.") as (address, _):
        done = judge(study, address, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["judged"]["yes"], told["judged"]["no"], told["shares"]["unparsed"]) == (0, 0, 3)
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(
        f"skilljuror: {MODEL}: no usable answer on 3 of 3 events asked, more than 2%"
    )


def of_the_panel(said):
    """Reads as the model itself; a model of the panel answers by what is given."""
    return lambda body, before: reader(body, before) if body["model"] in MODEL else said


@pytest.mark.slow
def test_the_panel_comes_after_the_model_and_what_it_leaves_unusable_ends_with_1(study):
    with model_server(of_the_panel("Everything was used.")) as (address, requests):
        done = judge(study, address, "--panel", f"{OTHER},{MODEL}")
        told = json.loads(judge(study, address, "--panel", OTHER, "--json").stdout)
    assert done.returncode == 1
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("skilljuror: ")]
    assert line.startswith(f"skilljuror: {OTHER}: no usable answer on 3 of 3 events asked")
    assert [body["model"] in MODEL for body in requests[:4]] == [True, True, True, False]
    assert "yes 3, no 0, unknown 0" in done.stdout
    assert f"panel, {OTHER}: yes 0, no 0, unknown 3" in done.stdout
    assert "\n3 events asked in 9 calls: " in done.stdout
    assert done.stdout.count("cost: $") == 2
    assert (told["model"], [one["model"] for one in told["panel"]]) == (MODEL, [OTHER])


@pytest.mark.slow
def test_a_panel_that_fails_takes_nothing_from_the_model(study):
    with model_server(of_the_panel((401, "no such key"))) as (address, _):
        done = judge(study, address, "--panel", OTHER)
        as_json = judge(study, address, "--panel", OTHER, "--json")
    assert (done.returncode, as_json.returncode) == (2, 2)
    assert "yes 3, no 0, unknown 0" in done.stdout
    assert "refused the key" in done.stderr
    assert "refused the key" in error(as_json)["message"]


@pytest.mark.slow
def test_ctrl_c_waits_for_no_model(study):
    asked, over = threading.Event(), threading.Event()

    def silent(body, before):
        asked.set()
        over.wait(60)
        return 500

    with model_server(silent) as (address, _):
        words = ["judge", study, "--model", MODEL, "--api-base", address]
        with subprocess.Popen(
            [sys.executable, "-m", "skilljuror", *words], env=environment(), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            assert asked.wait(60)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(40) == 130
        over.set()


@pytest.mark.slow
def test_trials_of_a_study_are_judged_at_the_studys_own_prices(tmp_path):
    (tmp_path / "study.yaml").write_text(PLANNED)
    for words in (["run", "study.yaml", "--out", "s"], ["ingest", "--study", "s"]):
        done = call(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    with model_server(reader) as (address, requests):
        more = ["--budget-usd", 1, "--check-yes", 1, "--json"]
        done = judge(tmp_path / "s", address, *more, model="openai/nobodys-own")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert requests
    assert told["paid_usd"] == pytest.approx(len(requests) * (1000 * 1 + 100 * 10) / 1e6)
    assert told["shares"]["asked"] + told["shares"]["rechecked"] > 0
