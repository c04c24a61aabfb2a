"""Check tasks before any trial, by reading them and by running them.

Read: a task folder has its parts, its Skill gives the answer not away, its rubric is sound. Run: the solution of
each task earns 1, an empty run earns less. Proved by further runs: the solution again, a run that only writes
what the tests look for, and whether a check tells a solution from an empty run. All run like trials, in the
study's harness and sandbox, without a model; their results are not saved.
"""

import ast
import json
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec import Struct, structs

from skilljuror.base.errors import AgentMissing, HarnessError, StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.base.results import CheckOutcome, CheckResult
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
from skilljuror.base.workers import Listener, Progress, silent, worker_pool
from skilljuror.harness.artifacts import last_lines, solution_output, verifier_output
from skilljuror.harness.base import BatchHarness, Harness, TrialJob
from skilljuror.harness.leaks import SkillLeak, TaskTexts, leak_of, leak_verdict, read_texts
from skilljuror.harness.sandbox import remove_tree
from skilljuror.harness.tasks import (
    JUDGES,
    TASK_PARTS,
    judge_of,
    missing_parts,
    task_settings,
)
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.store.checks import read_checks
from skilljuror.study.plan import (
    agents_of,
    freeze,
    harness_of,
    planned_trial,
    read_plan,
    refuse_unsupported,
)
from skilljuror.study.rubric import has_rubric, rubric_findings
from skilljuror.study.run import exclusive_run, study_places, workers_lock
from skilljuror.study.trial import RunSetup, run_trial, stop_trial

RuleVerdict = Literal["ok", "note", "unknown", "review", "fail"]
VERDICTS: tuple[RuleVerdict, ...] = ("ok", "note", "unknown", "review", "fail")
"""From best to worst. A note does not count; unknown: a run or a person must tell."""
_REWARD = re.compile(r"reward\.(?:txt|json)\b")
OUTPUT_LINES = 20
"""Lines of verifier output that are shown for a failed task."""
_OUTPUT_BYTES = 20_000


class TaskRule(Struct, frozen=True):
    """One rule on one task."""

    rule: str
    """parts, skill, solution, reward, settings or leak; rubric, or a weakness of its items: following, goal,
    free points, orphan; of a proof: repeated, stuffed, checks."""
    verdict: RuleVerdict
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

    @property
    def status(self) -> int:
        """Exit status: 1 if a task fails, 3 if a person must decide, else 0."""
        verdicts = {task.verdict for task in self.tasks}
        return 1 if "fail" in verdicts else 3 if "review" in verdicts else 0


def check_tasks(
    folders: Sequence[Path], skills: str | None = None, *, progress: Listener = silent
) -> CheckedTasks:
    """Check task folders. `skills` is the Skill to compare with, {task} for the task's name; default: each
    task's own.

    Raises StudyError for a folder that is not a task and for a missing Skill, BundleError for an archive of
    Skills that cannot be read.
    """
    read: dict[Path, TaskTexts] = {}
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
        read[folder] = read_texts(folder, skill)
        progress(Progress("check", done, len(folders), folder.name))
    rows = []
    for folder, texts in read.items():
        leak = leak_of(texts)
        rules = tuple(_rules(folder, texts, leak))
        verdicts = {rule.verdict for rule in rules} - {"note"}
        nulls = {
            other.resolve().name: texts.null(hidden)
            for other, hidden in read.items()
            if texts.skill and hidden.hidden and hidden.skill != texts.skill
        }
        null_task = max(nulls, key=lambda name: nulls[name], default=None)
        null = nulls.get(null_task or "")
        worst = next((v for v in reversed(VERDICTS) if v in verdicts), VERDICTS[0])
        name = folder.resolve().name
        rows.append(
            CheckedTask(name, str(folder), worst, leak, null, null_task if null else None, rules)
        )
    return CheckedTasks(tuple(rows))


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
    judge = judge_of(folder)
    if judge == "verifier":
        tests = (text for path, text in texts.hidden.items() if path.startswith("tests/"))
        writes = any(map(_REWARD.search, tests))
        yield present("reward", "unknown", "no file of tests/ names reward.txt or .json", ok=writes)
    else:
        yield TaskRule("reward", "note", f"none: {JUDGES[judge]} judges")
    if (folder / "task.toml").is_file():
        try:
            task_settings(folder)
        except StudyError as error:
            yield TaskRule("settings", "fail", error.message)
    yield TaskRule("leak", leak.verdict, leak.reason or f"{leak.runs} runs of words")
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
        # the Skill may say the words of an orphan in a form that is not found
        verdict: RuleVerdict = "note" if rule == "orphan" else "review"
        yield TaskRule(rule, verdict, f"rubric, {rule}: {message}: {items}")


# Checks by runs

SOLUTION, EMPTY, STUFFED = "solution", "empty", "stuffed"
AGAIN = ("solution-2", "solution-3")
"""Kinds of runs."""


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
    proof: tuple[TaskRule, ...] = ()
    """repeated, stuffed and checks, if asked for and if the task can run."""


class CheckSummary(Struct, frozen=True):
    """Results for all tasks of a study."""

    tasks: tuple[TaskCheck, ...]
    """In the order of the study file."""
    isolation: str
    """Isolation of the runs from this machine."""
    leaks: tuple[str, ...] = ()
    """Skills with text of a solution or verifier, one line each; `run` decides."""

    @property
    def failed(self) -> bool:
        """Whether any task fails."""
        return any(task.verdict == "fails" for task in self.tasks)


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
    leaks = []
    for task in plan.tasks:
        built = [(task.skills, arm.name) for arm in plan.config.conditions if arm.variant]
        given = [(skill.path, name) for name, skill in task.given.items() if skill.commit is None]
        for path, arm in dict(reversed([*built, *given])).items():
            leak = leak_verdict(base / path, base / task.path)
            if leak.verdict in {"review", "fail"}:
                refused = "; run refuses an arm that offers them until they are accepted"
                leaks.append(
                    f"{task.name}: {leak.runs} runs of words of {leak.task_files[0]} are in the Skill of {arm!r},"
                    f" {leak.skill_files[0]}{refused if leak.verdict == 'fail' else ''}"
                )
    return structs.replace(summary, leaks=tuple(leaks))


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
    isolation = harness.prepare()
    place = Path(tempfile.mkdtemp(prefix="skilljuror-check-"))
    runs: dict[str, dict[str, Attempt]] = {task.name: {} for task in plan.tasks}
    folder = StudyFolder(place)
    try:
        stuffings = place / STUFFED if prove else None
        wanted = list(_jobs(plan, base, harness, stuffings, sandboxed=isolation != "none"))
        listener(Progress("check", 0, len(wanted)))
        pool_of = partial(worker_pool, min(jobs, len(wanted)), stop=stop_trial, in_process=False)
        with exclusive_run(folder) as scratch, pool_of() as pool:
            setup = RunSetup(place, scratch, workers_lock(folder), plan.config.harness)
            results = pool.map_unordered(partial(run_trial, setup), wanted, queued=1)
            for done, (job, record) in enumerate(results, 1):
                raw = folder.trial_raw(record.trial)
                checks, sources = read_checks(raw, record.trial)
                runs[job.task.name][job.trial.condition] = Attempt(
                    record,
                    verifier_output(raw, _OUTPUT_BYTES),
                    solution_output(raw, _OUTPUT_BYTES),
                    checks,
                    next((row.reason for row in sources if row.status == "error"), None),
                )
                listener(Progress("check", done, len(wanted), record.trial))
    finally:
        remove_tree(place)
    tasks = tuple(_judge(task, runs[task.name], prove=prove) for task in plan.tasks)
    return CheckSummary(tasks, isolation)


def _jobs(
    plan: StudyPlan, base: Path, harness: Harness, stuffings: Path | None, *, sandboxed: bool
) -> Iterator[TrialJob]:
    """Runs of each task without a Skill, with the network access of the study's agent; those of a proof, too,
    with their files below `stuffings`. A harness with its own agents runs them for the solution and nothing."""
    try:
        online = not all(agent.scripted for agent in agents_of(plan.config, harness).values())
    except AgentMissing:  # it has a model, and no task needs it here
        online = True
    for task in plan.tasks:
        task_dir = (base / task.path).resolve()
        programs: dict[str, tuple[str, tuple[Path, ...], tuple[str, ...]]] = {
            EMPTY: ("nop", (), ("true",))
        }
        solution = task_dir / "solution"
        if task.judged_by == "verifier" and (solution / "solve.sh").is_file():
            files = tuple(sorted(path.resolve() for path in solution.iterdir() if path.is_file()))
            program = ("oracle", files, ("bash", "{agent_dir}/solve.sh"))
            programs |= dict.fromkeys((SOLUTION, *(AGAIN if stuffings else ())), program)
        if stuffings and (files := stuffing(task_dir, stuffings / task.name, sandboxed=sandboxed)):
            programs[STUFFED] = ("", files, ("bash", f"{{agent_dir}}/{files[0].name}"))
        for kind, (own, files, argv) in programs.items():
            agent = None
            if own and isinstance(harness, BatchHarness):
                agent = harness.own_agent(AgentChoice(name=own))
            agent = agent or AgentProgram(
                name=kind,
                version=None,
                files=files,
                argv=argv,
                scripted=not (online and own),
                usage_reason="no_model",
            )
            yield TrialJob(
                trial=planned_trial(plan.config.seed, task.name, kind, 0, 0),
                task=task,
                task_dir=task_dir,
                variant=None,
                variant_dir=None,
                agent=agent,
                choice=plan.config.harness,
                config_digest="",
                hidden=tuple(study_places(base, plan)),
            )


def _judge(task: PlannedTask, runs: Mapping[str, Attempt], *, prove: bool) -> TaskCheck:
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
    proof = prove_task(runs) if prove else ()
    problems += [rule.reason for rule in proof if rule.verdict == "fail"]
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


def prove_task(runs: Mapping[str, Attempt]) -> tuple[TaskRule, ...]:
    """Judge the runs of a task: kind -> attempt."""
    empty, solution, stuffed = runs[EMPTY], runs.get(SOLUTION), runs.get(STUFFED)
    if solution is None:
        unproved = TaskRule("checks", "unknown", "no solution to compare")
        repeated = TaskRule("repeated", "unknown", "no solution to repeat")
    else:
        repeated = _repeated([solution, *(runs[kind] for kind in AGAIN)])
        unproved = _checks(empty, solution)
    if stuffed is None:
        written = TaskRule("stuffed", "unknown", "the instruction names no file to write")
    elif stuffed.record.reward is not None and stuffed.record.reward < 1:
        written = TaskRule("stuffed", "ok", stuffed.reward)
    else:
        reason = f"a run that only writes the strings of the tests gets {stuffed.reward}; expected less than 1"
        written = TaskRule("stuffed", "fail", reason)
    return repeated, written, unproved


def _repeated(runs: Sequence[Attempt]) -> TaskRule:
    rewards = [run.record.reward for run in runs]
    if set(rewards) == {None}:
        return TaskRule("repeated", "unknown", "the solution gets no reward")
    if len({*rewards}) > 1:
        said = ", ".join("none" if reward is None else f"{reward:g}" for reward in rewards)
        return TaskRule(
            "repeated", "fail", f"the solution gets other rewards when repeated: {said}"
        )
    first = runs[0].outcomes
    for other in (run.outcomes for run in runs[1:]):
        for name in sorted({*first, *other}):
            if first.get(name) != other.get(name):
                outcomes = f"{first.get(name, 'missing')}, then {other.get(name, 'missing')}"
                return TaskRule("repeated", "fail", f"check {name!r} of the solution is {outcomes}")
    return TaskRule("repeated", "ok", f"{len(runs)} equal runs")


def _checks(empty: Attempt, solution: Attempt) -> TaskRule:
    """At least one check tells the solution from the empty run."""
    if unread := empty.unread or solution.unread:
        return TaskRule("checks", "unknown", unread)
    if not solution.checks:
        return TaskRule("checks", "unknown", "the verifier reports no checks")
    told = [
        name
        for name, outcome in solution.outcomes.items()
        if outcome == "passed" and empty.outcomes.get(name) != "passed"
    ]
    said = f"{len(told)} of {len(solution.outcomes)} checks pass with the solution alone"
    return TaskRule("checks", "ok" if told else "fail", said)


# A run that only writes what the tests look for

_QUOTED = re.compile(r"\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'")
_FILE = re.compile(r"(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,9}")
_MOST_CHARACTERS = 1_000_000
"""Most characters of strings in one file."""
_WORKDIR = "/app/"


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
        literals |= dict.fromkeys(_strings_in(path, text))
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


def _strings_in(path: str, text: str) -> Iterator[str]:
    """The string literals of a test, which is never imported."""
    if path.endswith(".py"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                nodes = ast.walk(ast.parse(text))
            literals = (node.value for node in nodes if isinstance(node, ast.Constant))
            yield from (value for value in literals if isinstance(value, str))
            return
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    yield from (double or single for double, single in _QUOTED.findall(text))


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
