"""A model that is asked again, over real HTTP: modes, flips, and nothing paid twice."""

import json
import threading
from collections import Counter

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.base.llm import ModelChoice
from skilljuror.judge.judging.by_model import ModelOptions, judge_with_model
from skilljuror.judge.judging.repeats import check_probes
from skilljuror.judge.tracing import TracingJudge
from skilljuror.store.ingest.ingest import ingest_logs
from skilljuror.store.questions.run import run
from tests.support.loopback import model_server
from tests.support.model_judging import MODEL, answer, reader, verdict, write_logs
from tests.support.scripted_model import WARNINGS, blocks

pytestmark = [WARNINGS, pytest.mark.slow]
CASCADE = f"cascade/2 ({TracingJudge.name}, {MODEL})"
EVENTS = 4


@pytest.fixture
def study(tmp_path):
    ingest_logs(tmp_path / "s", [write_logs(tmp_path / "logs", EVENTS)])
    return tmp_path / "s"


class Wavering:
    """Reads, and says no whenever it is asked the same again, or at length."""

    def __init__(self, padding="yes"):
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._padding = padding

    def __call__(self, body, before):
        question = json.dumps([body["model"], body["messages"]])
        with self._lock:
            self._asked[question] += 1
            times = self._asked[question]
        told = blocks(body["messages"])
        if times == 1 and not ("padding" in told and self._padding == "no"):
            return reader(body, before)
        names = [access["event"] for access in told["accesses"]]
        refusal = {"label": "no", "category": "background", "source": "", "quote": "", "step": None}
        return answer(*[verdict(name, **refusal) for name in names])


def options(address, **more):
    return ModelOptions(ModelChoice(MODEL, address, {"api_key": "dummy"}, 20), threads=4, **more)


def labels(study):
    sql = "SELECT label, model FROM verdicts WHERE judge = $judge ORDER BY event"
    return run(study / "study.duckdb", sql, judge=CASCADE).rows


def test_the_verdict_is_the_mode_and_what_wavers_is_told(study):
    with model_server(Wavering()) as (address, requests):
        once = judge_with_model(study, options(address))
        assert labels(study) == [("yes", MODEL)] * EVENTS
        thrice = judge_with_model(study, options(address, repeat=3))
        assert len(requests) == 3 * EVENTS, "the first answers came from the log"
        again = judge_with_model(study, options(address, repeat=3))
        assert len(requests) == 3 * EVENTS, "nothing is asked a second time"
    assert labels(study) == [("no", MODEL)] * EVENTS, "yes, no, no"
    (row,) = thrice.stability
    assert (row["probe"], row["events"], row["changed"], row["askings"]) == (
        "repeat", EVENTS, EVENTS, 3.0,
    )  # fmt: skip
    assert row["entropy"] == pytest.approx(0.918296)
    assert (once.judged.yes, thrice.judged.yes, thrice.judged.no) == (EVENTS, 0, EVENTS)
    assert (again.judged, again.stability) == (thrice.judged, thrice.stability)
    assert thrice.shares["calls"] == 3 * EVENTS
    cells = run(
        study / "study.duckdb",
        "judged_cells",
    ).records()
    assert {row["answers"] for row in cells if row["judge"] == CASCADE} == {"yes no no"}


def test_a_tie_is_unknown(study):
    with model_server(Wavering()) as (address, _):
        judge_with_model(study, options(address, repeat=2))
    assert labels(study) == [("unknown", MODEL)] * EVENTS
    (note,) = set(
        run(study / "study.duckdb", "SELECT note FROM verdicts WHERE model = $m", m=MODEL).rows
    )
    assert note == ("no majority among its answers: yes, no",)


def test_a_probe_changes_no_verdict_and_tells_what_flips(study):
    with model_server(Wavering(padding="no")) as (address, _):
        made = judge_with_model(study, options(address, probes=("order", "length")))
    assert labels(study) == [("yes", MODEL)] * EVENTS
    found = {row["probe"]: (row["events"], row["changed"]) for row in made.stability}
    assert found == {"length": (EVENTS, EVENTS)}, "one access has no other order"


def test_a_judging_anew_forgets_the_repeats_of_what_no_longer_stands(study):
    with model_server(Wavering()) as (address, _):
        judge_with_model(study, options(address, repeat=3))
        judge_with_model(study, options(address))
    assert labels(study) == [("yes", MODEL)] * EVENTS
    assert run(study / "study.duckdb", "judge_stability").rows == []


def test_an_unknown_probe_is_refused():
    with pytest.raises(UsageError, match=r"unknown probe 'lenght'; choose one of order, length"):
        check_probes(("order", "lenght"))
