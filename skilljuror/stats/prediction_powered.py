"""Rates that a judge gives for all items, corrected by people's labels of some of them.

Prediction-powered inference (PPI++: Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) of a rate
yes / (yes + no), clustered by task, with labels that were drawn with known probabilities: what the judge
says of all items, plus what people's labels say it was wrong by. No assumption about the judge: a poor
one widens the interval and nothing else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skilljuror.errors import UsageError
from skilljuror.stats.intervals import Interval, rate_interval, t_interval

Rows = NDArray[np.float64]


class JudgedItem(NamedTuple):
    """One item that a judge labelled, and perhaps a person."""

    cluster: str
    """Its task: items of one task are alike."""
    judge: str
    """yes or no; any other label stays outside the rate."""
    person: str | None = None
    """Label of a person, in the same words; None where nobody was asked."""
    weight: float = 1.0
    """Of an item with a person's label: 1 / the probability with which it was drawn."""
    stands_for: int = 1
    """Items of this task and answer that it stands for; 0 for a labelled one that others count already."""


@dataclass(frozen=True, repr=False)
class CorrectedRate:
    """A rate, or a difference of two, with what it rests on."""

    value: float | None
    """The rate, cut to [0, 1], or the difference; None where nothing was decided."""
    se: float | None
    """Its standard error over clusters; None for fewer than two."""
    interval: Interval | None
    """Student's interval with clusters - 1 degrees of freedom; that of a rate cut to [0, 1]."""
    tuning: tuple[float, ...]
    """How far the judge is used, 0 (labels alone) to 1 (fully), one number an arm; 1 without labels."""
    clusters: int
    """Tasks with an item."""
    items: int
    """Items."""
    labels: int
    """Items with a person's label."""
    method: str
    """Name of the method."""

    def __repr__(self) -> str:
        """The rate as one would quote it."""
        told = "no rate" if self.value is None else f"{self.value:.3g}"
        if self.interval is not None:
            told += f" ({self.interval.low:.3g} to {self.interval.high:.3g})"
        return f"{told}, {self.labels} of {self.items} items labelled, {self.clusters} tasks"


def judged_rate(items: Sequence[JudgedItem], level: float = 0.95) -> CorrectedRate:
    """The rate by the judge alone, as if it never erred, clustered by task."""
    return _told([_unlabelled(items)], level, "judge alone, tasks as clusters")


def corrected_rate(items: Sequence[JudgedItem], level: float = 0.95) -> CorrectedRate:
    """The rate of one arm, corrected by its labels. Raises UsageError where there is none."""
    _check_labels(items, "these items")
    return _told([items], level, "PPI++, tasks as clusters")


def judged_difference(
    control: Sequence[JudgedItem], treatment: Sequence[JudgedItem], level: float = 0.95
) -> CorrectedRate:
    """Treatment minus control by the judge alone, paired by task."""
    arms = [_unlabelled(control), _unlabelled(treatment)]
    return _told(arms, level, "judge alone, paired by task")


def corrected_difference(
    control: Sequence[JudgedItem], treatment: Sequence[JudgedItem], level: float = 0.95
) -> CorrectedRate:
    """Treatment minus control, each corrected by its own labels, paired by task.

    Raises UsageError where an arm has no label: a judge may err more in one than in the other.
    """
    for arm, name in ((control, "the control"), (treatment, "the treatment")):
        _check_labels(arm, name)
    return _told([control, treatment], level, "PPI++, paired by task")


def _unlabelled(items: Sequence[JudgedItem]) -> list[JudgedItem]:
    return [item._replace(person=None) for item in items]


def _check_labels(items: Sequence[JudgedItem], name: str) -> None:
    if not any(item.person is not None for item in items):
        raise UsageError(
            f"no person has labelled anything of {name}: a correction needs labels from every arm, for"
            " a judge may err more in one than in another",
            field="labels",
        )


def _rows(items: Sequence[JudgedItem], places: dict[str, int]) -> Rows:
    """What moves the rate, a row a cluster: yes, and yes or no, by people's weighted labels; and what
    the judge says of all items beyond what it says, weighted, of the labelled ones."""
    rows = np.zeros((len(places), 4))
    for item in items:
        row, said = rows[places[item.cluster]], _yes_and_decided(item.judge)
        row[2:] += item.stands_for * said
        if item.person is not None:
            row[:2] += item.weight * _yes_and_decided(item.person)
            row[2:] -= item.weight * said
    return rows


def _yes_and_decided(label: str) -> Rows:
    return np.array([label == "yes", label in {"yes", "no"}], dtype=float)


def _rates(rows: Rows, labelled: bool) -> tuple[Rows, Rows]:
    """The rate and the use of the judge: first of all clusters, then without each of them in turn."""
    sums = np.vstack([np.zeros(4), rows])
    totals = rows.sum(axis=0) - sums
    grams = rows.T @ rows - sums[:, :, None] * sums[:, None, :]
    counts = np.full(len(sums), len(rows) - 1.0)
    counts[0] += 1
    tuning = _tuning(totals, grams, counts) if labelled else np.ones(len(sums))
    return _ratio(totals, tuning), tuning


def _ratio(totals: Rows, tuning: Rows) -> Rows:
    """The rate at a given use of the judge; nan where nothing is decided."""
    yes, decided = (totals[:, n] + tuning * totals[:, n + 2] for n in (0, 1))
    return np.divide(yes, decided, out=np.full_like(yes, math.nan), where=decided > 0)


def _tuning(totals: Rows, grams: Rows, counts: Rows) -> Rows:
    """The use of the judge that gives the least variance over clusters, from 0 to 1 (PPI++ §6)."""
    rate = _ratio(totals, np.ones(len(totals)))
    direction = np.stack([np.ones_like(rate), -rate], axis=1)
    people, judge = ((totals[:, part] * direction).sum(axis=1) for part in (slice(2), slice(2, 4)))
    across = np.einsum("ki,kij,kj->k", direction, grams[:, :2, 2:], direction)
    own = np.einsum("ki,kij,kj->k", direction, grams[:, 2:, 2:], direction)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = -(across - people * judge / counts) / (own - judge**2 / counts)
    return np.clip(np.where(np.isfinite(best), best, 1.0), 0.0, 1.0)


def _told(arms: Sequence[Sequence[JudgedItem]], level: float, method: str) -> CorrectedRate:
    """The rate of one arm, or the second minus the first; the error is that of a jackknife that leaves
    one cluster out of all arms, tuning included."""
    items = [item for arm in arms for item in arm]
    places = {name: place for place, name in enumerate(sorted({item.cluster for item in items}))}
    labels = sum(item.person is not None for item in items)
    *control, treatment = (_rates(_rows(arm, places), labels > 0) for arm in arms)
    rates = treatment[0] - sum(rate for rate, _ in control)
    without, count = rates[1:], len(places)
    value = float(rates[0] if control else np.clip(rates[0], 0.0, 1.0))
    spread = float(np.var(without)) if count > 1 else math.nan
    se = math.sqrt((count - 1) * spread) if spread >= 0 else None
    known = None if math.isnan(value) else value
    return CorrectedRate(
        value=known,
        se=se,
        interval=(t_interval if control else rate_interval)(known, se, count - 1, level),
        tuning=tuple(float(used[0]) for _, used in (*control, treatment)),
        clusters=count,
        items=sum(item.stands_for for item in items),
        labels=labels,
        method=method,
    )
