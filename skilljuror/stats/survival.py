"""Time to a first event; runs without the event are censored, not late."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skilljuror.extras import require


@dataclass(frozen=True)
class Survival:
    """Kaplan-Meier estimate of the share of runs still without the event."""

    curve: tuple[tuple[float, float], ...]
    """(time, share still without it), one row per time of an event."""
    median: float | None
    """First time at which at most half are without it, or None."""
    restricted_mean: float | None
    """Mean time without the event up to the horizon; None without runs."""
    horizon: float
    """End of the restricted mean."""
    runs: int
    """Runs."""
    censored: int
    """Runs that ended without the event."""
    method: str = "Kaplan-Meier, restricted mean"
    """Name of the method."""


def survival(runs: Sequence[tuple[float, bool]], horizon: float) -> Survival:
    """Estimate from (time of the event or of the run's end, whether it was the event)."""
    happened = [time for time, event in runs if event]
    ended = [time for time, event in runs if not event]
    curve = _curve(happened, ended) if happened else []
    return Survival(
        curve=tuple(curve),
        median=next((time for time, share in curve if share <= 0.5), None),
        restricted_mean=_area(curve, horizon) if runs else None,
        horizon=horizon,
        runs=len(runs),
        censored=len(ended),
    )


def restricted_mean(
    happened: Sequence[float], cut_off: Sequence[float], never: int, horizon: float
) -> float:
    """Mean time without the event up to the horizon, at least one run; that of `survival`.

    A run that was cut off is censored at its time. One that ended without the event never has it and counts
    as the horizon: censored at its end, it would count as one that has it as often as the others do.
    """
    if all(time >= horizon for time in cut_off):
        times = [*(min(time, horizon) for time in happened), *[horizon] * (len(cut_off) + never)]
        return math.fsum(times) / len(times)
    ended = [(time, False) for time in (*cut_off, *[horizon] * never)]
    found = survival([*((time, True) for time in happened), *ended], horizon).restricted_mean
    return horizon if found is None else found


def _curve(happened: Sequence[float], ended: Sequence[float]) -> list[tuple[float, float]]:
    require("report", "a survival curve", "scipy")
    from scipy.stats import CensoredData, ecdf

    without = ecdf(CensoredData(happened, right=ended)).sf
    times = sorted({*happened})
    return list(zip(times, map(float, without.evaluate(times)), strict=True))


def _area(curve: Sequence[tuple[float, float]], horizon: float) -> float:
    """Area under the step function from 0 to the horizon."""
    area, since, share = 0.0, 0.0, 1.0
    for time, left in curve:
        if time >= horizon:
            break
        area, since, share = area + share * (time - since), time, left
    return area + share * (horizon - since)
