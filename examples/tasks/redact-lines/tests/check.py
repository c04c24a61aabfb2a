"""Reward: share of the cases in which the two functions answer as operations defines."""

import importlib.util
import json
import os
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))

MASKED = {
    "INFO mail from a.b+c@shop.example.org": "INFO mail from [mail:shop.example.org]",
    "card 4111111111111111 used": "card [card:1111] used",
    "card 3782 822463 10005 used": "card [card:0005] used",
    "from 192.0.2.255 port 80": "from 192.0.2.x port 80",
    "auth Bearer abcdefghijklmnop.q": "auth Bearer [token]",
    "Bearer 4111111111111111a@b.example": "Bearer [token]@b.example",
    "Bearer short": "Bearer short",
    "order K482910 at 2026-03-02T08:14:07Z": "order K482910 at 2026-03-02T08:14:07Z",
    "[mail:x.example] [card:1234] 10.0.0.x": "[mail:x.example] [card:1234] 10.0.0.x",
}
KEYS = {
    "2026-03-02T08:14:07Z ERROR QUEUE_FULL 12 of 12 in v12": "QUEUE_FULL 0 of 0 in v12",
    "2026-03-02T08:14:07Z WARN CART_LOST cart 'a b' lost": "CART_LOST cart '*' lost",
    "2026-03-02T08:14:07Z INFO S id 9f3a6c21d0  ended": "S id # ended",
    "2026-03-02T08:14:07Z FATAL DISK_FULL at 99.5 percent": "DISK_FULL at 0 percent",
    "2026-03-02T08:14:07Z DEBUG " + "x" * 90: "x" * 80,
}


def load():
    """The module as the agent left it, or None when it cannot be loaded."""
    spec = importlib.util.spec_from_file_location("redact", APP / "redact.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        print(f"redact.py cannot be loaded: {error!r}")
        return None
    return module


def right(function, line, want):
    """Whether a function answers as wanted; an exception is a wrong answer."""
    try:
        return function(line) == want
    except Exception as error:
        print(f"{line!r}: {error!r}")
        return False


def main():
    module = load()
    results = []
    for name, cases in (("redact", MASKED), ("group_key", KEYS)):
        function = getattr(module, name, None)
        results += [right(function, line, want) for line, want in cases.items()]
    written = APP / "ticket.log"
    results.append(written.is_file() and "[card:9012]" in written.read_text(encoding="utf-8"))
    print(f"{sum(results)} of {len(results)} cases are right")
    reward = sum(results) / len(results) if written.is_file() else 0.0
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"reward": reward}), encoding="utf-8")


if __name__ == "__main__":
    main()
