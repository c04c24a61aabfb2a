"""What a pass costs: attempt, success path and yield (measures §2), and imputed layout rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class YieldView:
    """Three views of one resource (minutes, tokens, dollars) over the trials of a condition."""

    attempt: float | None
    """Mean over the measured trials; None when none was measured."""
    success: float | None
    """Mean over passing trials; None without a pass or where a pass was not measured."""
    per_pass: float | None
    """Sum over all trials / passes; None without a pass or with coverage below 1."""
    lower_bound: float | None
    """Measured sum / passes, whatever the coverage; None without a pass."""
    coverage: float
    """Measured trials / trials."""
    trials: int
    """Trials in the frame."""
    passes: int
    """Strict passes."""
    reason: str | None
    """Why per_pass is None: zero_passes or incomplete_coverage."""
    method: str = "ratio of sums"
    """Name of the method."""


def yield_view(trials: Sequence[tuple[float | None, bool]]) -> YieldView:
    """Views of (resource used or None when not measured, strict pass) per trial (§2, A-43).

    per_pass = attempt * trials / passes when every trial was measured.
    """
    measured = [used for used, _ in trials if used is not None]
    won = [used for used, passed in trials if passed]
    known = [used for used in won if used is not None]
    bound = sum(measured) / len(won) if won else None
    full = len(measured) == len(trials)
    return YieldView(
        attempt=sum(measured) / len(measured) if measured else None,
        success=sum(known) / len(won) if won and len(known) == len(won) else None,
        per_pass=bound if full else None,
        lower_bound=bound,
        coverage=len(measured) / len(trials) if trials else 0.0,
        trials=len(trials),
        passes=len(won),
        reason=_reason(len(won), full),
    )


def _reason(passes: int, full: bool) -> str | None:
    if not passes:
        return "zero_passes"
    return None if full else "incomplete_coverage"


@dataclass(frozen=True)
class Totals:
    """Sums over the trials of one condition on one set of tasks."""

    passes: int
    """Strict passes."""
    sums: Mapping[str, float]
    """Any additive measure by name: minutes, tokens, cost, runtime successes."""

    @classmethod
    def from_yields(cls, passes: int, per_pass: Mapping[str, float]) -> "Totals":
        """Totals behind printed per-pass figures."""
        return cls(passes, {name: value * passes for name, value in per_pass.items()})

    @property
    def per_pass(self) -> dict[str, float] | None:
        """Sums / passes; None without a pass."""
        if not self.passes:
            return None
        return {name: value / self.passes for name, value in self.sums.items()}


@dataclass(frozen=True)
class ImputedTotals:
    """Totals on all tasks where some tasks have no layout of their own."""

    totals: Totals
    """The imputed totals."""
    observed: bool = False
    """Always False: such a row shares trials with the control and is never tested against it."""
    method: str = "observed layout tasks + control on the other tasks"
    """Name of the method."""


def impute_layout(layout: Totals, control: Totals, control_on_layout: Totals) -> ImputedTotals:
    """total(all) = layout(subset) + control(all) - control(subset) (measures §2.4, A-30)."""
    names = set(layout.sums) & set(control.sums) & set(control_on_layout.sums)
    sums = {
        name: layout.sums[name] + control.sums[name] - control_on_layout.sums[name]
        for name in sorted(names)
    }
    passes = layout.passes + control.passes - control_on_layout.passes
    return ImputedTotals(Totals(passes, sums))


@dataclass(frozen=True)
class CostEfficiency:
    """Gain per extra token, never to be ranked by without its quadrant."""

    value: float | None
    """Delta P / rho, both as fractions; None when either is zero or rho is missing."""
    rho: float | None
    """Token overhead (C+ - C-) / C-; None when C- is zero."""
    quadrant: str | None
    """Sign of gain and of cost in words: a positive value may mean "worse, cheaper" (A-33)."""
    method: str = "Delta P / rho"
    """Name of the method."""


def token_overhead(with_skill: float, without: float) -> float | None:
    """rho = (C+ - C-) / C- of mean total tokens per task; None when C- is zero (§2.5)."""
    return (with_skill - without) / without if without else None


def cost_efficiency(delta: float, with_skill: float, without: float) -> CostEfficiency:
    """CE = Delta P / rho with its quadrant (measures §2.6)."""
    rho = token_overhead(with_skill, without)
    value = delta / rho if rho and delta else None
    return CostEfficiency(value, rho, None if rho is None else _quadrant(delta, rho))


def _quadrant(delta: float, rho: float) -> str:
    gain = "better" if delta > 0 else "worse" if delta < 0 else "equal"
    price = "dearer" if rho > 0 else "cheaper" if rho < 0 else "same cost"
    return f"{gain}, {price}"
