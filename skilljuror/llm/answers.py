"""What a model is asked, what it answered, and which questions are the same."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from skilljuror.files import digest_json
from skilljuror.redaction import SECRET_NAME

Message = Mapping[str, str]
"""{"role": …, "content": …}."""


class ModelChoice(Struct, frozen=True):
    """Which model, and how it is asked."""

    model: str
    """Name as litellm spells it, such as "openai/gpt-5.4"."""
    api_base: str | None = None
    """Address of an OpenAI-compatible server; None for the one of the environment, else the provider's own."""
    params: dict[str, Any] = {}
    """Further parameters: temperature, max_tokens, reasoning_effort, …"""
    timeout_sec: float = 120.0
    """How long a server may stay silent in one call, seconds."""
    retries: int = 2
    """Further tries after an answer that does not fit."""
    transport_retries: int = 4
    """Further tries after a fault on the way: 429, 5xx, silence, a connection that broke off."""

    @property
    def address(self) -> str | None:
        """The server that is asked: as chosen, else as the environment has it for the provider."""
        provider = self.model.partition("/")[0] if "/" in self.model else "openai"
        names = (f"{provider.upper()}_{name}" for name in ("API_BASE", "BASE_URL"))
        return self.api_base or next(
            (os.environ[name] for name in names if name in os.environ), None
        )

    def key(self, messages: Sequence[Message], repeat: int = 0, response_format: Any = None) -> str:
        """sha256 of all that an answer depends on: the same key is the same question.

        Keys of providers are left out: a new one asks the same.
        """
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
    """What a model answered; one line of calls.jsonl."""

    key: str
    """sha256 of model, address, parameters, messages, response format and repeat."""
    model: str
    """Model that was asked for."""
    text: str
    """The answer as given, but for keys of the environment in it; a refusal in its own words."""
    prompt_sha256: str
    """sha256 of the messages."""
    input_tokens: int | None = None
    """Prompt tokens neither read from nor written to a cache, as far as the server tells these apart;
    None when it did not say."""
    output_tokens: int | None = None
    """Completion tokens as reported, reasoning included."""
    cost_usd: float | None = None
    """Tokens at the dated list price; None for a model that the list lacks, or without tokens (never 0)."""
    finish: str | None = None
    """Why the model stopped."""
    repeat: int = 0
    """Which asking of the same question this answers, from 0."""
    cache_read_tokens: int | None = None
    """Prompt tokens read from a cache; None when the server did not say."""
    cache_write_tokens: int | None = None
    """Prompt tokens written to a cache; None when the server did not say."""
    price_as_of: str | None = None
    """Date of the price, YYYY-MM-DD; None without one."""

    @property
    def prompt_tokens(self) -> int | None:
        """All tokens of the prompt, cached or not."""
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)


def prompt(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as they are sent and digested."""
    return [dict(message) for message in messages]
