"""Numbers as people read them; the CSV beside a table keeps them whole."""

from datetime import datetime
from typing import Any

DASH = "–"
_SHARES = (
    "_rate",
    "_share",
    "share",
    "coverage",
    "strict_given_runtime",
    "units_share_low",
    "units_share_high",
)
_POINTS = ("delta", "delta_rate", "delta_pass", "delta_runtime")
_SIGNED = ("delta_", "difference")
_LABELS = {
    "eru_rate": "ERU rate",
    "ge1_yes": "≥ 1 yes",
    "ge2_yes": "≥ 2 yes",
    "ge5_yes": "≥ 5 yes",
    "cost_usd": "cost, USD",
    "low_pp": "low, pp",
    "high_pp": "high, pp",
}


def label(column: str) -> str:
    """A column's name as a heading."""
    return _LABELS.get(column, column.replace("_", " "))


def shown(column: str, value: Any) -> str:
    """One value of a column as text; a null is a dash, never a zero."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(column, value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return str(value)


def _number(column: str, value: float) -> str:
    if column in _POINTS:
        return f"{100 * value:+.1f} pp".replace("-", "−")
    if column.endswith(_SHARES):
        return f"{100 * value:.1f} %"
    if isinstance(value, int):
        text = f"{value:,}".replace(",", " ")
        sign = "+" if column.startswith(_SIGNED) and value > 0 else ""
        return (sign + text).replace("-", "−")
    sign = "+" if column.startswith(_SIGNED) else ""
    return _float(value, sign).replace("-", "−")


def _float(value: float, sign: str) -> str:
    if value and abs(value) >= 1000:
        return f"{value:{sign},.0f}".replace(",", " ")
    if value and abs(value) < 0.01:
        return f"{value:{sign}.1e}"
    return f"{value:{sign}.2f}"


def is_number(value: Any) -> bool:
    """Whether a value is set flush right."""
    return isinstance(value, int | float) and not isinstance(value, bool)
