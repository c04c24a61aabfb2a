"""What a metric is."""

from collections.abc import Iterable
from typing import Protocol

from skilljuror.models.measure import Measure, TrialContext


class Metric(Protocol):
    """Turns what is known of one trial into rows; a null carries its reason.

    The same rows come out for every trial: pure, total on empty and truncated trials.
    """

    def __call__(self, context: TrialContext) -> Iterable[Measure]:
        """The rows of this family for one trial."""
        ...
