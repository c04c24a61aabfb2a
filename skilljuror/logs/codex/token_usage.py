"""Token accounting of Codex, old and new.

New files have one token_usage_record per response. Old ones repeat a cumulative total, whose
differences count, not the sum of the "last" figures.
"""

from typing import Any

from skilljuror.base.trajectory import Usage
from skilljuror.logs.assembly.builders import total_usage
from skilljuror.logs.assembly.token_usage import usage_of_prompt
from skilljuror.logs.raw_logs.coercion import as_count, as_dict

_FIELDS = (
    "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
    "reasoning_output_tokens",
)  # fmt: skip

Counts = tuple[int | None, ...]
"""One number per field, in the order of _FIELDS."""


class UsageMeter:
    """Collects the usage of one thread."""

    def __init__(self) -> None:
        self.forked = False
        """Whether the totals include those of another thread, whose history this one inherits."""
        self._records: dict[str, Usage] = {}
        self._differences: list[Usage] = []
        self._before: Counts = ()

    @property
    def total(self) -> Usage | None:
        """Usage of the thread, or None if not logged."""
        return total_usage(self._records.values() if self._records else self._differences)

    def usage_record(self, payload: dict[str, Any]) -> Usage | None:
        """Count a token_usage_record; None if its response was already counted."""
        response = str(payload.get("response_id") or len(self._records))
        if response in self._records:
            return None
        usage = _usage(_counts(as_dict(payload.get("usage"))))
        self._records[response] = usage
        return usage

    def inherit(self, info: dict[str, Any]) -> None:
        """Take the total of a repeated token_count event as the one before the thread's own."""
        total = _counts(as_dict(info.get("total_token_usage")))
        self._before = total if total[0] is not None else self._before

    def token_count(self, info: dict[str, Any]) -> Usage | None:
        """Count a token_count event; None for a repeated total or if usage records exist."""
        total = _counts(as_dict(info.get("total_token_usage")))
        if self._records or total[0] is None or total == self._before:
            return None
        change = self._change(total, info)
        self._before = total
        if not any(change):
            return None
        usage = _usage(change)
        self._differences.append(usage)
        return usage

    def _change(self, total: Counts, info: dict[str, Any]) -> Counts:
        """Difference to the previous total; after a reset (a resumed thread) the last response."""
        if not self._before:
            return _counts(as_dict(info.get("last_token_usage"))) if self.forked else total
        changes: list[int | None] = []
        for now, before in zip(total, self._before, strict=True):
            if now is not None and now < (before or 0):
                return _counts(as_dict(info.get("last_token_usage")))
            changes.append(None if now is None else now - (before or 0))
        return tuple(changes)


def _counts(usage: dict[str, Any]) -> Counts:
    return tuple(map(as_count, map(usage.get, _FIELDS)))


def _usage(counts: Counts) -> Usage:
    total, cached, written, output, reasoning = counts
    return usage_of_prompt(
        total, cached=cached, written=written, output=output, reasoning=reasoning
    )
