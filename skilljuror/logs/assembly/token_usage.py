"""Token classes from prompt counts that include cached tokens."""

from typing import Any

from skilljuror.base.trajectory import Usage
from skilljuror.logs.raw_logs.coercion import as_count, as_dict, as_float, nested, remainder


def usage_of_prompt(
    prompt: Any, *, cached: Any, written: Any = None, output: Any, reasoning: Any = None,
    cost: Any = None,
) -> Usage:  # fmt: skip
    """Return the four disjoint classes; `input` excludes cached and written tokens."""
    return Usage(
        input=remainder(as_count(prompt), as_count(cached), as_count(written)),
        cache_write=as_count(written),
        cache_read=as_count(cached),
        output=as_count(output),
        reasoning=as_count(reasoning),
        cost_usd=as_float(cost),
    )


def usage_of_response(response: dict[str, Any]) -> Usage | None:
    """Return the usage of a raw API response (chat or responses API)."""
    usage = as_dict(response.get("usage"))
    if not usage:
        return None
    if "input_tokens" in usage and "prompt_tokens" not in usage:
        return usage_of_prompt(
            usage.get("input_tokens"),
            cached=nested(usage, "input_tokens_details", "cached_tokens"),
            output=usage.get("output_tokens"),
            reasoning=nested(usage, "output_tokens_details", "reasoning_tokens"),
        )
    details = as_dict(usage.get("prompt_tokens_details"))
    cached = details.get("cached_tokens")
    return usage_of_prompt(
        usage.get("prompt_tokens"),
        cached=usage.get("cache_read_input_tokens") if cached is None else cached,
        written=usage.get("cache_creation_input_tokens"),
        output=usage.get("completion_tokens"),
        reasoning=nested(usage, "completion_tokens_details", "reasoning_tokens"),
    )
