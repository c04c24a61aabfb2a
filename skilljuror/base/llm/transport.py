"""One call of a model through litellm, with retries after transport failures."""

import atexit
import os
import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from skilljuror.base.errors import ModelError, QuestionRefused
from skilljuror.base.extras import require
from skilljuror.base.llm.answers import Message, ModelChoice, prompt
from skilljuror.base.models.trajectory import Usage
from skilljuror.base.redaction import SECRET_NAME, redact

FIRST_WAIT = 0.5
"""Seconds before the first retry; doubled for each later one."""
LONGEST_WAIT = 60.0
"""Maximum wait in seconds, whatever a server requests."""
TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 after which a retry may succeed."""
REFUSED = {400, 413, 422}
"""HTTP statuses by which a server refuses one question."""
USED_UP = re.compile("insufficient_quota|credit balance is too low")
"""Texts of a 429 or 400 that no retry can fix: the account is empty."""

MAX_TOKENS = 100_000_000
"""Maximum tokens of one call; a higher count is invalid, as no model has a larger context."""
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class Reply(NamedTuple):
    """Result of a call."""

    text: str
    """The answer, or the refusal in its own words."""
    usage: Usage
    """Tokens of the four classes; None if not reported."""
    finish: str | None
    """Why the model stopped."""
    usage_reason: str | None = None
    """Why tokens are unknown, if that is known."""


def complete(choice: ModelChoice, messages: Sequence[Message], response_format: Any) -> Reply:
    """Return the answer to one question. Raises QuestionRefused if the server refuses it,
    ModelError if the last attempt fails."""
    litellm = _litellm()
    import openai

    for tries in range(choice.transport_retries + 1):
        try:
            reply = _call(litellm, choice, messages, response_format)
        except (litellm.exceptions.APIError, openai.OpenAIError) as error:
            if tries == choice.transport_retries or not _is_transport_fault(openai, error):
                raise _refusal(openai, choice, error, tries) from error
            time.sleep(_wait(error, tries))
        else:
            return _reply(choice, reply)
    raise AssertionError("the last try returns or raises")


def _call(
    litellm: Any, choice: ModelChoice, messages: Sequence[Message], response_format: Any
) -> Any:
    extra = {"response_format": response_format} if response_format else {}
    return litellm.completion(
        model=choice.model,
        messages=_with_cache_mark(choice.model, messages),
        api_base=choice.api_base,
        timeout=choice.timeout_sec,
        num_retries=0,
        max_retries=0,
        **choice.params,
        **extra,
    )


def _with_cache_mark(model: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as sent. Anthropic caches what ends in a mark: the system message, which
    many questions share; other providers cache a common prefix unasked."""
    sent: list[dict[str, Any]] = [*prompt(messages)]
    if "claude" in model and sent[0]["role"] == "system":
        text = {"type": "text", "text": sent[0]["content"]}
        sent[0]["content"] = [text | {"cache_control": {"type": "ephemeral"}}]
    return sent


def _is_transport_fault(openai: Any, error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status < 500:
        return status in TRANSIENT and not _is_account_empty(error)
    return isinstance(status, int) or isinstance(error, openai.APIConnectionError)


def _is_question_refused(error: Exception) -> bool:
    """Whether a server, not litellm itself, refuses this question."""
    served = getattr(error, "litellm_response_headers", None) is not None
    status = getattr(error, "status_code", None)
    return served and status in REFUSED and not _is_account_empty(error)


def _is_account_empty(error: Exception) -> bool:
    return USED_UP.search(f"{getattr(error, 'body', '')} {error}") is not None


def _wait(error: Exception, tries: int) -> float:
    """Seconds until the next attempt: as the server requests, else doubled each time, with random
    jitter."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    asked = str(headers.get("retry-after", ""))
    seconds = float(asked) if _SECONDS.fullmatch(asked) else 0.0
    doubled: float = FIRST_WAIT * 2**tries * random.uniform(0.5, 1.0)
    return min(max(seconds, doubled), LONGEST_WAIT)


def _refusal(openai: Any, choice: ModelChoice, error: Exception, tries: int) -> ModelError:
    key = isinstance(error, openai.AuthenticationError)
    what = "refused the key" if key else "gave no answer"
    tried = f" in {tries + 1} tries" if tries else ""
    reason = " ".join(_redacted(choice, str(error)).split())
    kind = QuestionRefused if _is_question_refused(error) else ModelError
    return kind(f"model {choice.model!r} {what}{tried}: {reason[:300]}")


def _reply(choice: ModelChoice, reply: Any) -> Reply:
    if not reply.choices:
        return Reply("", _usage(getattr(reply, "usage", None)), None)
    first = reply.choices[0]
    further = getattr(first.message, "provider_specific_fields", None) or {}
    text = str(first.message.content or further.get("refusal") or "")
    return Reply(
        _redacted(choice, text), _usage(getattr(reply, "usage", None)), first.finish_reason
    )


def _usage(told: Any) -> Usage:
    """Four disjoint token classes: litellm includes cache reads and writes in the prompt, and
    writes zero for counts that a server did not report. Impossible counts are unknown."""
    whole = getattr(told, "prompt_tokens", None)
    if not whole:
        return Usage()
    details = getattr(told, "prompt_tokens_details", None)
    read = getattr(details, "cached_tokens", None)
    written = getattr(told, "cache_creation_input_tokens", None)
    output = getattr(told, "completion_tokens", None)
    if not all(one is None or _is_count(one) for one in (whole, read, written, output)):
        return Usage()
    plain = whole - (read or 0) - (written or 0)
    return Usage(plain, written, read, output) if plain >= 0 else Usage()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_TOKENS


def _redacted(choice: ModelChoice, text: str) -> str:
    """A server's text without our keys; lone surrogates become question marks."""
    whole = text.encode("utf-8", "replace").decode()
    return redact(whole, secrets_of(choice.params))


def secrets_of(params: Mapping[str, Any]) -> Iterable[str]:
    """Values of parameters that contain a key."""
    return [str(value) for name, value in params.items() if SECRET_NAME.search(name)]


@cache
def _litellm() -> Any:
    """Import litellm late, without its price look-up on the network, and with bounded HTTP in both
    of its clients: openai's and its own."""
    require("models", "a model")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import httpx
    import litellm
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    from skilljuror.base.llm.bounded_http import BoundedTransport

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    bounded = BoundedTransport(httpx.Client(verify=get_ssl_configuration(), limits=unlimited))
    litellm.sync_transport = bounded
    litellm.client_session = httpx.Client(transport=bounded, follow_redirects=True)
    atexit.register(litellm.client_session.close)
    return litellm
