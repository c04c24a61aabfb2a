"""The command generate."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import ApiBase, Budget, Debug, Jobs, Json
from skilljuror.cli.output import command_line, emit, print_lines, progress, table


def generate(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="TASK...|SOURCE", help="Task folders, or a folder or REV:PATH."),
    ],
    by: Annotated[str, typer.Option("--by", help="creator, prompt, outline or command.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write.")],
    task: Annotated[
        Path | None, typer.Option("--task", metavar="DIR", help="Task that SOURCE is meant for.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Agent of --by creator, such as codex.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model of --by creator or prompt.")
    ] = None,
    api_base: ApiBase = None,
    argv: Annotated[
        str | None, typer.Option("--argv", metavar="COMMAND", help="Command of --by command.")
    ] = None,
    of: Annotated[
        str, typer.Option("--of", help="skills, or tasks that need the Skill SOURCE.")
    ] = "skills",
    tokens: Annotated[
        int | None, typer.Option("--tokens", metavar="N", min=1, help="Most tokens of a Skill.")
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", min=1, help="Skills for each task.")
    ] = 1,
    budget: Budget = None,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
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
    with progress(json) as listener:
        summary = generate(request, jobs, listener)
    emit(summary, json, lambda: _print(summary, request))
    if summary.interrupted or summary.stopped:
        raise typer.Exit(130 if summary.interrupted else 3)
    if any(one.refused for one in summary.skills):
        raise typer.Exit(1)


def _print(summary: Any, request: Any) -> None:
    made = [one for one in summary.skills if not one.refused]
    rows = [
        (
            one.skill, one.tokens, _share(one.grounded, one.units), _share(one.carried, one.source_units),
            _share(one.tokens, one.source_tokens), one.leak,
        )
        for one in made
    ]  # fmt: skip
    if made:
        table(("Skill", "tokens", "grounded", "carried", "compression", "leak"), rows)
    print_lines("refused", [f"{one.skill}: {one.refused}" for one in summary.skills if one.refused])
    print_lines(
        "leak", [f"{one.skill}: {one.leak_reason}" for one in made if one.leak and one.leak_reason]
    )
    print_lines("note", summary.notes)
    if any(one.scripted for one in summary.skills):
        print("A scripted policy wrote them, no language model.")
    if summary.interrupted or summary.stopped:
        print(
            f"stopped{f' by {summary.stopped}' if summary.stopped else ''}; repeat the call to resume"
        )
    elif made:
        print(f"next: {_next(made, request)}")


def _next(made: Any, request: Any) -> str:
    if request.of == "tasks":
        return command_line(
            "init", "--tasks", request.out / "made-tasks", "--skill", request.inputs[0]
        )
    if made[0].task is None or request.trials > 1:
        return command_line("build", request.out / "skills" / made[0].skill, "--out", "DIR")
    tasks = [request.task] if request.task else request.inputs
    words = [word for one in tasks for word in ("--task", one)]
    return command_line("init", *words, "--generated", request.out, "--out", "study.yaml")


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if whole and part is not None else None
