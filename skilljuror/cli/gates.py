"""Commands about the gates: audit, waive, assay, explain."""

from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from skilljuror.cli.options import By, Debug, Gates, Jobs, Json, Reason
from skilljuror.cli.output import command_line, emit, progress, record_table, table, to_plain
from skilljuror.errors import BundleError

UNCLAIMED = "unclaimed"
"""Kind of a variant that claims no layout: it only has to keep what its source has."""
STATUS = {"pass": 0, "fail": 1, "review": 3}


class Kind(StrEnum):
    """Layouts that `audit` judges."""

    baseline = "baseline"
    flat_files = "flat-files"
    pd = "pd"


class Form(StrEnum):
    """Output formats of `audit`."""

    text = "text"
    markdown = "markdown"
    github = "github"
    sarif = "sarif"


class Policy(StrEnum):
    """Severity policies."""

    strict = "strict"
    edited = "edited"


def audit(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Original: folder, zip or REV:PATH in git.")
    ],
    variant: Annotated[
        str, typer.Argument(metavar="VARIANT", help="Changed version: folder, zip or REV:PATH.")
    ],
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="Layout the variant claims; default: none.")
    ] = None,
    policy: Annotated[Policy, typer.Option("--policy", help="Severity policy.")] = Policy.edited,
    gates: Gates = None,
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.text,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Check whether a changed Skill keeps the knowledge of the original."""
    from skilljuror.build.audit import audit as judge_pair
    from skilljuror.build.audit import moves, reasons
    from skilljuror.bundles.revision import load_named
    from skilljuror.models.resource_class import missing_root
    from skilljuror.reports.audit import FORMATS, AuditReport

    parent = load_named(source)
    if not parent.skills:
        raise BundleError(
            f"{source!r} {missing_root(parent.files)}",
            file=source,
            field="source",
        )
    tops = {path.partition("/")[0] for path in parent.files}
    under = (
        tops.pop() if len(tops) == 1 else None
    )  # the name of a single Skill's folder does not matter
    changed = load_named(variant, under=under)
    claimed = kind.value if kind else UNCLAIMED
    result = judge_pair(parent, changed, claimed, policy.value, gates=gates or ())
    moved = moves(parent, changed) if form is Form.markdown else ()
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
    """Path of a file of the variant from the current folder; its root SKILL.md for ""."""
    folder = PurePosixPath(variant.partition(":")[2] or variant)
    inner = PurePosixPath(file or f"{under or ''}/SKILL.md")
    if under and inner.parts[:1] == (under,) and not Path(folder, under).is_dir():
        inner = inner.relative_to(under)
    return str(folder / inner)


def waive(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Build or study folder.")],
    finding: Annotated[
        str | None,
        typer.Argument(metavar="FINDING", help="Finding id; default: list open findings."),
    ] = None,
    reason: Reason = "",
    by: By = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Accept a gate's finding with a reason, or list open findings.

    An accepted finding stays listed as waived and no longer counts in the verdict.
    """
    from skilljuror.build.waivers import (
        open_findings,
        verdict_sentences,
        waive_finding,
    )

    if finding is None:
        found = open_findings(place)
        columns = ("build", "variant", "rule", "id", "source text", "variant text", "message")
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
        nothing = "no open findings"
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
    builds: Annotated[list[Path], typer.Argument(metavar="DIR", help="Build or study folders.")],
    sites: Annotated[
        int, typer.Option("--sites", min=1, help="Places per mutation and variant.")
    ] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for the places.")] = 0,
    policy: Annotated[
        Policy | None, typer.Option("--policy", help="Severity policy; default: the build's.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Store results in build.json, for reports.")
    ] = False,
    jobs: Jobs = 1,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure how many planted errors the gates catch.

    Plants drift, which the gates must catch, and harmless edits, which they must not, in accepted
    variants.
    """
    from skilljuror.build.assay import AssaySettings, assay_many

    settings = AssaySettings(policy and policy.value, sites, seed)
    with progress(json) as listener:
        report = assay_many(builds, settings, jobs=jobs, keep=keep, progress=listener)
    emit(
        report,
        json,
        lambda: _print_assay(report, None if keep else _keep_command(builds, settings)),
    )


def _keep_command(builds: list[Path], settings: Any) -> str:
    """The command that repeats this assay and stores its results."""
    from skilljuror.build.assay import DEFAULT_SETTINGS

    options = zip(settings._fields, settings, DEFAULT_SETTINGS, strict=True)
    changed = [
        word
        for name, value, default in options
        if value != default
        for word in (f"--{name}", value)
    ]
    return command_line("assay", *builds, *changed, "--keep")


def _print_assay(report: Any, again: str | None) -> None:
    from skilljuror.build.assay import power_sentence

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
    print("flagged = verdict other than pass; equivalent mutants are excluded; 95 % intervals")
    print(power_sentence(report))
    if again is None:
        print("stored in build.json and, if present, in the database")
    else:
        print(f"store it for a report: {again}")


def explain(
    rule: Annotated[
        str | None, typer.Argument(metavar="RULE", help="Rule name; default: all rules.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Explain a gate's rule and how to fix its findings."""
    from skilljuror.gates.rules import RULES, explain

    if rule is not None:
        text = explain(rule)
        emit({"rule": rule, "text": text}, json, lambda: print(text))
        return
    rules = [
        {"rule": name, "severity": entry.severity, "what": entry.what}
        for name, entry in sorted(RULES.items())
    ]
    emit(rules, json, lambda: record_table(rules, "rule", "severity", "what: finding"))
