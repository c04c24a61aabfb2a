"""Commands about the trials of a study: init, plan, run, accept, adopt, demo."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import By, Debug, Jobs, Json, Reason, Study
from skilljuror.cli.output import (
    command_line,
    emit,
    print_headline,
    print_lines,
    progress,
    record_table,
    table,
    to_plain,
)

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="Study file.")]
MAX_BLOCK = 12
"""Most trials of the first block to print."""
MAX_OUTCOMES = 40
"""Most rows of rewards to print."""


def init(
    tasks: Annotated[
        list[Path] | None, typer.Option("--task", metavar="DIR", help="Task folder; repeatable.")
    ] = None,
    tasks_dir: Annotated[
        Path | None,
        typer.Option("--tasks", metavar="DIR", help="Folder of tasks, Harbor or task.md."),
    ] = None,
    skillsbench: Annotated[
        Path | None,
        typer.Option(
            "--skillsbench", metavar="DIR", help="SkillsBench checkout, with the paper's settings."
        ),
    ] = None,
    skill: Annotated[
        Path | None,
        typer.Option("--skill", metavar="DIR", help="Skill folder; default: each task's own."),
    ] = None,
    revisions: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--revisions", metavar="OLD NEW", help="Two git revisions of the Skill to compare."
        ),
    ] = None,
    sections: Annotated[
        bool,
        typer.Option(
            "--sections", help="Leave out each section of the Skill in an arm of its own."
        ),
    ] = False,
    evals: Annotated[
        Path | None,
        typer.Option("--evals", metavar="SKILL", help="Skill whose evals/ are the tasks."),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="DIR", help="Git repository that the task works on."),
    ] = None,
    commit: Annotated[
        str | None, typer.Option("--commit", metavar="SHA", help="Its commit, in full.")
    ] = None,
    requirement: Annotated[
        Path | None,
        typer.Option("--requirement", metavar="FILE", help="What the repository must do."),
    ] = None,
    tests: Annotated[
        Path | None,
        typer.Option("--tests", metavar="DIR", help="Its verifier; default: a rubric."),
    ] = None,
    generated: Annotated[
        Path | None,
        typer.Option("--generated", metavar="DIR", help="Folder of `generate` to compare."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Study file to write.")] = Path("study.yaml"),
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a first study file with a comment for every field.

    --evals, --repo, and folders with a task.md become tasks/ beside it.
    """
    from skilljuror.study.init_study import StudySource, init_study, repository

    source = StudySource(
        tuple(tasks or ()),
        tasks_dir,
        skillsbench,
        skill,
        revisions,
        sections,
        evals,
        repository(repo, commit, requirement, tests),
        generated,
    )
    new = init_study(source, out)

    def human() -> None:
        excluded = sum(new.excluded.values())
        left = new.tasks - excluded
        print(
            f"{new.file}: {left} task{'s' * (left != 1)} × {', '.join(new.conditions)},"
            f" {new.trials} trials on harness {new.harness}"
        )
        if excluded:
            print(
                f"{excluded} of {new.tasks} tasks found {'is' if excluded == 1 else 'are'} excluded:"
            )
            table(("category", "tasks"), list(new.excluded.items()))
        steps = ("check", "plan", "run")
        print(f"next: {'   then: '.join(command_line(step, out) for step in steps)}")

    emit(new, json, human)


def plan(
    study_file: StudyFile,
    pilot: Annotated[
        Path | None,
        typer.Option("--from", metavar="STUDY", help="Pilot study that was run and ingested."),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option("--sd", min=0, help="Assumed SD of task differences, in percentage points."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Assumed minutes per trial.")
    ] = None,
    dollars: Annotated[
        float | None, typer.Option("--dollars", min=0, help="Assumed US dollars per trial.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Ask each model one question.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show a study's trials, power, time, cost, and what it needs, before it runs."""
    from skilljuror.report.forecast import Assumptions, forecast

    found = forecast(study_file, pilot, Assumptions(sd, minutes, dollars), live=live)

    def human() -> None:
        cells = len(found.tasks) * len(found.conditions) * found.trials_per_cell
        fewer = "" if found.trials == cells else " (some conditions have fewer tasks)"
        print(
            f"{found.name}: {len(found.tasks)} tasks × {len(found.conditions)} conditions ×"
            f" {found.trials_per_cell} trials{fewer} = {found.trials} trials"
        )
        if all(found.contrast):
            print(f"headline: {found.contrast[0]} minus {found.contrast[1]}")
        shown = ", ".join(found.first_block[:MAX_BLOCK])
        more = ", …" if len(found.first_block) > MAX_BLOCK else ""
        print(f"first of {found.trials_per_cell} blocks: {shown}{more}")
        rows = [
            (*one.conditions, one.setting, *(value or "none" for value in one.values))
            for one in found.differences
        ]
        if rows:
            table(("condition", "other", "setting", "value", "other's value"), rows)
        print("all other settings are the same in every condition")
        record_table(found.figures, "name: figure", "value", "unit", "source")
        needed = [
            (one.name, "yes" if one.ready else "no", one.detail) for one in found.requirements
        ]
        table(("requirement", "ready", "detail"), needed)
        print_lines("note", found.notes)

    emit(found, json, human)


def run(
    study_file: StudyFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Study folder; default: out/<name>.")
    ] = None,
    jobs: Jobs = 1,
    rerun: Annotated[
        str | None,
        typer.Option(
            "--rerun",
            metavar="OUTCOMES",
            help="Outcomes to rerun: unscored,no_answer,contaminated,error.",
        ),
    ] = None,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Print rewards by condition too.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a study's trials, or resume where a run stopped.

    The records of trials that are rerun are kept.
    """
    from skilljuror.study.attempts import chosen_ends
    from skilljuror.study.run import run_study
    from skilljuror.study.study_file import load_study

    ends = chosen_ends(rerun) if rerun is not None else frozenset[str]()
    folder = out or Path("out") / load_study(study_file).name
    with progress(json) as listener:
        summary = run_study(
            study_file,
            folder,
            jobs=jobs,
            rerun=ends,
            unblind=unblind,
            progress=listener,
        )

    def human() -> None:
        rerun = f", {summary.rerun} of them rerun" if summary.rerun else ""
        print(
            f"{summary.finished} of {summary.planned} trials finished in {folder}"
            f" ({summary.ran} run{rerun}, {summary.finished - summary.ran} finished before)"
        )
        for status, count in sorted(summary.statuses.items()):
            print(f"  {status}: {count}")
        _print_outcomes(summary.outcomes)
        print_lines("warning", summary.warnings)
        if summary.warnings:
            shown = command_line("show", folder, "TRIAL")
            print(f"  is the verifier right? {command_line('check', study_file)}   or: {shown}")
        print_lines("note", summary.notes)
        resume = command_line("run", study_file, "--out", folder)
        if summary.interrupted:
            print(f"stopped; resume with: {resume}")
        elif summary.stopped:
            print(
                f"stopped by {summary.stopped}; raise it in {study_file} and resume with: {resume}"
            )
        else:
            print(f"next: {command_line('ingest', '--study', folder)}")

    emit(summary, json, human)
    if summary.interrupted or summary.stopped:
        raise typer.Exit(130 if summary.interrupted else 3)


def accept(
    study: Study,
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="Trial name.")],
    reason: Reason,
    by: By = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Accept a trial's result so that it is not rerun.

    A trial without a reward counts as not passed.
    """
    from skilljuror.study.attempts import accept_trial

    accepted = accept_trial(study, trial, reason, by)

    def human() -> None:
        print(f"{accepted.trial} accepted by {accepted.by}: {accepted.reason}")
        print(f"next: {command_line('ingest', '--study', study)}")

    emit(accepted, json, human)


def _print_outcomes(outcomes: Any) -> None:
    """Print rewards and exceptions, at most MAX_OUTCOMES rows."""
    rows = [
        (*filter(None, (one.task, one.condition)), one.trials, *map(_counted, (one.rewards, one.exceptions)))
        for one in outcomes[:MAX_OUTCOMES]
    ]  # fmt: skip
    if not rows:
        return
    named = ("task", "condition") if outcomes[0].condition else ("task",)
    table((*named, "trials", "rewards", "exceptions"), rows)
    if len(outcomes) > len(rows):
        print(f"… and {len(outcomes) - len(rows)} more; use --json for all")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "–"


def adopt(
    jobs: Annotated[list[Path], typer.Argument(metavar="JOB", help="Folders of Harbor jobs.")],
    map_file: Annotated[
        Path, typer.Option("--map", metavar="MAP.yaml", help="File that maps trials to arms.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the new study.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan; write nothing.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make a study from the trials of finished Harbor jobs."""
    from skilljuror.study.adopt import adopt as adopt_jobs

    adoption = adopt_jobs(jobs, map_file, out, dry_run=dry_run)

    def human() -> None:
        for part in (adoption.arms, adoption.outcomes, adoption.left_out):
            rows = to_plain(part)
            if rows:
                record_table(rows, *rows[0])
        print_lines("note", adoption.notes)
        if adoption.written:
            print(f"next: {command_line('ingest', '--study', out)}")

    emit(adoption, json, human)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Study folder.")] = Path("out/demo"),
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a whole example study offline, from build to report."""
    from skilljuror.cli.demo import run_demo

    with progress(json) as listener:
        summary = run_demo(out, jobs, listener)

    def human() -> None:
        print_headline(summary)
        print("A scripted policy ran, no language model: figures say nothing about real agents.")
        print_lines("note", summary.notes)
        print(f"{summary.trials} trials in {summary.seconds:.1f} s")
        print(f"report: {summary.report}")
        print(f"next:   {command_line('show', out, summary.example_trial)}")
        real = command_line("run", summary.real_study, "--out", "out/codex")
        print(f"on a real agent, with OPENAI_API_KEY set: {real}")

    emit(summary, json, human)
