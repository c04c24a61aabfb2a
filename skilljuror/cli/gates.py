"""Commands that judge and prove variants and weigh the gates: audit, waive, verify, diff, assay,
explain."""

from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Gates, Jobs, Json
from skilljuror.cli.output import command_line, emit, progress, table, to_plain
from skilljuror.errors import BundleError

UNCLAIMED = "unclaimed"
"""The layout of a bundle that claims none: nothing is asked of it but what its source had."""
STATUS = {"pass": 0, "fail": 1, "review": 3}


class Kind(StrEnum):
    """Layouts that `audit` judges."""

    baseline = "baseline"
    pd = "pd"


class Form(StrEnum):
    """Forms in which `audit` tells what it found."""

    text = "text"
    markdown = "markdown"
    github = "github"
    sarif = "sarif"


class Policy(StrEnum):
    """Named policies."""

    strict = "strict"
    edited = "edited"


def verify(
    build: Annotated[Path, typer.Argument(metavar="DIR", help="A build.")],
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="PATH", help="The true source: folder, zip or REV:PATH."),
    ] = None,
    signers: Annotated[
        Path | None,
        typer.Option("--allowed-signers", metavar="FILE", help="Who may have signed the build."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", metavar="KEY", help="Sign build.json, with an SSH key, if it holds."
        ),
    ] = None,
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", metavar="NAME", help="Code it names that may run: module:Class."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make a build again from its source, compare all of it, and prove the files on disk."""
    from skilljuror.pipeline.construction.verification import Grounds, sign_build, verify_build

    proof = verify_build(build, Grounds(source, signers, tuple(plugins or ())))
    signature = sign_build(build, sign) if sign and not proof.problems else None
    payload = {"proved": proof.proved, **to_plain(proof), "signature": to_plain(signature)}
    emit(payload, json, lambda: _print_proof(build, proof, signature))
    raise typer.Exit(1 if proof.problems else 3 if proof.unproved else 0)


def _print_proof(build: Path, proof: Any, signature: Path | None) -> None:
    for line in (*proof.problems, *proof.unproved):
        print(f"  {line}")
    if proof.problems:
        count = len(proof.problems)
        print(f"{build}: {count} problem{'s' if count > 1 else ''}")
        return
    told = "the rest is proved" if proof.unproved else "proved again"
    print(f"{build}: {told}; {'; '.join(proof.grounds)}")
    if signature:
        print(f"signed: {signature}")


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
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="What it was: a folder, a zip, or REV:PATH of git."),
    ],
    variant: Annotated[str, typer.Argument(metavar="VARIANT", help="What it is now, named alike.")],
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="Layout that the variant claims; default: none.")
    ] = None,
    policy: Annotated[Policy, typer.Option("--policy", help="How strict.")] = Policy.edited,
    gates: Gates = None,
    form: Annotated[
        Form, typer.Option("--format", help="For people, a comment, annotations, code scanning.")
    ] = Form.text,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Judge whether a bundle keeps the knowledge of another, and has the layout it claims."""
    from skilljuror.bundles.revision import load_named
    from skilljuror.models.resource_class import missing_root
    from skilljuror.pipeline.construction.audit import audit as judge_pair
    from skilljuror.pipeline.construction.audit import moves, reasons
    from skilljuror.reports.audit import FORMATS, AuditReport

    parent = load_named(source)
    if not parent.skills:
        raise BundleError(
            f"{source!r} {missing_root(parent.files)}",
            file=source,
            field="source",
        )
    tops = {path.partition("/")[0] for path in parent.files}
    under = tops.pop() if len(tops) == 1 else None  # what one skill's folder is called says nothing
    judged = load_named(variant, under=under)
    claimed = kind.value if kind else UNCLAIMED
    result = judge_pair(parent, judged, claimed, policy.value, gates=gates or ())
    moved = moves(parent, judged) if form is Form.markdown else ()
    place = partial(_path, variant, under)
    report = AuditReport(source, variant, result, reasons(result), moved, place)
    fields = ("id", "rule", "severity", "file", "line", "source_text", "variant_text", "inherited")
    findings = [
        {name: row[name] for name in (*fields, "message")}
        for row in to_plain([one.model_dump() | {"id": one.id} for one in result.findings])
    ]
    payload = {
        "verdict": result.verdict, "policy": policy.value, "reasons": report.reasons,
        "findings": findings,
    }  # fmt: skip
    emit(payload, json, lambda: print(FORMATS[form.value](report)))
    raise typer.Exit(STATUS[result.verdict])


def _path(variant: str, under: str | None, file: str) -> str:
    """A file of the variant, from here; its root where none is named."""
    folder = PurePosixPath(variant.partition(":")[2] or variant)
    inner = PurePosixPath(file or f"{under or ''}/SKILL.md")
    if under and inner.parts[:1] == (under,) and not Path(folder, under).is_dir():
        inner = inner.relative_to(under)
    return str(folder / inner)


def waive(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="A build, or a study.")],
    finding: Annotated[
        str | None,
        typer.Argument(metavar="[FINDING]", help="Its id; without it: the findings that count."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why it may stand.")] = "",
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who says so; default: you.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Accept a finding of the gates with a reason: it stands, is told as waived, decides nothing."""
    from skilljuror.pipeline.construction.waivers import (
        open_findings,
        verdict_sentences,
        waive_finding,
    )

    if finding is None:
        found = open_findings(place)
        columns = ("build", "variant", "rule", "id", "source", "variant's", "told")
        rows = [
            (
                build, variant, one.rule, one.id, one.source_text, one.variant_text,
                f"{one.file}{f':{one.line}' if one.line else ''}: {one.message}",
            )
            for build, variant, one in found
        ]  # fmt: skip
        payload = [
            {"build": build, "variant": variant, "id": one.id, "finding": one}
            for build, variant, one in found
        ]
        nothing = "nothing is to be waived: no finding counts in a verdict"
        emit(payload, json, lambda: table(columns, rows) if rows else print(nothing))
        return
    waivers = waive_finding(place, finding, reason, by)

    def human() -> None:
        for waiver in waivers:
            print(f"{waiver.build}: {waiver.finding} waived by {waiver.by}: {waiver.reason}")
        for sentence in verdict_sentences(place):
            print(sentence)

    emit(waivers, json, human)


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
