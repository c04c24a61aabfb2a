"""Ask a model: log every call with the digest of its question, and answer a repeated question from
the log.

An answer can be required to match a JSON schema; an invalid answer is requested again, then
refused.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import structs
from pydantic import BaseModel, ValidationError

from skilljuror.base.errors import ModelError, UnusableAnswer, UsageError
from skilljuror.base.files import append_jsonl, digest_json, read_rows
from skilljuror.base.llm.answers import Message, ModelAnswer, ModelChoice, prompt
from skilljuror.base.llm.spending import SpendingCap
from skilljuror.base.llm.transport import Reply, complete
from skilljuror.base.models.measure import Price
from skilljuror.base.models.trajectory import Usage
from skilljuror.base.prices import PRICES, cost, price_of

BYTES_PER_TOKEN = 3
"""Assumed bytes of a prompt per token before a server has counted: few texts have more tokens."""
ANSWER_TOKENS = 4_000
"""Assumed completion tokens of a call, including reasoning, before it is made."""
M = TypeVar("M", bound=BaseModel)


class Attempt(NamedTuple, Generic[M]):
    """One attempt to get a valid answer."""

    value: M | None
    """Parsed answer; None if invalid."""
    answer: ModelAnswer
    """The answer itself."""
    problem: str
    """Why it is invalid; "" if valid."""


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
                self._asked[key] = Future()
        if answer is None:
            answer = (
                shared.result() if shared else self._pay(key, messages, repeat, response_format)
            )
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
                problem = _first_problem(error)
            yield Attempt(value, answer, problem)
            if not problem:
                return
            conversation += [
                {"role": "assistant", "content": answer.text or "(empty)"},
                {
                    "role": "user",
                    "content": f"That answer cannot be used: {problem}. Answer again.",
                },
            ]

    def complete(self, messages: Sequence[Message], response_format: Any) -> Reply:
        """Return the answer to a new question. Raises ModelError."""
        return complete(self.choice, messages, response_format)

    def _pay(
        self, key: str, messages: Sequence[Message], repeat: int, response_format: Any
    ) -> ModelAnswer:
        """Get a new answer and log it before returning it."""
        shared = self._asked[key]
        try:
            with self.cap.room(self._estimate(messages)) if self.cap else nullcontext():
                reply = self.complete(messages, response_format)
                answer = self._answer(key, reply, messages, repeat)
                self._keep(answer)
        except BaseException as error:
            shared.set_exception(error)
            raise
        else:
            shared.set_result(answer)
            return answer
        finally:
            with self._lock:
                del self._asked[key]

    def _estimate(self, messages: Sequence[Message]) -> float:
        """Estimated cost of a call, US dollars."""
        size = sum(len(message["content"].encode()) for message in messages)
        usage = Usage(size // BYTES_PER_TOKEN, 0, 0, ANSWER_TOKENS)
        return self._dollars(usage) or 0.0

    def _dollars(self, usage: Usage) -> float | None:
        dollars = cost(usage, self.price) if self.price else None
        return dollars if isinstance(dollars, float) else None

    def _answer(
        self, key: str, reply: Reply, messages: Sequence[Message], repeat: int
    ) -> ModelAnswer:
        usage = reply.usage
        known = structs.replace(
            usage, cache_write=usage.cache_write or 0, cache_read=usage.cache_read or 0
        )
        dollars = self._dollars(known)
        return ModelAnswer(
            key=key,
            model=self.choice.model,
            text=reply.text,
            prompt_sha256=digest_json(prompt(messages)),
            input_tokens=usage.input,
            output_tokens=usage.output,
            cost_usd=usage.cost_usd if dollars is None else dollars,
            finish=reply.finish,
            repeat=repeat,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            price_as_of=self.price.as_of if self.price else None,
            usage_reason=reply.usage_reason,
        )

    def _keep(self, answer: ModelAnswer) -> None:
        """Log a paid answer."""
        if self.calls is not None:
            append_jsonl(self.calls, answer, to_disk=False)  # threads would wait for the disk
        with self._lock:
            self._logged[answer.key] = answer
            self.spent_usd += answer.cost_usd or 0.0
        self._count(answer)
        if self.cap and answer.cost_usd is None:
            raise ModelError(
                f"the server of {self.choice.model!r} reports no token counts, so a budget in"
                " dollars cannot be enforced: omit the budget (answers so far are saved)"
            )

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


def parsed(kind: type[M], text: str) -> M:
    """Parse a record in an answer. Raises pydantic's ValidationError."""
    return kind.model_validate_json(_json_object(text))


def _json_object(text: str) -> str:
    """Return the JSON object in an answer, which may be in a code fence or surrounded by text."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}"
