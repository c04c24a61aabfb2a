"""How often a judge's yes is right, by people's labels, and the rate that this leaves (Rogan-Gladen)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from skilljuror.stats.intervals import Interval


class CheckedItem(NamedTuple):
    """One item that a judge and a person labelled."""

    judge: str
    """yes, no or unknown."""
    person: str
    """yes or no; any other label is left out."""
    weight: float = 1.0
    """How many items it stands for: 1 / the probability with which it was drawn."""


@dataclass(frozen=True)
class Share:
    """A share of weighted items."""

    value: float
    """The share."""
    items: int
    """Items that it rests on."""
    effective: float
    """Equally weighted items that would tell as much (Kish): (sum of weights)^2 / sum of squares."""
    interval: Interval
    """Wilson's interval at the effective number of items."""


def weighted_share(
    hits: Sequence[bool], weights: Sequence[float], level: float = 0.95
) -> Share | None:
    """The weighted share of hits; None without an item."""
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
    """How often a judge says yes where a person does, and does not where a person does not."""

    sensitivity: Share | None
    """Of the items that people called yes, those that the judge called yes (unknown is no yes)."""
    specificity: Share | None
    """Of the items that people called no, those that the judge did not call yes."""
    precision: Share | None
    """Of the judge's yes, those that people called yes."""
    undecided: int
    """Items that people called neither: left out."""
    method: str = "weighted by 1 / sampling probability, Wilson"
    """Name of the method."""


def judge_accuracy(items: Sequence[CheckedItem], level: float = 0.95) -> Accuracy:
    """Sensitivity, specificity and precision of a judge's yes, by people's labels."""
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
    """A share that a judge's errors are taken out of."""

    value: float | None
    """The corrected share, cut to [0, 1]; None where the judge tells nothing (sensitivity +
    specificity up to 1) or either is not known."""
    interval: Interval | None
    """Lang and Reiczigel's, which knows that sensitivity and specificity are estimates, and takes items as
    independent: those of one task, which are alike, make it too narrow."""
    method: str = "Rogan-Gladen, Lang-Reiczigel interval"
    """Name of the method."""


def rogan_gladen(
    yes: int, judged: int, sensitivity: Share | None, specificity: Share | None, level: float = 0.95
) -> CorrectedShare:
    """(apparent share + specificity - 1) / (sensitivity + specificity - 1), the apparent share being
    `yes` of `judged`. Sound where the judge errs alike in all that it is applied to, and where people
    would decide all of it: `judged` holds every item, sensitivity and specificity those they decided."""
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
