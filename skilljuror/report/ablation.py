"""Section ablation: does a section of a Skill earn its place? The whole Skill against an arm without it."""

from collections.abc import Sequence
from typing import Any

from skilljuror.measures.stats.paired import PairedDelta
from skilljuror.measures.stats.power import holm
from skilljuror.measures.stats.verdicts import ALPHA, Verdict, verdict
from skilljuror.report.answers import Answers
from skilljuror.report.headline import outcome_contrast
from skilljuror.report.rates import difference, largest_p
from skilljuror.store.connect import QueryResult

SECTIONS = (
    "condition", "whole", "tasks", "runs", "shown_rate", "used_rate_low", "delta_rate", "delta_rate_reason",
    "delta_low", "delta_low_reason", "delta_high", "p", "p_holm", "verdict",
)  # fmt: skip
EARNS, SHAM, ASLEEP, OPEN = (
    "earns its place", "no better than sham", "not activated", "undetermined",
)  # fmt: skip


def sections(answers: Answers) -> QueryResult:
    """The whole Skill minus the arm without a section, paired by task, with a verdict on each section."""
    setup = answers.single("setup")
    found: list[tuple[str, list[dict[str, Any]], PairedDelta | None, float | None]] = []
    for name, rows in _by_condition(answers("section_runs").records()):
        delta = outcome_contrast(answers, setup["primary_outcome"], rows[0]["whole"], name)
        found.append((name, rows, delta, largest_p(delta) if delta else None))
    tested = {name: p for name, rows, _, p in found if p is not None and _shown(rows)}
    adjusted = dict(zip(tested, holm([*tested.values()]), strict=True))
    return QueryResult(
        SECTIONS, [_row(*row, adjusted.get(row[0]), setup["margin"]) for row in found]
    )


def _by_condition(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    names = dict.fromkeys(row["condition"] for row in rows)
    return [(name, [row for row in rows if row["condition"] == name]) for name in names]


def _row(
    name: str,
    rows: Sequence[dict[str, Any]],
    delta: PairedDelta | None,
    p: float | None,
    p_holm: float | None,
    margin: float | None,
) -> tuple[Any, ...]:
    runs = sum(row["runs"] for row in rows)
    used = [row["used_low"] for row in rows]
    shares = (
        _shown(rows) / runs if runs else None,
        sum(used) / runs if runs and None not in used else None,
    )
    if delta is None:
        none = (rows[0]["whole_reason"] or "no trial of both arms", None, None, None)
        return (name, rows[0]["whole"], 0, runs, *shares, None, *none, p, p_holm, OPEN)
    return (
        name, rows[0]["whole"], delta.tasks, runs, *shares, *difference(delta), p, p_holm,
        _word(verdict(delta, margin), p_holm, runs, _shown(rows) + sum(row["unplaced"] for row in rows)),
    )  # fmt: skip


def _shown(rows: Sequence[dict[str, Any]]) -> int:
    shown: int = sum(row["shown"] for row in rows)
    return shown


def _word(found: Verdict, p_holm: float | None, runs: int, shown: int) -> str:
    """A section that no run was shown was not tested. It earns its place if the whole Skill is better and the
    adjusted p is below 5 %; it is no better than sham if the arms are equivalent, or the whole is worse."""
    if runs and not shown:
        return ASLEEP
    if found.word == "better" and p_holm is not None and p_holm < ALPHA:
        return EARNS
    return SHAM if found.word in {"equivalent", "worse"} else OPEN
