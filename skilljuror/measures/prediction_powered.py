"""Rates of a judge over all items, corrected by people's labels of a sample.

Prediction-powered inference (PPI++: Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) of a rate
yes / (yes + no), clustered by task, with labels drawn with known probabilities: the judge's rate over all
items plus its error, estimated from people's labels. No assumption about the judge is needed: a poor one
only widens the interval.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from skilljuror.base.errors import UsageError
from skilljuror.measures.rates import Interval, rate_interval

Rows = NDArray[np.float64]


class JudgedItem(NamedTuple):
    """One item labelled by a judge and possibly by a person."""

    cluster: str
    """Its task: items of one task are alike."""
    judge: str
    """yes or no; other labels do not count in the rate."""
    person: str | None = None
    """Label of a person, or None."""
    weight: float = 1.0
    """For an item with a person's label: 1 / its sampling probability."""
    stands_for: int = 1
    """Items of this task and answer that it represents; 0 for a labelled item that is already counted."""


class CorrectedRate(Struct, frozen=True):
    """A rate, or a difference of two, with its basis."""

    value: float | None
    """The rate, cut to [0, 1], or the difference; None if nothing was decided."""
    se: float | None
    """Its standard error over clusters; None for fewer than two."""
    interval: Interval | None
    """Student's interval with clusters - 1 degrees of freedom; cut to [0, 1], of a difference to [-1, 1]."""
    tuning: tuple[float, ...]
    """Weight of the judge by arm, 0 (labels only) to 1 (full); 1 without labels."""
    clusters: int
    """Tasks with an item."""
    items: int
    """Items."""
    labels: int
    """Items with a person's label."""
    method: str

    def __repr__(self) -> str:
        text = "no rate" if self.value is None else f"{self.value:.3g}"
        if self.interval is not None:
            text += f" ({self.interval.low:.3g} to {self.interval.high:.3g})"
        return f"{text}, {self.labels} of {self.items} items labelled, {self.clusters} tasks"


def judged_rate(items: Sequence[JudgedItem], level: float = 0.95) -> CorrectedRate:
    """Return the rate of the judge alone, uncorrected, clustered by task."""
    return _estimate([_unlabelled(items)], level, "judge alone, tasks as clusters")


def corrected_rate(items: Sequence[JudgedItem], level: float = 0.95) -> CorrectedRate:
    """Return the rate of one arm, corrected by its labels. Raises UsageError without labels."""
    _check_labels(items, "these items")
    return _estimate([items], level, "PPI++, tasks as clusters")


def judged_difference(
    control: Sequence[JudgedItem], treatment: Sequence[JudgedItem], level: float = 0.95
) -> CorrectedRate:
    """Treatment minus control by the judge alone, paired by task."""
    arms = [_unlabelled(control), _unlabelled(treatment)]
    return _estimate(arms, level, "judge alone, paired by task")


def corrected_difference(
    control: Sequence[JudgedItem], treatment: Sequence[JudgedItem], level: float = 0.95
) -> CorrectedRate:
    """Treatment minus control, each corrected by its own labels, paired by task.

    Raises UsageError for an arm without labels: the judge may err more in one arm than in the other.
    """
    for arm, name in ((control, "the control"), (treatment, "the treatment")):
        _check_labels(arm, name)
    return _estimate([control, treatment], level, "PPI++, paired by task")


def _unlabelled(items: Sequence[JudgedItem]) -> list[JudgedItem]:
    return [item._replace(person=None) for item in items]


def _check_labels(items: Sequence[JudgedItem], name: str) -> None:
    if not any(item.person is not None for item in items):
        raise UsageError(
            f"{name}: no labels by people; a correction needs labels from every arm, because a judge may err"
            " more in one than in another",
            field="labels",
        )


def _rows(items: Sequence[JudgedItem], places: dict[str, int]) -> Rows:
    """One row per cluster: people's weighted counts of yes and of yes or no, and the judge's counts of
    the same over all items minus its weighted counts over the labelled items."""
    rows = np.zeros((len(places), 4))
    for item in items:
        row, labels = rows[places[item.cluster]], _yes_and_decided(item.judge)
        row[2:] += item.stands_for * labels
        if item.person is not None:
            row[:2] += item.weight * _yes_and_decided(item.person)
            row[2:] -= item.weight * labels
    return rows


def _yes_and_decided(label: str) -> Rows:
    return np.array([label == "yes", label in {"yes", "no"}], dtype=float)


def _rates(rows: Rows, labelled: bool) -> tuple[Rows, Rows]:
    """Return rate and tuning, first of all clusters, then with each cluster left out in turn."""
    sums = np.vstack([np.zeros(4), rows])
    totals = rows.sum(axis=0) - sums
    grams = rows.T @ rows - sums[:, :, None] * sums[:, None, :]
    counts = np.full(len(sums), len(rows) - 1.0)
    counts[0] += 1
    tuning = _tuning(totals, grams, counts) if labelled else np.ones(len(sums))
    return _ratio(totals, tuning), tuning


def _ratio(totals: Rows, tuning: Rows) -> Rows:
    """Return the rate at a given tuning; nan if nothing is decided."""
    yes, decided = (totals[:, n] + tuning * totals[:, n + 2] for n in (0, 1))
    return np.divide(yes, decided, out=np.full_like(yes, math.nan), where=decided > 0)


def _tuning(totals: Rows, grams: Rows, counts: Rows) -> Rows:
    """Return the tuning with the least variance over clusters, from 0 to 1 (PPI++ §6)."""
    rate = _ratio(totals, np.ones(len(totals)))
    direction = np.stack([np.ones_like(rate), -rate], axis=1)
    people, judge = ((totals[:, part] * direction).sum(axis=1) for part in (slice(2), slice(2, 4)))
    across = np.einsum("ki,kij,kj->k", direction, grams[:, :2, 2:], direction)
    own = np.einsum("ki,kij,kj->k", direction, grams[:, 2:, 2:], direction)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = -(across - people * judge / counts) / (own - judge**2 / counts)
    return np.clip(np.where(np.isfinite(best), best, 1.0), 0.0, 1.0)


def _estimate(arms: Sequence[Sequence[JudgedItem]], level: float, method: str) -> CorrectedRate:
    """Return the rate of one arm, or the second minus the first; the error is by a jackknife over the
    clusters of all arms, including the tuning."""
    items = [item for arm in arms for item in arm]
    places = {name: place for place, name in enumerate(sorted({item.cluster for item in items}))}
    labels = sum(item.person is not None for item in items)
    *control, treatment = (_rates(_rows(arm, places), labels > 0) for arm in arms)
    rates = treatment[0] - sum(rate for rate, _ in control)
    without, count = rates[1:], len(places)
    lowest = -1.0 if control else 0.0
    value = float(np.clip(rates[0], lowest, 1.0))
    spread = float(np.var(without)) if count > 1 else math.nan
    se = math.sqrt((count - 1) * spread) if spread >= 0 else None
    known = None if math.isnan(value) else value
    return CorrectedRate(
        value=known,
        se=se,
        interval=rate_interval(known, se, count - 1, level, lowest=lowest),
        tuning=tuple(float(used[0]) for _, used in (*control, treatment)),
        clusters=count,
        items=sum(item.stands_for for item in items),
        labels=labels,
        method=method,
    )
