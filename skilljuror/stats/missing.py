"""What missing trials could change: the delta under the best and the worst that they may hide."""

from collections.abc import Mapping
from dataclasses import dataclass

from skilljuror.stats.paired import Arm, paired_delta


@dataclass(frozen=True)
class Sensitivity:
    """The paired delta (points) under assumptions about planned trials without an outcome."""

    as_failures: float | None
    """Every missing trial of both arms failed."""
    worst: float | None
    """Missing trials failed under treatment and passed under control."""
    best: float | None
    """Missing trials passed under treatment and failed under control."""
    missing: int
    """Planned trials without an outcome, both arms together."""
    verdict: str
    """complete; robust (the sign is the same throughout); inconclusive: unmatched."""
    method: str = "missing = fail, worst and best case"
    """Name of the method."""


def sensitivity(control: Arm, treatment: Arm, planned: Mapping[str, int]) -> Sensitivity:
    """Bounds of the delta; `planned` gives the trials per task that each arm should have."""
    gaps = sum(
        max(0, count - len(arm.get(task, ())))
        for arm in (control, treatment)
        for task, count in planned.items()
    )
    failures = _delta(control, treatment, planned, (0.0, 0.0))
    worst = _delta(control, treatment, planned, (1.0, 0.0))
    best = _delta(control, treatment, planned, (0.0, 1.0))
    return Sensitivity(failures, worst, best, gaps, _verdict(gaps, worst, best))


def _delta(
    control: Arm, treatment: Arm, planned: Mapping[str, int], assumed: tuple[float, float]
) -> float | None:
    filled = [
        _fill(arm, planned, value) for arm, value in zip((control, treatment), assumed, strict=True)
    ]
    return paired_delta(*filled).delta


def _fill(arm: Arm, planned: Mapping[str, int], value: float) -> dict[str, list[float]]:
    known = {task: list(arm.get(task, ())) for task in planned}
    return {
        task: [*found, *[value] * (planned[task] - len(found))] for task, found in known.items()
    }


def _verdict(gaps: int, worst: float | None, best: float | None) -> str:
    if not gaps:
        return "complete"
    same = worst is not None and best is not None and worst * best > 0
    return "robust" if same else "inconclusive: unmatched"
