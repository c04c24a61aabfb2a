"""Outcome: what the verifier said, and whether the run ended cleanly (measures §1)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from skilljuror.metrics.base import MeasureKey, ValueOrReason, to_measures
from skilljuror.models.measure import Measure, TrialContext

if TYPE_CHECKING:
    from skilljuror.models.study import TrialRecord

ROWS: tuple[MeasureKey, ...] = (
    ("strict_pass", ""),
    ("broad_pass", ""),
    ("reward", ""),
    ("runtime_success", ""),
    ("strict_pass_and_runtime", ""),
    ("scored", ""),
    ("timeout", ""),
)


def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; all null outside a study, where nobody verified anything."""
    if context.record is None:
        return to_measures(context, dict.fromkeys(ROWS, "no_record"))
    return to_measures(context, dict(zip(ROWS, _values(context.record), strict=True)))


def _values(record: "TrialRecord") -> tuple[ValueOrReason, ...]:
    """A missing reward is no pass (measures §1.1), and no reward."""
    reward, clean = record.reward, record.exception is None
    strict = record.strict_pass
    return (
        float(strict),
        float(reward is not None and reward > 0),
        _no_reward(record) if reward is None else reward,
        float(clean),
        float(strict and clean),
        float(reward is not None),
        float(record.status == "timeout"),
    )


def _no_reward(record: "TrialRecord") -> str:
    return "unscored" if record.status == "scored" else record.status
