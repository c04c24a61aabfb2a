"""Reward: half for right frequencies, half for few evaluations; both are counted by this search."""

import json
import math
import os
import random
from pathlib import Path

import search

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))
TONES = (37.43, 71.62, 88.28, 119.17, 166.81)
NEAR, MOST = 0.1, 300


def recording(tone):
    """Two seconds of a rotor beside strong mains, with noise and an offset."""
    rng = random.Random(tone)
    parts = [(tone, 1.0), (50.02, 9.0), (100.04, 3.0), (150.06, 5.0)]
    phases = [rng.uniform(0, 2 * math.pi) for _ in parts]
    return [
        0.8
        + rng.gauss(0, 0.15)
        + sum(a * math.sin(2 * math.pi * f * n / search.RATE + p) for (f, a), p in zip(parts, phases))
        for n in range(2048)
    ]


def judge(plan):
    """(every frequency right, every recording cheap)."""
    right = cheap = True
    for tone in TONES:
        trial = search.Search(plan, most=MOST + 1)
        found = trial.find(recording(tone))
        print(f"{tone}: found {found} with {trial.evaluations} evaluations")
        right = right and found is not None and abs(found - tone) <= NEAR
        cheap = cheap and trial.evaluations <= MOST
    return right, cheap


def main():
    try:
        plan = json.loads((APP / "plan.json").read_text(encoding="utf-8"))
        right, cheap = judge(plan)
        reward = (right + (right and cheap)) / 2
    except (OSError, ValueError, KeyError, TypeError, IndexError, ZeroDivisionError, OverflowError) as error:
        print(f"plan.json cannot be used: {error!r}")
        reward = 0.0
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"reward": reward}), encoding="utf-8")


if __name__ == "__main__":
    main()
