"""Harbor trial folders: result.json, lock.json, agent/ and verifier/ (harness.md A.3).

Reads the most native readable log with its own format; the trial adds its key and missing metadata.
A trial without a log has no run, only its result. SkillsBench publishes its leaderboard's rollouts as
BenchFlow's result.json, which is read as Harbor's.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.files import path_text
from skilljuror.base.results import UnloggedTrial
from skilljuror.base.study import HarborResult, Reward, chosen_reward
from skilljuror.base.trajectory import Outcome, Trajectory, Usage
from skilljuror.logs.base import FoundSource, Parser, Source
from skilljuror.logs.captures import capture_of, deduplicate, own_part
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import parser, read, traits_of
from skilljuror.logs.records import (
    JsonDocument,
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_float,
    as_str,
    remainder,
    unreadable,
)

PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")
SLACK_SECONDS = 60.0
"""Tolerated clock difference between host and container."""

_COMMAND = re.compile(
    r"(?P<what>Docker compose command failed)[^\n]*?Command: .*? Return code: -?\d+\. Stdout: (?P<output>.*)",
    re.S,
)
"""What Harbor says of a failed command of Docker, such as the build of an image."""
_TIMEOUTS = frozenset({"timed_out", "timeout", "idle_timeout"})
"""BenchFlow's categories of an agent that ran out of time."""
_COLLECTED = frozenset({
    "trajectory", "claude-code", "codex", "gemini-cli", "mini-swe-agent", "opencode", "openhands",
})  # fmt: skip
"""Stems of logs that SkillEvaluator copies out of agent/."""


# Result


def is_trial(folder: Path) -> bool:
    """Whether a folder is a trial; a job's result.json has neither name."""
    try:
        return _is_result(_load(folder))
    except TrajectoryError:
        return False


def read_result(folder: Path) -> HarborResult:
    """Read a trial's result, tolerantly. Raises TrajectoryError."""
    given = _load(folder)
    if not _is_result(given):
        problem = "is not a Harbor trial: task_name and trial_name are missing"
        raise unreadable(folder / "result.json", problem)
    info, outcome = as_dict(given, "agent_info"), as_dict(given, "agent_result")
    config = as_dict(given, "config", "agent")
    environment = as_dict(given, "config", "environment")
    version = as_str(info, "version")
    stated = as_dict(given, "verifier_result", "rewards")
    rewards = {str(name): as_float(value) for name, value in sorted(stated.items())}
    numbers = {name: math.nan if value is None else value for name, value in rewards.items()}
    reward = chosen_reward(numbers) if numbers else Reward(None)
    tokens = {
        "input_tokens": as_count(outcome, "n_input_tokens"),
        "cached_tokens": as_count(outcome, "n_cache_tokens"),
        "output_tokens": as_count(outcome, "n_output_tokens"),
    }
    if not any(tokens.values()):  # missing counts are written as 0
        tokens = dict.fromkeys(tokens)
    steps = as_dicts(given, "step_results")
    return HarborResult(
        id=as_str(given, "id") or str(given["trial_name"]),
        trial_name=str(given["trial_name"]),
        task_name=str(given["task_name"]),
        task_checksum=as_str(given, "task_checksum"),
        reward=reward.value,
        rewards=reward.rewards,
        problem=reward.problem,
        verified=given.get("verifier_result") is not None,
        exception=as_str(given, "exception_info", "exception_type"),
        message=_gist(as_str(given, "exception_info", "exception_message") or ""),
        agent=as_str(info, "name") or as_str(config, "name"),
        agent_version=None if version == "unknown" else version,
        model=as_str(info, "model_info", "name") or as_str(config, "model_name"),
        environment=as_str(environment, "type") or as_str(environment, "import_path"),
        cost_usd=as_float(outcome, "cost_usd"),
        started_at=as_epoch(given, "started_at"),
        finished_at=as_epoch(given, "finished_at"),
        agent_window=_window(given.get("agent_execution")),
        seconds=_seconds(given),
        steps=tuple(name for s in steps if (name := as_str(s, "step_name") or as_str(s, "name"))),
        **tokens,
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


def _load(folder: Path) -> dict[str, Any]:
    document = JsonDocument(folder / "result.json")
    if not document.complete:
        raise unreadable(document.path, "is not valid JSON")
    return _as_harbor(as_dict(document.value))


def _as_harbor(given: dict[str, Any]) -> dict[str, Any]:
    """Return BenchFlow's result as Harbor would write it; any other object unchanged."""
    name = as_str(given, "rollout_name")
    if name is None or "trial_name" in given:
        return given
    outcome = as_dict(given, "agent_result")
    failure = None
    for member in ("verifier_error", "error"):
        if message := as_str(given, member):
            category = as_str(given, f"{member}_category") or member
            kind = "AgentTimeoutError" if category in _TIMEOUTS else category
            failure = {"exception_type": kind, "exception_message": message}
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
        "exception_info": failure,
        "timing": given.get("timing"),
    }


def _is_result(given: dict[str, Any]) -> bool:
    return bool(as_str(given, "task_name") and as_str(given, "trial_name"))


def _gist(message: str) -> str | None:
    """The first line of an exception's message; of a failed command its output's last line, which names the
    cause: the first is the command."""
    text = message.strip()
    failed = _COMMAND.match(text)
    if not failed:
        return text.partition("\n")[0] or None
    output = failed["output"].strip().removesuffix("Stderr: None.").rstrip(" .\n")
    return f"{failed['what']}: {output.rpartition(chr(10))[2].strip() or 'no output'}"


def _window(given: Any) -> tuple[float, float] | None:
    start, end = as_epoch(given, "started_at"), as_epoch(given, "finished_at")
    return None if start is None or end is None else (start, end)


def _seconds(given: dict[str, Any]) -> dict[str, float]:
    """Duration of each known phase, by its start and end where these are stated."""
    seconds: dict[str, float] = {}
    for phase in PHASES:
        window, timed = _window(given.get(phase)), as_float(given, "timing", phase)
        if window is not None:
            seconds[phase] = max(0.0, window[1] - window[0])
        elif timed is not None:
            seconds[phase] = timed
    return seconds


# Lock


def locked_skills(trial: Path) -> dict[str, str] | None:
    """Skill -> digest from a trial's lock; None without a readable lock."""
    try:
        lock = orjson.loads((trial / "lock.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return {str(skill.get("name")): str(skill.get("digest")) for skill in as_dicts(lock, "skills")}


def skill_digest(files: Iterable[tuple[str, str]]) -> str:
    """Digest of a Skill's folder as in Harbor's lock: sha256 over (path, sha256) of its files, folder by
    folder (`a/b` before `a.md`), ignoring execute bits."""
    digest = hashlib.sha256()
    for path, content in sorted(files, key=lambda one: one[0].split("/")):
        digest.update(f"{path}\0{content}\0".encode())
    return f"sha256:{digest.hexdigest()}"


def describe_skills(skills: Mapping[str, str]) -> str:
    """Skills with the start of their digests, for a message."""
    return ", ".join(f"{name} {digest[7:19]}" for name, digest in sorted(skills.items())) or "none"


# Trial


class HarborTrial(Parser):
    folder_marker = "result.json"

    def sniff(self, source: Source) -> bool:
        """A folder whose result.json has a task_name and a trial_name."""
        return not source.head and source.path.is_dir() and is_trial(source.path)

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """The trial's run comes first; foreign runs of a reused container are left out."""
        result = read_result(source.path)
        warnings: list[str] = []
        runs = _most_native(self._logs(source), warnings)
        inside = [run for run in runs if _inside(run, result)]
        if runs and not inside and _in_local_time(source.path):
            inside = runs
            warnings.append(
                "the trial's times have no time zone; its logs are not filtered by time"
            )
        if len(inside) < len(runs):
            left_out = len(runs) - len(inside)
            warnings.append(f"logs outside the agent's execution: {left_out} skipped")
        for number, run in enumerate(inside):
            yield _with_result(run, result, number, tuple(warnings))

    def unlogged_trial(self, source: Source) -> tuple[UnloggedTrial, str] | None:
        """Return the result of a trial without a run, and why it has none."""
        result = read_result(source.path)
        trial = UnloggedTrial(
            trial=result.id,
            name=result.trial_name,
            source=path_text(source.path),
            format=self.format,
            task=result.task_name,
            agent=result.agent,
            agent_version=result.agent_version,
            model=result.model,
            started_at=result.started_at,
            finished_at=result.finished_at,
            reward=result.reward,
            exception=result.exception,
            message=result.message,
        )
        logs = len(self._logs(source))
        if not logs:
            return trial, "contains no log of its agent"
        return trial, f"contains {logs} logs, but none with a run of its agent during the trial"

    def _logs(self, source: Source) -> list[FoundSource]:
        """All logs of the agent, of all steps of a multi-step trial. NVIDIA's SkillEvaluator keeps
        them next to the result, BenchFlow in trajectory/."""
        homes = [source.path / "agent", *sorted(source.path.glob("steps/*/agent"))]
        homes = [home for home in homes if home.is_dir()] or [
            place
            for place in sorted(source.path.iterdir())
            if place.name == "trajectory" or (place.is_file() and place.stem in _COLLECTED)
        ]
        logs = discover(homes, formats=source.formats)
        return [log for log in logs if log.format not in {None, self.format}]


def _most_native(logs: list[FoundSource], warnings: list[str]) -> list[Trajectory]:
    """Runs of the most native readable kind of log that count, longest first."""
    failures: list[TrajectoryError] = []
    for kind in sorted({parser(log.format or "").kind for log in logs}):
        runs: list[tuple[str, Trajectory]] = []
        for log in logs:
            if parser(log.format or "").kind != kind:
                continue
            try:
                path = path_text(log.source.path)
                runs += [(path, run) for run in read(log.source, log.format or "")]
            except TrajectoryError as failure:
                failures.append(failure)
        if runs:
            warnings.extend(failure.message for failure in failures)
            decisions = deduplicate(capture_of(path, run) for path, run in runs)
            counted = [
                own_part(run, decision.inherited)
                for (_, run), decision in zip(runs, decisions, strict=True)
                if decision.kept
            ]
            return sorted(counted, key=lambda run: (-len(run.steps), run.trajectory))
    if failures:
        raise failures[0]
    return []


def _inside(run: Trajectory, result: HarborResult) -> bool:
    """Whether a run overlaps the agent's time window, if both are known."""
    if result.agent_window is None or run.started_at is None or run.finished_at is None:
        return True
    start, end = result.agent_window
    return run.started_at <= end + SLACK_SECONDS and run.finished_at >= start - SLACK_SECONDS


def _in_local_time(folder: Path) -> bool:
    """Whether the agent's start and end have no time zone: they are the host's local time, not
    necessarily UTC. Raises TrajectoryError."""
    start = as_str(_load(folder), "agent_execution", "started_at")
    try:
        return start is not None and datetime.fromisoformat(start).tzinfo is None
    except ValueError:
        return False


def _with_result(
    run: Trajectory, result: HarborResult, number: int, warnings: tuple[str, ...]
) -> Trajectory:
    """Add a trial's metadata to its run, and the outcome and Harbor's totals to the first one."""
    total = None
    if number == 0 and not (result.input_tokens is None and result.output_tokens is None):
        total = Usage(
            input=remainder(result.input_tokens, result.cached_tokens),
            cache_read=result.cached_tokens,
            output=result.output_tokens,
            cost_usd=result.cost_usd,
        )
    return replace(
        run,
        trajectory=result.id if number == 0 else f"{result.id}/{run.trajectory}",
        session=run.session or run.trajectory,
        agent=run.agent or result.agent,
        traits=run.traits if run.agent else traits_of(result.agent),
        agent_version=run.agent_version or result.agent_version,
        model=run.model or result.model,
        usage=run.usage or total,
        warnings=(*run.warnings, *warnings),
        outcome=Outcome(result.task_name, result.reward, result.exception) if number == 0 else None,
    )
