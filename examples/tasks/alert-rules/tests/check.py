"""Reward: share of the recorded incidents that the rules decide as operations did."""

import importlib.util
import json
import os
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))

CASES = {
    "burn just above the threshold": lambda r: r.pages([(17, 1000)] * 12, "major", 12),
    "burn just below the threshold": lambda r: not r.pages([(15, 1000)] * 12, "major", 12),
    "window too short": lambda r: not r.pages([(500, 1000)] * 11, "critical", 12),
    "old failures have left the window": lambda r: not r.pages([(900, 1000)] + [(15, 1000)] * 12, "major", 12),
    "too few requests": lambda r: not r.pages([(9, 16)] * 12, "critical", 12),
    "just enough requests": lambda r: r.pages([(9, 17)] * 12, "critical", 12),
    "major is held back at ten": lambda r: not r.pages([(90, 1000)] * 12, "major", 22),
    "major is held back at five": lambda r: not r.pages([(90, 1000)] * 12, "major", 5),
    "major is sent at six": lambda r: r.pages([(90, 1000)] * 12, "major", 6),
    "major is sent at nine in the evening": lambda r: r.pages([(90, 1000)] * 12, "major", 21),
    "critical is sent at night": lambda r: r.pages([(90, 1000)] * 12, "critical", 2),
    "repeat after the pause": lambda r: r.repeats(45) and not r.repeats(44),
    "second line": lambda r: r.second_line(3) and not r.second_line(2),
    "unknown class": lambda r: r.severity_of("X_Y", {}) == "minor",
}


def load():
    """The module as the agent left it, or None when it cannot be loaded."""
    spec = importlib.util.spec_from_file_location("rules", APP / "rules.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        print(f"rules.py cannot be loaded: {error!r}")
        return None
    return module


def right(case, rules):
    """Whether the rules decide a case as recorded; an exception is a wrong decision."""
    try:
        return bool(case(rules))
    except Exception as error:
        print(repr(error))
        return False


def main():
    rules = load()
    results = {name: right(case, rules) for name, case in CASES.items()}
    for name, result in results.items():
        print("right" if result else "WRONG", name)
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    reward = sum(results.values()) / len(results)
    answer.write_text(json.dumps({"reward": reward}), encoding="utf-8")


if __name__ == "__main__":
    main()
