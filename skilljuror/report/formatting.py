"""Numbers rounded for people; the CSV of a table has all digits."""

from datetime import datetime
from typing import Any

DASH = "–"
LONGEST = 240
"""Characters of a text that a cell shows; the CSV has them all."""
_SHARES = (
    "_rate", "_rate_all", "_share", "share", "_share_pooled", "coverage", "strict_given_runtime",
    "_share_low", "_share_high", "rate_low", "rate_high", "eru_low", "eru_high",
    "without_navigation_low", "without_navigation_high",
)  # fmt: skip
_POINTS = (
    "delta", "delta_rate", "delta_pass", "delta_runtime", "delta_detectable", "delta_low", "delta_high",
    "runtime_low", "runtime_high", "delta_given", "given_low", "given_high",
    *(f"delta_{how}{end}" for how in ("judge", "corrected") for end in ("", "_low", "_high")),
)  # fmt: skip
_SIGNED = ("delta_", "difference")
_COUNTED = ("root_lines", "median_step", "first_step", "median_steps_back")
"""Medians of whole numbers: shown without needless decimals."""
_LABELS = {
    "eru_rate": "ERU rate",
    "eru_low": "ERU rate, from",
    "eru_high": "ERU rate, to",
    "without_navigation_low": "without navigation, from",
    "without_navigation_high": "without navigation, to",
    "uptake_low": "uptake, from",
    "uptake_high": "uptake, to",
    "mean_yes_low": "mean yes, from",
    "mean_yes_high": "mean yes, to",
    "delta_yes_low": "delta yes, from",
    "delta_yes_high": "delta yes, to",
    **{
        f"ge{k}_yes_{end}": f"≥ {k} yes, {word}"
        for k in (1, 2, 5)
        for end, word in (("low", "from"), ("high", "to"))
    },
    "cost_usd": "cost, USD",
    "usd_per_pass": "USD per pass",
    "p_holm": "p, Holm",
    "q": "q, FDR",
    "f": "F",
}


def heading_of(column: str) -> str:
    """A column's name as a heading."""
    return _LABELS.get(column, column.replace("_", " "))


def format_value(column: str, value: Any) -> str:
    """One value of a column as text; a null is a dash, never a zero."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(column, value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    text = str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def format_points(value: float | None) -> str:
    """A difference in percentage points with its sign; a dash for None."""
    if value is None:
        return DASH
    tenths = round(value, 1)
    return _signed(f"{tenths:+.1f} pp") if tenths else "0.0 pp"


def _number(column: str, value: float) -> str:
    if column in _POINTS:
        return format_points(100 * value)
    if column.endswith(_SHARES):
        return _signed(f"{round(100 * value, 1) + 0.0:.1f} %")
    sign = "+" if column.startswith(_SIGNED) and value > 0 else ""
    if isinstance(value, int):
        return sign + _signed(f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}"))
    return sign + _signed(_decimal(column, value))


def _decimal(column: str, value: float) -> str:
    if column in _COUNTED:
        return f"{value:.6g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if value and abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value + 0.0:.2f}"


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def is_number(value: Any) -> bool:
    """Whether a value is set flush right."""
    return isinstance(value, int | float) and not isinstance(value, bool)
