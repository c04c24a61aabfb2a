"""The two small pictures of the headline: the interval, and one bar per condition."""

from dataclasses import dataclass

from skilljuror.report.answers import Answers
from skilljuror.report.formatting import format_points
from skilljuror.report.headline import Headline

WIDTH, MIDDLE = 640.0, 34.0


@dataclass(frozen=True)
class Bar:
    """Strict passes of one condition."""

    condition: str
    """Its name."""
    count: str
    """Passes of planned trials."""
    rate: float
    """The same, 0 to 100."""
    role: str
    """treatment, control or ""."""
    lacking: str = ""
    """Why the arm is not whole."""


def condition_bars(answers: Answers, first: Headline) -> tuple[Bar, ...]:
    """One bar per condition with passes to count, in the order of the study file."""
    roles = {first.overview["treatment"]: "treatment", first.overview["control"]: "control"}
    return tuple(
        Bar(
            row["condition"],
            f"{row['strict_passes']} of {row['planned']}",
            100 * row["strict_passes"] / row["planned"],
            roles.get(row["condition"], ""),
            row["not_usable"] or "",
        )
        for row in answers("outcomes").records()
        if row["strict_passes"] is not None
    )


def interval_picture(first: Headline) -> str:
    """The interval on a line with its zero, as SVG; "" when there is none. Numbers only: nothing
    in it comes from a log."""
    delta = first.delta
    if not first.quotable or delta is None or delta.delta is None or delta.t is None:
        return ""
    reach = 1.15 * max(abs(delta.t.low), abs(delta.t.high), 5.0)
    low, mean, high = (_across(value, reach) for value in (delta.t.low, delta.delta, delta.t.high))
    marks = "".join(
        f'<text x="{x:.1f}" y="64" text-anchor="middle">{format_points(value)}</text>'
        for x, value in ((low, delta.t.low), (high, delta.t.high))
        if high - low > 130
    )
    zero = _across(0, reach)
    return (
        f'<svg class="interval" viewBox="0 0 {WIDTH:.0f} 80" role="img" '
        f'aria-label="{format_points(delta.delta)}, 95 % interval from {format_points(delta.t.low)} to'
        f' {format_points(delta.t.high)}">'
        f'<line x1="0" x2="{WIDTH:.0f}" y1="{MIDDLE}" y2="{MIDDLE}" class="axis"/>'
        f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="8" y2="{MIDDLE + 14}" class="zero"/>'
        f'<text x="{zero + 5:.1f}" y="14">0</text>'
        f'<rect x="{low:.1f}" y="{MIDDLE - 7}" width="{max(high - low, 1):.1f}" height="14" rx="7"'
        ' class="span"/>'
        f'<circle cx="{mean:.1f}" cy="{MIDDLE}" r="8" class="mean"/>{marks}</svg>'
    )


def _across(value: float, reach: float) -> float:
    return WIDTH * (value + reach) / (2 * reach)
