"""A model's server is not trusted: counts, sizes, redirects and headers; real litellm over real HTTP."""

import json

import pytest
from msgspec import structs

from skilljuror.base.errors import ModelError, StudyError
from skilljuror.base.files import append_jsonl, read_jsonl
from skilljuror.base.llm import MAX_BODY, ModelChoice, ModelClient
from tests.support.loopback import Reply, completion, model_server

ASK = [{"role": "user", "content": "yes or no?"}]
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


def client(address, calls=None, budget=None, tries=0):
    choice = ModelChoice("openai/gpt-5-mini", address, {}, 5, transport_retries=tries)
    return ModelClient(choice, calls, budget)


def counting(prompt=1000, output=100, **more):
    told = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": 1, **more}
    return Reply(json.dumps(completion("fine", usage=told)).encode())


IMPOSSIBLE = {
    "negative prompt": counting(-(10**12)),
    "negative output": counting(output=-(10**12)),
    "beyond any model": counting(10**30),
    "more from the cache than there was": counting(
        10, prompt_tokens_details={"cached_tokens": 10**7}
    ),
}


@pytest.mark.parametrize("reply", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_counts_that_cannot_be_are_unknown_and_lift_no_cap(tmp_path, reply):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: reply) as (address, requests):
        answer = client(address, calls).ask(ASK)
        assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (None, None, None)
        capped = client(address, tmp_path / "capped.jsonl", budget=1.0)
        with pytest.raises(ModelError, match="reports no token counts"):
            capped.ask(ASK)
        assert capped.cap.spent == 0
        assert client(address, calls).ask(ASK).text == "fine"  # from the log
    assert len(requests) == 2


def test_a_row_that_could_not_be_read_again_is_not_saved(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: "fine") as (address, _):
        answer = client(address, calls).ask(ASK)
    with pytest.raises(StudyError, match="ModelAnswer was not saved"):
        append_jsonl(calls, structs.replace(answer, output_tokens=10**30))
    assert len(list(read_jsonl(calls))) == 1


ENDLESS = {
    "long": (Reply(b" " * (MAX_BODY + 1)), "longer than 33,554,432 bytes"),
    "compressed": (Reply(b"?", headers={"Content-Encoding": "gzip"}), "is compressed"),
}


@pytest.mark.parametrize(("reply", "said"), ENDLESS.values(), ids=ENDLESS)
def test_one_wall_bounds_an_answer(reply, said):
    with (
        model_server(lambda body, n: reply) as (address, _),
        pytest.raises(ModelError, match=said),
    ):
        client(address).ask(ASK)


@pytest.mark.parametrize("provider", ["openai/gpt-5-mini", "anthropic/claude-sonnet-4-5"])
def test_a_redirect_sends_no_prompt_to_another_server(provider, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    with (
        model_server(lambda body, n: "stolen") as (elsewhere, stolen),
        model_server(
            lambda body, n: Reply(b"", 307, {"Location": f"{elsewhere}/chat/completions"})
        ) as (address, asked),
    ):
        choice = ModelChoice(provider, address, {"max_tokens": 9}, 5, transport_retries=0)
        with pytest.raises(ModelError, match="redirects to another"):
            ModelClient(choice).ask(ASK)
    assert (len(asked), len(stolen)) == (1, 0)


@pytest.mark.parametrize(
    "wait", ["²", "1.2.3", "-5", "nan", "9" * 400, "Wed, 21 Oct 2015 07:28:00 GMT"]
)
def test_a_wait_that_is_no_number_is_ignored(wait):
    busy = Reply(
        b'{"error": {"message": "slow down"}}',
        429,
        {"Retry-After": wait.encode().decode("latin-1")},
    )
    with model_server(lambda body, n: busy if n == 0 else "fine") as (address, _):
        assert client(address, tries=1).ask(ASK).text == "fine"


def test_a_refusal_that_is_no_text_is_an_answer():
    odd = Reply(json.dumps(completion(None, message={"refusal": {"why": 1}})).encode())
    with model_server(lambda body, n: odd) as (address, _):
        assert client(address).ask(ASK).text == "{'why': 1}"
