"""Questions to a model, its answers, and when two questions are the same."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from skilljuror.base.files import digest_json
from skilljuror.base.redaction import SECRET_NAME

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
        return digest_json([
            self.model,
            self.address,
            params,
            prompt(messages),
            response_format,
            repeat,
        ])


class ModelAnswer(Struct, frozen=True):
    """An answer of a model; one line of calls.jsonl."""

    key: str
    """sha256 of model, address, parameters, messages, response format and repeat."""
    model: str
    """Requested model."""
    text: str
    """The answer, without keys of the environment; a refusal in its own words."""
    prompt_sha256: str
    """sha256 of the messages."""
    input_tokens: int | None = None
    """Prompt tokens neither read from nor written to a cache, if the server distinguishes them;
    None if not reported."""
    output_tokens: int | None = None
    """Completion tokens as reported, including reasoning."""
    cost_usd: float | None = None
    """Cost at the dated list price, else as an agent's log reports it; None if neither is known (never 0).
    """
    finish: str | None = None
    """Why the model stopped."""
    repeat: int = 0
    """Number of the repeat of the same question, from 0."""
    cache_read_tokens: int | None = None
    """Prompt tokens read from a cache; None if not reported."""
    cache_write_tokens: int | None = None
    """Prompt tokens written to a cache; None if not reported."""
    price_as_of: str | None = None
    """Date of the price, YYYY-MM-DD; None without one."""
    usage_reason: str | None = None
    """Why tokens are unknown, for an agent's answer: no_model, no_log, no_usage; None if known."""

    @property
    def prompt_tokens(self) -> int | None:
        """All prompt tokens, cached or not."""
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)


def prompt(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the messages as sent and digested."""
    return [dict(message) for message in messages]
