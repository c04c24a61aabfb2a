"""Read a verifier's reward.json or reward.txt.

Stricter than Harbor, which reads what Python's `float` and `json` read: 0_1, inf, the last of two equal keys.
"""

import json
import math
import re
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Any

from skilljuror.base.errors import MIN_SECRET
from skilljuror.base.study import REWARD, Reward, chosen_reward

MAX_BYTES = 1_000_000
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def read_reward(folder: Path, keys: Collection[str] = ()) -> Reward:
    """Read the reward in a verifier's log folder; reward.json overrides reward.txt. The values of `keys`
    are redacted in errors."""
    for name, read in (("reward.json", _from_json), ("reward.txt", _from_text)):
        path = folder / name
        try:
            info = path.lstat()
        except OSError:
            continue
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            return Reward(
                None, problem=f"{name} is not a regular file of at most {MAX_BYTES} bytes"
            )
        try:
            data = path.read_bytes()
        except PermissionError:
            return Reward(None, problem=f"{name} is not readable")
        for key in filter(lambda key: len(key) >= MIN_SECRET, keys):
            data = data.replace(key.encode(), b"[redacted]")
        return read(data)
    return Reward(None, problem="the verifier wrote neither reward.json nor reward.txt")


def _from_text(data: bytes) -> Reward:
    if not _NUMBER.fullmatch(data.strip()):
        return Reward(None, problem=f"reward.txt is not a number: {data[:40]!r}")
    return chosen_reward({REWARD: float(data)})


def _from_json(data: bytes) -> Reward:
    try:
        raw = json.loads(data, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return Reward(None, problem=f"reward.json is not JSON, or repeats a key: {data[:40]!r}")
    if not isinstance(raw, dict) or not raw:
        return Reward(None, problem=f"reward.json is not an object of numbers: {data[:40]!r}")
    for key, value in raw.items():
        if not _is_finite(value):
            return Reward(None, problem=f"reward.json: {key[:40]!r} is not a finite number")
    return chosen_reward({key: float(value) for key, value in raw.items()})


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("equal keys")
    return dict(pairs)


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
