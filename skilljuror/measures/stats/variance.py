"""One-way analysis of variance from the mean and spread of each group."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from skilljuror.base.errors import require


class Group(NamedTuple):
    """Values of one group."""

    size: int
    """Number of values."""
    mean: float
    """Their mean."""
    sd: float
    """Their standard deviation; 0 for one value."""


def anova(groups: Sequence[Group]) -> tuple[float, float] | None:
    """Return (F, p) of the hypothesis that all groups have one mean (Fisher); None for fewer than two
    groups, and if no group varies."""
    require("report", "an analysis of variance", "scipy")
    from scipy.stats import f

    count = sum(group.size for group in groups)
    within = math.fsum((group.size - 1) * group.sd**2 for group in groups)
    freedom = len(groups) - 1, count - len(groups)
    if min(freedom) < 1 or not within:
        return None
    mean = math.fsum(group.size * group.mean for group in groups) / count
    between = math.fsum(group.size * (group.mean - mean) ** 2 for group in groups)
    found = (between / freedom[0]) / (within / freedom[1])
    return found, float(f.sf(found, *freedom))
