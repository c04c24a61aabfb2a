"""Commands about the gates: audit, waive, assay, explain."""

from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from skilljuror.base.errors import BundleError
from skilljuror.cli.options import By, Debug, Gates, Jobs, Json, Reason
from skilljuror.cli.output import command_line, emit, progress, record_table, table, to_plain

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
    details: Annotated[
        bool, typer.Option("--details", help="List every finding with its id.")
    ] = False,
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.text,
    summary: Annotated[
        Path | None,
        typer.Option("--summary", metavar="FILE", help="Also append the result as Markdown."),
    ] = None,
    accepted: Annotated[
        str | None,
        typer.Option(
            "--accepted",
            metavar="REV",
            help="Revision whose accepted findings count; default: SOURCE's.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="ID", help="Accept a finding, or all; repeatable."),
    ] = None,
    reason: Reason = "",
    by: By = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Check whether a changed Skill keeps the knowledge of the original.

    Prints one line per changed section. --accept writes .skilljuror/accepted.yaml, which counts once it is
    in the revision of SOURCE.
    """
    from skilljuror.audit.audit import audit as judge_pair
    from skilljuror.base.skill import missing_root
    from skilljuror.report.audit import FORMATS, as_markdown
    from skilljuror.review.waivers import ACCEPTED, accept_known, read_accepted
    from skilljuror.review.waivers import accept as write_accepted
    from skilljuror.skill.bundles.revision import file_at, load_named, revision_of

    changed = load_named(variant)
    under = _single_folder(changed)  # the name of a single Skill's folder does not matter
    parent = load_named(source, under=under)
    if not parent.skills:
        problem = missing_root(parent.files)
        raise BundleError(f"{source!r} {problem}", file=source, field="source")
    result = judge_pair(
        parent, changed, kind.value if kind else UNCLAIMED, policy.value, gates=gates or ()
    )
    named = revision_of(source)
    revision = accepted or (named[0] if named else None)
    skills = [_in_repository(source), _in_repository(variant)]
    if revision and (text := file_at(revision, ACCEPTED)) is not None:
        known = read_accepted(text, f"{revision}:{ACCEPTED}")
        result = accept_known(result, known, skills)
    if accept:
        file = _top(variant) / ACCEPTED
        rows = write_accepted(result, accept, reason, by, skills[-1], file)
        emit(
            rows, json, lambda: print(f"{file}: accepted {len(rows)}; commit it to the base branch")
        )
        return
    report = _report(source, variant, parent, changed, result, under)._replace(details=details)
    if summary:
        with summary.open("a", encoding="utf-8") as appended:
            appended.write(f"{as_markdown(report)}\n")
    emit(_payload(report), json, lambda: print(FORMATS[form.value](report)))
    raise typer.Exit(STATUS[result.verdict])


def _single_folder(bundle: Any) -> str | None:
    tops = {path.partition("/")[0] for path in bundle.files}
    return tops.pop() if len(tops) == 1 else None


def _report(
    source: str, variant: str, parent: Any, changed: Any, result: Any, under: str | None
) -> Any:
    from skilljuror.audit.audit import moves, reasons
    from skilljuror.audit.audit_sections import section_changes
    from skilljuror.report.audit import AuditReport

    def path_of(side: str, file: str) -> str:
        return _path(source if side == "source" else variant, under, file)

    return AuditReport(
        source, variant, result, reasons(result), section_changes(parent, changed, result),
        moves(parent, changed), path_of,
    )  # fmt: skip


def _payload(report: Any) -> dict[str, Any]:
    """What --json prints: paths start where the audit ran."""
    from skilljuror.report.audit import section_lines, side_of

    fields = (
        "id",
        "rule",
        "severity",
        "source_text",
        "variant_text",
        "inherited",
        "waived",
        "message",
    )
    findings = []
    for one in report.judged.findings:
        row = to_plain(one.model_dump() | {"id": one.id})
        place = {"file": report.path_of(side_of(one), one.file), "line": one.line}
        findings.append({name: row[name] for name in fields} | place)
    return {
        "verdict": report.judged.verdict, "policy": report.judged.policy, "reasons": report.reasons,
        "sections": section_lines(report), "findings": findings,
    }  # fmt: skip


def _path(name: str, under: str | None, file: str) -> str:
    """Path of a file of a bundle from the current folder; its root SKILL.md for ""."""
    folder = PurePosixPath(name if Path(name).exists() else name.partition(":")[2] or name)
    inner = PurePosixPath(file or f"{under or ''}/SKILL.md")
    if under and inner.parts[:1] == (under,) and not Path(folder, under).is_dir():
        inner = inner.relative_to(under)
    return str(folder / inner)


def _top(name: str) -> Path:
    """The top of the repository around a folder, else the current folder."""
    place = Path(name).absolute()
    return next((one for one in (place, *place.parents) if (one / ".git").exists()), Path())


def _in_repository(name: str) -> str:
    """Path of a bundle from the top of its repository; "." for the top."""
    from skilljuror.skill.bundles.revision import revision_of

    named = revision_of(name)
    if named:
        return str(PurePosixPath(named[1] or "."))
    place, top = Path(name).absolute(), _top(name).absolute()
    return place.relative_to(top).as_posix() if place.is_relative_to(top) else place.name


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
    """Accept a finding of a gate, or a leak, with a reason; or list open findings.

    An accepted finding stays listed as waived and no longer counts in the verdict.
    """
    from skilljuror.review.waivers import (
        open_findings,
        verdict_sentences,
        waive_finding,
    )

    if finding is None:
        found = open_findings(place)
        columns = ("build", "variant", "rule", "id", "source text", "variant text", "message")
        rows = [
            (
                build, variant, one.rule, name, one.source_text, one.variant_text,
                f"{one.file}{f':{one.line}' if one.line else ''}: {one.message}",
            )
            for build, variant, one, name in found
        ]  # fmt: skip
        payload = [
            {"build": build, "variant": variant, "id": name, "finding": one}
            for build, variant, one, name in found
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
    from skilljuror.layouts.build.assay import AssaySettings, assay_many

    settings = AssaySettings(policy and policy.value, sites, seed)
    with progress(json) as listener:
        report = assay_many(builds, settings, jobs=jobs, keep=keep, progress=listener)
    if keep:
        from skilljuror.store.study_files import refresh

        for place in builds:
            refresh(place)
    emit(
        report,
        json,
        lambda: _print_assay(report, None if keep else _keep_command(builds, settings)),
    )


def _keep_command(builds: list[Path], settings: Any) -> str:
    """The command that repeats this assay and stores its results."""
    from skilljuror.layouts.build.assay import DEFAULT_SETTINGS

    options = zip(settings._fields, settings, DEFAULT_SETTINGS, strict=True)
    changed = [
        word
        for name, value, default in options
        if value != default
        for word in (f"--{name}", value)
    ]
    return command_line("assay", *builds, *changed, "--keep")


def _print_assay(report: Any, again: str | None) -> None:
    from skilljuror.layouts.build.assay import power_sentence

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
    print(
        "flagged = verdict other than pass; equivalent mutants are excluded; from, to: Wilson's 95 % interval"
    )
    print("of this text alone, as if all places were independent; it says nothing of other sources")
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
    from skilljuror.audit.gates.rules import RULES, explain

    if rule is not None:
        text = explain(rule)
        emit({"rule": rule, "text": text}, json, lambda: print(text))
        return
    rules = [
        {"rule": name, "severity": entry.severity, "what": entry.what}
        for name, entry in sorted(RULES.items())
    ]
    emit(rules, json, lambda: record_table(rules, "rule", "severity", "what: finding"))
