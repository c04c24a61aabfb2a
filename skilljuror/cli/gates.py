"""Commands that judge and prove variants and weigh the gates: audit, verify, diff, assay, explain."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Gates, Jobs, Json
from skilljuror.cli.output import command_line, emit, progress, table, to_plain
from skilljuror.errors import BundleError

STATUS = {"pass": 0, "fail": 1, "review": 3}


class Kind(StrEnum):
    """Layouts that `audit` judges."""

    baseline = "baseline"
    pd = "pd"


class Policy(StrEnum):
    """Named policies."""

    strict = "strict"
    llm = "llm"


def verify(
    build: Annotated[Path, typer.Argument(metavar="DIR", help="A build.")],
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Prove a build again from the files on disk: nothing lost, nothing made up."""
    from skilljuror.pipeline.construction.build import unproved_variants, verify_build

    problems, written = verify_build(build), unproved_variants(build)

    def human() -> None:
        for problem in problems:
            print(f"  {problem}")
        print(f"{build}: " + (f"{len(problems)} problems" if problems else "proved again"))
        if written:
            print(f"not proved, for a model wrote them: {', '.join(written)}; see their gates")

    proved = not problems and not written
    emit({"proved": proved, "problems": list(problems), "unproved": list(written)}, json, human)
    if problems:
        raise typer.Exit(1)


def diff(
    build: Annotated[Path, typer.Argument(metavar="DIR", help="A build.")],
    a: Annotated[str, typer.Argument(metavar="A", help="A variant, or source.")] = "baseline",
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")] = "pd",
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page, too.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show where every unit of the source went in two variants."""
    from skilljuror.pipeline.construction.differences import differences
    from skilljuror.reports.page import write_differences

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
        f"{found.units} units; {found.moved} stand in differently named files;"
        f" not found: {found.lost_a} in {found.a}, {found.lost_b} in {found.b}"
    )
    if html is not None:
        print(f"page: {html}")


def audit(
    source: Annotated[Path, typer.Option("--source", help="The source, or the parent variant.")],
    variant: Annotated[Path, typer.Option("--variant", help="The bundle to judge.")],
    kind: Annotated[Kind, typer.Option("--kind", help="Layout the variant claims.")],
    policy: Annotated[Policy, typer.Option("--policy", help="How strict.")] = Policy.strict,
    gates: Gates = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Judge whether a bundle keeps the knowledge of another and has the layout it claims."""
    from skilljuror.bundles import load_bundle
    from skilljuror.models.resource_class import missing_root
    from skilljuror.pipeline.construction.audit import audit as judge_pair

    parent = load_bundle(source)
    if not parent.skills:
        raise BundleError(
            f"--source {str(source)!r} {missing_root(parent.files)}",
            file=str(source),
            field="source",
        )
    tops = {path.partition("/")[0] for path in parent.files}
    under = tops.pop() if len(tops) == 1 else None  # what one skill's folder is called says nothing
    judged = load_bundle(variant, under=under)
    result = judge_pair(parent, judged, kind.value, policy.value, gates=gates or ())
    fields = ("rule", "severity", "file", "line", "source_text", "variant_text", "inherited")
    findings = [
        {name: row[name] for name in (*fields, "message")}
        for row in to_plain(list(result.findings))
    ]
    payload = {"verdict": result.verdict, "findings": findings}
    emit(payload, json, lambda: _print_audit(result.verdict, findings))
    raise typer.Exit(STATUS[result.verdict])


def _print_audit(verdict: str, findings: list[dict[str, Any]]) -> None:
    own = [row for row in findings if not row["inherited"]]
    if own:
        rows = [
            (
                row["severity"], row["rule"], f"{row['file']}:{row['line'] or ''}".rstrip(":"),
                row["message"] or row["variant_text"] or row["source_text"],
            )
            for row in own
        ]  # fmt: skip
        table(("severity", "rule", "where", "what"), rows)
    inherited = len(findings) - len(own)
    print(f"verdict: {verdict} ({len(own)} findings, {inherited} more inherited from the source)")


def assay(
    builds: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Builds or studies.")],
    sites: Annotated[
        int, typer.Option("--sites", min=1, help="Places per mutation and variant.")
    ] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the choice of places.")] = 0,
    policy: Annotated[
        Policy | None,
        typer.Option("--policy", help="How strict; default: as the variants were judged."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Put the counts into build.json, for reports.")
    ] = False,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Plant drift and harmless edits into accepted variants: how many would the gates catch?"""
    from skilljuror.pipeline.construction.assay import AssaySettings, assay_many

    settings = AssaySettings(policy and policy.value, sites, seed)
    with progress(json) as listener:
        report = assay_many(builds, settings, jobs=jobs, keep=keep, progress=listener)
    emit(
        report,
        json,
        lambda: _print_assay(report, None if keep else _command_that_keeps(builds, settings)),
    )


def _command_that_keeps(builds: list[Path], settings: Any) -> str:
    """The same assay, kept."""
    from skilljuror.pipeline.construction.assay import DEFAULT_SETTINGS

    options = zip(settings._fields, settings, DEFAULT_SETTINGS, strict=True)
    given = [
        word for name, value, usual in options if value != usual for word in (f"--{name}", value)
    ]
    return command_line("assay", *builds, *given, "--keep")


def _print_assay(report: Any, again: str | None) -> None:
    from skilljuror.pipeline.construction.assay import power_sentence

    rows = [
        (
            "drift" if row.drift else "harmless", row.mutation, row.mutants, row.equivalent,
            row.flagged, row.failed, row.rate, row.low, row.high,
        )
        for row in report.rows
    ]  # fmt: skip
    columns = (
        "kind", "mutation", "planted", "equivalent", "flagged", "failed", "rate", "from", "to",
    )  # fmt: skip
    table(columns, rows, title=f"{report.name}, policy {report.policy}, seed {report.seed}")
    print("flagged = a verdict other than pass; equivalent mutants are left out; 95 % intervals")
    print(power_sentence(report))
    if again is None:
        print("kept in build.json, and in the database where there is one")
    else:
        print(f"keep it for a report: {again}")


def explain(
    rule: Annotated[
        str | None, typer.Argument(metavar="RULE", help="Without it: every rule.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """What a gate's rule means, why it matters, and how to mend a finding."""
    from skilljuror.gates.rules import RULES, explain

    if rule is not None:
        text = explain(rule)
        emit({"rule": rule, "text": text}, json, lambda: print(text))
        return
    rows = [(name, entry.severity, entry.what) for name, entry in sorted(RULES.items())]
    payload = [{"rule": name, "severity": severity, "what": what} for name, severity, what in rows]
    emit(payload, json, lambda: table(("rule", "severity", "found"), rows))
