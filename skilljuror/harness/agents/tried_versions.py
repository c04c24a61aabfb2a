"""Versions of agents whose runs and logs were tried: a later one may write what nobody reads."""

import re

TRIED = {
    "codex": ("0.169.0", "0.171.0"),
    "claude-code": ("2.1.197", "2.1.332"),
    "gemini-cli": ("0.61.0",),
    "mini-swe-agent": ("2.4.6",),
}
"""Agent -> versions that `make live` passed with, oldest first. It always runs the first one."""


def untried(agent: str, version: str | None) -> str | None:
    """Return a remark on a `version` that is newer than every tried one, else None."""
    newest = TRIED.get(agent, ())[-1:]
    if not version or not newest or _numbers(version) <= _numbers(newest[0]):
        return None
    return f"{agent} {version} is newer than {newest[0]}, the newest version that was tried"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
