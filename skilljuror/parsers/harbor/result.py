"""Reading Harbor's result.json of one trial, tolerantly (harness.md A.3)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from skilljuror.errors import TrajectoryError
from skilljuror.models.harbor import HarborResult
from skilljuror.parsers.raw_logs.coercion import count, epoch, number, record, rows, string
from skilljuror.parsers.raw_logs.jsonl import without_surrogates

PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")


def is_trial(folder: Path) -> bool:
    """Whether a folder holds a trial; a job's result.json has neither of the two names."""
    try:
        return _is_result(_load(folder))
    except TrajectoryError:
        return False


def read_result(folder: Path) -> HarborResult:
    """The result of the trial in a folder. Raises TrajectoryError."""
    given = _load(folder)
    if not _is_result(given):
        raise TrajectoryError(
            f"{str(folder / 'result.json')!r} is no trial of Harbor: it has no task_name and "
            "trial_name",
            file=str(folder / "result.json"),
        )
    config = record(record(given.get("config")).get("agent"))
    info = record(given.get("agent_info"))
    model = record(info.get("model_info"))
    outcome = record(given.get("agent_result"))
    metadata = record(outcome.get("metadata"))
    failure = record(given.get("exception_info"))
    rewards = _rewards(record(given.get("verifier_result")).get("rewards"))
    version = string(info.get("version"))
    return HarborResult(
        id=string(given.get("id")) or str(given["trial_name"]),
        trial_name=str(given["trial_name"]),
        task_name=str(given["task_name"]),
        task_checksum=string(given.get("task_checksum")),
        reward=rewards.get("reward"),
        rewards=rewards,
        exception=string(failure.get("exception_type")),
        message=_first_line(failure.get("exception_message")),
        agent=string(info.get("name")) or string(config.get("name")),
        agent_version=None if version == "unknown" else version,
        agent_import_path=string(config.get("import_path")),
        model=string(model.get("name")) or string(config.get("model_name")),
        provider=string(model.get("provider")),
        skills=tuple(str(skill) for skill in rows(config.get("skills"))),
        skills_loaded=_names(metadata.get("skills_loaded")),
        references_loaded=_names(metadata.get("references_loaded")),
        cost_usd=number(outcome.get("cost_usd")),
        started_at=epoch(given.get("started_at")),
        finished_at=epoch(given.get("finished_at")),
        agent_window=_window(given.get("agent_execution")),
        seconds=_seconds(given),
        steps=tuple(_step_names(given)),
        **_tokens(outcome),
    )


def in_local_time(folder: Path) -> bool:
    """Whether the times of the agent's execution are without a time zone: of the host's clock, which
    need not be UTC. Raises TrajectoryError."""
    start = string(record(_load(folder).get("agent_execution")).get("started_at"))
    try:
        return start is not None and datetime.fromisoformat(start).tzinfo is None
    except ValueError:
        return False


def _load(folder: Path) -> dict[str, Any]:
    path = folder / "result.json"
    try:
        raw = path.read_bytes()
    except OSError as error:
        problem = f"{str(path)!r} cannot be read: {error.strerror}"
        raise TrajectoryError(problem, file=str(path)) from error
    try:
        return record(orjson.loads(raw))
    except orjson.JSONDecodeError as error:
        mended = _mended(raw)
        if mended is None:
            raise TrajectoryError(f"{str(path)!r} is not JSON: {error}", file=str(path)) from error
        return mended


def _mended(raw: bytes) -> dict[str, Any] | None:
    """What Python's own writer lets through: NaN, half characters, a byte order mark."""
    try:
        value = json.loads(raw.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return record(without_surrogates(value))


def _is_result(given: dict[str, Any]) -> bool:
    return bool(string(given.get("task_name")) and string(given.get("trial_name")))


def _rewards(given: Any) -> dict[str, float]:
    plain = {str(name): number(value) for name, value in record(given).items()}
    return {name: value for name, value in sorted(plain.items()) if value is not None}


def _names(given: Any) -> tuple[str, ...] | None:
    return tuple(str(name) for name in given) if isinstance(given, list) else None


def _first_line(given: Any) -> str | None:
    return (string(given) or "").strip().partition("\n")[0] or None


def _tokens(outcome: dict[str, Any]) -> dict[str, int | None]:
    """Absent counts are written as 0, so that three zeros say nothing."""
    found = {
        "input_tokens": count(outcome.get("n_input_tokens")),
        "cached_tokens": count(outcome.get("n_cache_tokens")),
        "output_tokens": count(outcome.get("n_output_tokens")),
    }
    return found if any(found.values()) else dict.fromkeys(found)


def _window(given: Any) -> tuple[float, float] | None:
    start, end = epoch(record(given).get("started_at")), epoch(record(given).get("finished_at"))
    return None if start is None or end is None else (start, end)


def _seconds(given: dict[str, Any]) -> dict[str, float]:
    windows = {phase: _window(given.get(phase)) for phase in PHASES}
    return {phase: max(0.0, w[1] - w[0]) for phase, w in windows.items() if w is not None}


def _step_names(given: dict[str, Any]) -> list[str]:
    steps = (record(step) for step in rows(given.get("step_results")))
    return [name for step in steps if (name := string(step.get("step_name") or step.get("name")))]
