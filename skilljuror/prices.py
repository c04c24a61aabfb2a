"""List prices: a dated table, and the cost of tokens by it (measures §2.2, §2.3)."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from skilljuror.models.measure import Price
from skilljuror.models.trajectory import Usage

if TYPE_CHECKING:  # what workers load counts: no pydantic where logs are read
    from skilljuror.models.study import ModelPrice

AS_OF = "2026-11-20"
"""When the packaged list was read, from the price table of litellm 1.106.2."""

_LIST = (
    # model, input, cache write, cache read, output
    ("claude-haiku-4-5", 1.00, 1.25, 0.10, 5.00),
    ("claude-opus-4-5", 5.00, 6.25, 0.50, 25.00),
    ("claude-opus-4-6", 5.00, 6.25, 0.50, 25.00),
    ("claude-opus-4-7", 5.00, 6.25, 0.50, 25.00),
    ("claude-opus-4-8", 5.00, 6.25, 0.50, 25.00),
    ("claude-sonnet-4-5", 3.00, 3.75, 0.30, 15.00),
    ("claude-sonnet-4-6", 3.00, 3.75, 0.30, 15.00),
    ("gemini-2.5-flash", 0.30, 0.30, 0.03, 2.50),
    ("gemini-2.5-pro", 1.25, 1.25, 0.125, 10.00),
    ("gemini-3-flash-preview", 0.50, 0.50, 0.05, 3.00),
    ("gemini-3.1-pro-preview", 2.00, 2.00, 0.20, 12.00),
    ("gemini-3.5-flash", 1.50, 1.50, 0.15, 9.00),
    ("gpt-4o", 2.50, 2.50, 1.25, 10.00),
    ("gpt-5", 1.25, 1.25, 0.125, 10.00),
    ("gpt-5-codex", 1.25, 1.25, 0.125, 10.00),
    ("gpt-5-mini", 0.25, 0.25, 0.025, 2.00),
    ("gpt-5.1", 1.25, 1.25, 0.125, 10.00),
    ("gpt-5.1-codex", 1.25, 1.25, 0.125, 10.00),
    ("gpt-5.2", 1.75, 1.75, 0.175, 14.00),
    ("gpt-5.2-codex", 1.75, 1.75, 0.175, 14.00),
    ("gpt-5.3-codex", 1.75, 1.75, 0.175, 14.00),
    ("gpt-5.4", 2.50, 2.50, 0.25, 15.00),
    ("gpt-5.4-mini", 0.75, 0.75, 0.075, 4.50),
    ("gpt-5.4-nano", 0.20, 0.20, 0.02, 1.25),
    ("gpt-5.5", 5.00, 5.00, 0.50, 30.00),
)
PRICES = tuple(Price(*row, AS_OF) for row in _LIST)
"""The packaged list. Where a vendor names no price for cache writes, they cost plain input."""

_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$")
_CLOUD = re.compile(r"^(?:[a-z]{2,6}\.)?anthropic\.|-v\d+(?::\d+)?$")


def with_packaged(own: Iterable["ModelPrice"]) -> tuple[Price, ...]:
    """The packaged list, with a study's own prices in the place of those of the same models."""
    return (*PRICES, *(Price(**price.model_dump(mode="json")) for price in own))


def price_of(model: str | None, prices: tuple[Price, ...] | None) -> Price | None:
    """The price of a model, whatever provider prefix, date or punctuation its name carries."""
    if model is None:
        return None
    return _table(PRICES if prices is None else prices).get(_normalised_model(model))


@lru_cache(maxsize=4)
def _table(prices: tuple[Price, ...]) -> dict[str, Price]:
    return {_normalised_model(price.model): price for price in prices}


def cost(usage: Usage, price: Price) -> float | str:
    """US dollars of tokens by a price list, or the reason why nobody knows.

    Cache writes that a log does not tell apart stand in its plain input; that has a price
    only where both cost the same.
    """
    if usage.input is None or usage.output is None:
        return "no_input_or_output"
    if usage.cache_read is None:
        return "no_cache_read"
    if usage.cache_write is None and price.cache_write != price.input:
        return "no_cache_write"
    return (
        price.input * max(0, usage.input)
        + price.cache_write * (usage.cache_write or 0)
        + price.cache_read * usage.cache_read
        + price.output * usage.output
    ) / 1e6


@lru_cache(maxsize=256)
def _normalised_model(model: str) -> str:
    name = _CLOUD.sub("", model.rpartition("/")[2].lower())
    return _DATE.sub("", name).replace(".", "-")
