"""Harbor trial folders: result.json, agent/ and verifier/ (harness.md A.3).

Reads the most native readable log with its own format; the trial adds its key and missing metadata.
A trial without a log has no run, only its result.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.files import path_text
from skilljuror.base.results import UnloggedTrial
from skilljuror.base.study import HarborResult
from skilljuror.base.trajectory import Outcome, Trajectory, Usage
from skilljuror.logs.base import FoundSource, Parser, Source
from skilljuror.logs.discovery.deduplication import capture_of, deduplicate, own_part
from skilljuror.logs.discovery.find_logs import discover
from skilljuror.logs.harbor.result import in_local_time, is_trial, read_result
from skilljuror.logs.raw_logs.coercion import remainder
from skilljuror.logs.read import parser, read, traits_of

_COLLECTED = frozenset({
    "trajectory", "claude-code", "codex", "gemini-cli", "mini-swe-agent", "opencode", "openhands",
})  # fmt: skip
"""Stems of logs that SkillEvaluator copies out of agent/."""
SLACK_SECONDS = 60.0
"""Tolerated clock difference between host and container."""


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
        if runs and not inside and in_local_time(source.path):
            inside = runs
            warnings.append(
                "the trial's times have no time zone; its logs are not filtered by time"
            )
        left_out = len(runs) - len(inside)
        if left_out:
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
    """Runs of the most native readable kind of log, longest first."""
    failures: list[TrajectoryError] = []
    for kind in sorted({parser(log.format or "").kind for log in logs}):
        runs: list[tuple[str, Trajectory]] = []
        for log in logs:
            if parser(log.format or "").kind == kind:
                runs.extend(_try(log, failures))
        if runs:
            warnings.extend(failure.message for failure in failures)
            return _distinct(runs)
    if failures:
        raise failures[0]
    return []


def _try(log: FoundSource, failures: list[TrajectoryError]) -> list[tuple[str, Trajectory]]:
    try:
        runs = list(read(log.source, log.format or ""))
    except TrajectoryError as failure:
        failures.append(failure)
        return []
    return [(path_text(log.source.path), run) for run in runs]


def _distinct(runs: list[tuple[str, Trajectory]]) -> list[Trajectory]:
    decisions = deduplicate(capture_of(path, run) for path, run in runs)
    kept = [
        own_part(run, decision.inherited)
        for (_, run), decision in zip(runs, decisions, strict=True)
        if decision.kept
    ]
    return sorted(kept, key=lambda run: (-len(run.steps), run.trajectory))


def _inside(run: Trajectory, result: HarborResult) -> bool:
    """Whether a run overlaps the agent's time window, if both are known."""
    if result.agent_window is None or run.started_at is None or run.finished_at is None:
        return True
    start, end = result.agent_window
    return run.started_at <= end + SLACK_SECONDS and run.finished_at >= start - SLACK_SECONDS


def _with_result(
    run: Trajectory, result: HarborResult, number: int, warnings: tuple[str, ...]
) -> Trajectory:
    return replace(
        run,
        trajectory=result.id if number == 0 else f"{result.id}/{run.trajectory}",
        session=run.session or run.trajectory,
        agent=run.agent or result.agent,
        traits=run.traits if run.agent else traits_of(result.agent),
        agent_version=run.agent_version or result.agent_version,
        model=run.model or result.model,
        usage=run.usage or (_usage(result) if number == 0 else None),
        warnings=(*run.warnings, *warnings),
        outcome=Outcome(result.task_name, result.reward, result.exception) if number == 0 else None,
    )


def _usage(result: HarborResult) -> Usage | None:
    """Harbor's totals, used if the log has none."""
    if result.input_tokens is None and result.output_tokens is None:
        return None
    return Usage(
        input=remainder(result.input_tokens, result.cached_tokens),
        cache_read=result.cached_tokens,
        output=result.output_tokens,
        cost_usd=result.cost_usd,
    )
