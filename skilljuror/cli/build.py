"""`skilljuror build`: variants and audit record of source bundles."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Gates, Jobs, Json
from skilljuror.cli.output import command_line, emit, progress, table
from skilljuror.errors import SkilljurorError, UsageError

MAX_ISSUES = 8
"""Issues of sources that are printed; the record has them all."""


def build(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="A skill, a folder of skills, or a .skill/zip."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the build goes.")],
    variants: Annotated[
        str, typer.Option("--variants", help="Which layouts, by comma.")
    ] = "origin,origin-flat,baseline,pd",
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="plan; assign (a model picks places), rewrite (a model writes)."
        ),
    ] = "plan",
    model: Annotated[
        str | None, typer.Option("--model", help="For assign and rewrite, as litellm names it.")
    ] = None,
    api_base: Annotated[
        str | None, typer.Option("--api-base", metavar="URL", help="Server that has the model.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            metavar="N",
            min=1,
            help="For rewrite: texts that a model may write until one passes the gates. Default 3.",
        ),
    ] = None,
    via: Annotated[
        str | None,
        typer.Option(
            "--via",
            metavar="AGENT",
            help="For rewrite: an agent that writes in a sandbox, such as codex.",
        ),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            "--rubric",
            metavar="MODEL",
            help="For rewrite: a model that answers the rubric's items about what passes the gates.",
        ),
    ] = None,
    gates: Gates = None,
    assay: Annotated[
        bool, typer.Option("--assay", help="Measure what the gates would have caught, too.")
    ] = False,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make knowledge-matched layout variants of a Skill, with proof that only layout differs."""
    from skilljuror.pipeline.construction.model_build import Rewriting, model_engine
    from skilljuror.pipeline.workers import Progress

    names = tuple(name.strip() for name in variants.split(",") if name.strip())
    if not names:
        raise UsageError(
            "--variants names none; leave it out, or name some by comma", field="variants"
        )
    chosen = {"variants": names, "gates": gates or ()}
    calls = out.parent / f"{out.name}.calls.jsonl"
    chosen_engine = model_engine(engine, model, calls, api_base, Rewriting(rounds, via, rubric))
    results: list[tuple[str, Any]] = []
    with progress(json) as listener:
        for done in _build_each(sources, out, jobs, chosen_engine, chosen):
            results.append(done)
            if len(sources) > 1:
                listener(Progress("build", len(results), len(sources), done[0]))
    if assay:
        results = _assay(results, out, len(sources) > 1, jobs)
    judged = _reviewed(results, out, len(sources) > 1)
    results = [(name, judged[name].record if name in judged else one) for name, one in results]
    built = [name for name, result in results if not isinstance(result, SkilljurorError)]
    if len(sources) > 1 and built:
        from skilljuror.pipeline.construction.stored_builds import store_builds

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
        lambda: _print_builds(results, out, judged),
    )
    raise typer.Exit(_status(results))


def _reviewed(results: list[tuple[str, Any]], out: Path, many: bool) -> dict[str, Any]:
    """Name -> the build as people judge it, too, for what was decided of an earlier one."""
    from skilljuror.pipeline.construction.reviews import reviewed

    return {
        name: reviewed(out / name if many else out)
        for name, result in results
        if not isinstance(result, SkilljurorError)
    }


def _assay(
    results: list[tuple[str, Any]], out: Path, many: bool, jobs: int
) -> list[tuple[str, Any]]:
    from skilljuror.pipeline.construction.assay import keep_assays

    folders = {
        name: out / name if many else out
        for name, result in results
        if not isinstance(result, SkilljurorError)
    }
    kept = keep_assays(dict.fromkeys(folders.values()), jobs=jobs)
    return [(name, kept[folders[name]] if name in folders else result) for name, result in results]


def _build_each(
    sources: list[Path], out: Path, jobs: int, engine: Any, chosen: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """(name, record or error) of each source; one alone goes into `out` itself, and may raise."""
    from skilljuror.pipeline.construction.build import build_many, build_named, build_source
    from skilljuror.pipeline.construction.model_build import build_with_model

    alone = len(sources) == 1
    build: Callable[[Path, Path], Any] = partial(build_source if alone else build_named, **chosen)
    if engine:
        build, jobs = partial(build_with_model, engine=engine, **chosen), 1
    if alone:
        record = build(sources[0], out)
        yield record.name, record
    else:
        yield from build_many(sources, out, build, jobs)


def _print_builds(results: list[tuple[str, Any]], out: Path, judged: dict[str, Any]) -> None:
    rows: list[tuple[Any, ...]] = []
    for name, result in results:
        if isinstance(result, SkilljurorError):
            rows.append((name, "error", None, None, None, None, result.message))
            continue
        notes = judged[name].review_notes
        rows += [
            (
                name, item.variant, _verdict(item, notes), len(item.files), item.root_lines,
                item.tokens, _note(item),
            )
            for item in result.variants
        ]  # fmt: skip
    columns = ("source", "variant", "gates", "files", "root lines", "tokens", "note")
    table(columns, rows)
    built = [result for _, result in results if not isinstance(result, SkilljurorError)]
    if len(results) > 1:
        print(f"{len(built)} of {len(results)} sources built")
    if built:
        _print_troubles(built, out)
        for note in (note for one in judged.values() for note in one.stale_notes):
            print(note)
        print(f"tokens by {built[0].tokenizer}")
        _print_power(built)
        print(f"written to {out}; proof and plans in build.json, units in knowledge.jsonl")
        if len(results) > 1:
            print(f"rows for RQ1 in {out}/study.duckdb: {command_line('query', out, 'builds')}")
        if built[0].engine != "plan":
            print(f"made with {built[0].options['model']}; its answers in {out.name}.calls.jsonl")


def _verdict(item: Any, notes: dict[str, str]) -> str:
    note = notes.get(item.variant)
    return (item.verdict or "–") + (f" with {note}" if note else "")


def _note(item: Any) -> str:
    """What a study should know of a variant before it uses it."""
    if item.pd_worth:
        return f"pd_worth: {item.pd_worth}"
    return item.feasibility or ("control" if item.expected_findings else "")


def _print_troubles(records: list[Any], out: Path) -> None:
    """What is wrong with the sources, and where to read why a variant did not pass."""
    issues = [
        f"source: {issue['file']}:{issue['line'] or ''}".rstrip(":") + f": {issue['message']}"
        for record in records
        for issue in record.issues
        if issue["severity"] != "info"
    ]
    for line in issues[:MAX_ISSUES]:
        print(line)
    if len(issues) > MAX_ISSUES:
        print(f"source: {len(issues) - MAX_ISSUES} more like these in build.json")
    if any(item.verdict not in {"pass", None} for record in records for item in record.variants):
        print(
            f"why a variant did not pass, and the ids to accept it by: {command_line('waive', out)};"
            f" explain a rule: {command_line('explain')}"
        )
    if any(item.verdict == "review" for record in records for item in record.variants):
        print(f"what a person must decide: {command_line('review', out, '--list')}")


def _print_power(records: list[Any]) -> None:
    from skilljuror.models.gate import AssayReport
    from skilljuror.pipeline.construction.assay import power_sentence

    for record in records:
        if record.assay is not None:
            print(f"{record.name}: {power_sentence(AssayReport.model_validate(record.assay))}")


def _status(results: list[tuple[str, Any]]) -> int:
    if any(isinstance(result, SkilljurorError) for _, result in results):
        return 2
    verdicts = {item.verdict for _, result in results for item in result.variants}
    return 1 if "fail" in verdicts else 3 if "review" in verdicts else 0
