"""Efficiency: time, tokens and money of one trial (measures §2)."""

from collections.abc import Iterator
from itertools import chain

from skilljuror.base.results import Measure, Price, TrialContext
from skilljuror.base.texts import cost, price_of
from skilljuror.base.trajectory import Trajectory, Usage
from skilljuror.measures.metrics.base import (
    Definition,
    MeasureKey,
    ValueOrReason,
    defines,
    to_measures,
)

CLASSES = ("input", "cache_write", "cache_read", "output", "reasoning")
CACHE_ABOVE_INPUT = "cache_above_input"
"""Reason for counts of a log with more cached tokens than input."""


@defines({
    "agent_minutes": Definition("Wall clock of the agent's execution", "minutes", "§2.1"),
    "log_minutes": Definition("From the first to the last record of the log", "minutes", "own"),
    "tokens": Definition(
        "Tokens of one class, as the log reports them", "tokens", "§2.2",
        "input (uncached), cache_write, cache_read, output, reasoning (part of output)",
    ),
    "display_tokens": Definition("Uncached input, cache writes and output", "tokens", "§2.2"),
    "total_tokens": Definition("All input, cached or not, and output", "tokens", "§2.5"),
    "cost_usd": Definition("Tokens at the dated list price of the model", "USD", "§2.3"),
    "price_date": Definition("Date of the price used for cost_usd", "YYYYMMDD", "§2.3"),
    "cost_usd_logged": Definition("Cost as reported by the log", "USD", "own"),
})  # fmt: skip
def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; a value missing in the log is null, never zero."""
    return to_measures(context, _time(context) | _tokens(context))


def usage_of(trajectory: Trajectory) -> Usage | None:
    """Totals of the run: as logged, else the sum over the steps if every step has usage."""
    if trajectory.usage is not None:
        return trajectory.usage
    usages = [step.usage for step in trajectory.steps if step.usage is not None]
    if not usages or len(usages) < len(trajectory.steps):
        return None
    return _total_of(usages)


def _sum(usages: list[Usage], name: str) -> int | None:
    values: list[int | None] = [getattr(usage, name) for usage in usages]
    known = [value for value in values if value is not None]
    if known and min(known) < 0:
        return min(known)  # unknown, and so is the sum
    return sum(known) if len(known) == len(values) else None


def _time(context: TrialContext) -> dict[MeasureKey, ValueOrReason]:
    record, trajectory = context.record, context.trajectory
    seconds = record.agent_seconds if record else None
    absent = "never_started" if record else "no_record"
    return {
        ("agent_minutes", ""): absent if seconds is None else seconds / 60,
        ("log_minutes", ""): _log_minutes(trajectory) if trajectory else "no_trajectory",
    }


def _log_minutes(trajectory: Trajectory) -> ValueOrReason:
    start, end = trajectory.started_at, trajectory.finished_at
    if start is None or end is None or end < start:
        return "no_timestamps"
    return (end - start) / 60


def _tokens(context: TrialContext) -> dict[MeasureKey, ValueOrReason]:
    usage = usage_of(context.trajectory) if context.trajectory else None
    if usage is None or _record_reason(context):
        return _without_usage(context)
    return {
        **{("tokens", name): _class(usage, name) for name in CLASSES},
        ("display_tokens", ""): _display(usage),
        ("total_tokens", ""): _total(usage),
        **_cost(context, usage),
        ("cost_usd_logged", ""): "not_reported" if usage.cost_usd is None else usage.cost_usd,
    }


def _without_usage(context: TrialContext) -> dict[MeasureKey, ValueOrReason]:
    names = (
        "display_tokens", "total_tokens", "cost_usd", "price_date", "cost_usd_logged",
    )  # fmt: skip
    keys = [("tokens", name) for name in CLASSES] + [(name, "") for name in names]
    missing = "no_usage" if context.trajectory else "no_trajectory"
    return dict.fromkeys(keys, _record_reason(context) or missing)


def _record_reason(context: TrialContext) -> str | None:
    """The record's reason takes precedence: zeros logged by a policy without a model are not usage."""
    return context.record.usage_reason if context.record else None


def _class(usage: Usage, name: str) -> ValueOrReason:
    value: int | None = getattr(usage, name)
    if value is None:
        return "not_reported"
    return value if value >= 0 else CACHE_ABOVE_INPUT


def _display(usage: Usage) -> ValueOrReason:
    """Uncached input, cache writes and output (measures §2.2).

    The classes are disjoint. If the log does not separate writes, they are part of the input; if it
    does not separate reads, the result is null, because they would count as uncached.
    """
    if usage.input is None or usage.output is None:
        return "no_input_or_output"
    if usage.input < 0:
        return CACHE_ABOVE_INPUT
    if usage.cache_read is None:
        return "no_cache_read"
    return usage.input + (usage.cache_write or 0) + usage.output


def _total(usage: Usage) -> ValueOrReason:
    """Every token once, cache included (measures §2.5)."""
    if usage.input is None or usage.output is None:
        return "no_input_or_output"
    if usage.input < 0:
        return CACHE_ABOVE_INPUT
    return usage.input + (usage.cache_write or 0) + (usage.cache_read or 0) + usage.output


def _cost(context: TrialContext, usage: Usage) -> dict[MeasureKey, ValueOrReason]:
    """Each model's tokens at its own price, with the oldest of their dates."""
    bills = [
        (price, cost(part, price) if price else "no_price")
        for price, part in _by_price(context, usage)
    ]
    reason = next((dollars for _, dollars in bills if isinstance(dollars, str)), None)
    if reason:
        return {("cost_usd", ""): reason, ("price_date", ""): reason}
    date = min(float(price.as_of.replace("-", "")) for price, _ in bills if price)
    total = sum(dollars for _, dollars in bills if not isinstance(dollars, str))
    return {("cost_usd", ""): total, ("price_date", ""): date}


def _by_price(context: TrialContext, usage: Usage) -> Iterator[tuple[Price | None, Usage]]:
    """The run's tokens by price. Steps of other models than the main one have their own price, if the
    steps account for all tokens."""
    steps = context.trajectory.steps if context.trajectory else ()
    model = context.trajectory.model if context.trajectory else None
    named = (context.record.model if context.record else None) or model
    main = [price_of(name, context.prices) for name in (named, model)]
    parts: dict[str | None, list[Usage]] = {None: []}
    for step in steps:
        if step.usage:
            other = step.model if price_of(step.model, context.prices) not in main else None
            parts.setdefault(other, []).append(step.usage)
    own = parts.pop(None)
    every = _total_of([*own, *chain.from_iterable(parts.values())])
    split = parts and all(getattr(usage, name) == getattr(every, name) for name in CLASSES[:4])
    if split:
        yield from (
            (price_of(name, context.prices), _total_of(part)) for name, part in parts.items()
        )
    if own or not split:
        yield main[0], _total_of(own) if split else usage


def _total_of(usages: list[Usage]) -> Usage:
    return Usage(**{name: _sum(usages, name) for name in CLASSES})
