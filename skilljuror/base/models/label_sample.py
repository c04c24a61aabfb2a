"""A sample of resource uses for people to label."""

from typing import Literal

from skilljuror.base.models.record import Record


class SampledUse(Record):
    """One use in the sample."""

    event: str
    """Id of the event."""
    run: str
    """Its trial, or key of the foreign run."""
    task: str
    """Its task; "" for a foreign run without a trial."""
    condition: str
    """Its condition."""
    answer: str
    """The judge's answer: yes, no, not_seen_again, unknown, or not_judged."""
    probability: float
    """Inclusion probability of a use with this condition and answer."""


class LabelSample(Record):
    """A random sample stratified by condition and the judge's answer."""

    format_version: Literal[1] = 1
    """Version of this record."""
    seed: int
    """Seed of the draw."""
    judge: str | None
    """Judge whose answers define the strata; None if nothing was judged."""
    uses: int
    """Size of the population."""
    sample: tuple[SampledUse, ...]
    """Drawn uses in the order of asking; every prefix is a valid sample."""
