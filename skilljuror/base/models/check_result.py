"""What one test of a verifier, or one item of a rubric, said of a trial."""

from typing import Literal

from msgspec import Struct

CheckOutcome = Literal["passed", "failed", "error", "skipped", "unjudged"]
FailureLabel = Literal["asset", "runtime", "interface", "numeric", "rule"]


class CheckResult(Struct, frozen=True):
    """One row of `check_results`; its columns say what the fields mean."""

    trial: str
    source: str
    name: str
    outcome: CheckOutcome
    points: float = 1.0
    award: float | None = None
    label: FailureLabel | None = None
    said: str | None = None
    judge: str | None = None
    item_group: str | None = None
    criterion: str | None = None
    unit: str | None = None
