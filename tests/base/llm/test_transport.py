"""Faults on the way are tried again, answers of a server are not; real litellm over real HTTP."""

import json
import time

import pytest

from skilljuror.base.errors import ModelError, QuestionRefused
from skilljuror.base.llm import ModelChoice, ModelClient
from tests.support.loopback import Reply, completion, model_server
from tests.support.model_server import Step
from tests.support.model_server import model_server as anthropic_server

ASK = [{"role": "user", "content": "yes or no?"}]
GOOD = json.dumps(completion("fine")).encode()
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


def ask(address, tries=1, timeout=2.0):
    return ModelClient(
        ModelChoice("openai/scripted", address, {}, timeout, transport_retries=tries)
    ).ask(ASK)


FAULTS = {
    "429": 429,
    "500": 500,
    "502": 502,
    "503": 503,
    "529": 529,
    "page of a gateway": Reply(b"<html>gateway</html>", 504),
    "hang": Reply(GOOD, wait=4),
    "half a stream": Reply(GOOD[:40], length=len(GOOD)),
    "no JSON": Reply(b"hello"),
    "another document": Reply(b'{"a": 1}'),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_on_the_way_is_tried_again(fault):
    with model_server(lambda body, n: fault if n == 0 else "fine") as (address, requests):
        assert ask(address).text == "fine"
    assert len(requests) == 2
    assert requests[0] == requests[1]


REFUSALS: dict[str, int | tuple[int, str] | Reply] = {
    "refused the key": 401,
    "gave no answer": 400,
    "no access": 403,
    "no such model": 404,
    "too long": Reply(
        b'{"error": {"message": "maximum context", "code": "context_length_exceeded"}}', 400
    ),
    "too large": 413,
    "not understood": (422, "one of the messages is empty"),
    "an empty account": Reply(
        b'{"error": {"message": "quota", "type": "insufficient_quota"}}', 429
    ),
    "an account without credit": (400, "Your credit balance is too low to access the API."),
}
OF_ONE_QUESTION = {"gave no answer", "too long", "too large", "not understood"}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_line_at_once(name):
    refusal = REFUSALS[name]
    with (
        model_server(lambda body, n: refusal) as (address, requests),
        pytest.raises(
            ModelError, match="refused the key" if refusal == 401 else "gave no answer"
        ) as caught,
    ):
        ask(address)
    assert len(requests) == 1
    assert "\n" not in caught.value.message
    assert isinstance(caught.value, QuestionRefused) == (name in OF_ONE_QUESTION)


def test_what_litellm_itself_does_not_take_would_hold_for_every_question():
    with pytest.raises(ModelError, match="Provider NOT provided") as caught:
        ModelClient(ModelChoice("nobodys-own")).ask(ASK)
    assert not isinstance(caught.value, QuestionRefused)


def test_after_the_last_try_the_tries_are_told():
    with (
        model_server(lambda body, n: 500) as (address, requests),
        pytest.raises(ModelError, match=r"gave no answer in 2 tries: .*scripted failure"),
    ):
        ask(address)
    assert len(requests) == 2


def test_a_server_that_says_how_long_is_waited_for():
    busy = Reply(b'{"error": {"message": "slow down"}}', 429, {"Retry-After": "1.2"})
    with model_server(lambda body, n: busy if n == 0 else "fine") as (address, _):
        begun = time.monotonic()
        assert ask(address).text == "fine"
    assert time.monotonic() - begun >= 1.2


def test_what_anthropic_may_cache_is_marked_and_its_writes_are_priced(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    asked = [{"role": "system", "content": "The rubric."}, *ASK]
    with anthropic_server({"": [Step("fine")]}) as (address, requests):
        choice = ModelChoice("anthropic/claude-sonnet-4-5", address, {"max_tokens": 50}, 5)
        answer = ModelClient(choice).ask(asked)
    assert requests[0].body["system"] == [
        {"type": "text", "text": "The rubric.", "cache_control": {"type": "ephemeral"}}
    ]
    assert (answer.input_tokens, answer.cache_write_tokens, answer.cache_read_tokens) == (
        3,
        8997,
        0,
    )
    assert answer.prompt_tokens == 9000
    assert answer.cost_usd == pytest.approx((3 * 3 + 8997 * 3.75 + 100 * 15) / 1e6)


def test_a_hang_ends():
    begun = time.monotonic()
    with (
        model_server(lambda body, n: Reply(GOOD, wait=30)) as (address, _),
        pytest.raises(ModelError, match="timed out"),
    ):
        ask(address, tries=0)
    assert time.monotonic() - begun < 25
