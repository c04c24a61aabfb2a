"""Check tasks before any trial, by reading them and by running them.

Read: a task folder has its parts, its Skill gives the answer not away, its rubric is sound. Run: the solution of
each task earns 1, an empty run earns less, and the agent lists no Skill of its own. Proved by further runs: the
solution again, a run that only writes what the tests look for, and which checks and criteria tell a solution
from an empty run. All run like trials, in the study's harness and sandbox, without a model; their results are
not saved.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import yaml
from msgspec import Struct, structs

from skilljuror.base.errors import HarnessError, StudyError
from skilljuror.base.files import StudyFolder, data_dir
from skilljuror.base.results import CheckOutcome, CheckResult
from skilljuror.base.review import AttributeRubric
from skilljuror.base.skill import is_root_name
from skilljuror.base.study import (
    NO_VERIFIER,
    AgentChoice,
    AgentProgram,
    Condition,
    HarnessChoice,
    PlannedTask,
    SkillSource,
    StudyConfig,
    StudyPlan,
    TaskEntry,
    TrialRecord,
)
from skilljuror.base.texts import texts_below
from skilljuror.base.trajectory import OfferedSkill
from skilljuror.base.workers import Listener, Progress, silent, worker_pool
from skilljuror.harness.artifacts import last_lines, solution_output, verifier_output
from skilljuror.harness.base import BatchHarness, Harness, TrialJob
from skilljuror.harness.leaks import (
    PlantedLeaks,
    SkillLeak,
    TaskTexts,
    assay_leaks,
    leak_of,
    leak_verdict,
    nulls,
    read_texts,
    verdict_of,
)
from skilljuror.harness.sandbox import remove_tree
from skilljuror.harness.tasks import (
    JUDGES,
    TASK_PARTS,
    Criterion,
    NamedTest,
    baked_skills,
    criteria_of,
    judge_of,
    missing_parts,
    parsed,
    read_allowance,
    read_tests,
    strings_in,
    task_settings,
)
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.store.checks import read_checks
from skilljuror.store.trials import log_of
from skilljuror.study.plan import (
    agents_of,
    freeze,
    harness_of,
    planned_trial,
    program_of,
    read_plan,
    refuse_unsupported,
)
from skilljuror.study.rubric import has_rubric, rubric_findings
from skilljuror.study.run import exclusive_run, study_places, workers_lock
from skilljuror.study.trial import RunSetup, run_trial, stop_trial

RuleVerdict = Literal["ok", "note", "unknown", "review", "fail"]
VERDICTS: tuple[RuleVerdict, ...] = ("ok", "note", "unknown", "review", "fail")
"""From best to worst. unknown: a run or a person must tell."""
MAX_TESTS = 10
"""SkillsBench asks for fewer tests than this, unless they are justified."""
DIFFICULTIES = ("easy", "medium", "hard")
_REWARD = re.compile(r"reward\.(?:txt|json)\b")

SOLUTION, EMPTY, STUFFED, LISTING = "solution", "empty", "stuffed", "listing"
AGAIN = ("solution-2", "solution-3")
"""Kinds of runs."""
_LISTING_AGENTS = {"claude-code", "codex", "gemini-cli"}
_NOWHERE = "http://127.0.0.1:9"
_LISTING_SECONDS = 20.0
"""Time for an agent without a model to log the Skills that it lists."""
_OF_HARNESS = {SOLUTION: "oracle", EMPTY: "nop"}
"""Agents that replace both in a harness with its own agents."""
OUTPUT_LINES = 20
"""Lines of verifier output that are shown for a failed task."""
_OUTPUT_BYTES = 20_000
_QUOTED = re.compile(r"\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'")
_FILE = re.compile(r"(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,9}")
_MOST_CHARACTERS = 1_000_000
"""Most characters of strings in one file."""
_WORKDIR = "/app/"


class TaskRule(Struct, frozen=True):
    """One rule on one task."""

    rule: str
    """parts, skill, solution, reward, tests, network, baked, metadata or leak; rubric, or a weakness of its
    items: following, goal, free points, orphan; of a proof: repeated, stuffed, checks, trace."""
    verdict: RuleVerdict
    """A note does not count."""
    reason: str
    """What was found."""


class CheckedTask(Struct, frozen=True):
    """A task folder, its leak and its rules."""

    task: str
    """Name of the folder."""
    path: str
    """The folder."""
    verdict: RuleVerdict
    """The worst verdict of the rules; a note is ok."""
    leak: SkillLeak
    """Text of the Skill that only solution and verifier should have."""
    null: int | None
    """Most runs of the Skill in the solution and verifier of another task; None without another one."""
    null_task: str | None
    """That task."""
    rules: tuple[TaskRule, ...]
    """One row per rule."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, missing or unknown, besides a leak."""
        wrong = [rule for rule in self.rules if rule.verdict not in {"ok", "note"}]
        reasons = [rule.reason for rule in wrong if rule.rule != "leak"]
        return tuple(dict.fromkeys([*reasons, *([self.leak.reason] if self.leak.reason else ())]))


class CheckedTasks(Struct, frozen=True):
    """All tasks of a call."""

    tasks: tuple[CheckedTask, ...]
    """In the order of the call."""
    pairs: int
    """Pairs of a task's Skill and another task's solution and verifier."""
    null_failed: int
    """Of these, pairs with as many common runs as a leak that fails."""
    null_reviewed: int
    """Of these, pairs with as many as a leak that a person must see."""
    assay: tuple[PlantedLeaks, ...] = ()
    """How many planted leaks are found, by number of lines; if asked for."""

    @property
    def status(self) -> int:
        """Exit status: 1 if a task fails, 3 if a person must decide, else 0."""
        verdicts = {task.verdict for task in self.tasks}
        return 1 if "fail" in verdicts else 3 if "review" in verdicts else 0


def check_tasks(
    folders: Sequence[Path],
    skills: str | None = None,
    *,
    assay: bool = False,
    progress: Listener = silent,
) -> CheckedTasks:
    """Check task folders. `skills` is the Skill to compare with, {task} for the task's name; default: each
    task's own.

    Raises StudyError for a folder that is not a task and for a missing Skill, BundleError for an archive of
    Skills that cannot be read.
    """
    read = []
    progress(Progress("check", 0, len(folders)))
    for done, folder in enumerate(folders, 1):
        problem = None
        if not folder.is_dir():
            problem = "is not a folder; name a study file (.yaml) or task folders"
        elif not any((folder / part).exists() for part in TASK_PARTS):
            problem = (
                f"is not a task folder: it has none of {', '.join(TASK_PARTS)}; name task folders,"
                " such as tasks/*"
            )
        if problem:
            raise StudyError(f"{str(folder)!r} {problem}", file=str(folder))
        skill = None
        if skills is not None:
            skill = Path(SkillSource(path=skills).at(folder.resolve().name))
            if not skill.exists():
                raise StudyError(f"Skill {str(skill)!r} not found", file=str(skill), field="skills")
        read.append(read_texts(folder, skill))
        progress(Progress("check", done, len(folders), folder.name))
    chance = nulls(read)
    names = [folder.resolve().name for folder in folders]
    rows, pairs = [], 0
    for name, folder, texts, runs in zip(names, folders, read, chance, strict=True):
        others = 0
        if texts.skill:
            others = sum(bool(other.hidden) for other in read if other.skill != texts.skill)
        pairs += others
        place, null = next(iter(runs.most_common(1)), (None, 0 if others else None))
        leak = leak_of(name, texts)
        rules = tuple(_rules(folder, texts, leak))
        verdicts = {rule.verdict for rule in rules} - {"note"}
        worst = next(
            (verdict for verdict in reversed(VERDICTS) if verdict in verdicts), VERDICTS[0]
        )
        null_task = None if place is None else names[place]
        rows.append(CheckedTask(name, str(folder), worst, leak, null, null_task, rules))
    counts = Counter(verdict_of(count) for runs in chance for count in runs.values())
    planted = tuple(assay_leaks(read)) if assay else ()
    return CheckedTasks(tuple(rows), pairs, counts["fail"], counts["review"], planted)


def _rules(folder: Path, texts: TaskTexts, leak: SkillLeak) -> Iterator[TaskRule]:
    def present(rule: str, verdict: RuleVerdict, problem: str, *, ok: bool) -> TaskRule:
        return TaskRule(rule, "ok", "present") if ok else TaskRule(rule, verdict, problem)

    absent = missing_parts(folder)
    yield present("parts", "fail", f"{', '.join(absent)} missing", ok=not absent)
    if texts.skill:
        root = any(map(is_root_name, texts.skill))
        yield present("skill", "fail", "no SKILL.md that is text", ok=root)
    else:
        yield TaskRule("skill", "unknown", leak.reason or "")
    solved = (folder / "solution" / "solve.sh").is_file()
    yield present("solution", "unknown", "solution/solve.sh missing", ok=solved)
    tests = {path: text for path, text in texts.hidden.items() if path.startswith("tests/")}
    judge = judge_of(folder)
    if judge == "verifier":
        writes = any(_REWARD.search(text) for text in tests.values())
        unknown = "no file of tests/ names reward.txt or .json"
        yield present("reward", "unknown", unknown, ok=writes)
    else:
        yield TaskRule("reward", "note", f"none: {JUDGES[judge]} judges")
    count = sum(len(read_tests(text) or ()) for path, text in tests.items() if path.endswith(".py"))
    known = f"{count} test functions" if count else "not counted: no test function of Python"
    yield TaskRule("tests", "ok" if 0 < count < MAX_TESTS else "note", known)
    yield from _settings_rules(folder)
    yield TaskRule("leak", leak.verdict, leak.reason or f"{leak.runs} runs of words")
    yield from _rubric_rules(folder, texts)


def _settings_rules(folder: Path) -> Iterator[TaskRule]:
    if not (folder / "task.toml").is_file():
        return
    try:
        settings, network = task_settings(folder), read_allowance(folder).network
    except StudyError as error:
        yield TaskRule("settings", "fail", error.message)
        return
    yield TaskRule("network", "note", network or "not set")
    baked = "; ".join(baked_skills(folder, settings)) or "no Skill to remove"
    yield TaskRule("baked", "note", baked)
    rubric = yaml.safe_load((data_dir("rubrics") / "task-attributes.yaml").read_bytes())
    known = AttributeRubric.model_validate(rubric).attributes
    values = {name: tuple(one.values) for name, one in known.items()} | {"difficulty": DIFFICULTIES}
    metadata = settings.get("metadata")
    outside = "; ".join(
        f"{name} = {value!r} (choose {', '.join(values[name])})"
        for name, value in (metadata.items() if isinstance(metadata, dict) else ())
        if name in values and value not in values[name]
    )
    yield TaskRule("metadata", "note", outside or "in the vocabulary")


def _rubric_rules(folder: Path, texts: TaskTexts) -> Iterator[TaskRule]:
    """Weak items of a task's rubric: the Skill may say an orphan's words in a form that is not found."""
    if not has_rubric(folder) or not (folder / "instruction.md").is_file():
        return
    try:
        findings = rubric_findings(folder, texts.skill.values())
    except StudyError as error:
        yield TaskRule("rubric", "fail", error.message)
        return
    yield TaskRule("rubric", "ok", "present")
    for rule, message in dict.fromkeys((finding.rule, finding.message) for finding in findings):
        items = ", ".join(finding.item for finding in findings if finding.rule == rule)
        verdict: RuleVerdict = "note" if rule == "orphan" else "review"
        yield TaskRule(rule, verdict, f"rubric, {rule}: {message}: {items}")


class Attempt(Struct, frozen=True):
    """What one run left."""

    record: TrialRecord
    output: str | None
    """What the verifier printed."""
    said: str | None
    """What a solution printed."""
    checks: tuple[CheckResult, ...] = ()
    """What the verifier reported, test by test."""
    unread: str | None = None
    """Why its reports were not read."""
    listed: tuple[OfferedSkill, ...] = ()
    """Skills that its log lists."""

    @property
    def reward(self) -> str:
        """Its reward in words."""
        reward = self.record.reward
        return "no reward" if reward is None else f"reward {reward:g}"

    @property
    def outcomes(self) -> dict[str, CheckOutcome]:
        """Check -> outcome; a check that two reports name has the source before its name."""
        names = [check.name for check in self.checks]
        return {
            check.name
            if names.count(check.name) == 1
            else f"{check.source} {check.name}": check.outcome
            for check in self.checks
        }


class TraceRow(Struct, frozen=True):
    """A criterion and a test that names it; one of them is None for an orphan."""

    criterion: str | None
    text: str | None
    """Text of the criterion; None if the requirement does not have it."""
    test: str | None
    empty: CheckOutcome | None
    """Outcome in the empty run; None if it was not reported."""
    solution: CheckOutcome | None
    """Outcome with the solution; None if it was not reported."""


class TaskProof(Struct, frozen=True):
    """Proofs of one task."""

    rules: tuple[TaskRule, ...]
    """repeated, stuffed, checks and trace."""
    trace: tuple[TraceRow, ...]
    """Criteria in their order, then tests that name none; empty if no test names a criterion."""


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
        return bool(self.listings) or any(task.verdict == "fails" for task in self.tasks)


def check_study(
    study_file: Path, *, prove: bool = False, jobs: int = 1, progress: Listener | None = None
) -> CheckSummary:
    """Run the solution and an empty agent on every task of a study; `prove` adds further proofs.

    Raises StudyError and UsageError for an invalid study, HarnessError if this machine cannot run it.
    """
    base, plan = study_file.parent, read_plan(study_file)
    harness = harness_of(plan.config)
    refuse_unsupported(harness, [base / task.path for task in plan.tasks])
    summary = _check(plan, base, harness, prove=prove, jobs=jobs, listener=progress or silent)
    return structs.replace(summary, leaks=tuple(_leak_lines(plan, base)))


def _leak_lines(plan: StudyPlan, base: Path) -> Iterator[str]:
    """A line for each leak, that fails or that a person must see, of the Skills offered from disk."""
    for task in plan.tasks:
        built = [(task.skills, arm.name) for arm in plan.config.conditions if arm.variant]
        given = [(one.path, name) for name, one in task.given.items() if one.commit is None]
        for skill, arm in dict(reversed([*built, *given])).items():
            leak = leak_verdict(base / skill, base / task.path)
            if leak.verdict in {"review", "fail"}:
                first = leak.places[0]
                refused = "; run refuses an arm that offers them until they are accepted"
                yield (
                    f"{task.name}: {leak.runs} runs of words of {first.task_file} are in the Skill of {arm!r},"
                    f" {first.skill_file}{refused if leak.verdict == 'fail' else ''}"
                )


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
    plans, refused = list[StudyPlan](), dict[str, TaskCheck]()
    for name, folder in places.items():
        entry = TaskEntry(path=str(folder))
        config = StudyConfig(name="prove", tasks=(entry,), conditions=(arm,), harness=choice)
        harness = harness_of(config)
        try:
            plan = freeze(config, folder)
            refuse_unsupported(harness, [folder])
            plans.append(plan)
        except StudyError as error:
            refused[name] = TaskCheck(name, "fails", None, None, (error.message,))
        except HarnessError as error:
            reason = f"{error.message}; then: check STUDY.yaml --prove"
            refused[name] = TaskCheck(name, "unknown", None, None, (reason,))
    if not plans:
        return CheckSummary(tuple(refused.values()), harness.prepare())
    tasks = tuple(task for plan in plans for task in plan.tasks)
    plan = plans[0].model_copy(update={"tasks": tasks})
    base = places[tasks[0].name]
    summary = _check(plan, base, harness, prove=True, jobs=jobs, listener=progress or silent)
    checks = {check.task: check for check in summary.tasks} | refused
    return structs.replace(summary, tasks=tuple(checks[name] for name in places))


def _check(
    plan: StudyPlan, base: Path, harness: Harness, *, prove: bool, jobs: int, listener: Listener
) -> CheckSummary:
    """Run every task of a plan in a study that is thrown away, and judge the runs."""
    config, isolation = plan.config, harness.prepare()
    place = Path(tempfile.mkdtemp(prefix="skilljuror-check-"))
    try:
        folder = StudyFolder(place)
        with exclusive_run(folder) as scratch:
            setup = RunSetup(place, scratch, workers_lock(folder), config.harness)
            wanted = list(_jobs(plan, base, harness, prove=prove))
            if prove:
                wanted += _stuffed_jobs(wanted, place, sandboxed=isolation != "none")
            if not isinstance(harness, BatchHarness):
                wanted += _listing_jobs(config, plan.tasks[0], base / plan.tasks[0].path)
            attempts = _run(wanted, setup, jobs, listener)
    finally:
        remove_tree(place)
    checks = []
    for task in plan.tasks:
        runs = {kind: run for (name, kind), run in attempts.items() if name == task.name}
        proof = prove_task(base / task.path, runs) if prove else None
        checks.append(_judge(task, runs, proof))
    return CheckSummary(tuple(checks), isolation, tuple(_listings(config, attempts)))


def _jobs(plan: StudyPlan, base: Path, harness: Harness, *, prove: bool) -> Iterator[TrialJob]:
    """Runs of each task without a Skill, with the network access of the study's agent."""
    config = plan.config
    online = not all(agent.scripted for agent in agents_of(config, harness).values())
    hidden = tuple(study_places(base, plan))
    for task in plan.tasks:
        task_dir = (base / task.path).resolve()
        solution: tuple[Path, ...] = ()
        if task.judged_by == "verifier" and (task_dir / "solution" / "solve.sh").is_file():
            files = (task_dir / "solution").iterdir()
            solution = tuple(sorted(path.resolve() for path in files if path.is_file()))
        for kind in (SOLUTION, EMPTY, *(AGAIN if prove else ())):
            solves = kind != EMPTY
            if solves and not solution:
                continue
            agent = None
            if isinstance(harness, BatchHarness):
                own = _OF_HARNESS[SOLUTION if solves else EMPTY]
                agent = harness.own_agent(AgentChoice(name=own))
            agent = agent or AgentProgram(
                name=kind,
                version=None,
                files=solution if solves else (),
                argv=("bash", "{agent_dir}/solve.sh") if solves else ("true",),
                scripted=not online,
                usage_reason="no_model",
            )
            yield TrialJob(
                trial=planned_trial(config.seed, task.name, kind, 0, 0),
                task=task,
                task_dir=task_dir,
                variant=None,
                variant_dir=None,
                agent=agent,
                choice=config.harness,
                config_digest="",
                hidden=hidden,
            )


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
        options = {**choice.options, "base_url": _NOWHERE}
        program = program_of(choice.model_copy(update={"options": options, "effort": None}))
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


def _run(
    wanted: list[TrialJob], setup: RunSetup, jobs: int, listener: Listener
) -> dict[tuple[str, str], Attempt]:
    """(task, kind) -> what its run left."""
    attempts = {}
    folder = StudyFolder(setup.study)
    listener(Progress("check", 0, len(wanted)))
    with worker_pool(min(jobs, len(wanted)) or 1, stop=stop_trial, in_process=False) as pool:
        records = pool.map_unordered(partial(run_trial, setup), wanted, queued=1)
        for done, (job, record) in enumerate(records, 1):
            raw = folder.trial_raw(record.trial)
            log, _ = log_of(raw, record)
            checks, left_out = read_checks(raw, record.trial)
            attempts[job.task.name, job.trial.condition] = Attempt(
                record,
                verifier_output(raw, _OUTPUT_BYTES),
                solution_output(raw, _OUTPUT_BYTES),
                checks,
                next((source.reason for source in left_out if source.status == "error"), None),
                (log and log.offered) or (),
            )
            listener(Progress("check", done, len(wanted), record.trial))
    return attempts


def _listings(config: StudyConfig, attempts: dict[tuple[str, str], Attempt]) -> Iterator[str]:
    """A line for each agent that lists Skills which no condition offers and the study does not accept."""
    for (_, kind), attempt in attempts.items():
        arm = next((arm for arm in config.conditions if kind == f"{LISTING}-{arm.name}"), None)
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


def _judge(task: PlannedTask, runs: Mapping[str, Attempt], proof: TaskProof | None) -> TaskCheck:
    solution, empty = runs.get(SOLUTION), runs[EMPTY]
    if empty.record.reason == NO_VERIFIER:
        by = JUDGES[task.judged_by]
        told = f"it has no verifier: {by} judges its trials, so nothing here was proved"
        return TaskCheck(task.name, "unknown", None, None, (told,))

    def words(attempt: Attempt) -> str:
        message = attempt.record.message
        return f"{attempt.reward} ({message})" if message else attempt.reward

    problems, wrong = [], []
    if solution is not None and solution.record.reward != 1:
        problems.append(f"its solution gets {words(solution)}; expected 1")
        if task.stripped:
            problems.append(
                "its own Skill was removed, as for every trial; the solution may need it"
            )
        wrong.append(solution)
    if empty.record.reward is None:
        problems.append(f"an empty run gets {words(empty)}; expected less than 1")
        wrong.append(empty)
    elif empty.record.reward >= 1:
        problems.append("an empty run gets reward 1: the verifier accepts anything")
        wrong.append(empty)
    if proof:
        problems += [rule.reason for rule in proof.rules if rule.verdict == "fail"]
    output = next((attempt.output for attempt in wrong if attempt.output is not None), None)
    said = solution.said if solution in wrong and solution else None
    verdict: Literal["ok", "fails", "unknown"] = "fails" if problems else "ok"
    if solution is None:
        verdict = "fails" if problems else "unknown"
        problems.append("solution/solve.sh is missing, so it may be unsolvable")
    return TaskCheck(
        task=task.name,
        verdict=verdict,
        solution=solution.record.reward if solution else None,
        empty=empty.record.reward,
        problems=tuple(problems),
        output=None if output is None else last_lines(output, OUTPUT_LINES),
        solution_output=None if said is None else last_lines(said, OUTPUT_LINES),
        proof=proof,
    )


def prove_task(task_dir: Path, runs: Mapping[str, Attempt]) -> TaskProof:
    """Judge the runs of a task: kind -> attempt."""
    empty, solution = runs[EMPTY], runs.get(SOLUTION)
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    files = texts_below(task_dir / "tests").items()
    tests = [
        test for path, code in files if path.endswith(".py") for test in read_tests(code) or ()
    ]
    criteria = criteria_of(text)
    trace = tuple(_trace(criteria, tests, empty, solution))
    rules = (
        _repeated([solution, *(runs[kind] for kind in AGAIN)] if solution else []),
        _stuffed(runs.get(STUFFED)),
        _checks(empty, solution),
        _traced(criteria, trace),
    )
    return TaskProof(rules, trace if any(row.criterion and row.test for row in trace) else ())


def _repeated(runs: Sequence[Attempt]) -> TaskRule:
    if not runs:
        return TaskRule("repeated", "unknown", "no solution to repeat")
    rewards = [run.record.reward for run in runs]
    if set(rewards) == {None}:
        return TaskRule("repeated", "unknown", "the solution gets no reward")
    if len({*rewards}) > 1:
        said = ", ".join("none" if reward is None else f"{reward:g}" for reward in rewards)
        return TaskRule(
            "repeated", "fail", f"the solution gets other rewards when repeated: {said}"
        )
    first = runs[0].outcomes
    for run in runs[1:]:
        other = run.outcomes
        for name in sorted({*first, *other}):
            if first.get(name) != other.get(name):
                outcomes = f"{first.get(name, 'missing')}, then {other.get(name, 'missing')}"
                return TaskRule("repeated", "fail", f"check {name!r} of the solution is {outcomes}")
    return TaskRule("repeated", "ok", f"{len(runs)} equal runs")


def _stuffed(run: Attempt | None) -> TaskRule:
    if run is None:
        return TaskRule("stuffed", "unknown", "the instruction names no file to write")
    if run.record.reward is not None and run.record.reward < 1:
        return TaskRule("stuffed", "ok", run.reward)
    reason = (
        f"a run that only writes the strings of the tests gets {run.reward}; expected less than 1"
    )
    return TaskRule("stuffed", "fail", reason)


def _checks(empty: Attempt, solution: Attempt | None) -> TaskRule:
    """At least one check tells the solution from the empty run."""
    if solution is None:
        return TaskRule("checks", "unknown", "no solution to compare")
    if unread := empty.unread or solution.unread:
        return TaskRule("checks", "unknown", unread)
    if not solution.checks:
        return TaskRule("checks", "unknown", "the verifier reports no checks")
    passed = [name for name, outcome in solution.outcomes.items() if outcome == "passed"]
    told = [name for name in passed if empty.outcomes.get(name) != "passed"]
    said = f"{len(told)} of {len(solution.outcomes)} checks pass with the solution alone"
    return TaskRule("checks", "ok" if told else "fail", said)


def _traced(criteria: Sequence[Criterion], trace: Sequence[TraceRow]) -> TaskRule:
    linked = {row.criterion for row in trace if row.criterion and row.test}
    if not linked:
        return TaskRule("trace", "note", f"{len(criteria)} criteria, and no test names one")
    missing = [criterion.id for criterion in criteria if criterion.id not in linked]
    if missing:
        return TaskRule("trace", "fail", f"no test names {', '.join(missing)}")
    easy = [
        criterion.id
        for criterion in criteria
        if all(row.empty == "passed" for row in trace if row.criterion == criterion.id)
    ]
    said = f"; an empty run passes every test of {', '.join(easy)}" if easy else ""
    return TaskRule("trace", "ok", f"each of {len(criteria)} criteria has a test{said}")


def _trace(
    criteria: Sequence[Criterion],
    tests: Sequence[NamedTest],
    empty: Attempt,
    solution: Attempt | None,
) -> Iterator[TraceRow]:
    """Rows for every criterion and its tests, then for tests whose criterion the requirement lacks or that
    name none."""
    before, after = empty.outcomes, solution.outcomes if solution else {}
    own = {check.name: check.criterion for run in (empty, solution) if run for check in run.checks}
    named = {name: {own.get(name)} - {None} for name in {**after, **before}}
    for test in tests:
        reported = [name for name in named if _is_of(name, test.name)]
        for name in reported or [test.name] * (bool(test.criteria) or not own):
            named.setdefault(name, set()).update(test.criteria)
    texts = {criterion.id: criterion.text for criterion in criteria}
    others = sorted({link for links in named.values() for link in links if link} - {*texts})
    for criterion in (*texts, *others):
        its: list[str | None] = [name for name, links in named.items() if criterion in links]
        for check in its or [None]:
            outcomes = (before.get(check), after.get(check)) if check else (None, None)
            yield TraceRow(criterion, texts.get(criterion), check, *outcomes)
    for name, links in named.items():
        if not links:
            yield TraceRow(None, None, name, before.get(name), after.get(name))


def _is_of(check: str, test: str) -> bool:
    """Whether a reported check is of a test function: its name without file, class and case."""
    plain = re.split(r"\[| #\d", check)[0]
    return plain == test or plain.endswith(f"::{test}") or test.endswith(f"::{plain}")


def stuffing(task_dir: Path, place: Path, *, sandboxed: bool) -> tuple[Path, ...]:
    """Write a script and its files into `place`: it fills every file that the instruction names with all string
    literals of the tests. Return them, the script first; empty if it names no file.

    Without a sandbox, files outside the task's folder are not written.
    """
    targets = list(_targets(task_dir, sandboxed=sandboxed))
    if not targets:
        return ()
    literals = dict[str, None]()
    for path, text in texts_below(task_dir / "tests").items():
        tree = parsed(text) if path.endswith(".py") else None
        quoted = (one or other for one, other in _QUOTED.findall(text))
        literals |= dict.fromkeys(strings_in(tree) if tree else quoted)
    strings, left = list[str](), _MOST_CHARACTERS
    for text in literals:
        left -= len(text)
        strings += [text] if left > 0 else []
    place.mkdir(parents=True)
    files, lines = [], ["#!/bin/bash"]
    for number, target in enumerate(targets):
        suffix = PurePosixPath(target).suffix
        if suffix == ".json":
            content = json.dumps({text: text for text in strings}, indent=0)
        else:
            content = "\n".join(repr(text) if suffix == ".py" else text for text in strings) + "\n"
        file = place / f"stuffing-{number}"
        file.write_text(content, encoding="utf-8", errors="replace")
        files.append(file)
        lines.append(
            f'mkdir -p -- "$(dirname -- "{target}")"; cat "${{0%/*}}/{file.name}" >> "{target}"'
        )
    script = place / "stuff.sh"
    script.write_text("\n".join([*lines, "true", ""]), encoding="utf-8")
    return (script, *files)


def _targets(task_dir: Path, *, sandboxed: bool) -> Iterator[str]:
    """Paths of files in the instruction, each once."""
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    named = dict.fromkeys(
        token.partition(":")[2].strip().removeprefix("./")
        for token in critical_tokens(text)
        if token.startswith(("path:", "code:"))
    )
    for path in named:
        inside = path.removeprefix(_WORKDIR)
        outside = inside.startswith(("/", "~"))
        is_file = _FILE.fullmatch(inside.lstrip("/")) and ".." not in inside.split("/")
        if is_file and (sandboxed or not outside):
            yield path if sandboxed else inside
