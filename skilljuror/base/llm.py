"""All calls of language models: each question is logged, and paid once.

A question goes through litellm. Every answer is in the call log under the digest of its question, which
answers the same question again."""

import atexit
import json
import os
import random
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Condition, Lock
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, structs
from pydantic import BaseModel, ValidationError

from skilljuror.base.errors import (
    SECRET_NAME,
    ModelError,
    QuestionRefused,
    UnusableAnswer,
    UsageError,
    redact,
    require,
)
from skilljuror.base.files import StudyFolder, append_jsonl, digest_json, read_record, read_rows
from skilljuror.base.results import Price
from skilljuror.base.study import StudyPlan
from skilljuror.base.texts import PRICES, cost, price_of, with_packaged
from skilljuror.base.trajectory import Usage

THREADS = 16
"""Default number of parallel calls."""
MOST_UNPARSED = 0.02
"""Maximum share of invalid answers for a valid result."""
BYTES_PER_TOKEN = 3
"""Assumed bytes of a prompt per token before a server has counted: few texts have more tokens."""
ANSWER_TOKENS = 4_000
"""Assumed completion tokens of a call, including reasoning, before it is made."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before the first retry, doubled for each later one; maximum, whatever a server requests."""
TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 after which a retry may succeed."""
REFUSED = {400, 413, 422}
"""HTTP statuses by which a server refuses one question."""
USED_UP = re.compile("insufficient_quota|credit balance is too low")
"""Texts of a 429 or 400 that no retry can fix: the account is empty."""
AHEAD = 2
"""Items per thread taken in advance, so that no thread waits for the caller."""
M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
R = TypeVar("R")
Message = Mapping[str, str]
"""{"role": …, "content": …}."""


class ModelChoice(Struct, frozen=True):
    """A model and its parameters."""

    model: str
    """Name as in litellm, such as "openai/gpt-5.4"."""
    api_base: str | None = None
    """Address of an OpenAI-compatible server; None for the one in the environment, else the
    provider's."""
    params: dict[str, Any] = {}
    """Other parameters: temperature, max_tokens, reasoning_effort, …"""
    timeout_sec: float = 120.0
    """Time limit for silence of the server in one call, seconds."""
    retries: int = 2
    """Retries after an invalid answer."""
    transport_retries: int = 4
    """Retries after a transport failure: 429, 5xx, timeout, broken connection."""

    @property
    def address(self) -> str | None:
        """The server: as chosen, else as the environment sets it for the provider."""
        provider = self.model.partition("/")[0] if "/" in self.model else "openai"
        names = (f"{provider.upper()}_{name}" for name in ("API_BASE", "BASE_URL"))
        return self.api_base or next(
            (os.environ[name] for name in names if name in os.environ), None
        )

    def key(self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None) -> str:
        """sha256 of everything that an answer depends on: the same key is the same question.
        Provider keys are excluded."""
        params = {
            name: value for name, value in self.params.items() if not SECRET_NAME.search(name)
        }
        parts = [self.model, self.address, params, prompt(messages), response_format, repeat]
        return digest_json(parts)


class ModelAnswer(Struct, frozen=True):
    """An answer of a model; one line of calls.jsonl."""

    key: str
    """sha256 of model, address, parameters, messages, response format and repeat."""
    model: str
    text: str
    """The answer, without keys of the environment; a refusal in its own words."""
    prompt_sha256: str
    input_tokens: int | None = None
    """Prompt tokens neither read from nor written to a cache, if the server distinguishes them;
    None if not reported."""
    output_tokens: int | None = None
    """Completion tokens as reported, including reasoning."""
    cost_usd: float | None = None
    """Cost at the dated list price; None if it is not known (never 0)."""
    finish: str | None = None
    repeat: int = 0
    """Number of the repeat of the same question, from 0."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    price_as_of: str | None = None

    @property
    def prompt_tokens(self) -> int | None:
        """All prompt tokens, cached or not."""
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)


class Reply(NamedTuple):
    """Result of a call."""

    text: str
    usage: Usage
    finish: str | None


class Attempt(NamedTuple, Generic[M]):
    """One attempt to get a valid answer."""

    value: M | None
    answer: ModelAnswer
    problem: str


class SpendingCap:
    """Admits calls while money is left. A running call counts with its estimate, or the dearest
    call so far if that is higher; until one cost is known, calls run one at a time. The last call
    alone can exceed the cap, unless a call costs more than its estimate."""

    def __init__(self, dollars: float) -> None:
        self.dollars = dollars
        self.spent = 0.0
        """Cost of all answers so far, US dollars."""
        self._dearest: float | None = None
        self._running: list[float] = []
        self._changed = Condition()

    @contextmanager
    def room(self, estimate: float) -> Iterator[None]:
        """Reserve about `estimate` dollars for one call; wait while running calls may use up the rest.
        Raises ModelError if nothing is left."""

        def fits() -> bool:
            if self.spent >= self.dollars or not self._running:
                return True
            if self._dearest is None:
                return False
            reserved = (max(dollars, self._dearest) for dollars in (*self._running, estimate))
            return self.spent + sum(reserved) <= self.dollars

        with self._changed:
            self._changed.wait_for(fits)
            if self.spent >= self.dollars:
                raise ModelError(
                    f"the budget of ${self.dollars:g} is spent (${self.spent:.2f});"
                    " raise it to continue (answers so far are saved)"
                )
            self._running.append(estimate)
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(estimate)
                self._changed.notify_all()

    def count(self, dollars: float, answers: int = 1) -> None:
        """Add the cost of answers, paid now or earlier."""
        with self._changed:
            self.spent += dollars
            self._dearest = max(dollars / answers, self._dearest or 0.0)
            self._changed.notify_all()


class ModelClient:
    """Asks one model and appends every call to the log; thread-safe."""

    def __init__(
        self,
        choice: ModelChoice,
        calls: Path | None = None,
        budget_usd: float | SpendingCap | None = None,
        prices: tuple[Price, ...] = PRICES,
    ) -> None:
        """`calls` is the log; `budget_usd` limits the cost of all answers requested here, including
        those from the log; a SpendingCap is shared with other clients.

        Raises UsageError for a budget without a known price. A damaged row of the log is reported
        and skipped: its question is asked again.
        """
        self.choice = choice
        self.calls = calls
        self.price = price_of(choice.model, prices)
        """Prices of the model's tokens; None if the list lacks it."""
        self.cap = SpendingCap(budget_usd) if isinstance(budget_usd, int | float) else budget_usd
        if self.cap and not self.price:
            raise UsageError(
                f"a budget in dollars needs the price of {choice.model!r}, which the packaged list"
                " lacks: add it under `prices:` of the study file, or omit the budget",
                field="prices",
            )
        self.spent_usd = 0.0
        """Known cost of this client's calls, US dollars."""
        self.answers: list[ModelAnswer] = []
        """Every answer returned by this client in order, including those from the log."""
        logged = read_rows(ModelAnswer, calls, skip_damaged=True) if calls else ()
        self._logged = {answer.key: answer for answer in logged}
        self._counted: set[str] = set()
        self._asked: dict[str, Future[ModelAnswer]] = {}
        self._lock = Lock()

    def ask(
        self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None
    ) -> ModelAnswer:
        """Return an answer, from the log if the question was asked before; another `repeat` asks
        again on purpose.

        Threads that ask the same question share one call. Raises QuestionRefused if the server
        refuses the question, ModelError if the model cannot be reached or the budget is spent.
        """
        key = self.choice.key(messages, repeat, response_format)
        with self._lock:
            answer, shared = self._logged.get(key), self._asked.get(key)
            if answer is None and shared is None:
                own = self._asked[key] = Future()
        if shared:
            answer = shared.result()
        elif answer is None:
            try:
                answer = self._pay(key, messages, repeat, response_format)
                own.set_result(answer)
            except BaseException as error:
                own.set_exception(error)
                raise
            finally:
                del self._asked[key]
        self._count(answer)
        self.answers.append(answer)
        return answer

    def ask_for(
        self,
        kind: type[M],
        messages: Sequence[Message],
        check: Callable[[M], str | None] | None = None,
        repeat: int = 0,
    ) -> tuple[M, ModelAnswer]:
        """Return an answer parsed as a record; `check` may reject it with a reason for the model.
        Raises UnusableAnswer after the last attempt."""
        *_, last = self.attempts(kind, messages, check, repeat)
        if last.value is None or last.problem:
            raise UnusableAnswer(
                f"{self.choice.model!r} gave no usable {kind.__name__} in"
                f" {self.choice.retries + 1} attempts: {last.problem}; the answers are in the call log:"
                " allow more retries, change a parameter or use another model"
            )
        return last.value, last.answer

    def attempts(
        self,
        kind: type[M],
        messages: Sequence[Message],
        check: Callable[[M], str | None] | None = None,
        repeat: int = 0,
    ) -> Iterator[Attempt[M]]:
        """Yield the attempts of `ask_for`. Each tells the model what was wrong with the previous
        one; the first valid one is the last. For callers that can use a partial answer."""
        conversation = prompt(messages)
        for _ in range(self.choice.retries + 1):
            answer = self.ask(conversation, repeat, response_format={"type": "json_object"})
            value: M | None = None
            try:
                value = parsed(kind, answer.text)
                problem = (check(value) or "") if check else ""
            except ValidationError as error:
                first = error.errors()[0]
                problem = f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"
            yield Attempt(value, answer, problem)
            if not problem:
                return
            again = f"That answer cannot be used: {problem}. Answer again."
            conversation += [
                {"role": "assistant", "content": answer.text or "(empty)"},
                {"role": "user", "content": again},
            ]

    def _pay(
        self, key: str, messages: Sequence[Message], repeat: int, response_format: Any
    ) -> ModelAnswer:
        """Get a new answer and log it before returning it."""
        size = sum(len(message["content"].encode()) for message in messages)
        estimate = self._dollars(Usage(size // BYTES_PER_TOKEN, 0, 0, ANSWER_TOKENS)) or 0.0
        with self.cap.room(estimate) if self.cap else nullcontext():
            reply = complete(self.choice, messages, response_format)
            usage = reply.usage
            known = structs.replace(
                usage, cache_write=usage.cache_write or 0, cache_read=usage.cache_read or 0
            )
            answer = ModelAnswer(
                key=key,
                model=self.choice.model,
                text=reply.text,
                prompt_sha256=digest_json(prompt(messages)),
                input_tokens=usage.input,
                output_tokens=usage.output,
                cost_usd=self._dollars(known),
                finish=reply.finish,
                repeat=repeat,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write,
                price_as_of=self.price.as_of if self.price else None,
            )
            if self.calls is not None:
                append_jsonl(self.calls, answer, to_disk=False)  # threads would wait for the disk
            with self._lock:
                self._logged[key] = answer
                self.spent_usd += answer.cost_usd or 0.0
            self._count(answer)
        if self.cap and answer.cost_usd is None:
            raise ModelError(
                f"the server of {self.choice.model!r} reports no token counts, so a budget in"
                " dollars cannot be enforced: omit the budget (answers so far are saved)"
            )
        return answer

    def _dollars(self, usage: Usage) -> float | None:
        dollars = cost(usage, self.price) if self.price else None
        return dollars if isinstance(dollars, float) else None

    def _count(self, answer: ModelAnswer) -> None:
        """Count an answer's cost, once."""
        with self._lock:
            if answer.key in self._counted:
                return
            self._counted.add(answer.key)
        if self.cap and answer.cost_usd is not None:
            self.cap.count(answer.cost_usd)


class RecordedModel(ModelClient):
    """Replaces a model by recorded answers."""

    def __init__(self, choice: ModelChoice, answers: Sequence[ModelAnswer]) -> None:
        super().__init__(structs.replace(choice, retries=len(answers)))
        self._record = {(answer.prompt_sha256, answer.repeat): answer for answer in answers}

    def ask(
        self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None
    ) -> ModelAnswer:
        """Return the recorded answer. Raises UnusableAnswer for a question that was not asked."""
        answer = self._record.get((digest_json(prompt(messages)), repeat))
        if answer is None:
            raise UnusableAnswer("the recorded answers do not match the questions")
        self.answers.append(answer)
        return answer


def prompt(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the messages as sent and digested."""
    return [dict(message) for message in messages]


def parsed(kind: type[M], text: str) -> M:
    """Parse a record in an answer, which may be in a code fence or surrounded by text. Raises pydantic's
    ValidationError."""
    start, end = text.find("{"), text.rfind("}")
    return kind.model_validate_json(text[start : end + 1] if 0 <= start < end else text)


def as_data(name: str, value: Any) -> str:
    """Return foreign text, or JSON values with such text, as data between tags `name`: one line of
    JSON, which cannot close its own tag."""
    body = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f"<{name} json>\n{body}\n</{name}>"


# One call through litellm.


def complete(choice: ModelChoice, messages: Sequence[Message], response_format: Any) -> Reply:
    """Return the answer to one question, after retries of transport failures. Raises QuestionRefused if
    the server refuses it, ModelError if the last attempt fails."""
    litellm = _litellm()
    import openai

    sent: list[dict[str, Any]] = [*prompt(messages)]
    if "claude" in choice.model and sent[0]["role"] == "system":
        # Anthropic caches what ends in a mark; other providers cache a common prefix unasked
        text = {"type": "text", "text": sent[0]["content"]}
        sent[0]["content"] = [text | {"cache_control": {"type": "ephemeral"}}]
    options = choice.params | ({"response_format": response_format} if response_format else {})
    tries = 0
    while True:
        try:
            reply = litellm.completion(
                model=choice.model, messages=sent, api_base=choice.api_base,
                timeout=choice.timeout_sec, num_retries=0, max_retries=0, **options,
            )  # fmt: skip
            break
        except (litellm.exceptions.APIError, openai.OpenAIError) as error:
            status = getattr(error, "status_code", None)
            used_up = USED_UP.search(f"{getattr(error, 'body', '')} {error}") is not None
            headers = getattr(error, "litellm_response_headers", None)
            if isinstance(status, int):
                retry = status >= 500 or (status in TRANSIENT and not used_up)
            else:
                retry = isinstance(error, openai.APIConnectionError)
            if retry and tries < choice.transport_retries:
                asked = str((headers or {}).get("retry-after", ""))
                doubled = FIRST_WAIT * 2**tries * random.uniform(0.5, 1.0)
                time.sleep(
                    min(max(float(asked) if asked.isdecimal() else 0, doubled), LONGEST_WAIT)
                )
                tries += 1
                continue
            # without headers of a server, litellm itself refuses every question
            refused = headers is not None and status in REFUSED and not used_up
            unknown_key = isinstance(error, openai.AuthenticationError)
            what = "refused the key" if unknown_key else "gave no answer"
            tried = f" in {tries + 1} tries" if tries else ""
            reason = " ".join(_redacted(choice, str(error)).split())
            kind = QuestionRefused if refused else ModelError
            raise kind(f"model {choice.model!r} {what}{tried}: {reason[:300]}") from error
    usage = _usage(getattr(reply, "usage", None))
    if not reply.choices:
        return Reply("", usage, None)
    first = reply.choices[0]
    further = getattr(first.message, "provider_specific_fields", None) or {}
    answer = str(first.message.content or further.get("refusal") or "")
    return Reply(_redacted(choice, answer), usage, first.finish_reason)


def _usage(reported: Any) -> Usage:
    """Four disjoint token classes: litellm includes cache reads and writes in the prompt, and
    writes zero for counts that a server did not report."""
    whole = getattr(reported, "prompt_tokens", None)
    if not whole:
        return Usage()
    details = getattr(reported, "prompt_tokens_details", None)
    read = getattr(details, "cached_tokens", None)
    written = getattr(reported, "cache_creation_input_tokens", None)
    output = getattr(reported, "completion_tokens", None)
    counts = (whole - (read or 0) - (written or 0), written, read, output)
    return Usage(*counts) if all(count is None or count >= 0 for count in counts) else Usage()


def _redacted(choice: ModelChoice, text: str) -> str:
    """A server's text without our keys; lone surrogates become question marks."""
    whole = text.encode("utf-8", "replace").decode()
    keys = [str(value) for name, value in choice.params.items() if SECRET_NAME.search(name)]
    return redact(whole, keys)


@cache
def _litellm() -> Any:
    """Import litellm late, without its price look-up on the network."""
    require("models", "a model")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import httpx
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.client_session = httpx.Client()  # one for all questions
    atexit.register(litellm.client_session.close)
    return litellm


# Concurrent calls in threads: a call spends nearly all of its time waiting for its server.


def in_flight(
    work: Iterable[T], do: Callable[[T], R], threads: int
) -> Generator[tuple[T, R], None, None]:
    """Yield (item, result) of all work as it is done, `threads` items at a time.

    The first exception stops items that have not begun; running ones are awaited, so that their
    answers are logged, and it is raised. Ctrl-C and a caller that stops do not wait. Work is taken
    lazily, in the caller's thread.
    """
    source, waiting = iter(work), dict[Future[R], T]()
    executor = ThreadPoolExecutor(threads)
    try:  # Ctrl-C does not wait for servers
        while True:
            items = islice(source, AHEAD * threads - len(waiting))
            waiting |= {executor.submit(do, item): item for item in items}
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            if any(future.exception() for future in done):
                executor.shutdown(cancel_futures=True)
            for future in done:
                yield waiting.pop(future), future.result()
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def study_prices(place: Path) -> tuple[Price, ...]:
    """Return the packaged prices, overridden by those of a planned study."""
    folder = StudyFolder(place)
    own = read_record(StudyPlan, folder.plan_file).config.prices if folder.planned else ()
    return with_packaged(own)
