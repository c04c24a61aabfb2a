"""Exact tokens of what steps say, ask for and get back; each distinct text is counted once."""

from hashlib import blake2b

from skilljuror import tokens
from skilljuror.errors import MissingDependency
from skilljuror.metrics.process import step_parts
from skilljuror.models.trajectory import Trajectory

KEPT = 50_000
"""Distinct texts whose counts a worker remembers; some 10 MB."""
_counts: dict[bytes, int] = {}


def refuse_estimates() -> None:
    """Raise MissingDependency where tokens can only be estimated: an estimate is no exact share."""
    if not tokens.available():
        raise MissingDependency(
            "tokens cannot be counted exactly: the vocabulary o200k_base is not on this machine;"
            " install litellm, which brings it, or leave --count-tokens out"
        )


def step_tokens(trajectory: Trajectory) -> dict[tuple[str, int], int]:
    """(agent, step) -> tokens (o200k_base) of its texts, each counted by itself (measures §3.2)."""
    return {
        (step.agent, step.index): sum(map(_count, step_parts(step))) for step in trajectory.steps
    }


def _count(text: str) -> int:
    key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    found = _counts.get(key)
    if found is None:
        if len(_counts) >= KEPT:
            _counts.clear()
        found = _counts[key] = tokens.count(text)
    return found
