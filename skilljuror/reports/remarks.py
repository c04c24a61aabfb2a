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
    policies: dict[tuple[str, bool | None], dict[str, dict[str, Any]]] = {}
    for row in rows:
        policies.setdefault((row["policy"], row["own_policy"]), {})[row["kind"]] = row
    remarks = [
        Remark(f"{_audit_under(policy, own)} {_caught(kinds)}")
        for (policy, own), kinds in policies.items()
    ]
    return [*remarks, *_unmeasured(rows)]


def _audit_under(policy: str, own: bool | None) -> str:
    if own:
        return f"Under policy {policy}, which judged these variants, this audit"
    return f"Under policy {policy}, which did not judge these variants, an audit"


def _caught(kinds: dict[str, dict[str, Any]]) -> str:
    drift, flagged = kinds.get("drift"), _flagged(kinds.get("harmless"))
    if drift is None or not drift["planted"]:
        words = "had nothing to catch: no drift could be planted into these variants"
        return f"{words}{flagged and f'; it {flagged}'}."
    return (
        f"would have caught {_share(drift, 'flagged_rate')} of {_count(drift['planted'])}"
        f" planted changes (95 % interval {_share(drift, 'rate_low')} to"
        f" {_share(drift, 'rate_high')}): {_ends(drift)}{flagged and f'; it {flagged}'}."
    )


def _flagged(harmless: dict[str, Any] | None) -> str:
    if harmless is None or not harmless["planted"]:
        return ""
    counts = f"{_count(harmless['flagged'])} of {_count(harmless['planted'])} harmless edits"
    return f"flagged {counts}" + (f": {_ends(harmless)}" if harmless["flagged"] else "")


def _ends(row: dict[str, Any]) -> str:
    review = _count(row["flagged"] - row["failed"])
    return f"{_count(row['failed'])} failed, {review} sent to review"


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
