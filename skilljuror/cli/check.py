"""The command check: of a study's tasks by running them, of task folders by reading them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import UsageError
from skilljuror.cli.options import Debug, Jobs, Json
from skilljuror.cli.output import (
    emit,
    print_indented,
    print_lines,
    progress,
    record_table,
    table,
    to_plain,
)


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="STUDY.yaml|TASK...", help="Study file, or task folders."),
    ],
    skills: Annotated[
        str | None,
        typer.Option("--skills", metavar="DIR", help="Skill to compare, {task} for a task's name."),
    ] = None,
    assay: Annotated[
        bool, typer.Option("--assay", help="Count how many planted leaks are found.")
    ] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Run: solution three times, empty run, stuffed run.")
    ] = False,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Test a study's tasks by running them, or look for leaks in task folders without a run.

    STUDY.yaml: the solution must pass, an empty run must not; and which Skills agents list.
    TASK: its parts, and whether its Skill holds text of its solution or verifier.
    --prove: also repeat the solution, write the strings of the tests into the files that the task names (stuffed),
    and list which tests name which acceptance criterion.
    """
    if any(path.suffix in {".yaml", ".yml"} for path in paths):
        if len(paths) > 1 or skills or assay:
            raise UsageError("name one study file without --skills and --assay, or task folders")
        _check_study(paths[0], prove, jobs, json)
    else:
        proofs = _proofs(paths, jobs, json) if prove else None
        _check_tasks(paths, skills, assay, proofs, json)


def _check_study(study_file: Path, prove: bool, jobs: int, json: bool) -> None:
    from skilljuror.study.check import check_study

    with progress(json) as listener:
        summary = check_study(study_file, prove=prove, jobs=jobs, progress=listener)

    emit(summary, json, lambda: _print_runs(summary, prove))
    if summary.failed:
        raise typer.Exit(1)


def _proofs(folders: list[Path], jobs: int, json: bool) -> Any:
    from skilljuror.study.check import prove_folders

    with progress(json) as listener:
        return prove_folders(folders, jobs=jobs, progress=listener)


def _print_runs(summary: Any, prove: bool) -> None:
    if prove:
        proved = sum(one.verdict == "ok" for one in summary.tasks)
        print(
            f"{proved} of {len(summary.tasks)} tasks are proved: the solution earns 1 three times, an empty run and"
            " one that only writes the strings of the tests (stuffed) earn less."
        )
        rules = ("repeated", "stuffed", "checks", "trace")
        rows = [
            (one.task, one.verdict, one.solution, one.empty, *_proof_cells(one.proof, rules))
            for one in summary.tasks
        ]
        table(("task", "verdict", "solution", "empty run", *rules), rows)
    else:
        record_table(summary.tasks, "task", "verdict", "solution", "empty: empty run")
    for one in summary.tasks:
        print_lines(one.task, one.problems)
        if one.solution_output:
            print_indented(one.solution_output, "  [solution] ", "  ")
        if one.output is not None:
            print_indented(one.output or "no output", "  [verifier] ", "  ")
        if one.proof and one.proof.trace:
            record_table(
                one.proof.trace, "criterion", "test", "empty: empty run", "solution", "text"
            )
    print_lines("agent", summary.listings)
    print_lines("leak", summary.leaks)


def _proof_cells(proof: Any, rules: tuple[str, ...]) -> list[str | None]:
    """The reason of each rule, after its verdict unless that is ok; None without runs."""
    found = {one.rule: one for one in proof.rules} if proof else {}
    return [
        one and (one.reason if one.verdict in {"ok", "note"} else f"{one.verdict}: {one.reason}")
        for one in map(found.get, rules)
    ]


def _check_tasks(
    folders: list[Path], skills: str | None, assay: bool, proofs: Any, json: bool
) -> None:
    from skilljuror.study.check import check_tasks

    with progress(json) as listener:
        found = check_tasks(folders, skills, assay=assay, progress=listener)

    def human() -> None:
        if proofs:
            _print_runs(proofs, True)
        rows = [
            (
                one.task, one.verdict, one.leak.runs, one.null,
                _where(one.leak), "; ".join(one.problems),
            )
            for one in found.tasks
        ]  # fmt: skip
        table(("task", "verdict", "leak", "null", "most in", "missing or unknown"), rows)
        print(_leak_sentence(found))
        if found.assay:
            record_table(
                found.assay, "lines: lines planted", "planted: tasks", "reviewed: found, 4 runs",
                "failed: found, 20 runs",
            )  # fmt: skip

    payload = {**to_plain(found), "proofs": to_plain(proofs.tasks)} if proofs else found
    emit(payload, json, human)
    raise typer.Exit(1 if proofs and proofs.failed else found.status)


def _where(leak: Any) -> str:
    """The file of the task with most of a leak that counts, and the file of the Skill."""
    if leak.verdict not in {"fail", "review"} or not leak.places:
        return ""
    return f"{leak.places[0].task_file}, {leak.places[0].skill_file}"


def _leak_sentence(found: Any) -> str:
    from skilljuror.harness.leaks import FAIL, REVIEW

    leaks = [one.leak.verdict for one in found.tasks]
    null = (
        f"; with another task's (null) {found.null_failed} and {found.null_reviewed} of {found.pairs} pairs"
        if found.pairs
        else ""
    )
    return (
        "leak = runs of 12 words that a Skill shares with solution/ and tests/, not with the rest of the task:"
        f" {leaks.count('fail')} of {len(leaks)} fail ({FAIL} or more), {leaks.count('review')} need a person"
        f" ({REVIEW} or more){null}"
    )
