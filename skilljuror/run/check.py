"""Check a study before any trial: the solution of each task earns 1, an empty run earns less, and the agent
lists no Skill of its own.

All run like trials, in the study's harness and sandbox, without a model; their results are not saved.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from skilljuror.agents import AGENTS, Agent
from skilljuror.build.given_skills import GivenSkills
from skilljuror.files import StudyFolder
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import BatchHarness, Harness, TrialJob
from skilljuror.harnesses.sandbox import remove_tree
from skilljuror.harnesses.verifier_output import last_lines, solution_output, verifier_output
from skilljuror.ingest.trials import log_of
from skilljuror.models.agent import AgentProgram
from skilljuror.models.study import (
    NO_VERIFIER,
    AgentChoice,
    PlannedTask,
    StudyConfig,
    TrialRecord,
)
from skilljuror.models.trajectory import OfferedSkill
from skilljuror.registry import resolve
from skilljuror.run.lock import exclusive_run, workers_lock
from skilljuror.run.preflight import refuse_unsupported
from skilljuror.run.run import agents_of, study_places
from skilljuror.run.trial import RunSetup, run_trial, stop_trial
from skilljuror.runtime.workers import Listener, Progress, silent, worker_pool
from skilljuror.studies.plan import freeze, planned_trial
from skilljuror.studies.study_file import load_study
from skilljuror.studies.tasks import JUDGES

SOLUTION, EMPTY = "solution", "empty"
LISTING = "listing"
_LISTING_AGENTS = {"claude-code", "codex", "gemini-cli"}
_NOWHERE = "http://127.0.0.1:9"
_LISTING_SECONDS = 20.0
"""Time for an agent without a model to log the Skills that it lists."""
_OF_HARNESS = {SOLUTION: "oracle", EMPTY: "nop"}
"""Agents that replace both in a harness with its own agents."""
OwnAgent = Callable[[AgentChoice], AgentProgram | None]
OUTPUT_LINES = 20
"""Lines of verifier output that are shown for a failed task."""
_OUTPUT_BYTES = 20_000


class TaskCheck(Struct, frozen=True):
    """Result for one task."""

    task: str
    """Name of the task."""
    verdict: Literal["ok", "fails", "unknown"]
    """unknown: the task has no solution, so it may be unsolvable, or no verifier."""
    solution: float | None
    """Reward of solution/solve.sh; None if missing."""
    empty: float | None
    """Reward of a run that does nothing."""
    problems: tuple[str, ...] = ()
    """One line each."""
    output: str | None = None
    """Last lines of the verifier, if there is a problem."""
    solution_output: str | None = None
    """Last lines of the solution, if it does not get 1."""


class CheckSummary(Struct, frozen=True):
    """Results for all tasks of a study."""

    tasks: tuple[TaskCheck, ...]
    """In the order of the study file."""
    isolation: str
    """Isolation of the runs from this machine."""
    listings: tuple[str, ...] = ()
    """Agents that list Skills of their own, one line each."""

    @property
    def failed(self) -> bool:
        """Whether any task fails, or an agent lists Skills that the study does not accept."""
        return bool(self.listings) or any(one.verdict == "fails" for one in self.tasks)


class _Attempt(Struct, frozen=True):
    record: TrialRecord
    output: str | None
    said: str | None
    """What a solution printed."""
    listed: tuple[OfferedSkill, ...]
    """Skills that its log lists."""


def check_study(
    study_file: Path, *, jobs: int = 1, progress: Listener | None = None
) -> CheckSummary:
    """Run the solution and an empty agent on every task of a study.

    Raises StudyError and UsageError for an invalid study, HarnessError if this machine cannot run it.
    """
    config = load_study(study_file)
    harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(config.harness.options)
    base = study_file.parent
    plan = freeze(config, base, find_skill=GivenSkills(base))
    refuse_unsupported(harness, [base / task.path for task in plan.tasks])
    isolation = harness.prepare()
    online = not all(agent.scripted for agent in agents_of(config, harness).values())
    own = harness.own_agent if isinstance(harness, BatchHarness) else None
    wanted = [
        structs.replace(
            _job(config, task, base / task.path, kind, own, online=online),
            hidden=tuple(study_places(base, plan)),
        )
        for task in plan.tasks
        for kind in (SOLUTION, EMPTY)
        if kind == EMPTY or (task.judged_by == "verifier" and _solution(base / task.path))
    ]
    if not isinstance(harness, BatchHarness):
        wanted += _listing_jobs(config, plan.tasks[0], base / plan.tasks[0].path)
    with _throwaway_study(config) as setup:
        found = _run(wanted, setup, jobs, progress or silent)
    checks = (_judge(task, found) for task in plan.tasks)
    return CheckSummary(tuple(checks), isolation, tuple(_listings(config, found)))


def _listing_jobs(config: StudyConfig, task: PlannedTask, task_dir: Path) -> Iterator[TrialJob]:
    """A run of each agent without a Skill and without a model: its server is an address where none is."""
    limits = {"timeout_sec": _LISTING_SECONDS, "timeouts": "study", "timeout_multiplier": 1.0}
    arms = {config.agent_of(arm).model_dump_json(): arm for arm in config.conditions}
    for arm in arms.values():
        choice = config.agent_of(arm)
        if choice.name not in _LISTING_AGENTS:
            continue
        program = resolve(AGENTS, choice.name, "agent", Agent)(
            {**choice.options, "base_url": _NOWHERE}, choice.model
        )
        env = {**program.env, **dict.fromkeys(program.keys, "none")}
        yield TrialJob(
            trial=planned_trial(config.seed, task.name, f"{LISTING}-{arm.name}", 0, 0),
            task=task,
            task_dir=task_dir.resolve(),
            variant=None,
            variant_dir=None,
            agent=structs.replace(program, keys=(), env=env),
            choice=config.harness.model_copy(update=limits),
            config_digest="",
        )


def _listings(config: StudyConfig, found: dict[tuple[str, str], _Attempt]) -> Iterator[str]:
    for (_, run), attempt in found.items():
        arm = next((one for one in config.conditions if run == f"{LISTING}-{one.name}"), None)
        if arm is None:
            continue
        choice = config.agent_of(arm)
        own = choice.options.get("bundled_skills", False)
        names = sorted({
            skill.name
            for skill in attempt.listed
            if not (skill.bundled and own) and skill.name not in config.accept_skills
        })  # fmt: skip
        if names:
            yield (
                f"condition {arm.name!r}: without a Skill, {choice.name} lists {', '.join(names)}; switch them"
                f" off, or set accept_skills: [{', '.join(names)}]"
            )


def _solution(task_dir: Path) -> tuple[Path, ...]:
    """Files of a task's solution; empty without solve.sh."""
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
    """A run without a Skill, with the network access of the study's agent."""
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
    found = {}
    folder = StudyFolder(setup.study)
    listener(Progress("check", 0, len(wanted)))
    with worker_pool(min(jobs, len(wanted)) or 1, stop=stop_trial, in_process=False) as pool:
        records = pool.map_unordered(partial(run_trial, setup), wanted, queued=1)
        for done, (job, record) in enumerate(records, 1):
            raw = folder.trial_raw(record.trial)
            output, said = (read(raw, _OUTPUT_BYTES) for read in (verifier_output, solution_output))
            log, _ = log_of(raw, record)
            listed = (log and log.offered) or ()
            found[job.task.name, job.trial.condition] = _Attempt(record, output, said, listed)
            listener(Progress("check", done, len(wanted), record.trial))
    return found


def _judge(task: PlannedTask, found: dict[tuple[str, str], _Attempt]) -> TaskCheck:
    solution, empty = found.get((task.name, SOLUTION)), found[task.name, EMPTY]
    if empty.record.reason == NO_VERIFIER:
        by = JUDGES[task.judged_by]
        told = f"it has no verifier: {by} judges its trials, so nothing here was proved"
        return TaskCheck(task.name, "unknown", None, None, (told,))
    problems, wrong = [], []
    if solution is not None and solution.record.reward != 1:
        problems.append(f"its solution gets {_words(solution.record)}; expected 1")
        if task.stripped:
            problems.append(
                "its own Skill was removed, as for every trial; the solution may need it"
            )
        wrong.append(solution)
    if empty.record.reward is None:
        problems.append(f"an empty run gets {_words(empty.record)}; expected less than 1")
        wrong.append(empty)
    elif empty.record.reward >= 1:
        problems.append("an empty run gets reward 1: the verifier accepts anything")
        wrong.append(empty)
    output = next((one.output for one in wrong if one.output is not None), None)
    said = solution.said if solution in wrong and solution else None
    return TaskCheck(
        task=task.name,
        verdict="fails" if problems else "unknown" if solution is None else "ok",
        solution=solution.record.reward if solution else None,
        empty=empty.record.reward,
        problems=(
            *problems,
            *([] if solution else ["solution/solve.sh is missing, so it may be unsolvable"]),
        ),
        output=None if output is None else last_lines(output, OUTPUT_LINES),
        solution_output=None if said is None else last_lines(said, OUTPUT_LINES),
    )


def _words(record: TrialRecord) -> str:
    reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
    return f"{reward} ({record.message})" if record.message else reward
