"""Reward: half for precision, half for the number of counter operations, both counted here."""

import bisect
import json
import math
import os
import random
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))
SHARES = (50, 95, 99)
MOST_ABOVE, MOST_OPERATIONS = 0.12, 1.3


def recorded(seed):
    """Latencies of 5,000 requests in milliseconds: a fast body and a slow tail."""
    rng = random.Random(seed)
    body = [rng.lognormvariate(3.4 + seed / 5, 0.5) for _ in range(4600)]
    tail = [rng.uniform(300, 3800) for _ in range(400)]
    return [max(5.0, min(3900.0, value)) for value in body + tail]


def rank(count, share):
    """Nearest rank, 1-based."""
    return max(1, math.ceil(count * share / 100))


class Counted:
    """A histogram that counts its own operations."""

    def __init__(self, bounds, flush_every):
        self.bounds, self.flush_every = bounds, flush_every
        self.counts = [0] * (len(bounds) + 1)
        self.operations = 0

    def fill(self, values):
        """Put in values one by one, flushing as often as the layout says."""
        for number, value in enumerate(values, 1):
            self.counts[bisect.bisect_left(self.bounds, value)] += 1
            self.operations += 1
            if number % self.flush_every == 0:
                self.operations += len(self.counts)

    def percentile(self, share):
        """Upper bound of the bucket that holds the rank; infinite for the open last one."""
        wanted, seen = rank(sum(self.counts), share), 0
        for count, bound in zip(self.counts, [*self.bounds, math.inf]):
            seen += count
            if seen >= wanted:
                return bound


def judge(layout):
    """(precise, cheap) over all recordings."""
    precise = cheap = True
    for seed in (1, 2, 3):
        values = recorded(seed)
        histogram = Counted(sorted(map(float, layout["bounds"])), int(layout["flush_every"]))
        histogram.fill(values)
        ordered = sorted(values)
        for share in SHARES:
            true = ordered[rank(len(values), share) - 1]
            above = histogram.percentile(share) / true - 1
            print(f"recording {seed} p{share}: {above:+.3f}")
            precise = precise and 0 <= above <= MOST_ABOVE
        per_request = histogram.operations / len(values)
        print(f"recording {seed}: {per_request:.3f} operations per request")
        cheap = cheap and per_request <= MOST_OPERATIONS
    return precise, cheap


def main():
    try:
        layout = json.loads((APP / "layout.json").read_text(encoding="utf-8"))
        reward = sum(judge(layout)) / 2
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        print(f"layout.json cannot be used: {error!r}")
        reward = 0.0
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"reward": reward}), encoding="utf-8")


if __name__ == "__main__":
    main()
