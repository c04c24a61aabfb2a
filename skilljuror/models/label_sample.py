"""The uses of resources that people are asked about, so that their answers speak for all."""

from skilljuror.models.record import Record


class SampledUse(Record):
    """One use in the sample."""

    event: str
    """Id of the event."""
    run: str
    """Its trial, or key of the foreign run."""
    task: str
    """Its task; "" for a foreign run that no trial of a harness holds."""
    condition: str
    """Its condition."""
    answer: str
    """What the judge had said of it: yes, no, not_seen_again, unknown, or not_judged."""
    probability: float
    """Chance that a use of this condition and answer had to be drawn."""


class LabelSample(Record):
    """A stratified random sample: every condition and every answer of a judge in turns."""

    format_version: int = 1
    """Version of this record."""
    seed: int
    """Seed of the draw."""
    judge: str | None
    """The judge whose answers divided the uses; None where nobody had judged any."""
    uses: int
    """Uses that there were to draw from."""
    sample: tuple[SampledUse, ...]
    """What was drawn, in the order in which to ask: whoever stops early has such a sample, too."""
