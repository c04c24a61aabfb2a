"""Commands that make and compare variants: build, diff, rubric."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import SkilljurorError, UsageError
from skilljuror.cli.options import ApiBase, Budget, Build, Debug, Gates, Jobs, Json, Threads
from skilljuror.cli.output import command_line, emit, progress, record_table, table

MAX_ISSUES = 8
"""Most issues of sources to print; build.json has all."""


def build(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE", help="Skill, folder of Skills, .skill or .zip file."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Build folder to write.")],
    variants: Annotated[
        str, typer.Option("--variants", help="Layouts, comma-separated.")
    ] = "origin,origin-flat,baseline,pd",
    engine: Annotated[
        str,
        typer.Option("--engine", help="plan, assign (a model judges), rewrite (a model writes)."),
    ] = "plan",
    model: Annotated[
        str | None,
        typer.Option("--model", help="Model for assign and rewrite, named as in litellm."),
    ] = None,
    api_base: ApiBase = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", metavar="N", min=1, help="Attempts per rewrite; default: 3."),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option("--rubric", metavar="MODEL", help="Model that rates rewrites by the rubric."),
    ] = None,
    gates: Gates = None,
    assay: Annotated[bool, typer.Option("--assay", help="Also assay the gates.")] = False,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Build layout variants of a Skill that hold the same knowledge.

    The gates check that each variant differs from the source in layout only.
    """
    from skilljuror.base.workers import Progress
    from skilljuror.layouts.build.model_build import Rewriting, model_engine

    names = tuple(name.strip() for name in variants.split(",") if name.strip())
    if not names:
        raise UsageError(
            "--variants is empty; name layouts, comma-separated, or leave it out", field="variants"
        )
    chosen = {"variants": names, "gates": gates or ()}
    calls = out.parent / f"{out.name}.calls.jsonl"
    chosen_engine = model_engine(engine, model, calls, api_base, Rewriting(rounds, rubric))
    results: list[tuple[str, Any]] = []
    with progress(json) as listener:
        for done in _build_each(sources, out, jobs, chosen_engine, chosen):
            results.append(done)
            if len(sources) > 1:
                listener(Progress("build", len(results), len(sources), done[0]))
    if assay:
        results = _assay(results, out, len(sources) > 1, jobs)
    reviews = _reviewed(results, out, len(sources) > 1)
    results = [(name, reviews[name].record if name in reviews else one) for name, one in results]
    built = [name for name, result in results if not isinstance(result, SkilljurorError)]
    if len(sources) > 1 and built:
        from skilljuror.store.stored_builds import store_builds

        store_builds(out, built)
    payload = [
        {"source": name, "error": result.message}
        if isinstance(result, SkilljurorError)
        else {"source": name, "record": result}
        for name, result in results
    ]
    emit(
        payload if len(sources) > 1 else payload[0],
        json,
        lambda: _print_builds(results, out, reviews),
    )
    raise typer.Exit(_status(results))


def _reviewed(results: list[tuple[str, Any]], out: Path, many: bool) -> dict[str, Any]:
    """Name -> the build with the decisions of its reviewers, earlier builds included."""
    from skilljuror.layouts.build.reviews import reviewed

    return {
        name: reviewed(out / name if many else out)
        for name, result in results
        if not isinstance(result, SkilljurorError)
    }


def _assay(
    results: list[tuple[str, Any]], out: Path, many: bool, jobs: int
) -> list[tuple[str, Any]]:
    from skilljuror.layouts.build.assay import keep_assays

    folders = {
        name: out / name if many else out
        for name, result in results
        if not isinstance(result, SkilljurorError)
    }
    assayed = keep_assays(dict.fromkeys(folders.values()), jobs=jobs)
    return [
        (name, assayed[folders[name]] if name in folders else result) for name, result in results
    ]


def _build_each(
    sources: list[Path], out: Path, jobs: int, engine: Any, chosen: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """(name, record or error) of each source; a single source is built into `out` and may raise."""
    from skilljuror.layouts.build.build import build_many, build_named, build_source
    from skilljuror.layouts.build.model_build import build_with_model

    single = len(sources) == 1
    build: Callable[[Path, Path], Any] = partial(build_source if single else build_named, **chosen)
    if engine:
        build, jobs = partial(build_with_model, engine=engine, **chosen), 1
    if single:
        record = build(sources[0], out)
        yield record.name, record
    else:
        yield from build_many(sources, out, build, jobs)


def _print_builds(results: list[tuple[str, Any]], out: Path, reviews: dict[str, Any]) -> None:
    rows: list[tuple[Any, ...]] = []
    for name, result in results:
        if isinstance(result, SkilljurorError):
            rows.append((name, "error", *[None] * 5, result.message))
            continue
        notes = reviews[name].review_notes
        rows += [
            (
                name, item.variant, _verdict(item, notes), len(item.files), item.root_lines,
                item.root_tokens, item.tokens, _note(item),
            )
            for item in result.variants
        ]  # fmt: skip
    columns = ("source", "variant", "gates", "files", "root lines", "root tokens", "tokens", "note")
    table(columns, rows)
    built = [result for _, result in results if not isinstance(result, SkilljurorError)]
    if len(results) > 1:
        print(f"{len(built)} of {len(results)} sources built")
    if built:
        _print_problems(built, out)
        for note in (note for one in reviews.values() for note in one.stale_notes):
            print(note)
        print(f"tokens counted with {built[0].tokenizer}")
        _print_power(built)
        print(f"written to {out}: proof and plans in build.json, units in knowledge.jsonl")
        if len(results) > 1:
            print(f"table of all builds: {command_line('query', out, 'builds')}")
        _print_models(built, out)


def _print_models(built: list[Any], out: Path) -> None:
    for record in built:
        if scopes := record.options.get("scopes"):
            print(f"{record.name}: {_judged(scopes)}")
    if built[0].engine == "rewrite":
        print(f"model {built[0].options['model']}; its answers are in {out.name}.calls.jsonl")
        for record in built:
            print(f"{record.name}: {_usage(record.options['calls'])}")


def _judged(scopes: dict[str, dict[str, str]]) -> str:
    """Who judged which sections, and how to review them."""
    judges = Counter(one["by"] for one in scopes.values())
    counts = ", ".join(f"{count} by {by}" for by, count in judges.items())
    return f"judged sections: {counts}; review them with {command_line('review', 'SOURCE')}"


def _usage(calls: dict[str, Any]) -> str:
    """What the model's answers used; unknown totals stay unknown."""
    names = (("input_tokens", "input tokens"), ("output_tokens", "output tokens"))
    parts = [f"{calls['count']} answers"]
    parts += [
        f"{name} unknown" if calls[key] is None else f"{calls[key]:,} {name}" for key, name in names
    ]
    cost = calls["cost_usd"]
    parts.append("cost unknown" if cost is None else f"${cost:.2f}")
    why = ", ".join(f"{reason} {count}" for reason, count in calls.get("unknown", {}).items())
    return ", ".join(parts) + (f" ({why})" if why else "")


def _verdict(item: Any, notes: dict[str, str]) -> str:
    note = notes.get(item.variant)
    return (item.verdict or "–") + (f" with {note}" if note else "")


def _note(item: Any) -> str:
    """A warning for studies that use the variant."""
    if item.pd_worth:
        return f"pd_worth: {item.pd_worth}"
    return item.feasibility or ("control" if item.expected_findings else "")


def _print_problems(records: list[Any], out: Path) -> None:
    """Print problems of the sources, and the commands that explain failed variants."""
    issues = [
        f"source: {issue['file']}:{issue['line'] or ''}".rstrip(":") + f": {issue['message']}"
        for record in records
        for issue in record.issues
        if issue["severity"] != "info"
    ]
    for line in issues[:MAX_ISSUES]:
        print(line)
    if len(issues) > MAX_ISSUES:
        print(f"source: {len(issues) - MAX_ISSUES} more in build.json")
    if any(item.verdict not in {"pass", None} for record in records for item in record.variants):
        print(
            f"list open findings: {command_line('waive', out)}"
            f"   explain a rule: {command_line('explain', 'RULE')}"
        )
    if any(item.verdict == "review" for record in records for item in record.variants):
        print(f"decide reviews: {command_line('review', out, '--list')}")


def _print_power(records: list[Any]) -> None:
    from skilljuror.base.models.gate import AssayReport
    from skilljuror.layouts.build.assay import power_sentence

    for record in records:
        if record.assay is not None:
            print(f"{record.name}: {power_sentence(AssayReport.model_validate(record.assay))}")


def _status(results: list[tuple[str, Any]]) -> int:
    if any(isinstance(result, SkilljurorError) for _, result in results):
        return 2
    verdicts = {item.verdict for _, result in results for item in result.variants}
    return 1 if "fail" in verdicts else 3 if "review" in verdicts else 0


def diff(
    build: Build,
    a: Annotated[str, typer.Argument(metavar="A", help="Variant, or source.")] = "baseline",
    b: Annotated[str, typer.Argument(metavar="B", help="Variant to compare with.")] = "pd",
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="HTML page to write.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show where two variants put each unit of the source."""
    from skilljuror.layouts.build.differences import differences
    from skilljuror.report.page import write_differences

    differing = differences(build, a, b)
    if html is not None:
        write_differences(differing, html)
    emit(differing, json, lambda: _print_diff(differing, html))


def _print_diff(found: Any, html: Path | None) -> None:
    def place(where: Any) -> str:
        return "not found" if where is None else f"{where.file}:{where.start}-{where.end}"

    rows = [
        (
            place(passage.source), " › ".join(passage.headings[-2:]),
            place(passage.a), place(passage.b), len(passage.units),
        )
        for passage in found.passages
    ]  # fmt: skip
    table(("source", "under", found.a, found.b, "units"), rows)
    print(
        f"{found.units} units; {found.moved} in differently named files;"
        f" not found: {found.lost_a} in {found.a}, {found.lost_b} in {found.b}"
    )
    if html is not None:
        print(f"page: {html}")


def rubric(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="Build, folder of builds, or study.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", help="Model that rates, named as in litellm.")
    ] = None,
    api_base: ApiBase = None,
    budget: Budget = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--tasks", metavar="STUDY.yaml", help="Study whose tasks to classify instead (RQ4)."
        ),
    ] = None,
    threads: Threads = 16,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Rate variants by the construction rubric, with a model.

    Without --model, list the ratings so far. The rubric asks whether a variant uses progressive
    disclosure and whether its meaning drifted.
    """
    from skilljuror.layouts.build.rubric_audit import (
        RubricSummary,
        client_for,
        items_at,
        judge_builds,
    )

    if model is None:
        if api_base or tasks or budget is not None:
            raise UsageError("--api-base, --budget-usd and --tasks require --model", field="model")
        summary = RubricSummary(tuple(items_at(place)), 0, None)
    else:
        client = client_for(place, model, api_base, budget)
        if tasks is not None:
            _sort_tasks(place, tasks, client, threads, json)
            return
        with progress(json) as listener:
            summary = judge_builds(place, client, threads, listener)
    rows = [_item_row(one) for one in summary.items]
    payload = {
        "judged": summary.judged,
        "unparsed": summary.unparsed,
        "quotes_not_found": summary.quotes_not_found,
        "spent_usd": summary.spent_usd,
        "items": rows,
    }
    emit(payload, json, lambda: _print_items(summary, rows, place))
    raise typer.Exit(_rubric_status(summary))


def _sort_tasks(place: Path, study_file: Path, client: Any, threads: int, json: bool) -> None:
    from skilljuror.base.model_calls import MOST_UNPARSED
    from skilljuror.judge.judging.task_attributes import judge_tasks

    with progress(json) as listener:
        found = judge_tasks(place, study_file, client, threads, listener)
    columns = ("task", "attribute", "value", "reason", "evidence", "file", "line")
    nothing = "nothing to classify: every task declares its attributes"
    emit(found, json, lambda: record_table(found, *columns) if found else print(nothing))
    if sum(one.reason == "unparsed" for one in found) > MOST_UNPARSED * len(found):
        raise typer.Exit(1)


def _item_row(one: Any) -> dict[str, Any]:
    state, verdict = one.state, one.state.verdict
    return {
        "build": one.build,
        "variant": state.variant,
        "item": state.item.id,
        "code": state.code,
        "model": verdict and verdict.answer,
        "answer": state.answer,
        "outcome": state.outcome,
        "why": _item_reason(state),
        "quotes": [] if verdict is None else [quote.model_dump() for quote in verdict.quotes],
    }


def _item_reason(state: Any) -> str:
    if state.verdict is None:
        return "the texts have changed since" if state.stale else ""
    disagree = f"code says {state.code}, the model {state.verdict.answer}: "
    reason = f"{state.verdict.reason}: " if state.verdict.reason else ""
    return f"{disagree if state.disagrees else ''}{reason}{state.verdict.evidence}"


def _print_items(summary: Any, rows: list[dict[str, Any]], place: Path) -> None:
    open_rows = [
        row
        for row in rows
        if row["outcome"] not in ("accepted", "overridden")
        and (row["outcome"] != "unanswered" or row["why"])
    ]
    if open_rows:
        record_table(open_rows, "build", "variant", "item", "code", "model", "outcome", "why")
    counts = {
        name: sum(row["outcome"] == name for row in rows)
        for name in ("accepted", "overridden", "rejected", "unresolved", "unanswered")
    }
    shares = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print(f"{len(rows)} rubric items: {shares or 'none'}")
    if summary.unparsed or summary.quotes_not_found:
        print(
            f"unknown: {summary.unparsed} unusable answers, {summary.quotes_not_found} with a quote that"
            " is not in the text"
        )
    if summary.judged:
        spent = summary.spent_usd
        cost = "at unknown cost" if spent is None else f"for ${spent:.2f}"
        print(f"{summary.judged} rated now, {cost}")
    if counts["unanswered"]:
        print(f"rate with a model: {command_line('rubric', place, '--model', 'openai/gpt-5.4')}")


def _rubric_status(summary: Any) -> int:
    outcomes = {one.state.outcome for one in summary.items}
    if summary.too_many_unparsed or "rejected" in outcomes:
        return 1
    return 3 if outcomes & {"unresolved", "unanswered"} else 0
