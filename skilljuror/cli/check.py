"""`skilljuror audit`: gates on any pair of bundles."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import emit, plain, table
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


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("audit")(audit)


def audit(
    source: Annotated[Path, typer.Option("--source", help="The source, or the parent variant.")],
    variant: Annotated[Path, typer.Option("--variant", help="The bundle to judge.")],
    kind: Annotated[Kind, typer.Option("--kind", help="Layout the variant claims.")],
    policy: Annotated[Policy, typer.Option("--policy", help="How strict.")] = Policy.strict,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Judge whether a bundle keeps the knowledge of another and has the layout it claims."""
    from skilljuror.bundles import load_bundle
    from skilljuror.pipeline.construction.audit import audit as judge_pair

    parent = load_bundle(source)
    if not parent.skills:
        raise BundleError(
            f"--source {str(source)!r} has no SKILL.md in any folder; point at a skill's folder, or"
            " at a folder of skills",
            file=str(source),
            field="source",
        )
    tops = {path.partition("/")[0] for path in parent.files}
    under = tops.pop() if len(tops) == 1 else None  # what one skill's folder is called says nothing
    judged = load_bundle(variant, under=under)
    result = judge_pair(parent, judged, kind.value, policy.value)
    fields = ("rule", "severity", "file", "line", "source_text", "variant_text", "inherited")
    findings = [
        {name: row[name] for name in (*fields, "message")} for row in plain(list(result.findings))
    ]
    payload = {"verdict": result.verdict, "findings": findings}
    emit(payload, json, lambda: _tell(result.verdict, findings))
    raise typer.Exit(STATUS[result.verdict])


def _tell(verdict: str, findings: list[dict[str, Any]]) -> None:
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
