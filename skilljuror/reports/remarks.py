"""Remarks of a section before its tables: sentences made of the answers of questions."""

from collections.abc import Callable
from typing import Any, NamedTuple

from skilljuror.reports.answers import Answers
from skilljuror.reports.formatting import format_value


class Remark(NamedTuple):
    """One remark."""

    words: str
    """A sentence or two."""
    commands: tuple[str, ...] = ()
    """What to type, in order; empty where nothing is to be done."""


def gate_power(answers: Answers) -> list[Remark]:
    """How much planted drift the gates would have caught, or how to find out."""
    rows = answers("gate_power").records()
    if not rows:
        words = (
            "How much drift this audit would have caught in these variants was not measured."
            " To measure it, and to say so here:"
        )
        return [Remark(words, ("skilljuror assay STUDY --keep", "skilljuror report STUDY"))]
    policies: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        policies.setdefault(row["policy"], {})[row["kind"]] = row
    remarks = [
        Remark((f"Policy {policy}: " if len(policies) > 1 else "") + _caught(kinds))
        for policy, kinds in policies.items()
    ]
    return [*remarks, *_unmeasured(rows)]


def _caught(kinds: dict[str, dict[str, Any]]) -> str:
    drift, flagged = kinds.get("drift"), _flagged(kinds.get("harmless"))
    if drift is None or not drift["planted"]:
        return (
            "No drift could be planted into these variants, so nothing says what this audit would"
            f" have caught{flagged and f'; it{flagged}'}."
        )
    return (
        f"This audit would have caught {_share(drift, 'flagged_rate')} of {_count(drift['planted'])}"
        f" planted changes (95 % interval {_share(drift, 'rate_low')} to"
        f" {_share(drift, 'rate_high')}) in these variants{flagged and f' and{flagged}'}."
    )


def _flagged(harmless: dict[str, Any] | None) -> str:
    if harmless is None or not harmless["planted"]:
        return ""
    return f" flagged {_count(harmless['flagged'])} of {_count(harmless['planted'])} harmless edits"


def _share(row: dict[str, Any], column: str) -> str:
    """A share that says 100 % only where it is."""
    value = row[column]
    return "over 99.9 %" if 0.9995 <= value < 1 else format_value(column, value)


def _count(number: int) -> str:
    return format_value("planted", number)


def _unmeasured(rows: list[dict[str, Any]]) -> list[Remark]:
    """What the figure does not cover."""
    assayed, builds = max(row["assayed"] for row in rows), rows[0]["builds"]
    if assayed >= builds:
        return []
    words = (
        f"{_count(builds - assayed)} of {_count(builds)} builds were not measured and are not in"
        " this figure. To measure all:"
    )
    return [Remark(words, ("skilljuror assay STUDY --keep", "skilljuror report STUDY"))]


REMARKS: dict[str, Callable[[Answers], list[Remark]]] = {"gate_power": gate_power}
"""Name in `Section.remarks` -> its remarks."""
