"""The verdict on a contrast, for the report, the terminal and notebooks."""

from dataclasses import dataclass
from typing import Literal

from skilljuror.measures.stats.coverage import NOT_COUNTED, Coverage
from skilljuror.measures.stats.intervals import Interval
from skilljuror.measures.stats.paired import PairedDelta

VerdictWord = Literal["better", "worse", "equivalent", "inconclusive", "undetermined"]
ALPHA = 0.05


@dataclass(frozen=True)
class Verdict:
    """The conclusion about treatment minus control."""

    word: VerdictWord
    """better or worse: the 95 % interval is on one side of 0. equivalent: the 90 % interval is within
    the declared margin. inconclusive: neither. undetermined: no valid interval."""
    reason: str = ""
    """Why it is undetermined, and the arms with contaminated trials; else ""."""

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def verdict(delta: PairedDelta, margin: float | None = None, *, alpha: float = ALPHA) -> Verdict:
    """Return the verdict on a contrast. A margin is in the unit of the delta and declared in advance.

    A verdict that holds only with contaminated trials, or only without them, is inconclusive.
    """
    if delta.refusal:
        return Verdict("undetermined", delta.refusal)
    word = _word(delta, margin, alpha)
    reasons = [delta.no_interval, delta.coverage.contamination]
    without = word if delta.clean is None else _word(delta.clean, margin, alpha)
    if word not in {without, "undetermined"}:
        reasons.append(f"{word} with them, {without} without")
        word = "inconclusive"
    return Verdict(word, "; ".join(filter(None, reasons)))


def _word(delta: PairedDelta, margin: float | None, alpha: float) -> VerdictWord:
    inner, outer = equivalence_interval(delta, alpha), delta.interval(1 - alpha)
    if inner is None or outer is None:
        return "undetermined"
    if margin is not None and -margin < inner.low and inner.high < margin:
        return "equivalent"
    if outer.low > 0:
        return "better"
    return "worse" if outer.high < 0 else "inconclusive"


def equivalence_interval(delta: PairedDelta, alpha: float = ALPHA) -> Interval | None:
    """Return the interval of two one-sided tests (level 1 - 2 alpha), or None."""
    return delta.interval(1 - 2 * alpha)


@dataclass(frozen=True, repr=False)
class Equivalence:
    """The verdict with a declared margin."""

    verdict: VerdictWord
    """The conclusion."""
    reason: str
    """Why it is undetermined, and the arms with contaminated trials; else ""."""
    margin: float
    """Declared margin, in the unit of the delta."""
    interval: Interval | None
    """Interval of the two one-sided tests (level 1 - 2 alpha); None if undetermined."""
    coverage: Coverage = NOT_COUNTED
    """Trials of treatment and control; empty if unknown."""
    method: str = "two one-sided t tests"
    """Name of the method."""

    def __repr__(self) -> str:
        parts = [f"margin {self.margin:g}"]
        if found := self.interval:
            level = f"{100 * found.level:g} % interval"
            parts.append(f"{level} {found.low:+.3g} to {found.high:+.3g}")
        parts += filter(None, [str(self.coverage)])
        return f"{Verdict(self.verdict, self.reason)} ({', '.join(parts)})"


def equivalence(delta: PairedDelta, margin: float, *, alpha: float = ALPHA) -> Equivalence:
    """TOST with a margin declared in advance: equivalent if the 1 - 2 alpha interval is inside +-
    margin; better or worse if the 1 - alpha interval is on one side of zero."""
    found = verdict(delta, margin, alpha=alpha)
    undetermined = found.word == "undetermined"
    interval = None if undetermined else equivalence_interval(delta, alpha)
    return Equivalence(found.word, found.reason, margin, interval, delta.coverage)
