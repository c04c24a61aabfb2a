"""Dated list prices, and the cost of tokens (measures §2.2, §2.3)."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from skilljuror.base.models.measure import Price
from skilljuror.base.models.model_name import plain_model
from skilljuror.base.models.trajectory import Usage

if TYPE_CHECKING:  # workers that read logs do not load pydantic
    from skilljuror.base.models.study import ModelPrice

AS_OF = "2026-11-20"
"""Date of the packaged list, read from the price table of litellm 1.106.2."""

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
"""The packaged list. Cache writes without a price of their own cost as much as plain input."""


def with_packaged(own: Iterable["ModelPrice"]) -> tuple[Price, ...]:
    """The packaged list, overridden by a study's own prices."""
    return (*PRICES, *(Price(**price.model_dump(mode="json")) for price in own))


def price_of(model: str | None, prices: tuple[Price, ...] | None) -> Price | None:
    """Return the price of a model, ignoring provider prefix, date and punctuation of its name."""
    if model is None:
        return None
    return _table(PRICES if prices is None else prices).get(plain_model(model))


@lru_cache(maxsize=4)
def _table(prices: tuple[Price, ...]) -> dict[str, Price]:
    return {plain_model(price.model): price for price in prices}


def cost(usage: Usage, price: Price) -> float | str:
    """Return the cost of tokens in US dollars, or the reason why it is unknown.

    A log without separate cache writes counts them as plain input; the cost is known only if both have
    the same price.
    """
    if usage.input is None or usage.output is None:
        return "no_input_or_output"
    if usage.input < 0:
        return "cache_above_input"
    if usage.cache_read is None:
        return "no_cache_read"
    if usage.cache_write is None and price.cache_write != price.input:
        return "no_cache_write"
    return (
        price.input * usage.input
        + price.cache_write * (usage.cache_write or 0)
        + price.cache_read * usage.cache_read
        + price.output * usage.output
    ) / 1e6
