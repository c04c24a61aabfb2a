"""Asks a model: every call is appended to a log (calls.jsonl of a study) with the digest of what was
asked, and the same question is answered from the log without a call.

Answers may be demanded as JSON of a schema; an answer that does not fit is asked again and then
refused, never guessed.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import structs
from pydantic import BaseModel, ValidationError

from skilljuror.errors import ModelError, UnusableAnswer, UsageError
from skilljuror.files import append_jsonl, digest_json, read_rows
from skilljuror.llm.answers import Message, ModelAnswer, ModelChoice, prompt
from skilljuror.llm.spending import SpendingCap
from skilljuror.llm.transport import Reply, complete
from skilljuror.models.measure import Price
from skilljuror.models.trajectory import Usage
from skilljuror.prices import PRICES, cost, price_of

BYTES_PER_TOKEN = 3
"""Bytes of a prompt that count as a token before a server has counted: few texts have more tokens."""
ANSWER_TOKENS = 4_000
"""Completion tokens, reasoning included, that a call is taken to need before it is made."""
M = TypeVar("M", bound=BaseModel)


class Attempt(NamedTuple, Generic[M]):
    """One try to get an answer that fits."""

    value: M | None
    """What was read; None where nothing could be."""
    answer: ModelAnswer
    """The answer itself."""
    problem: str
    """What is wrong with it; "" for nothing."""


class ModelClient:
    """Asks one model and appends every call to the log. Threads may share it."""

    def __init__(
        self,
        choice: ModelChoice,
        calls: Path | None = None,
        budget_usd: float | SpendingCap | None = None,
        prices: tuple[Price, ...] = PRICES,
    ) -> None:
        """`calls` is the log; `budget_usd` is what the answers that are asked for here may cost, those
        given from the log included; a SpendingCap is shared with other clients.

        Raises UsageError for a budget where the model's price is not known. A damaged row of the log is
        reported and skipped: its question is asked again.
        """
        self.choice = choice
        self.calls = calls
        self.price = price_of(choice.model, prices)
        """What the model's tokens cost; None for one that the list lacks."""
        self.cap = SpendingCap(budget_usd) if isinstance(budget_usd, int | float) else budget_usd
        if self.cap and not self.price:
            raise UsageError(
                f"a budget in dollars needs the price of {choice.model!r}, which the packaged list"
                " lacks: give it under `prices:` of the study file, or leave the budget out",
                field="prices",
            )
        self.spent_usd = 0.0
        """Known cost of the calls made through this client, US dollars."""
        self.answers: list[ModelAnswer] = []
        """Every answer given through this client in order, those from the log included."""
        logged = read_rows(ModelAnswer, calls, skip_damaged=True) if calls else ()
        self._logged = {answer.key: answer for answer in logged}
        self._counted: set[str] = set()
        self._asked: dict[str, Future[ModelAnswer]] = {}
        self._lock = Lock()

    def ask(
        self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None
    ) -> ModelAnswer:
        """One answer; from the log where it was asked before. Another `repeat` asks anew on purpose.

        Two threads that want the same answer share one call. Raises QuestionRefused where the server
        does not take the question, ModelError when the model cannot be reached or the budget is spent.
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
        """An answer that fits a record; `check` may refuse one with a reason that is sent back.

        Raises UnusableAnswer after the last try, with the last reason.
        """
        *_, last = self.attempts(kind, messages, check, repeat)
        if last.value is None or last.problem:
            raise UnusableAnswer(
                f"{self.choice.model!r} gave no usable {kind.__name__} in"
                f" {self.choice.retries + 1} tries: {last.problem}; the answers are kept in the log:"
                " allow more retries, change a parameter or take another model"
            )
        return last.value, last.answer

    def attempts(
        self,
        kind: type[M],
        messages: Sequence[Message],
        check: Callable[[M], str | None] | None = None,
        repeat: int = 0,
    ) -> Iterator[Attempt[M]]:
        """The tries of `ask_for`, one by one: each tells the model what was wrong with the one before,
        and the first without a problem is the last. For callers that can use a part of an answer."""
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
        """What comes back where nobody has asked before. Raises ModelError."""
        return complete(self.choice, messages, response_format)

    def _pay(
        self, key: str, messages: Sequence[Message], repeat: int, response_format: Any
    ) -> ModelAnswer:
        """An answer that nobody has yet, in the log before anybody sees it."""
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
        """US dollars that a call may cost."""
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
        return ModelAnswer(
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

    def _keep(self, answer: ModelAnswer) -> None:
        """Log an answer that was paid for."""
        if self.calls is not None:
            append_jsonl(self.calls, answer, to_disk=False)  # threads would wait for the disk
        with self._lock:
            self._logged[answer.key] = answer
            self.spent_usd += answer.cost_usd or 0.0
        self._count(answer)
        if self.cap and answer.cost_usd is None:
            raise ModelError(
                f"the server of {self.choice.model!r} does not tell tokens, so that no budget in"
                " dollars can be kept: leave the budget out; answers so far are kept"
            )

    def _count(self, answer: ModelAnswer) -> None:
        """Count what an answer cost or had cost, once."""
        with self._lock:
            if answer.key in self._counted:
                return
            self._counted.add(answer.key)
        if self.cap and answer.cost_usd is not None:
            self.cap.count(answer.cost_usd)


class RecordedModel(ModelClient):
    """Gives the answers of a record in place of a model: each question the one that it got then."""

    def __init__(self, choice: ModelChoice, answers: Sequence[ModelAnswer]) -> None:
        super().__init__(structs.replace(choice, retries=len(answers)))
        self._record = {(answer.prompt_sha256, answer.repeat): answer for answer in answers}

    def ask(
        self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None
    ) -> ModelAnswer:
        """The answer on record. Raises UnusableAnswer for a question that was not asked then."""
        answer = self._record.get((digest_json(prompt(messages)), repeat))
        if answer is None:
            raise UnusableAnswer("the recorded answers are to other questions than those asked now")
        self.answers.append(answer)
        return answer


def parsed(kind: type[M], text: str) -> M:
    """The record that an answer holds. Raises pydantic's ValidationError."""
    return kind.model_validate_json(_json_object(text))


def _json_object(text: str) -> str:
    """The JSON object inside an answer, which may come in a code fence or among words."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}"
