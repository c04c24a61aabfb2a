"""BenchFlow's result.json in Harbor's form: SkillsBench publishes its leaderboard's rollouts so."""

from typing import Any

from skilljuror.logs.raw_logs.coercion import as_dict, as_str

_TIMEOUTS = frozenset({"timed_out", "timeout", "idle_timeout"})
"""Categories of an agent that ran out of time."""


def as_harbor(given: dict[str, Any]) -> dict[str, Any]:
    """Return the result as Harbor would write it; any other object unchanged."""
    name = as_str(given.get("rollout_name"))
    if name is None or "trial_name" in given:
        return given
    outcome = as_dict(given.get("agent_result"))
    return {
        "id": name,
        "trial_name": name,
        "task_name": given.get("task_name"),
        "started_at": given.get("started_at"),
        "finished_at": given.get("finished_at"),
        "agent_info": {
            "name": given.get("agent_name") or given.get("agent"),
            "model_info": {"name": given.get("model")},
        },
        "agent_result": outcome | {"n_cache_tokens": outcome.get("n_cache_read_tokens")},
        "verifier_result": {"rewards": given["rewards"]} if given.get("rewards") else None,
        "exception_info": _exception(given),
        "timing": given.get("timing"),
    }


def _exception(given: dict[str, Any]) -> dict[str, Any] | None:
    """The error of the agent, else of the verifier."""
    for name in ("error", "verifier_error"):
        if message := as_str(given.get(name)):
            category = as_str(given.get(f"{name}_category")) or name
            kind = "AgentTimeoutError" if category in _TIMEOUTS else category
            return {"exception_type": kind, "exception_message": message}
    return None
