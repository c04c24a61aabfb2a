"""The cascade over a study: proof first, a model for the rest, and what is kept when it stops."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from skilljuror.base.errors import ModelError, UsageError
from skilljuror.base.llm import ModelChoice
from skilljuror.judge.cascade import ModelOptions, judge_with_model
from skilljuror.judge.study import judge_study
from skilljuror.judge.tracing import TracingJudge
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.records import MeasureOptions
from tests.support.ingested import tables
from tests.support.loopback import model_server
from tests.support.model_judging import MODEL, answer, environment, reader, verdict, write_logs
from tests.support.places import GOLDENS
from tests.support.scripted_model import WARNINGS, blocks
from tests.support.studies import until

pytestmark = WARNINGS
TRACING = TracingJudge.name
CASCADE = f"cascade/2 ({TRACING}, {MODEL})"
CHECKER = f"model/2 ({MODEL})"


@pytest.fixture
def study(tmp_path):
    """Of logs that nobody writes any more: runs that were judged are left out the next time."""
    logs = write_logs(tmp_path / "logs", 6)
    for log in logs.iterdir():
        os.utime(log, (1e9, 1e9))
    ingest_logs(tmp_path / "s", [logs])
    return tmp_path / "s"


@pytest.fixture
def goldens(tmp_path):
    ingest_logs(tmp_path / "s", [GOLDENS])
    return tmp_path / "s"


def judge(study, address, **more):
    choice = ModelChoice(MODEL, address, {"api_key": "dummy"}, 20, more.pop("retries", 1))
    again = more.pop("again", False)
    options = ModelOptions(choice, **{"threads": 4, **more})
    return judge_with_model(study, options, again=again)


def rows(study, judge, columns="event, label, category"):
    sql = f"SELECT {columns} FROM verdicts WHERE judge = $judge ORDER BY event"
    return run(study / "study.duckdb", sql, judge=judge).rows


@pytest.mark.slow
def test_what_is_proved_stays_and_the_model_settles_the_rest(goldens):
    with model_server(reader) as (address, requests):
        summary = judge(goldens, address, check_yes=0)
    proved = {event: (label, category) for event, label, category in rows(goldens, TRACING)}
    both = rows(goldens, CASCADE, "event, label, category, model")
    assert {row[0] for row in both} == set(proved)
    asked = [row for row in both if row[3] is not None]
    assert asked
    for event, label, category, model in both:
        if model is None:
            assert (label, category) == proved[event]
        else:
            assert proved[event][1] in {"not_seen_again", "nothing_distinctive", "also_elsewhere"}
    kinds = {proved[row[0]][1] for row in both if row[3] is None}
    assert not kinds & {"not_seen_again", "nothing_distinctive", "also_elsewhere"}
    shares = summary.shares
    assert shares["asked"] == len(asked)
    assert shares["decided_free"] + shares["decided_by_model"] + shares["unknown"] == len(both)
    assert len(requests) <= shares["calls"] == len({row[0].split("#")[0] for row in asked})
    assert summary.judged.events == len(both)
    sql = "SELECT cost_usd / calls FROM judge_calls"
    (each,) = {one for (one,) in run(goldens / "study.duckdb", sql).rows}
    assert shares["usd_spent"] == pytest.approx(shares["calls"] * each)
    assert shares["usd_per_asked"] == pytest.approx(shares["usd_spent"] / shares["asked"])
    saved = shares["decided_free"] * shares["usd_per_asked"]
    assert shares["usd_saved_estimate"] == pytest.approx(saved)


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"label": "unknown", "category": "insufficient_context", "source": "", "quote": ""},
        {"label": "yes", "source": "nobody wrote this", "quote": "nor was this ever done"},
    ],
    ids=["it cannot tell", "invented quotes"],
)
def test_a_model_that_settles_nothing_leaves_every_rate_its_two_ends(goldens, said):
    def script(body, before):
        return answer(*(verdict(a["event"], **said) for a in blocks(body["messages"])["accesses"]))

    with model_server(script) as (address, requests):
        summary = judge(goldens, address, check_yes=0)
    first, both = summary.first, summary.judged
    assert requests
    assert first.rate_low is not None
    assert first.rate_low < (first.rate_high or 0)
    assert (both.open, both.rate_low, both.rate_high) == (
        first.open, first.rate_low, first.rate_high,
    )  # fmt: skip
    for question in ("uptake", "resources"):
        before, after = (
            run(goldens / "study.duckdb", question, judge=name).records()
            for name in (TRACING, CASCADE)
        )
        for one, other in zip(before, after, strict=True):
            assert one | {"judge": CASCADE} == other
    (row,) = run(goldens / "study.duckdb", "uptake", judge=CASCADE).records()
    assert (row["eru_low"], row["eru_high"], row["eru_rate"]) == (
        both.rate_low, both.rate_high, None,
    )  # fmt: skip
    assert row["mean_yes_low"] < row["mean_yes_high"]


@pytest.mark.slow
def test_a_sample_of_proved_yes_is_asked_apart_and_stands_under_the_model_alone(goldens):
    with model_server(reader) as (address, _):
        summary = judge(goldens, address, check_yes=1)
    yes = {event for event, label, _ in rows(goldens, TRACING) if label == "yes"}
    checked = rows(goldens, CHECKER)
    assert {event for event, _, _ in checked} == yes
    assert {label for event, label, _ in rows(goldens, CASCADE) if event in yes} == {"yes"}
    said = [label for _, label, _ in checked]
    shares = summary.shares
    assert (shares["rechecked"], shares["rechecked_yes"], shares["rechecked_no"]) == (
        len(yes), said.count("yes"), said.count("no"),
    )  # fmt: skip
    assert shares["agreement"] == said.count("yes") / (said.count("yes") + said.count("no"))


@pytest.mark.slow
def test_what_was_answered_is_never_asked_again(study):
    with model_server(reader) as (address, requests):
        first = judge(study, address, check_yes=0)
        second = judge(study, address, check_yes=0)
        judge(study, address, check_yes=1, again=True)
    assert len(requests) == 6
    assert (second.judged, second.shares) == (first.judged, first.shares)
    assert (first.paid_usd or 0) > 0
    assert second.paid_usd == 0


@pytest.mark.slow
def test_a_false_quote_and_an_unusable_answer_are_counted_apart_and_are_no_no(study):
    def careless(body, before):
        shop = blocks(body["messages"])["task"][-2]
        if shop == "0":
            return "Everything was used."
        return (
            answer(verdict(quote="never written by anybody"))
            if shop == "1"
            else reader(body, before)
        )

    with model_server(careless) as (address, _):
        summary = judge(study, address)
    assert {row[1:] for row in rows(study, CASCADE)} == {
        ("unknown", "unparsed"), ("unknown", "unverified_quote"), ("yes", "implementation"),
    }  # fmt: skip
    assert (summary.shares["unparsed"], summary.shares["unverified_quote"]) == (1, 1)
    assert summary.shares["unparsed_share"] == pytest.approx(1 / 6)
    assert summary.problem is not None
    assert "no usable answer on 1 of 6 events asked" in summary.problem


@pytest.mark.slow
def test_started_again_after_a_failure_it_pays_nothing_twice(study):
    broken = [True]

    def script(body, before):
        return 403 if broken[0] and before >= 3 else reader(body, before)

    with model_server(script) as (address, requests):
        with pytest.raises(ModelError):
            judge(study, address, threads=1)
        failed, broken[0] = len(requests), False
        judge(study, address)
    assert len(requests) == failed + 3
    assert {label for _, label, _ in rows(study, CASCADE)} == {"yes"}


@pytest.mark.slow
def test_a_question_that_is_refused_leaves_the_others_judged_and_is_asked_again(study):
    strict = [True]

    def script(body, before):
        if strict[0] and blocks(body["messages"])["task"][-2] == "0":
            return 422, "against our policy"
        return reader(body, before)

    with model_server(script) as (address, requests):
        first = judge(study, address)
        strict[0] = False
        last = judge(study, address)
    assert (first.judged.yes, first.shares["unparsed"], first.shares["calls"]) == (5, 1, 5)
    assert first.problem is not None
    assert first.problem.endswith("against our policy")
    assert (last.judged.yes, last.problem, len(requests)) == (6, None, 6 + 1)


@pytest.mark.slow
def test_a_budget_holds_over_a_restart(study):
    with model_server(reader) as (address, requests):
        for _ in range(2):
            with pytest.raises(ModelError, match="is spent"):
                judge(study, address, threads=1, budget_usd=0.008)
            assert len(requests) == 2
        assert judge(study, address, budget_usd=0.03).judged.yes == 6
        assert judge(study, address, budget_usd=0.008).paid_usd == 0
    assert len(requests) == 6


def test_a_study_without_texts_is_not_sent_to_a_model(tmp_path):
    ingest_logs(
        tmp_path / "s", [write_logs(tmp_path / "logs", 1)], options=MeasureOptions(quotes=False)
    )
    with pytest.raises(UsageError, match="--no-quotes"):
        judge(tmp_path / "s", None)
    assert not (tmp_path / "s" / "calls.jsonl").exists()


@pytest.mark.slow
def test_a_log_that_is_gone_is_named_and_the_rest_is_judged(study, tmp_path):
    (tmp_path / "logs" / "run-2.json").unlink()
    with model_server(reader) as (address, _):
        summary = judge(study, address)
    ((name, reason),) = summary.judged.unread
    assert "run-2" in name
    assert reason
    assert len(rows(study, CASCADE)) == 5


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_in_the_middle_of_500_judgements_loses_no_answer(tmp_path):
    ingest_logs(tmp_path / "whole", [write_logs(tmp_path / "logs", 500)])
    judge_study(tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    served = []

    def slow(body, before):
        time.sleep(0.05)
        served.append(body["messages"][1]["content"])
        return reader(body, before)

    with model_server(slow) as (address, _):
        judge(tmp_path / "whole", address, threads=16)
        served.clear()
        words = ["judge", tmp_path / "killed", "--model", MODEL, "--api-base", address, "-j", "1"]
        with subprocess.Popen(
            [sys.executable, "-m", "skilljuror", *words], env=environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            until(lambda: len(served) >= 200, 120)
            process.kill()
        time.sleep(0.5)
        before = list(served)
        logged = len((tmp_path / "killed" / "calls.jsonl").read_text().splitlines())
        judge(tmp_path / "killed", address, threads=16)
    again = len(served) - len(set(served))
    assert 200 <= len(before) < 500
    assert len(set(served)) == 500
    assert again <= 16
    assert again <= len(before) - logged + 1  # a last line that the kill cut off
    left_out = {"sources", "groups", "seen"}
    assert (
        tables(tmp_path / "killed", left_out)["verdicts"]
        == tables(tmp_path / "whole", left_out)["verdicts"]
    )
