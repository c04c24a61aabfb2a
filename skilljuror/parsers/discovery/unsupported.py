"""Logs that are recognised and not read, so that they can be named rather than failed."""

from typing import Any

from skilljuror.parsers.base import Source
from skilljuror.parsers.raw_logs.coercion import as_dict, as_list, as_string
from skilljuror.parsers.raw_logs.file_head import parse_head

_ZIP = b"PK\x03\x04"


def unsupported_kind(source: Source) -> str | None:
    """What a file is that no format reads; None when it is not known either."""
    if source.head.startswith(_ZIP) and source.path.suffix == ".eval":
        return "Inspect .eval log"
    first = parse_head(source.head).first
    for name, is_one in _KINDS.items():
        if first and is_one(first):
            return name
    return None


def _is_pi(first: dict[str, Any]) -> bool:
    return first.get("type") == "session" and "cwd" in first and "id" in first


def _is_swe_agent(first: dict[str, Any]) -> bool:
    history = as_list(first.get("history"))
    names_agent = bool(history) and "agent" in as_dict(history[0])
    return {"trajectory", "environment"} <= set(first) or names_agent


def _is_benchflow(first: dict[str, Any]) -> bool:
    acp = as_string(first.get("phase")) in {"agent", "verifier"} and "type" in first
    return acp or {"request", "response"} <= set(first)


_KINDS = {
    "pi session": _is_pi,
    "SWE-agent .traj": _is_swe_agent,
    "BenchFlow log": _is_benchflow,
}
