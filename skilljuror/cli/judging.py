"""`skilljuror judge`: labels of resource events, by code and by models."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import SkilljurorError, UsageError
from skilljuror.cli.options import ApiBase, Budget, Debug, Jobs, Json, Study, Threads
from skilljuror.cli.output import (
    command_line,
    emit,
    print_legend,
    print_lines,
    progress,
    record_table,
    to_plain,
)


def judge(
    study: Study,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="With --rubric: rubric files; default: the tasks' own."
        ),
    ] = None,
    rubric: Annotated[
        bool, typer.Option("--rubric", help="Judge the work by rubrics instead.")
    ] = False,
    tasks: Annotated[
        Path | None,
        typer.Option("--tasks", metavar="STUDY.yaml", help="With --rubric: study file of the run."),
    ] = None,
    name: Annotated[
        str, typer.Option("--judge", help="Judge, or package.module:attribute.")
    ] = "tracing",
    again: Annotated[bool, typer.Option("--again", help="Judge unchanged trials again.")] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", help="Model for undecided events; it is sent log texts."),
    ] = None,
    api_base: ApiBase = None,
    budget_usd: Budget = None,
    threads: Threads = 16,
    check_yes: Annotated[
        float,
        typer.Option(
            "--check-yes", min=0, max=1, help="Share of yes verdicts that the model checks."
        ),
    ] = 0.1,
    panel: Annotated[
        str,
        typer.Option("--panel", metavar="MODEL,…", help="More models, each judging on its own."),
    ] = "",
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Label whether each opened resource led to visible work; or grade the work by rubrics.

    A rubric's items are decided by code, then by --model, then by people (`review`).
    """
    from skilljuror.judge.study import judge_study

    if model is None and (api_base or budget_usd is not None or panel):
        raise UsageError("--api-base, --budget-usd and --panel require --model", field="model")
    if rubric:
        if again or name != "tracing" or panel:
            raise UsageError(
                "--judge, --again and --panel do not apply to --rubric; leave them out",
                field="rubric",
            )
        _judge_rubrics(study, files or [], tasks, model, api_base, budget_usd, threads, json)
        return
    if files or tasks:
        raise UsageError("FILE and --tasks require --rubric", field="rubric")
    cascades: list[Any] = []
    stopped = None
    with progress(json) as listener:
        if model is None:
            summary = judge_study(study, name, again=again, jobs=jobs, progress=listener)
        else:
            from skilljuror.base.llm import ModelChoice, SpendingCap
            from skilljuror.judge.cascade import ModelOptions

            options = ModelOptions(
                ModelChoice(model, api_base), check_yes,
                None if budget_usd is None else SpendingCap(budget_usd), threads,
            )  # fmt: skip
            others = tuple(filter(None, panel.split(",")))
            cascades, stopped = _judge_by_models(
                study, options, name, others, again, jobs, listener
            )
            summary = cascades[0].judged
    payload = {**to_plain(cascades[0]), "panel": cascades[1:]} if cascades else summary
    if not (json and stopped):  # there the error is the one document
        emit(payload, json, lambda: _print_judged(study, summary, cascades))
    problems = [f"{one.model}: {one.problem}" for one in cascades if one.problem]
    for problem in problems:
        print(f"skilljuror: {problem}", file=sys.stderr)
    if stopped:
        raise stopped
    if summary.unread or problems:
        raise typer.Exit(1)


def _judge_rubrics(
    study: Path,
    files: list[Path],
    tasks: Path | None,
    model: str | None,
    api_base: str | None,
    budget_usd: float | None,
    threads: int,
    json: bool,
) -> None:
    from skilljuror.judge.rubric import judge_rubrics
    from skilljuror.layouts.build.rubric_audit import client_for

    client = client_for(study, model, api_base, budget_usd) if model else None
    with progress(json) as listener:
        summary = judge_rubrics(study, tasks, files, client, threads, listener)
    emit(summary, json, lambda: _print_rubrics(study, summary))
    if sum(one.unjudged for one in summary.rubrics):
        raise typer.Exit(3)


def _print_rubrics(study: Path, summary: Any) -> None:
    record_table(
        [{**to_plain(one), "points": " or ".join(f"{sum_:g}" for sum_ in one.points)} for one in summary.rubrics],
        "rubric", "trials", "items", "points", "code", "model", "people", "unjudged",
    )  # fmt: skip
    if summary.spent_usd is not None:
        print(f"cost: ${summary.spent_usd:.4f}")
    print_lines("  incomplete", (f"{name}: {reason}" for name, reason in summary.unread))
    if sum(one.unjudged for one in summary.rubrics):
        print(f"unjudged items need a model (--model) or a person: {command_line('review', study)}")
    ingested = (study / "study.duckdb").is_file()
    step = ("query", study, "rubric_scores") if ingested else ("ingest", "--study", study)
    print(f"next: {command_line(*step)}")


def _judge_by_models(
    study: Path,
    options: Any,
    judge: str,
    panel: tuple[str, ...],
    again: bool,
    jobs: int,
    listener: Any,
) -> tuple[list[Any], SkilljurorError | None]:
    """The cascades of the model and of each panel model, under one budget; the error that stopped the
    panel, or None."""
    from msgspec import structs

    from skilljuror.judge.cascade import judge_with_model

    main = options.choice.model
    made = [judge_with_model(study, options, judge, again=again, jobs=jobs, progress=listener)]
    for other in dict.fromkeys(name for name in panel if name != main):
        choice = structs.replace(options.choice, model=other)
        one = structs.replace(options, choice=choice)
        try:
            made.append(
                judge_with_model(study, one, judge, again=again, jobs=jobs, progress=listener)
            )
        except SkilljurorError as error:
            return made, error
    return made, None


def _print_judged(study: Path, summary: Any, cascades: Sequence[Any]) -> None:
    print(f"{summary.events} events of {summary.trajectories} trajectories by {summary.judge}")
    print(_rates(summary))
    for cascade in cascades[:1]:
        _print_cascade(cascade)
    for cascade in cascades[1:]:
        print(f"panel, {cascade.model}: {_rates(cascade.judged)}")
        if cascade.shares:
            print(f"  {_answers(cascade.shares)}; {_cost(cascade)}")
    print_legend(["ERU rate", "open", "navigation"])
    print_lines("  not judged", (f"{name}: {reason}" for name, reason in summary.unread))
    print(f"next: {command_line('report', study)}")


def _rates(summary: Any) -> str:
    rate = _ends(summary.rate_low, summary.rate_high)
    without = _ends(summary.without_navigation_low, summary.without_navigation_high)
    return (
        f"yes {summary.yes}, no {summary.no}, unknown {summary.unknown} ({summary.open} of them open);"
        f" ERU rate {rate}, without navigation {without}"
    )


def _print_cascade(cascade: Any) -> None:
    """Print the shares decided by code and by the model, the use of its answers and their cost."""
    row = cascade.shares
    if not row:
        return
    free = cascade.first.judge
    print(
        f"decided by {free}: {_share(row['decided_free'], row['events'])}; by the model:"
        f" {_share(row['decided_by_model'], row['events'])}; unknown:"
        f" {_share(row['unknown'], row['events'])}"
    )
    print(_answers(row))
    if row["rechecked"]:
        undecided = row["rechecked"] - row["rechecked_yes"] - row["rechecked_no"]
        print(
            f"{row['rechecked']} yes of {free} checked by the model: yes {row['rechecked_yes']},"
            f" no {row['rechecked_no']}, unknown {undecided}"
        )
    saved = row["usd_saved_estimate"]
    print(_cost(cascade) + ("" if saved is None else f"; estimated saving by {free}: ${saved:.4f}"))


def _answers(row: dict[str, Any]) -> str:
    return (
        f"{row['asked']} events asked in {row['calls']} calls: {row['insufficient_context']} undecided by"
        f" the model, {row['unverified_quote']} with a quote that is not in the log,"
        f" {row['unparsed']} without a usable answer"
    )


def _cost(cascade: Any) -> str:
    spent, paid = cascade.shares["usd_spent"], cascade.paid_usd
    if spent is None:
        return "cost: unknown (no price or token count for this model)"
    return f"cost: ${spent:.4f}" + ("" if paid is None else f" (${paid:.4f} of it now)")


def _share(count: int, whole: int) -> str:
    return f"{count} ({100 * count / whole:.1f} %)" if whole else str(count)


def _ends(low: float | None, high: float | None) -> str:
    """One number, or its two ends where uses are open."""
    if low is None or high is None:
        return "–"
    return (
        f"{100 * low:.1f} %" if low == high else f"between {100 * low:.1f} % and {100 * high:.1f} %"
    )
