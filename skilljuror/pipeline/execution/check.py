"""Proving the tasks of a study before any trial: its solution earns 1, an empty run earns less.

Both run as trials do, in the study's own harness and sandbox; nothing of it is kept.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from skilljuror.files import StudyFolder
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import BatchHarness, Harness, TrialJob
from skilljuror.harnesses.sandbox import remove_tree
from skilljuror.harnesses.verifier_output import last_lines, verifier_output
from skilljuror.models.agent import AgentProgram
from skilljuror.models.study import AgentChoice, PlannedTask, StudyConfig, TrialRecord
from skilljuror.pipeline.construction.given_skills import GivenSkills
from skilljuror.pipeline.execution.lock import exclusive_run, workers_lock
from skilljuror.pipeline.execution.run import agents_of
from skilljuror.pipeline.execution.trial import RunSetup, run_trial, stop_trial
from skilljuror.pipeline.workers import Listener, Progress, silent, worker_pool
from skilljuror.registry import resolve
from skilljuror.studies.plan import freeze, planned_trial
from skilljuror.studies.study_file import load_study

SOLUTION, EMPTY = "solution", "empty"
_OF_HARNESS = {SOLUTION: "oracle", EMPTY: "nop"}
"""Agents that a harness with agents of its own brings for both."""
OwnAgent = Callable[[AgentChoice], AgentProgram | None]
OUTPUT_LINES = 20
"""Last lines of a verifier that are told where a task fails."""
_OUTPUT_BYTES = 20_000


class TaskCheck(Struct, frozen=True):
    """What came of one task."""

    task: str
    """Name of the task."""
    verdict: Literal["ok", "fails", "unknown"]
    """unknown: it brings no solution, so that nobody knows whether it can be solved."""
    solution: float | None
    """Reward of solution/solve.sh; None where it gave none or there is none."""
    empty: float | None
    """Reward of a run that does nothing."""
    problems: tuple[str, ...] = ()
    """What is wrong, one line each."""
    output: str | None = None
    """The last lines that the verifier printed where something is wrong."""


class CheckSummary(Struct, frozen=True):
    """What came of all tasks of a study."""

    tasks: tuple[TaskCheck, ...]
    """Task by task, in the order of the study file."""
    isolation: str
    """What separated the runs from this machine."""

    @property
    def failed(self) -> bool:
        """Whether any task fails."""
        return any(one.verdict == "fails" for one in self.tasks)


class _Attempt(Struct, frozen=True):
    record: TrialRecord
    output: str | None


def check_study(
    study_file: Path, *, jobs: int = 1, progress: Listener | None = None
) -> CheckSummary:
    """Run the solution and an empty agent on every task of a study.

    Raises StudyError and UsageError for a study that cannot be run, HarnessError for a machine that
    cannot run it.
    """
    config = load_study(study_file)
    harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(config.harness.options)
    isolation = harness.prepare()
    base = study_file.parent
    plan = freeze(config, base, give=GivenSkills(base))
    online = not all(agent.scripted for agent in agents_of(config, harness).values())
    own = harness.own_agent if isinstance(harness, BatchHarness) else None
    wanted = [
        _job(config, task, base / task.path, kind, own, online=online)
        for task in plan.tasks
        for kind in (SOLUTION, EMPTY)
        if kind == EMPTY or _solution(base / task.path)
    ]
    with _throwaway_study(config) as setup:
        found = _run(wanted, setup, jobs, progress or silent)
    checks = (_judge(task, found) for task in plan.tasks)
    return CheckSummary(tuple(checks), isolation)


def _solution(task_dir: Path) -> tuple[Path, ...]:
    """The files of a task's solution; none where it brings no solve.sh."""
    folder = task_dir / "solution"
    if not (folder / "solve.sh").is_file():
        return ()
    return tuple(sorted(path.resolve() for path in folder.iterdir() if path.is_file()))


def _job(
    config: StudyConfig,
    task: PlannedTask,
    task_dir: Path,
    kind: str,
    own_agent: OwnAgent | None,
    *,
    online: bool,
) -> TrialJob:
    """A run with what the study's own agent may use, its network as well, and without any Skill."""
    solves = kind == SOLUTION
    own = own_agent(AgentChoice(name=_OF_HARNESS[kind])) if own_agent else None
    agent = own or AgentProgram(
        name=kind,
        version=None,
        files=_solution(task_dir) if solves else (),
        argv=("bash", "{agent_dir}/solve.sh") if solves else ("true",),
        scripted=not online,
        usage_reason="no_model",
    )
    return TrialJob(
        trial=planned_trial(config.seed, task.name, kind, 0, 0),
        task=task,
        task_dir=task_dir.resolve(),
        variant=None,
        variant_dir=None,
        agent=agent,
        choice=config.harness,
        config_digest="",
    )


@contextmanager
def _throwaway_study(config: StudyConfig) -> Iterator[RunSetup]:
    place = Path(tempfile.mkdtemp(prefix="skilljuror-check-"))
    try:
        folder = StudyFolder(place)
        with exclusive_run(folder) as scratch:
            yield RunSetup(place, scratch, workers_lock(folder), config.harness)
    finally:
        remove_tree(place)


def _run(
    wanted: list[TrialJob], setup: RunSetup, jobs: int, listener: Listener
) -> dict[tuple[str, str], _Attempt]:
    """(task, kind) -> how it ended."""
    found = {}
    folder = StudyFolder(setup.study)
    listener(Progress("check", 0, len(wanted)))
    with worker_pool(min(jobs, len(wanted)) or 1, stop=stop_trial, in_process=False) as pool:
        records = pool.map_unordered(partial(run_trial, setup), wanted, queued=1)
        for done, (job, record) in enumerate(records, 1):
            output = verifier_output(folder.trial_raw(record.trial), _OUTPUT_BYTES)
            found[job.task.name, job.trial.condition] = _Attempt(record, output)
            listener(Progress("check", done, len(wanted), record.trial))
    return found


def _judge(task: PlannedTask, found: dict[tuple[str, str], _Attempt]) -> TaskCheck:
    solution, empty = found.get((task.name, SOLUTION)), found[task.name, EMPTY]
    problems, wrong = [], []
    if solution is not None and solution.record.reward != 1:
        problems.append(f"its solution earns {_words(solution.record)}, not 1")
        wrong.append(solution)
    if empty.record.reward is None:
        problems.append(f"a run that does nothing earns {_words(empty.record)}, not less than 1")
        wrong.append(empty)
    elif empty.record.reward >= 1:
        problems.append("a run that does nothing earns 1: the verifier accepts anything")
        wrong.append(empty)
    output = next((one.output for one in wrong if one.output is not None), None)
    return TaskCheck(
        task=task.name,
        verdict="fails" if problems else "unknown" if solution is None else "ok",
        solution=solution.record.reward if solution else None,
        empty=empty.record.reward,
        problems=(*problems, *([] if solution else ["no solution/solve.sh proves it solvable"])),
        output=None if output is None else last_lines(output, OUTPUT_LINES),
    )


def _words(record: TrialRecord) -> str:
    reward = "no reward" if record.reward is None else f"{record.reward:g}"
    return f"{reward} ({record.message})" if record.message else reward
