"""Tokens and cost of ATIF steps and runs."""

from typing import Any

from msgspec.structs import replace

from skilljuror.base.trajectory import Usage
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.raw_logs.coercion import as_count, as_dict, as_float, nested

_ROUNDING = 1e-6
"""Relative cost difference that rounding of the same prices can cause."""


def usage_of_metrics(metrics: dict[str, Any]) -> Usage | None:
    """Usage of one step, or None if not logged."""
    if not metrics:
        return None
    extra = as_dict(metrics.get("extra"))
    reasoning = _first(extra, "reasoning_output_tokens", "thoughts_tokens")
    if reasoning is None:
        reasoning = nested(extra, "completion_tokens_details", "reasoning_tokens")
    return usage_of_prompt(
        metrics.get("prompt_tokens"),
        cached=metrics.get("cached_tokens"),
        written=_first(extra, "cache_creation_input_tokens", "cache_write_input_tokens"),
        output=metrics.get("completion_tokens"),
        reasoning=reasoning,
        cost=metrics.get("cost_usd"),
    )


def usage_of_run(stated: dict[str, Any], summed: Usage | None, *, in_parts: bool) -> Usage | None:
    """Totals of a run: its final metrics, else the sum of its steps.

    A run `in_parts` has continuations or sub-agents. Its final metrics cover only one part if they
    report fewer prompt tokens than its steps do.
    """
    steps = summed or Usage()
    prompt = as_count(stated.get("total_prompt_tokens"))
    if prompt is None or (in_parts and prompt < (_prompt(steps) or 0)):
        total = steps
        if total.output is None:
            total = replace(total, output=as_count(stated.get("total_completion_tokens")))
    else:
        total = _stated(stated, prompt, steps)
    total = replace(total, cost_usd=_cost(as_float(stated.get("total_cost_usd")), steps.cost_usd))
    return None if summed is None and total == Usage() else total


def _stated(stated: dict[str, Any], prompt: int, steps: Usage) -> Usage:
    extra = as_dict(stated.get("extra"))
    written = _first(extra, "total_cache_creation_input_tokens", "total_cache_write_input_tokens")
    reasoning = _first(extra, "reasoning_output_tokens", "total_thoughts_tokens")
    return usage_of_prompt(
        prompt,
        cached=_known(stated.get("total_cached_tokens"), steps.cache_read),
        written=_known(written, steps.cache_write),
        output=_known(stated.get("total_completion_tokens"), steps.output),
        reasoning=_known(reasoning, steps.reasoning),
    )


def _cost(stated: float | None, summed: float | None) -> float | None:
    """Prefer the steps' cost if it is higher: a resumed run reports only its first part."""
    if stated is None or summed is None:
        return summed if stated is None else stated
    return summed if stated < summed * (1 - _ROUNDING) else stated


def _known(stated: Any, summed: int | None) -> int | None:
    known = as_count(stated)
    return summed if known is None else known


def _prompt(usage: Usage) -> int | None:
    if usage.input is None:
        return None
    return usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)


def _first(extra: dict[str, Any], *names: str) -> Any:
    for name in names:
        if extra.get(name) is not None:
            return extra[name]
    return None
