"""Outcome: the verifier's result, and whether the run ended without errors (measures §1)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from skilljuror.base.results import Measure, TrialContext
from skilljuror.measures.metrics.base import Definition, ValueOrReason, defines, to_measures

if TYPE_CHECKING:
    from skilljuror.base.study import TrialRecord


@defines({
    "strict_pass": Definition("The reward is exactly 1; a missing reward is not a pass", "flag", "§1.1"),
    "broad_pass": Definition("The reward is above 0; a missing reward is not a pass", "flag", "§1.2"),
    "reward": Definition("Reward of the verifier, 0 to 1", "reward", "§1.3"),
    "runtime_success": Definition("The run ended without a recorded exception", "flag", "§1.4"),
    "strict_pass_and_runtime": Definition("Strict pass and runtime success", "flag", "§1.5"),
    "scored": Definition("The verifier gave a reward", "flag", "§0"),
    "timeout": Definition("The agent ran out of time", "flag", "§0"),
})  # fmt: skip
def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial; all null outside a study, which has no verifier."""
    rows = [(name, "") for name in measure.definitions]
    if context.record is None:
        return to_measures(context, dict.fromkeys(rows, "no_record"))
    return to_measures(context, dict(zip(rows, _values(context.record), strict=True)))


def _values(record: "TrialRecord") -> tuple[ValueOrReason, ...]:
    """A missing reward is not a pass (measures §1.1)."""
    reward, clean = record.reward, record.exception is None
    strict = record.strict_pass
    no_reward = "unscored" if record.status == "scored" else record.end
    judged = record.reason != "no_verifier"
    return (
        float(strict) if judged else "no_verifier",
        float(reward is not None and reward > 0) if judged else "no_verifier",
        no_reward if reward is None else reward,
        float(clean),
        float(strict and clean) if judged else "no_verifier",
        float(reward is not None),
        float(record.status == "timeout"),
    )
