"""`skilljuror build`: variants and audit record of source bundles."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Jobs, Json
from skilljuror.cli.output import emit, progress, table
from skilljuror.errors import SkilljurorError


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("build")(build)


def build(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="A skill, a folder of skills, or a .skill/zip."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the build goes.")],
    variants: Annotated[
        str, typer.Option("--variants", help="Which layouts, by comma.")
    ] = "origin,origin-flat,baseline,pd",
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make knowledge-matched layout variants of a Skill, with proof that only layout differs."""
    from skilljuror.pipeline.build import build_many, build_source
    from skilljuror.pipeline.progress import Progress

    names = tuple(name.strip() for name in variants.split(",") if name.strip())
    results: list[tuple[str, Any]] = []
    if len(sources) == 1:
        record = build_source(sources[0], out, variants=names)
        results.append((record.name, record))
    else:
        with progress(json) as listener:
            for done in build_many(sources, out, jobs, variants=names):
                results.append(done)
                listener(Progress("build", len(results), len(sources), done[0]))
    payload = [
        {"source": name, "error": result.message}
        if isinstance(result, SkilljurorError)
        else {"source": name, "record": result}
        for name, result in results
    ]
    emit(payload if len(sources) > 1 else payload[0], json, lambda: _tell(results, out))
    raise typer.Exit(_status(results))


def _tell(results: list[tuple[str, Any]], out: Path) -> None:
    rows: list[tuple[Any, ...]] = []
    for name, result in results:
        if isinstance(result, SkilljurorError):
            rows.append((name, "error", None, None, None, None, result.message))
            continue
        rows += [
            (
                name, item.variant, item.verdict or "–", len(item.files), item.root_lines,
                item.tokens, item.feasibility or "",
            )
            for item in result.variants
        ]  # fmt: skip
    columns = ("source", "variant", "gates", "files", "root lines", "tokens", "note")
    table(columns, rows)
    built = [result for _, result in results if not isinstance(result, SkilljurorError)]
    if built:
        print(f"tokens by {built[0].tokenizer}")
        print(f"written to {out}; proof and plans in build.json, units in knowledge.jsonl")


def _status(results: list[tuple[str, Any]]) -> int:
    if any(isinstance(result, SkilljurorError) for _, result in results):
        return 2
    verdicts = {item.verdict for _, result in results for item in result.variants}
    return 1 if "fail" in verdicts else 3 if "review" in verdicts else 0
