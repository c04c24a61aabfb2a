"""Effective Resource Uptake over a condition (measures §4), and where Skill steps fall (§3)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from skilljuror.models.measure import UptakeLabel


@dataclass(frozen=True)
class UptakeSummary:
    """ERU of one condition."""

    trajectories: int
    """Trajectories that were parsed, those without an event included."""
    events: int
    """Labelled events, unknown ones included."""
    yes: int
    """Events taken up."""
    no: int
    """Events not taken up."""
    unknown: int
    """Events that could not be decided: in no rate, in every mean of events."""
    rate: float | None
    """yes / (yes + no), micro over events; None when nothing was decided."""
    mean_events: float | None
    """Events per trajectory."""
    mean_yes: float | None
    """Uptake events per trajectory."""
    incidence: tuple[tuple[int, int], ...]
    """(k, trajectories with at least k uptake events)."""
    missing: int = 0
    """Trajectories that could not be parsed: missing, not zero events."""
    method: str = "yes / (yes + no), micro over events"
    """Name of the method."""


def uptake_summary(
    trajectories: Sequence[Sequence[UptakeLabel]],
    *,
    at_least: Sequence[int] = (1, 2, 5),
    missing: int = 0,
) -> UptakeSummary:
    """Summary of the labels of each trajectory's events."""
    labels = Counter(label for labels in trajectories for label in labels)
    yes = [sum(label == "yes" for label in labels) for labels in trajectories]
    decided = labels["yes"] + labels["no"]
    count = len(trajectories)
    return UptakeSummary(
        trajectories=count,
        events=labels.total(),
        yes=labels["yes"],
        no=labels["no"],
        unknown=labels["unknown"],
        rate=labels["yes"] / decided if decided else None,
        mean_events=labels.total() / count if count else None,
        mean_yes=labels["yes"] / count if count else None,
        incidence=tuple((k, sum(found >= k for found in yes)) for k in at_least),
        missing=missing,
    )


@dataclass(frozen=True)
class DistributedRate:
    """How many runs came back to the Skill later."""

    of_exposed: float | None
    """Distributed / exposed trials; None when none was exposed."""
    of_all: float | None
    """Distributed / all trials; None without a trial."""
    distributed: int
    """Trials whose Skill-related steps occupy enough thirds."""
    exposed: int
    """Trials with a Skill-related step."""
    trials: int
    """Trials with a readable log."""
    min_thirds: int
    """Thirds that must be occupied."""
    method: str = "thirds of step midpoints"
    """Name of the method."""


def distributed_rate(thirds: Sequence[int], min_thirds: int = 2) -> DistributedRate:
    """Rates from the number of thirds each trial's Skill steps occupy (0: not exposed; §3.8)."""
    exposed = sum(found > 0 for found in thirds)
    spread = sum(found >= min_thirds for found in thirds)
    return DistributedRate(
        spread / exposed if exposed else None,
        spread / len(thirds) if thirds else None,
        spread, exposed, len(thirds), min_thirds,
    )  # fmt: skip


@dataclass(frozen=True)
class Shares:
    """A share over trials, both ways."""

    macro: float | None
    """Mean of the trials' shares: the headline (A-17)."""
    pooled: float | None
    """Sum of the parts / sum of the wholes."""
    trials: int
    """Trials with a whole above zero."""
    dropped: int
    """Trials without a step (or token), dropped from both."""
    method: str = "mean over trials, pooled beside it"
    """Name of the method."""


def shares(trials: Sequence[tuple[float, float]]) -> Shares:
    """Macro and pooled share of (part, whole) per trial, such as Skill steps of all steps (§3.1)."""
    usable = [(part, whole) for part, whole in trials if whole > 0]
    if not usable:
        return Shares(None, None, 0, len(trials))
    macro = sum(part / whole for part, whole in usable) / len(usable)
    pooled = sum(part for part, _ in usable) / sum(whole for _, whole in usable)
    return Shares(macro, pooled, len(usable), len(trials) - len(usable))


def pooled_parts(trials: Sequence[Sequence[float]]) -> tuple[float, ...] | None:
    """Share of each third (or bin) in all Skill steps, pooled over trials; None without any (§3.7)."""
    totals = [sum(column) for column in zip(*trials, strict=True)]
    whole = sum(totals)
    return tuple(total / whole for total in totals) if whole else None


def steps_per_trial(trials: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Mean number of Skill steps per part over all trials: absolute, not normalised (§3.7)."""
    return tuple(sum(column) / len(trials) for column in zip(*trials, strict=True))
