"""Real litellm over real HTTP to a scripted loopback server."""

import json
import re

import pytest
from msgspec import structs
from pydantic import BaseModel

from skilljuror.base.errors import ModelError, UsageError
from skilljuror.base.files import append_jsonl, read_jsonl
from skilljuror.base.llm import (
    ModelChoice,
    ModelClient,
    RecordedModel,
    SpendingCap,
    in_flight,
)
from skilljuror.base.results import Price
from skilljuror.base.texts import AS_OF
from tests.support.loopback import Reply, completion, model_server

ASK = [{"role": "user", "content": "yes or no?"}]
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


def choice(address, model="openai/scripted", retries=1):
    return ModelChoice(model, address, {"temperature": 0}, 20, retries, 0)


def client(address, calls=None, budget=None, model="openai/scripted", retries=1):
    return ModelClient(choice(address, model, retries), calls, budget)


def completion_reply(text, **changes):
    return Reply(json.dumps(completion(text, **changes)).encode())


def slow(text, status=200, wait=0.2):
    return Reply(json.dumps(completion(text)).encode(), status, wait=wait)


class Verdict(BaseModel):
    label: str


def test_the_same_question_is_paid_once_even_after_a_restart(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: f"answer {n}") as (address, requests):
        first = client(address, calls).ask(ASK)
        again = client(address, calls).ask(ASK)
        anew = client(address, calls).ask(ASK, repeat=1)
    assert (first.text, again.text, anew.text) == ("answer 0", "answer 0", "answer 1")
    assert len(requests) == 2
    assert [row["text"] for row in read_jsonl(calls)] == ["answer 0", "answer 1"]


def test_a_door_tells_what_was_asked_through_it_paid_or_not(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: f"answer {n}") as (address, _):
        client(address, calls).ask(ASK)
        later = client(address, calls)
        later.ask(ASK)
        later.ask(ASK, repeat=1)
    assert [answer.text for answer in later.answers] == ["answer 0", "answer 1"]


def test_tokens_are_reported_and_an_unknown_price_is_not_zero(tmp_path):
    with model_server(lambda body, n: "x") as (address, _):
        answer = client(address).ask(ASK)
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (1000, 100, None)


def test_a_budget_stops_before_the_next_call():
    with model_server(lambda body, n: "x") as (address, requests):
        spender = client(address, budget=0.0001, model="openai/gpt-4o")
        assert spender.ask(ASK).cost_usd
        with pytest.raises(ModelError, match="budget"):
            spender.ask(ASK, repeat=1)
    assert len(requests) == 1


def test_an_answer_that_does_not_fit_is_asked_again_with_the_reason():
    answers = ["no json", '```json\n{"label": "yes"}\n```']
    with model_server(lambda body, n: answers[n]) as (address, requests):
        value, _ = client(address).ask_for(Verdict, ASK)
    assert value.label == "yes"
    assert "cannot be used" in requests[1]["messages"][-1]["content"]


def test_an_answer_that_never_fits_is_an_error_not_a_default():
    with (
        model_server(lambda body, n: '{"label": 3}') as (address, requests),
        pytest.raises(ModelError, match="label"),
    ):
        client(address).ask_for(Verdict, ASK)
    assert len(requests) == 2


def test_the_refused_answers_and_their_reasons_are_in_the_log(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with (
        model_server(
            lambda body, n: completion_reply(None, message={"refusal": "I will not."})
        ) as (
            address,
            requests,
        ),
        pytest.raises(ModelError, match="no usable Verdict in 2 attempts"),
    ):
        client(address, calls).ask_for(Verdict, ASK)
    assert [row["text"] for row in read_jsonl(calls)] == ["I will not."] * 2
    assert requests[1]["messages"][1]["content"] == "I will not."


def test_a_reply_without_choices_is_an_empty_answer(tmp_path):
    with (
        model_server(lambda body, n: completion_reply("", choices=[])) as (address, requests),
        pytest.raises(ModelError, match="no usable Verdict"),
    ):
        client(address).ask_for(Verdict, ASK)
    assert requests[1]["messages"][1]["content"] == "(empty)"


def test_half_a_character_is_kept_as_a_question_mark_and_paid_once(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: completion_reply("half \ud83d, whole ü")) as (
        address,
        requests,
    ):
        told = [client(address, calls).ask(ASK).text for _ in range(2)]
    assert told == ["half ?, whole ü"] * 2
    assert len(requests) == 1


CHANGES = {
    "address": {"api_base": "http://127.0.0.1:9/v1"},
    "model": {"model": "openai/other"},
    "parameter": {"params": {"temperature": 1}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_server_model_or_parameter_is_another_question(change):
    choice = ModelChoice("openai/scripted", "http://127.0.0.1:8/v1", {"temperature": 0})
    assert structs.replace(choice, **change).key(ASK) != choice.key(ASK)


def test_a_server_that_the_environment_names_counts_and_a_key_does_not(monkeypatch):
    choice = ModelChoice("openai/scripted", None, {"api_key": "one-of-them"})
    before = choice.key(ASK)
    assert structs.replace(choice, params={"api_key": "another-one"}).key(ASK) == before
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:8/v1")
    assert choice.key(ASK) != before
    named = structs.replace(choice, api_base="http://127.0.0.1:8/v1")
    assert named.key(ASK) == choice.key(ASK)
    assert len({choice.key(ASK), choice.key(ASK, 1), choice.key(ASK, 0, {"type": "text"})}) == 3


def test_what_a_cache_read_and_wrote_is_told_and_priced_apart():
    usage = {
        "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 600},
    }  # fmt: skip
    with model_server(lambda body, n: completion_reply("x", usage=usage)) as (address, _):
        answer = client(address, model="openai/gpt-4o").ask(ASK)
    assert (answer.input_tokens, answer.cache_read_tokens, answer.output_tokens) == (400, 600, 100)
    assert answer.cache_write_tokens is None
    assert answer.cost_usd == pytest.approx((400 * 2.5 + 600 * 1.25 + 100 * 10) / 1e6)
    assert answer.price_as_of == AS_OF


def test_a_study_may_pin_the_price():
    mine = (Price("scripted", 1, 1, 1, 10, "2026-01-02"),)
    with model_server(lambda body, n: "x") as (address, _):
        answer = ModelClient(choice(address), prices=mine).ask(ASK)
    assert answer.cost_usd == pytest.approx(0.002)
    assert answer.price_as_of == "2026-01-02"


def test_tokens_that_the_server_does_not_tell_are_unknown():
    with model_server(lambda body, n: completion_reply("x", usage=None)) as (address, _):
        answer = client(address, model="openai/gpt-4o").ask(ASK)
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (None, None, None)


def test_a_cap_needs_a_price_before_the_first_call():
    with pytest.raises(UsageError, match="`prices:` of the study file") as caught:
        client("http://127.0.0.1:9/v1", budget=5.0)
    assert caught.value.field == "prices"


def test_a_cap_needs_tokens_and_what_was_answered_stays(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with (
        model_server(lambda body, n: completion_reply("x", usage=None)) as (address, requests),
        pytest.raises(ModelError, match="reports no token counts"),
    ):
        client(address, calls, 5.0, "openai/gpt-4o").ask(ASK)
    assert len(requests) == len(list(read_jsonl(calls))) == 1


def test_a_cap_holds_over_a_restart_and_answers_that_were_paid_stay_free(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: "x") as (address, requests):
        client(address, calls, 0.001, "openai/gpt-4o").ask(ASK)
        later = client(address, calls, 0.001, "openai/gpt-4o")
        assert later.ask(ASK).text == "x"
        with pytest.raises(ModelError, match="budget"):
            later.ask(ASK, repeat=1)
        assert later.ask(ASK).text == "x"
    assert (len(requests), later.spent_usd) == (1, 0.0)


def test_two_threads_that_want_one_answer_share_one_call(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: slow(f"answer {n}")) as (address, requests):
        asker = client(address, calls)
        asker.ask(ASK, repeat=9)
        told = [answer.text for _, answer in in_flight([ASK] * 8, asker.ask, 8)]
    assert told == ["answer 1"] * 8
    assert len(requests) == len(list(read_jsonl(calls))) == 2


def test_an_error_reaches_all_that_wait_and_the_question_can_be_asked_again():
    with model_server(lambda body, n: slow("", 400) if n == 0 else "better") as (address, requests):
        asker = client(address)

        def outcome(_):
            try:
                return asker.ask(ASK).text
            except ModelError:
                return "error"

        assert [told for _, told in in_flight(range(4), outcome, 4)] == ["error"] * 4
        assert asker.ask(ASK).text == "better"
    assert len(requests) == 2


def test_many_questions_side_by_side_are_whole_lines_and_each_is_asked_once(tmp_path):
    calls = tmp_path / "calls.jsonl"
    long = "ä" * 20_000
    with model_server(lambda body, n: body["messages"][0]["content"] + long) as (address, requests):
        asker = client(address, calls)
        asked = [[{"role": "user", "content": f"q{n}"}] for n in range(64)]
        told = {q[0]["content"]: a.text for q, a in in_flight(asked, asker.ask, 16)}
        again = client(address, calls)
        assert {q[0]["content"]: again.ask(q).text for q in asked} == told
    assert told == {f"q{n}": f"q{n}{long}" for n in range(64)}
    assert len(requests) == 64
    assert calls.read_bytes().count(b"\n") == 64


def test_a_cap_that_threads_share_is_passed_by_no_more_than_a_call():
    with model_server(lambda body, n: slow("x", wait=0.02)) as (address, requests):
        asker = client(address, budget=0.0355 * 0.9, model="openai/gpt-4o")
        with pytest.raises(ModelError, match=r"the budget of \$0.03195 is spent"):
            list(in_flight(range(50), lambda n: asker.ask(ASK, repeat=n), 16))
    assert len(requests) == 10
    assert asker.spent_usd == pytest.approx(0.035)


def test_a_cap_holds_where_calls_get_dearer():
    def by_length(body, n):
        tokens = len(body["messages"][0]["content"]) // 4
        usage = {"prompt_tokens": tokens, "completion_tokens": 100, "total_tokens": tokens + 100}
        return Reply(json.dumps(completion("x", usage=usage)).encode(), wait=0.02)

    questions = ["short " * n for n in range(1, 13)] + ["words " * (20_000 + n) for n in range(30)]
    with model_server(by_length) as (address, _):
        asker = client(address, budget=0.3, model="openai/gpt-4o")
        with pytest.raises(ModelError, match=r"the budget of \$0.3 is spent"):
            list(in_flight([[{**ASK[0], "content": text}] for text in questions], asker.ask, 16))
    dearest = (len(questions[-1]) / 4 * 2.5 + 100 * 10) / 1e6
    assert 0.3 <= asker.spent_usd <= 0.3 + dearest


def test_what_a_call_may_cost_refuses_none_and_keeps_none_waiting_that_fits():
    cap = SpendingCap(1)
    with cap.room(5):
        cap.count(0.01)
    with cap.room(0.3), cap.room(0.3), cap.room(0.3):
        pass


def test_two_clients_share_a_cap():
    with model_server(lambda body, n: "x") as (address, requests):
        cap = SpendingCap(0.007)
        client(address, budget=cap, model="openai/gpt-4o").ask(ASK)
        second = client(address, budget=cap, model="openai/gpt-5.4")
        second.ask(ASK)
        with pytest.raises(ModelError, match="budget"):
            second.ask(ASK, repeat=1)
    assert len(requests) == 2


def test_a_log_of_an_earlier_version_is_read_and_a_damaged_row_is_reported(tmp_path, caplog):
    calls = tmp_path / "calls.jsonl"
    old = {
        "key": "0" * 64, "model": "openai/scripted", "text": "old", "prompt_sha256": "1" * 64,
        "input_tokens": 5, "output_tokens": 1, "cost_usd": None, "finish": "stop",
    }  # fmt: skip
    append_jsonl(calls, old)
    with calls.open("ab") as torn:
        torn.write('{"key": "2", "text": "ä'.encode()[:-1])
    with model_server(lambda body, n: "new") as (address, _):
        assert client(address, calls).ask(ASK).text == "new"
    assert [row["text"] for row in read_jsonl(calls)] == ["old", "new"]
    append_jsonl(calls, {"events": 3}, {**old, "key": "3" * 64, "input_tokens": 10**30})
    kept = client(address, calls)
    assert {answer.text for answer in kept._logged.values()} == {"old", "new"}
    assert re.findall(r"calls\.jsonl': (row \d) is not a ModelAnswer.*; it was skipped", caplog.text) == [
        "row 3", "row 4",
    ]  # fmt: skip


def test_a_record_gives_each_repeat_its_own_answer():
    with model_server(lambda body, n: f"answer {n}") as (address, _):
        asker = client(address)
        given = [asker.ask(ASK, repeat=n) for n in range(2)]
    replay = RecordedModel(choice(address), given)
    assert [replay.ask(ASK, repeat=n).text for n in range(2)] == ["answer 0", "answer 1"]
    with pytest.raises(ModelError, match="do not match the questions"):
        replay.ask(ASK, repeat=2)
