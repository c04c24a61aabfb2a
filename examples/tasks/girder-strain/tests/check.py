"""Reward: share of the load steps whose strain and stress are near enough to the expected ones."""

import json
import os
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))
TESTS = Path(os.environ.get("TESTS_DIR", "/tests"))
RELATIVE, SMALL, NEAR_ZERO = 0.005, 10.0, 0.3


def strains():
    """What the agent wrote; empty when it is missing or no object."""
    try:
        found = json.loads((APP / "strain.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"strain.json cannot be read: {error}")
        return {}
    return found if isinstance(found, dict) else {}


def tolerance(value):
    """How far a number may be off: relative, but absolute where there is hardly a load."""
    return RELATIVE * abs(value) if abs(value) >= SMALL else NEAR_ZERO


def agrees(got, want):
    """Whether every number of one step is there and near enough."""
    try:
        return all(abs(float(got[name]) - value) <= tolerance(value) for name, value in want.items())
    except (KeyError, TypeError, ValueError):
        return False


def main():
    got = strains()
    expected = json.loads((TESTS / "expected.json").read_text(encoding="utf-8"))
    right = [step for step, want in expected.items() if agrees(got.get(step), want)]
    for step in expected:
        print(step, "agrees" if step in right else "differs")
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"reward": len(right) / len(expected)}), encoding="utf-8")


if __name__ == "__main__":
    main()
