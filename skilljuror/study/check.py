"""Check a study before any trial: the solution of each task earns 1, an empty run earns less, and the agent
lists no Skill of its own. Task folders are proved in the same way, with the default harness.

All run like trials, in the study's harness and sandbox, without a model; their results are not saved.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from skilljuror.base.errors import HarnessError, StudyError, resolve
from skilljuror.base.files import StudyFolder
from skilljuror.base.study import (
    NO_VERIFIER,
    AgentChoice,
    AgentProgram,
    Condition,
    HarnessChoice,
    PlannedTask,
    StudyConfig,
    StudyPlan,
    TaskEntry,
    TrialRecord,
)
from skilljuror.base.trajectory import OfferedSkill
from skilljuror.base.workers import Listener, Progress, silent, worker_pool
from skilljuror.harness import HARNESSES
from skilljuror.harness.agents import AGENTS, Agent
from skilljuror.harness.base import BatchHarness, Harness, TrialJob
from skilljuror.harness.sandbox import remove_tree
from skilljuror.harness.tasks import JUDGES
from skilljuror.harness.verifier_output import last_lines, solution_output, verifier_output
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.store.ingest.checks import read_checks
from skilljuror.store.ingest.trials import log_of
from skilljuror.study.lock import exclusive_run, workers_lock
from skilljuror.study.plan import freeze, planned_trial
from skilljuror.study.preflight import refuse_unsupported
from skilljuror.study.proofs import AGAIN, STUFFED, Attempt, TaskProof, stuffing
from skilljuror.study.proofs import prove as make_proof
from skilljuror.study.run import agents_of, study_places
from skilljuror.study.study_file import load_study
from skilljuror.study.task_check import leak_lines
from skilljuror.study.trial import RunSetup, run_trial, stop_trial

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
    proof: TaskProof | None = None
    """Further proofs, if asked for and if the task can run."""


class CheckSummary(Struct, frozen=True):
    """Results for all tasks of a study."""

    tasks: tuple[TaskCheck, ...]
    """In the order of the study file."""
    isolation: str
    """Isolation of the runs from this machine."""
    listings: tuple[str, ...] = ()
    """Agents that list Skills of their own, one line each."""
    leaks: tuple[str, ...] = ()
    """Skills with text of a solution or verifier, one line each; `run` decides."""

    @property
    def failed(self) -> bool:
        """Whether any task fails, or an agent lists Skills that the study does not accept."""
        return bool(self.listings) or any(one.verdict == "fails" for one in self.tasks)


class _Attempt(Attempt, frozen=True):
    listed: tuple[OfferedSkill, ...] = ()
    """Skills that its log lists."""


def check_study(
    study_file: Path, *, prove: bool = False, jobs: int = 1, progress: Listener | None = None
) -> CheckSummary:
    """Run the solution and an empty agent on every task of a study; `prove` adds further proofs.

    Raises StudyError and UsageError for an invalid study, HarnessError if this machine cannot run it.
    """
    config, base = load_study(study_file), study_file.parent
    plan = freeze(config, base, find_skill=GivenSkills(base))
    harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(config.harness.options)
    refuse_unsupported(harness, [base / task.path for task in plan.tasks])
    found = _check(plan, base, harness, prove=prove, jobs=jobs, listener=progress or silent)
    return structs.replace(found, leaks=tuple(leak_lines(plan, base)))


def prove_folders(
    folders: Sequence[Path], *, jobs: int = 1, progress: Listener | None = None
) -> CheckSummary:
    """Prove task folders on this machine, each with the time limits of its own.

    A folder that cannot run is a row with its reason. Raises StudyError for two folders of one name,
    HarnessError if this machine has no sandbox.
    """
    arm, choice = Condition(name="bare"), HarnessChoice(timeouts="task")
    places = {folder.resolve().name: folder.resolve() for folder in folders}
    if len(places) < len(folders):
        raise StudyError("--prove: two task folders have the same name; name them apart")
    harness = resolve(HARNESSES, choice.name, "harness", Harness)(choice.options)
    plans, refused = list[StudyPlan](), dict[str, TaskCheck]()
    for name, folder in places.items():
        entry = TaskEntry(path=str(folder))
        config = StudyConfig(name="prove", tasks=(entry,), conditions=(arm,), harness=choice)
        try:
            plans.append(freeze(config, folder))
            refuse_unsupported(harness, [folder])
        except StudyError as error:
            refused[name] = TaskCheck(name, "fails", None, None, (error.message,))
        except HarnessError as error:
            plans.pop()
            reason = f"{error.message}; then: check STUDY.yaml --prove"
            refused[name] = TaskCheck(name, "unknown", None, None, (reason,))
    if not plans:
        return CheckSummary(tuple(refused.values()), harness.prepare())
    tasks = tuple(task for plan in plans for task in plan.tasks)
    plan = plans[0].model_copy(update={"tasks": tasks})
    base = places[tasks[0].name]
    found = _check(plan, base, harness, prove=True, jobs=jobs, listener=progress or silent)
    checked = {one.task: one for one in found.tasks} | refused
    return structs.replace(found, tasks=tuple(checked[name] for name in places))


def _check(
    plan: StudyPlan, base: Path, harness: Harness, *, prove: bool, jobs: int, listener: Listener
) -> CheckSummary:
    config, isolation = plan.config, harness.prepare()
    online = not all(agent.scripted for agent in agents_of(config, harness).values())
    own = harness.own_agent if isinstance(harness, BatchHarness) else None
    with _throwaway_study(config) as setup:
        wanted = [
            structs.replace(
                _job(config, task, base / task.path, kind, own, online=online),
                hidden=tuple(study_places(base, plan)),
            )
            for task in plan.tasks
            for kind in (SOLUTION, EMPTY, *(AGAIN if prove else ()))
            if kind == EMPTY or (task.judged_by == "verifier" and _solution(base / task.path))
        ]
        if prove:
            wanted += _stuffed_jobs(wanted, setup.study, sandboxed=isolation != "none")
        if not isinstance(harness, BatchHarness):
            wanted += _listing_jobs(config, plan.tasks[0], base / plan.tasks[0].path)
        found = _run(wanted, setup, jobs, listener)
    checks = []
    for task in plan.tasks:
        runs = {kind: run for (name, kind), run in found.items() if name == task.name}
        proof = make_proof(base / task.path, runs) if prove else None
        checks.append(_judge(task, found, proof))
    return CheckSummary(tuple(checks), isolation, tuple(_listings(config, found)))


def _stuffed_jobs(
    wanted: Sequence[TrialJob], study: Path, *, sandboxed: bool
) -> Iterator[TrialJob]:
    """The empty run of each task, with a script instead that writes what the tests look for."""
    for job in wanted:
        place = study / STUFFED / job.task.name
        if job.trial.condition != EMPTY or not (
            files := stuffing(job.task_dir, place, sandboxed=sandboxed)
        ):
            continue
        program = AgentProgram(
            name=STUFFED,
            version=None,
            files=files,
            argv=("bash", f"{{agent_dir}}/{files[0].name}"),
            scripted=True,
            usage_reason="no_model",
        )
        trial = planned_trial(0, job.task.name, STUFFED, 0, 0)
        yield structs.replace(job, trial=trial, agent=program)


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
    solves = kind != EMPTY
    role = SOLUTION if solves else EMPTY
    own = own_agent(AgentChoice(name=_OF_HARNESS[role])) if own_agent else None
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
            rows, left = read_checks(raw, record.trial)
            unread = next((one.reason for one in left if one.status == "error"), None)
            found[job.task.name, job.trial.condition] = _Attempt(
                record, output, said, rows, unread, listed
            )
            listener(Progress("check", done, len(wanted), record.trial))
    return found


def _judge(
    task: PlannedTask, found: dict[tuple[str, str], _Attempt], proof: TaskProof | None
) -> TaskCheck:
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
    if proof:
        problems += [rule.reason for rule in proof.rules if rule.verdict == "fail"]
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
        proof=proof,
    )


def _words(record: TrialRecord) -> str:
    reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
    return f"{reward} ({record.message})" if record.message else reward
