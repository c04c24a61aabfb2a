"""Reading Harbor's result.json of one trial, tolerantly (harness.md A.3)."""

import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.study import HarborResult, Reward, chosen_reward
from skilljuror.logs.harbor.benchflow import as_harbor
from skilljuror.logs.raw_logs.coercion import (
    as_count,
    as_dict,
    as_epoch,
    as_float,
    as_list,
    as_str,
    nested,
)
from skilljuror.logs.raw_logs.json_document import JsonDocument
from skilljuror.logs.raw_logs.jsonl import unreadable

_COMMAND = re.compile(
    r"(?P<what>Docker compose command failed)[^\n]*?Command: .*? Return code: -?\d+\. Stdout: (?P<output>.*)",
    re.S,
)
"""What Harbor says of a failed command of Docker, such as the build of an image."""
PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")


def is_trial(folder: Path) -> bool:
    """Whether a folder is a trial; a job's result.json has neither name."""
    try:
        return _is_result(_load(folder))
    except TrajectoryError:
        return False


def read_result(folder: Path) -> HarborResult:
    given = _load(folder)
    if not _is_result(given):
        problem = "is not a Harbor trial: task_name and trial_name are missing"
        raise unreadable(folder / "result.json", problem)
    config = as_dict(nested(given, "config", "agent"))
    place = as_dict(nested(given, "config", "environment"))
    info = as_dict(given.get("agent_info"))
    model = as_dict(info.get("model_info"))
    outcome = as_dict(given.get("agent_result"))
    metadata = as_dict(outcome.get("metadata"))
    failure = as_dict(given.get("exception_info"))
    reward = _reward(nested(given, "verifier_result", "rewards"))
    version = as_str(info.get("version"))
    return HarborResult(
        id=as_str(given.get("id")) or str(given["trial_name"]),
        trial_name=str(given["trial_name"]),
        task_name=str(given["task_name"]),
        task_path=as_str(nested(given, "config", "task", "path")),
        task_checksum=as_str(given.get("task_checksum")),
        reward=reward.value,
        rewards=reward.rewards,
        problem=reward.problem,
        verified=given.get("verifier_result") is not None,
        exception=as_str(failure.get("exception_type")),
        message=_gist(failure.get("exception_message")),
        agent=as_str(info.get("name")) or as_str(config.get("name")),
        agent_version=None if version == "unknown" else version,
        agent_import_path=as_str(config.get("import_path")),
        model=as_str(model.get("name")) or as_str(config.get("model_name")),
        provider=as_str(model.get("provider")),
        environment=as_str(place.get("type")) or as_str(place.get("import_path")),
        skills=tuple(str(skill) for skill in as_list(config.get("skills"))),
        skills_loaded=_names(metadata.get("skills_loaded")),
        references_loaded=_names(metadata.get("references_loaded")),
        cost_usd=as_float(outcome.get("cost_usd")),
        started_at=as_epoch(given.get("started_at")),
        finished_at=as_epoch(given.get("finished_at")),
        agent_window=_window(given.get("agent_execution")),
        seconds=_seconds(given),
        steps=tuple(_step_names(given)),
        **_tokens(outcome),
    )


def record_fields(result: HarborResult) -> dict[str, Any]:
    """Fields of a trial record from its result; missing values are null."""
    return {
        "status": result.status,
        "reward": result.reward,
        "rewards": result.rewards,
        "exception": result.exception,
        "message": "; ".join(filter(None, (result.message, result.problem))) or None,
        "harness": "harbor",
        "isolation": result.environment or "unknown",
        "started_at": _iso(result.started_at),
        "finished_at": _iso(result.finished_at),
        "agent_seconds": result.seconds.get("agent_execution"),
        "verifier_seconds": result.seconds.get("verifier"),
    }


def _iso(seconds: float | None) -> str:
    moment = datetime.fromtimestamp(seconds or 0.0, UTC)
    return moment.isoformat(timespec="milliseconds")


def in_local_time(folder: Path) -> bool:
    """Whether the agent's start and end have no time zone: they are the host's local time, not
    necessarily UTC. Raises TrajectoryError."""
    start = as_str(nested(_load(folder), "agent_execution", "started_at"))
    try:
        return start is not None and datetime.fromisoformat(start).tzinfo is None
    except ValueError:
        return False


def _load(folder: Path) -> dict[str, Any]:
    document = JsonDocument(folder / "result.json")
    if not document.complete:
        raise unreadable(document.path, "is not valid JSON")
    return as_harbor(as_dict(document.value))


def _is_result(given: dict[str, Any]) -> bool:
    return bool(as_str(given.get("task_name")) and as_str(given.get("trial_name")))


def _reward(given: Any) -> Reward:
    plain = {str(name): as_float(value) for name, value in sorted(as_dict(given).items())}
    known = {name: math.nan if value is None else value for name, value in plain.items()}
    return chosen_reward(known) if known else Reward(None)


def _names(given: Any) -> tuple[str, ...] | None:
    return tuple(str(name) for name in given) if isinstance(given, list) else None


def _gist(given: Any) -> str | None:
    """The first line of an exception's message; of a failed command its output's last line, which names the
    cause: the first is the command."""
    text = (as_str(given) or "").strip()
    failed = _COMMAND.match(text)
    if not failed:
        return text.partition("\n")[0] or None
    output = failed["output"].strip().removesuffix("Stderr: None.").rstrip(" .\n")
    return f"{failed['what']}: {output.rpartition(chr(10))[2].strip() or 'no output'}"


def _tokens(outcome: dict[str, Any]) -> dict[str, int | None]:
    """Missing counts are written as 0, so three zeros are unknown."""
    found = {
        "input_tokens": as_count(outcome.get("n_input_tokens")),
        "cached_tokens": as_count(outcome.get("n_cache_tokens")),
        "output_tokens": as_count(outcome.get("n_output_tokens")),
    }
    return found if any(found.values()) else dict.fromkeys(found)


def _window(given: Any) -> tuple[float, float] | None:
    start, end = (as_epoch(nested(given, name)) for name in ("started_at", "finished_at"))
    return None if start is None or end is None else (start, end)


def _seconds(given: dict[str, Any]) -> dict[str, float]:
    windows = {phase: _window(given.get(phase)) for phase in PHASES}
    timed = {phase: as_float(nested(given, "timing", phase)) for phase in PHASES}
    known = {phase: seconds for phase, seconds in timed.items() if seconds is not None}
    return known | {phase: max(0.0, w[1] - w[0]) for phase, w in windows.items() if w is not None}


def _step_names(given: dict[str, Any]) -> list[str]:
    steps = (as_dict(step) for step in as_list(given.get("step_results")))
    return [name for step in steps if (name := as_str(step.get("step_name") or step.get("name")))]
