"""Reward 1 when ledger.txt equals the expected file byte by byte, else 0."""

import json
import os
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
LOGS = Path(os.environ.get("LOGS_DIR", "/logs"))
TESTS = Path(os.environ.get("TESTS_DIR", "/tests"))


def main():
    written = APP / "ledger.txt"
    got = written.read_bytes() if written.is_file() else None
    want = (TESTS / "expected.txt").read_bytes()
    if got is None:
        print("ledger.txt is missing")
    elif got != want:
        pairs = zip(got.split(b"\n"), want.split(b"\n"))
        print("first differing line:", next((pair for pair in pairs if pair[0] != pair[1]), "length"))
    answer = LOGS / "verifier" / "reward.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"reward": float(got == want)}), encoding="utf-8")


if __name__ == "__main__":
    main()
