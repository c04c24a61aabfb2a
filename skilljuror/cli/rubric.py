"""`skilljuror rubric`: the items of the construction rubric, put to a model or told as they stand."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import command_line, emit, progress, table
from skilljuror.errors import UsageError


def rubric(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="A build, a folder of builds, or a study.")
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", help="Who judges, as litellm names it; default: tell what stands."),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option("--api-base", metavar="URL", help="Server that has the model.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget-usd", min=0, help="Stop before it costs more.")
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--tasks", metavar="STUDY.yaml", help="Sort the study's tasks instead, for RQ4."
        ),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Calls side by side.")] = 16,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Judge variants by the construction rubric: is it progressive disclosure, did meaning drift?"""
    from skilljuror.pipeline.construction.rubric_audit import (
        RubricSummary,
        client_for,
        items_at,
        judge_builds,
    )

    if model is None:
        if api_base or tasks or budget is not None:
            raise UsageError("without --model nothing is asked: name one", field="model")
        summary = RubricSummary(tuple(items_at(place)), 0, None)
    else:
        client = client_for(place, model, api_base, budget)
        if tasks is not None:
            _sort_tasks(place, tasks, client, threads, json)
            return
        with progress(json) as listener:
            summary = judge_builds(place, client, threads, listener)
    rows = [_row(one) for one in summary.items]
    payload = {
        "judged": summary.judged,
        "unparsed": summary.unparsed,
        "quotes_not_found": summary.quotes_not_found,
        "spent_usd": summary.spent_usd,
        "items": rows,
    }
    emit(payload, json, lambda: _print(summary, rows, place))
    raise typer.Exit(_status(summary))


def _sort_tasks(place: Path, study_file: Path, client: Any, threads: int, json: bool) -> None:
    from skilljuror.pipeline.model_calls import MOST_UNPARSED
    from skilljuror.pipeline.task_attributes import judge_tasks

    with progress(json) as listener:
        found = judge_tasks(place, study_file, client, threads, listener)
    columns = ("task", "attribute", "value", "reason", "evidence", "file", "line")
    rows = [tuple(getattr(one, name) for name in columns) for one in found]
    nothing = "every task says these attributes of itself"
    emit(found, json, lambda: table(columns, rows) if rows else print(nothing))
    if sum(one.reason == "unparsed" for one in found) > MOST_UNPARSED * len(found):
        raise typer.Exit(1)


def _row(one: Any) -> dict[str, Any]:
    state, verdict = one.state, one.state.verdict
    return {
        "build": one.build,
        "variant": state.variant,
        "item": state.item.id,
        "code": state.code,
        "model": verdict and verdict.answer,
        "answer": state.answer,
        "outcome": state.outcome,
        "why": _why(state),
        "quotes": [] if verdict is None else [quote.model_dump() for quote in verdict.quotes],
    }


def _why(state: Any) -> str:
    if state.verdict is None:
        return "asked about other texts" if state.stale else ""
    disagree = f"code says {state.code}, the model {state.verdict.answer}: "
    reason = f"{state.verdict.reason}: " if state.verdict.reason else ""
    return f"{disagree if state.disagrees else ''}{reason}{state.verdict.evidence}"


def _print(summary: Any, rows: list[dict[str, Any]], place: Path) -> None:
    waiting = [row for row in rows if row["outcome"] not in ("accepted", "overridden")]
    columns = ("build", "variant", "item", "code", "model", "outcome", "why")
    asked = [row for row in waiting if row["outcome"] != "unanswered" or row["why"]]
    if asked:
        table(columns, [tuple(row[name] for name in columns) for row in asked])
    counts = {
        name: sum(row["outcome"] == name for row in rows)
        for name in ("accepted", "overridden", "rejected", "unresolved", "unanswered")
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print(f"{len(rows)} items of the rubric: {told or 'none'}")
    if summary.unparsed or summary.quotes_not_found:
        print(
            f"unknown: {summary.unparsed} answers of no usable form,"
            f" {summary.quotes_not_found} with a quote that was not found"
        )
    if summary.judged:
        spent = summary.spent_usd
        cost = "at a price that is not known" if spent is None else f"for ${spent:.2f}"
        print(f"{summary.judged} judged now, {cost}")
    if counts["unanswered"]:
        print(f"ask a model: {command_line('rubric', place, '--model', 'openai/gpt-5.4')}")


def _status(summary: Any) -> int:
    outcomes = {one.state.outcome for one in summary.items}
    if summary.too_many_unparsed or "rejected" in outcomes:
        return 1
    return 3 if outcomes & {"unresolved", "unanswered"} else 0
