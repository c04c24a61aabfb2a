"""Reward: share of the channels whose mean and total agree with the expected ones within 0.01."""

import json
import os
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))
TESTS = Path(os.environ.get("TESTS_DIR", "/tests"))
TOLERANCE = 0.01


def summary():
    """What the agent wrote; empty when it is missing or no object."""
    try:
        found = json.loads((APP / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"summary.json cannot be read: {error}")
        return {}
    return found if isinstance(found, dict) else {}


def agrees(got, want):
    """Whether every number of one channel is there and near enough."""
    try:
        return all(abs(float(got[name]) - value) <= TOLERANCE for name, value in want.items())
    except (KeyError, TypeError, ValueError):
        return False


def main():
    got = summary()
    expected = json.loads((TESTS / "expected.json").read_text(encoding="utf-8"))
    right = [channel for channel, want in expected.items() if agrees(got.get(channel), want)]
    for channel in expected:
        print(channel, "agrees" if channel in right else "differs")
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"reward": len(right) / len(expected)}), encoding="utf-8")


if __name__ == "__main__":
    main()
