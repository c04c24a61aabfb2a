"""Accuracy of a judge's yes, by people's labels, and the corrected rate (Rogan-Gladen)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from skilljuror.measures.stats.intervals import Interval


class CheckedItem(NamedTuple):
    """One item that a judge and a person labelled."""

    judge: str
    """yes, no or unknown."""
    person: str
    """yes or no; other labels are ignored."""
    weight: float = 1.0
    """Number of items that it represents: 1 / its sampling probability."""


@dataclass(frozen=True)
class Share:
    """A share of weighted items."""

    value: float
    """The share."""
    items: int
    """Number of items."""
    effective: float
    """Effective sample size (Kish): (sum of weights)^2 / sum of squares."""
    interval: Interval
    """Wilson's interval at the effective number of items."""


def weighted_share(
    hits: Sequence[bool], weights: Sequence[float], level: float = 0.95
) -> Share | None:
    """Return the weighted share of hits; None without items."""
    if not hits:
        return None
    total = math.fsum(weights)
    effective = total**2 / math.fsum(weight**2 for weight in weights)
    share = math.fsum(weight for hit, weight in zip(hits, weights, strict=True) if hit) / total
    z = NormalDist().inv_cdf(0.5 + level / 2)
    s = z * z / effective
    middle = (share + s / 2) / (1 + s)
    reach = math.sqrt(s * share * (1 - share) + s * s / 4) / (1 + s)
    low = 0.0 if share == 0 else max(0.0, middle - reach)
    high = 1.0 if share == 1 else min(1.0, middle + reach)
    return Share(share, len(hits), effective, Interval(low, high, level, "Wilson, effective size"))


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of a judge's yes against people's labels."""

    sensitivity: Share | None
    """Share of people's yes that the judge labelled yes (unknown is not yes)."""
    specificity: Share | None
    """Share of people's no that the judge did not label yes."""
    precision: Share | None
    """Share of the judge's yes that people labelled yes."""
    undecided: int
    """Items that people labelled neither yes nor no, ignored."""
    method: str = "weighted by 1 / sampling probability, Wilson"
    """Name of the method."""


def judge_accuracy(items: Sequence[CheckedItem], level: float = 0.95) -> Accuracy:
    """Return sensitivity, specificity and precision of a judge's yes, by people's labels."""
    yes = [item for item in items if item.person == "yes"]
    no = [item for item in items if item.person == "no"]
    called = [item for item in (*yes, *no) if item.judge == "yes"]
    return Accuracy(
        sensitivity=_share_of(yes, [item.judge == "yes" for item in yes], level),
        specificity=_share_of(no, [item.judge != "yes" for item in no], level),
        precision=_share_of(called, [item.person == "yes" for item in called], level),
        undecided=len(items) - len(yes) - len(no),
    )


def _share_of(items: Sequence[CheckedItem], hits: list[bool], level: float) -> Share | None:
    return weighted_share(hits, [item.weight for item in items], level)


@dataclass(frozen=True)
class CorrectedShare:
    """A share corrected for a judge's errors."""

    value: float | None
    """The corrected share, cut to [0, 1]; None if the judge is uninformative (sensitivity +
    specificity up to 1) or either is unknown."""
    interval: Interval | None
    """Lang and Reiczigel's interval, which includes the uncertainty of sensitivity and specificity. It
    assumes independent items; items of one task are alike and make it too narrow."""
    method: str = "Rogan-Gladen, Lang-Reiczigel interval"
    """Name of the method."""


def rogan_gladen(
    yes: int, judged: int, sensitivity: Share | None, specificity: Share | None, level: float = 0.95
) -> CorrectedShare:
    """(apparent share + specificity - 1) / (sensitivity + specificity - 1), with the apparent share
    `yes` / `judged`. Valid if the judge's error rates are the same for all items and people could decide
    all of them: `judged` counts every item, sensitivity and specificity only decided ones."""
    if not judged or sensitivity is None or specificity is None:
        return CorrectedShare(None, None)
    gain = sensitivity.value + specificity.value - 1
    if gain <= 0:
        return CorrectedShare(None, None)
    value = (yes / judged + specificity.value - 1) / gain
    interval = _lang_reiczigel(yes / judged, judged, sensitivity, specificity, level)
    return CorrectedShare(min(1.0, max(0.0, value)), interval)


def _lang_reiczigel(
    apparent: float, judged: int, sensitivity: Share, specificity: Share, level: float
) -> Interval | None:
    z = NormalDist().inv_cdf(0.5 + level / 2)
    count = judged + z * z
    share = (judged * apparent + z * z / 2) / count
    n_yes, n_no = sensitivity.effective + 2, specificity.effective + 2
    right_yes = (sensitivity.effective * sensitivity.value + 1) / n_yes
    right_no = (specificity.effective * specificity.value + 1) / n_no
    gain = right_yes + right_no - 1
    if gain <= 0:
        return None
    value = (share + right_no - 1) / gain
    of_yes = right_yes * (1 - right_yes) / n_yes
    of_no = right_no * (1 - right_no) / n_no
    shift = 2 * z * z * (value * of_yes - (1 - value) * of_no)
    spread = share * (1 - share) / count + (1 - value) ** 2 * of_no + value**2 * of_yes
    reach = z * math.sqrt(spread) / gain
    low, high = (min(1.0, max(0.0, value + shift + side * reach)) for side in (-1, 1))
    return Interval(low, high, level, "Lang-Reiczigel")
