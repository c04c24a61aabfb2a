"""The only client of language models: asked once, logged always, never paid twice.

Every call is appended to a log (calls.jsonl of a study) with the digest of what was asked,
and the same question is answered from the log without a call. Answers may be demanded as
JSON of a schema; an answer that does not fit is asked again and then refused, never guessed.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from skilljuror.errors import ModelError
from skilljuror.files import append_jsonl, digest_json, read_jsonl
from skilljuror.redaction import SECRET_NAME, redact

M = TypeVar("M", bound=BaseModel)

Message = Mapping[str, str]
"""{"role": …, "content": …}."""


class ModelChoice(Struct, frozen=True):
    """Which model, and how it is asked."""

    model: str
    """Name as litellm spells it, such as "openai/gpt-5.4"."""
    api_base: str | None = None
    """Address of an OpenAI-compatible server; None for the provider's own."""
    params: dict[str, Any] = {}
    """Further parameters: temperature, max_tokens, reasoning_effort, …"""
    timeout_sec: float = 120.0
    """Wall clock of one call, seconds."""
    retries: int = 2
    """Further tries after a transport fault or an answer that does not fit."""


class ModelAnswer(Struct, frozen=True):
    """What a model answered; one line of calls.jsonl."""

    key: str
    """sha256 of model, parameters, messages and repeat: the same key is the same question."""
    model: str
    """Model that was asked for."""
    text: str
    """The answer as given, but for keys of the environment in it."""
    prompt_sha256: str
    """sha256 of the messages."""
    input_tokens: int | None = None
    """Prompt tokens as reported; None when the server did not say."""
    output_tokens: int | None = None
    """Completion tokens as reported."""
    cost_usd: float | None = None
    """Price by litellm's packaged table; None for a model it does not know (never 0)."""
    finish: str | None = None
    """Why the model stopped."""


class ModelClient:
    """Asks one model and appends every call to the log."""

    def __init__(
        self, choice: ModelChoice, calls: Path | None = None, budget_usd: float | None = None
    ) -> None:
        """`calls` is the log; `budget_usd` stops before the next call once known costs reach it."""
        self.choice = choice
        self.calls = calls
        self.budget_usd = budget_usd
        self._logged: dict[str, ModelAnswer] = {}
        for row in read_jsonl(calls) if calls else ():
            self._logged[row["key"]] = ModelAnswer(**row)
        self.spent_usd = 0.0
        """Known cost of the calls made through this client, US dollars."""
        self.answers: list[ModelAnswer] = []
        """Every answer given through this client in order, those from the log included."""

    def ask(
        self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None
    ) -> ModelAnswer:
        """One answer; from the log where it was asked before. Another `repeat` asks anew on purpose.

        Raises ModelError when the model cannot be reached or the budget is spent.
        """
        plain = [dict(message) for message in messages]
        key = digest_json([self.choice.model, self.choice.params, plain, repeat])
        if key in self._logged:
            self.answers.append(self._logged[key])
            return self._logged[key]
        if self.budget_usd is not None and self.spent_usd >= self.budget_usd:
            raise ModelError(
                f"the budget of ${self.budget_usd:g} is spent (${self.spent_usd:.2f});"
                " raise it to go on: answers so far are kept"
            )
        answer = self._call(key, plain, response_format)
        self.spent_usd += answer.cost_usd or 0.0
        self._logged[key] = answer
        self.answers.append(answer)
        if self.calls is not None:
            append_jsonl(self.calls, answer)
        return answer

    def ask_for(
        self,
        kind: type[M],
        messages: Sequence[Message],
        check: Callable[[M], str | None] | None = None,
    ) -> tuple[M, ModelAnswer]:
        """An answer that fits a record; `check` may refuse one with a reason that is sent back.

        Raises ModelError after the last try, with the last reason.
        """
        conversation = [dict(message) for message in messages]
        reason = ""
        for _ in range(self.choice.retries + 1):
            answer = self.ask(conversation, response_format={"type": "json_object"})
            try:
                value = kind.model_validate_json(_json_object(answer.text))
                reason = (check(value) or "") if check else ""
            except ValidationError as error:
                reason = _first_problem(error)
            else:
                if not reason:
                    return value, answer
            conversation += [
                {"role": "assistant", "content": answer.text},
                {"role": "user", "content": f"That answer cannot be used: {reason}. Answer again."},
            ]
        raise ModelError(
            f"{self.choice.model!r} gave no usable {kind.__name__} in"
            f" {self.choice.retries + 1} tries: {reason}; the answers are kept in the log: allow more"
            " retries, change a parameter or take another model"
        )

    def _call(self, key: str, messages: list[dict[str, str]], response_format: Any) -> ModelAnswer:
        litellm = _litellm()
        import openai

        extra = {"response_format": response_format} if response_format else {}
        try:
            reply = litellm.completion(
                model=self.choice.model,
                messages=messages,
                api_base=self.choice.api_base,
                timeout=self.choice.timeout_sec,
                num_retries=0,
                max_retries=self.choice.retries,
                **self.choice.params,
                **extra,
            )
        except litellm.exceptions.AuthenticationError as error:
            raise ModelError(self._error_line("refused the key", error)) from error
        except (litellm.exceptions.APIError, openai.APIError) as error:
            raise ModelError(self._error_line("gave no answer", error)) from error
        usage = getattr(reply, "usage", None)
        choice = reply.choices[0]
        return ModelAnswer(
            key=key,
            model=self.choice.model,
            text=self._redacted(choice.message.content or ""),
            prompt_sha256=digest_json(messages),
            input_tokens=getattr(usage, "prompt_tokens", None),
            output_tokens=getattr(usage, "completion_tokens", None),
            cost_usd=_price(litellm, reply, self.choice.model),
            finish=choice.finish_reason,
        )

    def _error_line(self, what: str, error: Exception) -> str:
        reason = " ".join(self._redacted(str(error)).split())
        return f"model {self.choice.model!r} {what}: {reason[:300]}"

    def _redacted(self, text: str) -> str:
        """What a server said, without the keys that it was sent."""
        params = self.choice.params.items()
        return redact(text, [str(value) for name, value in params if SECRET_NAME.search(name)])


def _litellm() -> Any:
    """litellm, imported where it is called and without its look-up of prices on the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def _price(litellm: Any, reply: Any, model: str) -> float | None:
    name = model.split("/", 1)[-1]
    if model not in litellm.model_cost and name not in litellm.model_cost:
        return None
    return float(litellm.completion_cost(completion_response=reply, model=model))


def _json_object(text: str) -> str:
    """The JSON object inside an answer, which may come in a code fence or among words."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}"


def as_data(name: str, value: Any) -> str:
    """Foreign text, or JSON values that hold it, as data between tags `name`: one line of JSON, which
    cannot close its own tag. Nothing in it is an instruction to the model."""
    body = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f"<{name} json>\n{body}\n</{name}>"
