"""Commands that make a study: init, generate, check, plan, run, demo; and of logs: events, ingest."""

import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from skilljuror.base.errors import NeedsDecision, UsageError
from skilljuror.cli.output import (
    WRITTEN,
    Answer,
    ApiBase,
    Block,
    Budget,
    Engine,
    Formats,
    Indented,
    Jobs,
    Logs,
    Table,
    command_line,
    counted,
    headline,
    labelled,
    progress,
    records,
    to_plain,
    wants_json,
    working,
)
from skilljuror.cli.terminal import json_text

if TYPE_CHECKING:
    from skilljuror.base.files import StudyFolder

StudyFile = Annotated[Path, Argument(metavar="STUDY.yaml", help="Study file.")]
MAX_BLOCK = 12
"""Most trials of the first block to print."""
MAX_OUTCOMES = 40
"""Most rows of rewards to print."""
PROOF_RULES = ("repeated", "stuffed", "checks")
EVENT_FIELDS = (
    "trajectory", "source", "file", "line", "call_id", "agent", "step", "skill", "resource",
    "class", "kind", "via", "ok", "content_exposed", "lines", "witness", "phantom", "bundled",
    "note",
)  # fmt: skip
"""Fields of a printed event; `line` counts in `file`, or in `source` (the raw log) without one."""


def init(
    tasks: list[Path] | None = None, tasks_dir: Path | None = None,
    skillsbench: Path | None = None, skill: Path | None = None,
    revisions: tuple[str, str] | None = None, sections: bool = False, evals: Path | None = None,
    repo: Path | None = None, commit: str | None = None, requirement: Path | None = None,
    tests: Path | None = None, generated: Path | None = None, out: Path = Path("study.yaml"),
) -> Answer:  # fmt: skip
    """Write a first study file with a comment for every field.

    --evals, --repo, and folders with a task.md become tasks/ beside it.
    """
    from skilljuror.study.init_study import StudySource, init_study, repository

    source = StudySource(
        tuple(tasks or ()), tasks_dir, skillsbench, skill, revisions, sections, evals,
        repository(repo, commit, requirement, tests), generated,
    )  # fmt: skip
    new = init_study(source, out)
    excluded = sum(new.excluded.values())
    left = new.tasks - excluded
    blocks: list[Block] = [
        f"{new.file}: {left} task{'s' * (left != 1)} × {', '.join(new.conditions)},"
        f" {new.trials} trials on harness {new.harness}"
    ]
    if excluded:
        verb = "is" if excluded == 1 else "are"
        blocks.append(f"{excluded} of {new.tasks} tasks found {verb} excluded:")
        blocks.append(Table(("category", "tasks"), list(new.excluded.items())))
    steps = "   then: ".join(command_line(step, out) for step in ("check", "plan", "run"))
    return Answer(new, [*blocks, f"next: {steps}"])


def generate(
    inputs: list[str], by: str, out: Path, task: Path | None = None, agent: str | None = None,
    model: str | None = None, api_base: ApiBase = None, argv: str | None = None,
    of: str = "skills", tokens: int | None = None, trials: int = 1, budget: Budget = None,
    jobs: Jobs = 1,
) -> Answer:  # fmt: skip
    """Generate a Skill for each task, or from a source, and record where it came from.

    creator: an agent writes it in a study of its own (DIR/create.yaml, DIR/create), which sees no tests, no
    solution and no Skill. prompt: one model call. outline: lines of the source, by rules. command: any
    program. Answers that are not valid Skills are not copied; tasks only if their solution and an empty run
    prove them. Repeat the call to resume.
    """
    from skilljuror.study.generate import Request, generate

    request = Request(
        inputs=tuple(inputs), by=by, out=out, task=task, agent=agent, model=model, api_base=api_base,
        argv=tuple(shlex.split(argv or "")), of=of, tokens=tokens, trials=trials, dollars=budget,
    )  # fmt: skip
    with progress() as listener:
        summary = generate(request, jobs, listener)
    status = 130 if summary.interrupted else 3 if summary.stopped else 0
    refused = any(skill.refused for skill in summary.skills)
    return Answer(summary, _generated_blocks(summary, request), status or int(refused))


def _generated_blocks(summary: Any, request: Any) -> Iterator[Block]:
    def part(count: int | None, whole: int | None) -> float | None:
        return count / whole if whole and count is not None else None

    made = [skill for skill in summary.skills if not skill.refused]
    rows = [
        (
            skill.skill, skill.tokens, part(skill.grounded, skill.units),
            part(skill.carried, skill.source_units), part(skill.tokens, skill.source_tokens), skill.leak,
        )
        for skill in made
    ]  # fmt: skip
    if made:
        yield Table(("Skill", "tokens", "grounded", "carried", "compression", "leak"), rows)
    for skill in summary.skills:
        if skill.refused:
            yield f"refused: {skill.skill}: {skill.refused}"
        elif skill.leak and skill.leak_reason:
            yield f"leak: {skill.skill}: {skill.leak_reason}"
    yield from labelled("note", summary.notes)
    if any(skill.scripted for skill in summary.skills):
        yield "A scripted policy wrote them, no language model."
    if summary.interrupted or summary.stopped:
        by = f" by {summary.stopped}" if summary.stopped else ""
        yield f"stopped{by}; repeat the call to resume"
    elif made:
        yield f"next: {_after_generation(made, request)}"


def _after_generation(made: Any, request: Any) -> str:
    if request.of == "tasks":
        folder = request.out / "made-tasks"
        return command_line("init", "--tasks", folder, "--skill", request.inputs[0])
    if made[0].task is None or request.trials > 1:
        return command_line("build", request.out / "skills" / made[0].skill, "--out", "DIR")
    tasks = [request.task] if request.task else request.inputs
    words = [word for task in tasks for word in ("--task", task)]
    return command_line("init", *words, "--generated", request.out, "--out", "study.yaml")


def check(
    paths: list[Path], skills: str | None = None, prove: bool = False, jobs: Jobs = 1
) -> Answer:  # fmt: skip
    """Test a study's tasks by running them, or look for leaks in task folders without a run.

    STUDY.yaml: the solution must pass, an empty run must not.
    TASK: its parts, and whether its Skill holds text of its solution or verifier.
    --prove: also repeat the solution, and write the strings of the tests into the files that the task names (stuffed).
    """
    from skilljuror.study.check import check_study, check_tasks, prove_folders

    if any(path.suffix in {".yaml", ".yml"} for path in paths):
        if len(paths) > 1 or skills:
            raise UsageError("name one study file without --skills, or task folders")
        with progress() as listener:
            summary = check_study(paths[0], prove=prove, jobs=jobs, progress=listener)
        return Answer(summary, _check_blocks(summary, prove), int(summary.failed))
    with progress() as listener:
        proofs = prove_folders(paths, jobs=jobs, progress=listener) if prove else None
        checked = check_tasks(paths, skills, progress=listener)
    payload = {**to_plain(checked), "proofs": to_plain(proofs.tasks)} if proofs else checked
    status = 1 if proofs and proofs.failed else checked.status
    return Answer(payload, _task_blocks(checked, proofs), status)


def _check_blocks(summary: Any, prove: bool) -> Iterator[Block]:
    if prove:
        proved = sum(task.verdict == "ok" for task in summary.tasks)
        yield (
            f"{proved} of {len(summary.tasks)} tasks are proved: the solution earns 1 three times, an empty run and"
            " one that only writes the strings of the tests (stuffed) earn less."
        )
        rows = [
            (task.task, task.verdict, task.solution, task.empty, *_proof_cells(task.proof))
            for task in summary.tasks
        ]
        yield Table(("task", "verdict", "solution", "empty run", *PROOF_RULES), rows)
    else:
        yield records(summary.tasks, "task, verdict, solution, empty: empty run")
    for task in summary.tasks:
        yield from labelled(task.task, task.problems)
        if task.solution_output:
            yield Indented(task.solution_output, "  [solution] ", "  ")
        if task.output is not None:
            yield Indented(task.output or "no output", "  [verifier] ", "  ")
    yield from labelled("leak", summary.leaks)


def _proof_cells(proof: Any) -> list[str | None]:
    """The reason of each rule, after its verdict unless that is ok; None without runs."""
    rules = {rule.rule: rule for rule in proof}
    return [
        rule
        and (rule.reason if rule.verdict in {"ok", "note"} else f"{rule.verdict}: {rule.reason}")
        for rule in map(rules.get, PROOF_RULES)
    ]


def _task_blocks(checked: Any, proofs: Any) -> Iterator[Block]:
    from skilljuror.harness.leaks import FAIL, REVIEW

    if proofs:
        yield from _check_blocks(proofs, True)
    rows = []
    for task in checked.tasks:
        counts = task.leak.verdict in {"fail", "review"} and task.leak.runs
        where = f"{task.leak.task_files[0]}, {task.leak.skill_files[0]}" if counts else ""
        problems = "; ".join(task.problems)
        rows.append((task.task, task.verdict, task.leak.runs, task.null, where, problems))
    yield Table(("task", "verdict", "leak", "null", "most in", "missing or unknown"), rows)
    leaks = [task.leak.verdict for task in checked.tasks]
    yield (
        "leak = runs of 12 words that a Skill shares with solution/ and tests/, not with the rest of the task:"
        f" {leaks.count('fail')} of {len(leaks)} fail ({FAIL} or more), {leaks.count('review')} need a person"
        f" ({REVIEW} or more)"
    )


def plan(
    study_file: StudyFile, pilot: Path | None = None, sd: float | None = None,
    minutes: float | None = None, dollars: float | None = None, hourly: float | None = None,
    live: bool = False,
) -> Answer:  # fmt: skip
    """Show a study's trials, power, time, cost, and what it needs, before it runs."""
    from skilljuror.report.forecast import Assumptions, forecast

    with working("plan"):
        outlook = forecast(study_file, pilot, Assumptions(sd, minutes, dollars, hourly), live=live)
    return Answer(outlook, _plan_blocks(outlook))


def _plan_blocks(outlook: Any) -> Iterator[Block]:
    cells = len(outlook.tasks) * len(outlook.conditions) * outlook.trials_per_cell
    fewer = "" if outlook.trials == cells else " (some conditions have fewer tasks)"
    yield (
        f"{outlook.name}: {len(outlook.tasks)} tasks × {len(outlook.conditions)} conditions ×"
        f" {outlook.trials_per_cell} trials{fewer} = {outlook.trials} trials"
    )
    if all(outlook.contrast):
        yield f"headline: {outlook.contrast[0]} minus {outlook.contrast[1]}"
    shown = ", ".join(outlook.first_block[:MAX_BLOCK])
    more = ", …" if len(outlook.first_block) > MAX_BLOCK else ""
    yield f"first of {outlook.trials_per_cell} blocks: {shown}{more}"
    rows = [
        (*difference.conditions, difference.setting, *(v or "none" for v in difference.values))
        for difference in outlook.differences
    ]
    if rows:
        yield Table(("condition", "other", "setting", "value", "other's value"), rows)
    yield "all other settings are the same in every condition"
    yield records(outlook.figures, "name: figure, value, unit, source")
    needed = [(one.name, "yes" if one.ready else "no", one.detail) for one in outlook.requirements]
    yield Table(("requirement", "ready", "detail"), needed)
    yield from labelled("note", outlook.notes)


def run(
    study_file: StudyFile, out: Path | None = None, jobs: Jobs = 1, rerun: str | None = None,
    unblind: bool = False,
) -> Answer:  # fmt: skip
    """Run a study's trials, or resume where a run stopped.

    The records of trials that are rerun are kept.
    """
    from skilljuror.study.plan import load_study
    from skilljuror.study.run import run_study
    from skilljuror.study.trial import chosen_ends

    ends = chosen_ends(rerun) if rerun is not None else frozenset[str]()
    folder = out or Path("out") / load_study(study_file).name
    with progress() as listener:
        summary = run_study(
            study_file, folder, jobs=jobs, rerun=ends, unblind=unblind, progress=listener
        )
    status = 130 if summary.interrupted else 3 if summary.stopped else 0
    return Answer(summary, _run_blocks(summary, study_file, folder), status)


def _run_blocks(summary: Any, study_file: Path, folder: Path) -> Iterator[Block]:
    def counted(counts: dict[str, int]) -> str:
        return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "–"

    rerun = f", {summary.rerun} of them rerun" if summary.rerun else ""
    yield (
        f"{summary.finished} of {summary.planned} trials finished in {folder}"
        f" ({summary.ran} run{rerun}, {summary.finished - summary.ran} finished before)"
    )
    yield from (f"  {status}: {count}" for status, count in sorted(summary.statuses.items()))
    rows = [
        (
            *filter(None, (cell.task, cell.condition)), cell.trials, counted(cell.rewards),
            counted(cell.exceptions),
        )
        for cell in summary.outcomes[:MAX_OUTCOMES]
    ]  # fmt: skip
    if rows:
        named = ("task", "condition") if summary.outcomes[0].condition else ("task",)
        yield Table((*named, "trials", "rewards", "exceptions"), rows)
    if len(summary.outcomes) > len(rows):
        yield f"… and {len(summary.outcomes) - len(rows)} more; use --json for all"
    yield from labelled("warning", summary.warnings)
    if summary.warnings:
        shown = command_line("show", folder, "TRIAL")
        yield f"  is the verifier right? {command_line('check', study_file)}   or: {shown}"
    yield from labelled("note", summary.notes)
    resume = command_line("run", study_file, "--out", folder)
    if summary.interrupted:
        yield f"stopped; resume with: {resume}"
    elif summary.stopped:
        yield f"stopped by {summary.stopped}; raise it in {study_file} and resume with: {resume}"
    else:
        yield f"next: {command_line('ingest', '--study', folder)}"


def demo(out: Path = Path("out/demo"), jobs: Jobs = 2) -> Answer:
    """Run a whole example study offline, from build to report."""
    from skilljuror.base.files import StudyFolder, data_dir
    from skilljuror.judge.study import judge_study
    from skilljuror.report import report_study
    from skilljuror.store.records import MeasureOptions
    from skilljuror.store.trials import ingest_trials
    from skilljuror.study.run import run_study

    started = time.monotonic()
    with progress() as listener:
        ran = run_study(data_dir("examples") / "study.yaml", out, jobs=jobs, progress=listener)
        if ran.interrupted:
            raise KeyboardInterrupt
        ingest_trials(out, options=MeasureOptions(count_tokens=True), jobs=jobs, progress=listener)
        judge_study(out, "tracing", jobs=jobs, progress=listener)
        report = report_study(out, progress=listener)
    trials, notes = StudyFolder(out).finished_trials(), (*ran.notes, *report.lacks)
    summary = {
        "study": str(out),
        "report": str(report.path),
        "trials": ran.finished,
        "seconds": time.monotonic() - started,
        "title": report.title,
        "number": report.number,
        "meaning": report.meaning,
        "columns": report.columns,
        "headline": report.headline,
        "example_trial": next((name for name in trials if "__pd__" in name), trials[0]),
        "real_study": str(data_dir("examples") / "codex.yaml"),
        "notes": notes,
        "scripted": True,
    }
    real = command_line("run", summary["real_study"], "--out", "out/codex")
    blocks = [
        *headline(report),
        "A scripted policy ran, no language model: figures say nothing about real agents.",
        *labelled("note", notes),
        f"{ran.finished} trials in {summary['seconds']:.1f} s",
        f"report: {report.path}",
        f"next:   {command_line('show', out, summary['example_trial'])}",
        f"on a real agent, with OPENAI_API_KEY set: {real}",
    ]
    return Answer(summary, blocks)


def events(paths: Logs, bundle: Path | None = None, formats: Formats = None) -> Answer:
    """List which Skill resources agents accessed, as JSON lines."""
    from skilljuror.layouts.build.manifests import offered_manifest
    from skilljuror.store.logs import events_of

    manifest = offered_manifest(bundle, None, None) if bundle else None
    failed = False
    for run in events_of(paths, manifest, formats or ()):
        for event in run.events:
            known = {"source": run.source, "class": event.resource_class}
            row = {
                name: known[name] if name in known else getattr(event, name)
                for name in EVENT_FIELDS
            }
            print(json_text(row))
        if run.problem is not None:
            failed = True
            error = {"kind": "TrajectoryError", "message": run.problem, "file": run.source}
            if wants_json():
                print(json_text({"error": {**error, "field": None, "exit_code": 1}}))
            else:
                place = "" if run.source in run.problem else f"{run.source!r}: "
                message = f"{place}{run.problem}"
                print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)
        sys.stdout.flush()
    return Answer(WRITTEN, (), int(failed))


def ingest(
    study: Path, paths: list[Path] | None = None, since: str | None = None,
    formats: Formats = None, yes: bool = False, count_tokens: bool = False,
    metrics: list[str] | None = None, again: bool = False,
    prune: bool = False, strict: bool = False, arms: Path | None = None,
    no_quotes: bool = False, projects: bool = False, jobs: Jobs = 2, shard: str | None = None,
    shards: int | None = None, engine: Engine = None,
) -> Answer:  # fmt: skip
    """Read a study's trials, or any agent logs, into a database.

    A log in a folder that cannot be read is listed and skipped. --shard 2/3 reads a third of the folders below PATH
    into DIR/2-of-3; query, usage and report read DIR as one study when all three are there. --shards 3 reads all
    three, one after the other or, with --engine ray, on a cluster.
    """
    from skilljuror.base.files import StudyFolder, parse_time
    from skilljuror.store.records import MeasureOptions

    options = MeasureOptions(
        count_tokens, tuple(metrics or ()), quotes=not no_quotes, projects=projects
    )
    try:
        moment = parse_time(since).timestamp() if since else None
    except ValueError as error:
        raise UsageError(f"--since {error}", field="since") from error
    notes: tuple[str, ...] = ()
    if arms is not None:
        from skilljuror.study.adopt import adopt

        notes = adopt(paths or [], arms, study)
    own = (not paths or arms is not None) and StudyFolder(study).planned
    of_logs = {
        "since": since, "format": formats, "again": again, "prune": prune,
        "projects": projects, "shard": shard, "shards": shards, "engine": engine,
    }  # fmt: skip
    if misplaced := [option for option, given in of_logs.items() if own and given]:
        problem = f"--{misplaced[0]} applies to logs only; a study's own trials are always all read"
        raise UsageError(problem, field=misplaced[0])
    if engine and not shards:
        raise UsageError("--engine needs --shards N", field="shards")
    if shards:
        if shard:
            raise UsageError("--shard and --shards contradict each other", field="shards")
        return _ingest_shards(
            study, paths, (moment, formats or ()), options, (again, prune), shards, engine, jobs
        )
    part = _shard(shard, StudyFolder(study)) if shard else None
    study = StudyFolder(study).shard(*part) if part else study
    chosen = [] if own else paths or _confirmed(usual_log_folders(), yes)
    with progress() as listener:
        if own:
            from skilljuror.store.trials import ingest_trials

            summary = ingest_trials(study, options=options, jobs=jobs, progress=listener)
        else:
            from skilljuror.logs.discovery import LogFilter
            from skilljuror.store.logs import ReadPolicy, ingest_logs

            summary = ingest_logs(
                study, chosen, options=options,
                wanted=LogFilter(moment, formats or (), part),
                policy=ReadPolicy(again, prune), jobs=jobs, progress=listener,
            )  # fmt: skip
    named = {str(path.resolve()) for path in chosen if path.is_file()}
    unread = any(path in named for path, _ in summary.failures)
    failed = summary.errors and (own or strict or unread or not summary.trajectories)
    return Answer(
        summary,
        _ingest_blocks(summary, study, prune),
        int(bool(failed)),
        [*labelled("note", notes)],
    )


def _ingest_shards(
    study: Path, paths: list[Path] | None, wanted: tuple[Any, Any], options: Any, policy: tuple[bool, bool],
    count: int, engine: Engine, jobs: int,
) -> Answer:  # fmt: skip
    """Read each of several shards."""
    from skilljuror.base.files import StudyFolder
    from skilljuror.logs.discovery import LogFilter
    from skilljuror.store.logs import ReadPolicy, ingest_logs

    folder, chosen = StudyFolder(study), [path.resolve() for path in paths or ()]
    if not chosen:
        raise UsageError("--shards needs the folders of logs", field="shards")
    _shard(f"1/{count}", folder)
    calls = [
        partial(
            ingest_logs, folder.shard(number, count).resolve(), chosen,
            wanted=LogFilter(*wanted, (number, count)), options=options,
            policy=ReadPolicy(*policy), jobs=1 if engine else jobs,
        )
        for number in range(1, count + 1)
    ]  # fmt: skip
    found = each_shard(calls, engine, "ingest")
    rows = [
        (path.name, one.new, one.changed, one.unchanged, one.trajectories, one.errors)
        for path, one in found
    ]
    columns = ("shard", "new", "changed", "unchanged", "trajectories", "errors")
    unread = sum(one.errors for _, one in found)
    return Answer(
        {path.name: to_plain(one) for path, one in found},
        [Table(columns, rows, cut=False), f"next: {command_line('judge', study)}"],
        int(bool(unread and not any(one.trajectories for _, one in found))),
    )


def each_shard(
    calls: Sequence["partial[Any]"], engine: Engine, stage: str
) -> list[tuple[Path, Any]]:
    """The result of a call for each shard, its first argument, in order; one after the other, or on a cluster."""
    from skilljuror.base.cluster import map_on_ray
    from skilljuror.base.workers import Progress

    results = {}
    with progress() as listener:
        done = map_on_ray(_called, calls) if engine else ((call, call()) for call in calls)
        for call, result in done:
            results[call.args[0]] = result
            listener(Progress(stage, len(results), len(calls), call.args[0].name))
    return [(call.args[0], results[call.args[0]]) for call in calls]


def _called(call: "partial[Any]") -> Any:
    return call()


def _shard(text: str, folder: "StudyFolder") -> tuple[int, int]:
    """K and N of --shard, which must be those of the shards that the folder holds."""
    parts = re.fullmatch(r"([1-9][0-9]{0,4})/([1-9][0-9]{0,4})", text)
    if not parts or int(parts[1]) > int(parts[2]):
        raise UsageError(f"--shard {text!r} must be K/N, such as 2/3", field="shard")
    number, count = int(parts[1]), int(parts[2])
    if folder.database.is_file() or len(folder.shards) not in {0, count}:
        held = f"{len(folder.shards)} shards" if folder.shards else "a database"
        raise UsageError(
            f"{str(folder.root)!r} holds {held}; use another folder for {count}", field="shard"
        )
    return number, count


def _ingest_blocks(summary: Any, study: Path, prune: bool) -> Iterator[Block]:
    from skilljuror.base.results import unknown_tools_note

    if not summary.trials:
        fate = "pruned" if prune else "their runs are kept without --prune"
        gone = f"; {summary.gone} missing, {fate}" if summary.gone else ""
        yield (
            f"{counted(summary.new, 'new file')}, {summary.changed:,} changed,"
            f" {summary.unchanged:,} unchanged{gone}"
        )
    yield (
        f"{counted(summary.parsed, 'file')} read, {counted(summary.duplicates, 'duplicate')},"
        f" {summary.skipped:,} skipped, {counted(summary.errors, 'error')}"
    )
    yield (
        f"{counted(summary.trajectories, 'trajectory')}, {counted(summary.steps, 'step')},"
        f" {counted(summary.skills, 'skill')} touched, {counted(summary.events, 'resource event')}"
    )
    if summary.unknown_tools:
        listing = command_line("query", study, "unknown_tools")
        yield f"{unknown_tools_note(summary.unknown_tools)} ({listing})"
    if summary.kept:
        yield (
            f"{summary.kept} runs are kept although their files are shorter or missing (table kept_runs);"
            " use --prune to update them"
        )
    if summary.unlogged:
        listing = command_line("query", study, "observed_trials")
        yield f"trials with a result but no log: {summary.unlogged} ({listing})"
    if summary.unread:
        yield Table(("not read, and why", "files"), summary.unread)
    yield from labelled(
        "  error",
        (
            reason if source in reason else f"{source}: {reason}"
            for source, reason in summary.failures
        ),
    )
    yield f"database: {study / 'study.duckdb'}"
    if summary.remade:
        yield (
            "it had another version and was rebuilt from all sources; the old one is study.duckdb.old."
            f" Verdicts are not copied; judge again: {command_line('judge', study)}"
        )
    if not summary.trajectories:
        listing = command_line("query", study, "sources")
        yield f"no agent run found; status of each file: {listing}"
        return
    question = "outcomes" if summary.trials else "skills_opened"
    yield f"next: {command_line('judge', study)}   or: {command_line('query', study, question)}"


def usual_log_folders() -> list[Path]:
    """The usual log folders of this machine's agents. Raises UsageError if there is none."""
    from skilljuror.store.logs import usual_folders

    if not (folders := usual_folders()):
        raise UsageError(
            "no log path given, and no usual log folder of an agent exists;"
            " use: skilljuror ingest PATH --study DIR"
        )
    return folders


def _confirmed(folders: list[Path], yes: bool) -> list[Path]:
    listing = ", ".join(map(str, folders))
    if yes:
        return folders
    if wants_json() or not sys.stdin.isatty():
        raise NeedsDecision(f"found {listing}; name the folders to read, or use --yes for all")
    print(f"found {listing}")
    if not typer.confirm("Read them into this study? They stay on this machine."):
        raise NeedsDecision("nothing was read")
    return folders
