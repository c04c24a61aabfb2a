"""Commands about the trials of a study: init, plan, check, run, accept."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Jobs, Json, Study
from skilljuror.cli.output import command_line, emit, print_indented, progress, table

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study file.")]
MOST_IN_A_BLOCK = 12
"""Trials of the first block that a plan names."""
MOST_OUTCOMES = 40
"""Lines of rewards that a run prints."""


def init(
    tasks: Annotated[
        list[Path] | None,
        typer.Option("--task", metavar="DIR", help="Folder of a task; repeatable."),
    ] = None,
    tasks_dir: Annotated[
        Path | None,
        typer.Option("--tasks", metavar="DIR", help="Folder of tasks in Harbor format."),
    ] = None,
    skillsbench: Annotated[
        Path | None,
        typer.Option(
            "--skillsbench",
            metavar="DIR",
            help="Checkout of SkillsBench, with the settings of the SkillJuror paper.",
        ),
    ] = None,
    skill: Annotated[
        Path | None,
        typer.Option(
            "--skill", metavar="DIR", help="The Skill; default: what each task brings itself."
        ),
    ] = None,
    revisions: Annotated[
        tuple[str, str] | None,
        typer.Option("--revisions", metavar="OLD NEW", help="Compare two git revisions of it."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The study file to write.")] = Path(
        "study.yaml"
    ),
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a first study file, with a comment for every field."""
    from skilljuror.pipeline.init_study import StudySource, init_study

    source = StudySource(tuple(tasks or ()), tasks_dir, skillsbench, skill, revisions)
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
        typer.Option("--from", metavar="STUDY", help="A study that was run and ingested: a pilot."),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(
            "--sd", min=0, help="Spread of the arms' difference over tasks, in points: stated."
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Minutes of one trial: stated.")
    ] = None,
    dollars: Annotated[
        float | None, typer.Option("--dollars", min=0, help="US dollars of one trial: stated.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """What a study is before it runs: cells, order, differences of conditions, power, time and cost."""
    from skilljuror.pipeline.execution.forecast import Assumptions, forecast

    found = forecast(study_file, pilot, Assumptions(sd, minutes, dollars))

    def human() -> None:
        print(
            f"{found.name}: {len(found.tasks)} tasks × {len(found.conditions)} conditions ×"
            f" {found.trials_per_cell} trials = {found.trials} trials"
        )
        if all(found.contrast):
            print(f"headline: {found.contrast[0]} minus {found.contrast[1]}")
        shown = ", ".join(found.first_block[:MOST_IN_A_BLOCK])
        more = ", …" if len(found.first_block) > MOST_IN_A_BLOCK else ""
        print(f"first of {found.trials_per_cell} blocks: {shown}{more}")
        rows = [
            (*one.conditions, one.setting, *(value or "none" for value in one.values))
            for one in found.differences
        ]
        if rows:
            table(("condition", "other", "differ in", "value", "other's value"), rows)
        print("all else is the same in every condition")
        table(
            ("figure", "value", "unit", "source"),
            [(one.name, one.value, one.unit, one.source) for one in found.figures],
        )
        for note in found.notes:
            print(f"note: {note}")

    emit(found, json, human)


def check(
    study_file: StudyFile,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Prove the tasks before any trial: the solution earns 1, a run that does nothing earns less."""
    from skilljuror.pipeline.execution.check import check_study

    with progress(json) as listener:
        summary = check_study(study_file, jobs=jobs, progress=listener)

    def human() -> None:
        rows = [(one.task, one.verdict, one.solution, one.empty) for one in summary.tasks]
        table(("task", "verdict", "solution", "empty run"), rows)
        for one in summary.tasks:
            for problem in one.problems:
                print(f"{one.task}: {problem}")
            if one.output is not None:
                print_indented(one.output or "nothing", "  [verifier] ", "  ")

    emit(summary, json, human)
    if summary.failed:
        raise typer.Exit(1)


def run(
    study_file: StudyFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the study; default: out/<name>.")
    ] = None,
    jobs: Jobs = 1,
    rerun: Annotated[
        str | None,
        typer.Option(
            "--rerun",
            metavar="ENDS",
            help="Run trials of these ends again: unscored,contaminated,error. Their records are kept.",
        ),
    ] = None,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Tell rewards by condition, too; default: by task.")
    ] = False,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be built and run; write nothing.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Plan and run matched trials; run again to go on where it stopped."""
    from skilljuror.pipeline.execution.attempts import chosen_ends
    from skilljuror.pipeline.execution.run import run_study
    from skilljuror.studies.study_file import load_study

    ends = chosen_ends(rerun) if rerun is not None else frozenset[str]()
    folder = out or Path("out") / load_study(study_file).name
    if dry:
        _print_dry_run(study_file, folder, ends, json)
        return
    with progress(json) as listener:
        summary = run_study(
            study_file, folder, jobs=jobs, rerun=ends, unblind=unblind, progress=listener
        )

    def human() -> None:
        again = f", {summary.rerun} of them again" if summary.rerun else ""
        print(
            f"{summary.finished} of {summary.planned} trials finished in {folder}"
            f" ({summary.ran} run{again}, {summary.finished - summary.ran} were there already)"
        )
        for status, count in sorted(summary.statuses.items()):
            print(f"  {status}: {count}")
        _print_outcomes(summary.outcomes)
        for warning in summary.warnings:
            print(f"warning: {warning}")
        if summary.warnings:
            shown = command_line("show", folder, "TRIAL")
            print(f"  is the verifier right? {command_line('check', study_file)}   or: {shown}")
        for note in summary.notes:
            print(f"note: {note}")
        go_on = command_line("run", study_file, "--out", folder)
        if summary.interrupted:
            print(f"stopped; go on with: {go_on}")
        elif summary.stopped:
            print(f"stopped by {summary.stopped}; raise it in {study_file} and go on with: {go_on}")
        else:
            print(f"next: {command_line('ingest', '--study', folder)}")

    emit(summary, json, human)
    if summary.interrupted or summary.stopped:
        raise typer.Exit(130 if summary.interrupted else 3)


def accept(
    study: Study,
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="Name of the trial.")],
    reason: Annotated[str, typer.Option("--reason", help="Why its end may stand.")],
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who says so; default: you.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Take the end of a trial as final: it is not run again; without a reward it is no pass."""
    from skilljuror.pipeline.execution.attempts import accept_trial

    accepted = accept_trial(study, trial, reason, by)

    def human() -> None:
        print(f"{accepted.trial} is accepted by {accepted.by}: {accepted.reason}")
        print(f"next: {command_line('ingest', '--study', study)}")

    emit(accepted, json, human)


def _print_dry_run(study_file: Path, folder: Path, ends: frozenset[str], json: bool) -> None:
    from skilljuror.pipeline.execution.dry_run import dry_run

    plan = dry_run(study_file, folder, rerun=ends)

    def human() -> None:
        for build in plan.builds:
            how = "use, or build anew," if build.there else "build"
            print(
                f"{how} {', '.join(build.variants)} of {build.source or 'nothing'} for {build.task}"
            )
        for command in dict.fromkeys(plan.commands.values()):
            arms = [name for name, one in plan.commands.items() if one == command]
            print(f"each trial of {', '.join(arms)}: {shlex.join(command)}")
        print(f"harness {plan.harness}, isolation {plan.isolation}")
        rows = [
            (
                number, one.trial, one.variant or "no skill", one.block + 1, one.seed,
                "again" if one.again else "",
            )
            for number, one in enumerate(plan.trials, 1)
        ]  # fmt: skip
        if rows:
            table(("", "trial", "offers", "block", "seed", "run"), rows)
        print(f"{len(plan.trials)} trials would run, {plan.finished} stay as they are in {folder}")
        for note in plan.notes:
            print(f"note: {note}")
        print("nothing was written")

    emit(plan, json, human)


def _print_outcomes(outcomes: Any) -> None:
    """Rewards and exceptions of as many tasks as a person reads."""
    rows = [
        (*filter(None, (one.task, one.condition)), one.trials, *map(_counted, (one.rewards, one.exceptions)))
        for one in outcomes[:MOST_OUTCOMES]
    ]  # fmt: skip
    if not rows:
        return
    named = ("task", "condition") if outcomes[0].condition else ("task",)
    table((*named, "trials", "rewards", "exceptions"), rows)
    if len(outcomes) > len(rows):
        print(f"… and {len(outcomes) - len(rows)} more; --json has all")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "–"
