"""What an audit found, for people and for the tools that review changes: plain text, Markdown for
a comment, annotations of GitHub, SARIF."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from skilljuror.models.gate import AuditResult, Finding, FindingSeverity

Side = Literal["source", "variant"]
MAX_SHOWN = 60
"""Findings that a comment shows in full; it says how many more there are."""
_LEVELS: dict[FindingSeverity, tuple[str, str]] = {
    "high": ("error", "error"),
    "medium": ("warning", "warning"),
    "low": ("notice", "note"),
    "info": ("notice", "note"),
}
"""Severity -> level of a GitHub annotation, level of SARIF."""
_LINES = (
    "knowledge.missing",
    "knowledge.critical-missing",
    "knowledge.added",
    "knowledge.critical-added",
)
_WHOLE = {
    "knowledge.file-lost": _LINES[:2],
    "knowledge.file-added": _LINES[2:],
}
"""Rule about a whole file -> rules about its lines that it explains."""
MAX_LINES = 12
"""Lines in a row that are shown of a finding."""
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


class AuditReport(NamedTuple):
    """An audit with all that is told of it."""

    source: str
    """What the source was called."""
    variant: str
    """What the variant was called."""
    judged: AuditResult
    """The answer of the gates."""
    reasons: tuple[str, ...]
    """Rules that decided the verdict."""
    moves: tuple[tuple[str, str, str, int], ...]
    """(file, section, new file, units) of what stands in another file now."""
    path_of: Callable[[str], str]
    """File of the variant -> its path from where the audit ran."""

    @property
    def verdict_line(self) -> str:
        """The verdict, what decided it, and how much was found."""
        own = len(self.judged.own)
        inherited = len(self.judged.findings) - own
        because = f": {', '.join(self.reasons)}" if self.reasons else ""
        return (
            f"verdict: {self.judged.verdict}{because} (policy {self.judged.policy}; {own} findings,"
            f" {inherited} more inherited from the source)"
        )


class FoldedFinding(NamedTuple):
    """Findings that are one to a reader: a file that was replaced with its lines, or lines in a row."""

    findings: tuple[Finding, ...]
    """The first is told; the others are part of it."""

    @property
    def finding(self) -> Finding:
        """The one that is told."""
        return self.findings[0]

    @property
    def where(self) -> str:
        """Side, file and line."""
        line = f":{self.finding.line}" if self.finding.line else ""
        return f"{side_of(self.finding)}: {self.finding.file}{line}"

    @property
    def what(self) -> str:
        """What was found, in a sentence."""
        count = len(self.findings) - 1
        more = (
            f" (with {count} more finding{'s' if count > 1 else ''} of its lines)" if count else ""
        )
        return self.finding.message + more

    @property
    def texts(self) -> list[tuple[str, str]]:
        """(− or +, line), both texts; of lines in a row the first few."""
        told = [self.finding] if self.finding.rule in _WHOLE else self.findings[:MAX_LINES]
        shown = [
            (sign, line)
            for one in told
            for sign, text in (("−", one.source_text), ("+", one.variant_text))
            for line in (text or "").splitlines()
        ]
        return (
            shown
            if told == [self.finding] or len(self.findings) <= MAX_LINES
            else [*shown, ("", "…")]
        )


def side_of(finding: Finding) -> Side:
    """The bundle in which the file and line of a finding lie: what is missing has none in the variant."""
    lost = finding.source_text is not None and finding.variant_text is None
    return "source" if lost else "variant"


def folded(findings: Iterable[Finding]) -> list[FoldedFinding]:
    """Findings, worst first; those that a finding of a whole file explains are part of it, and so are
    lines that were lost or added in a row."""
    given = list(findings)
    whole = {(one.file, rule): one for one in given for rule in _WHOLE.get(one.rule, ())}
    groups: dict[int, list[Finding]] = {id(one): [one] for one in given}
    last: dict[tuple[str, str], list[Finding]] = {}
    for one in sorted((one for one in given if one.line), key=lambda one: one.line or 0):
        above = whole.get((one.file, one.rule))
        row = groups[id(above)] if above else last.get((one.file, one.rule))
        if row and (above or (one.rule in _LINES and _next(row[-1], one))):
            row += groups.pop(id(one))
        else:
            last[one.file, one.rule] = groups[id(one)]
    return [FoldedFinding(tuple(group)) for group in groups.values()]


def _next(before: Finding, after: Finding) -> bool:
    return (after.line or 0) - (before.line or 0) <= 1


def as_text(report: AuditReport) -> str:
    """Every finding with both texts, then the verdict."""
    blocks = []
    for one in folded(report.judged.own):
        found = one.finding
        blocks.append(f"{found.severity:<7} {found.rule}  {one.where}")
        blocks.append(f"        {one.what}")
        blocks += [f"        {sign} {text}" for sign, text in one.texts]
        blocks.append(f"        id {found.id}")
    return "\n".join([*blocks, report.verdict_line])


def as_markdown(report: AuditReport) -> str:
    """A comment for a review: verdict, what changed meaning, what moved where."""
    judged = report.judged
    lines = [
        f"### {_escaped(report.variant)}: {judged.verdict}",
        "",
        f"Compared with {_escaped(report.source)}. {_sentence(report)}",
    ]
    found = folded(judged.own)
    for one in found[:MAX_SHOWN]:
        lines += ["", f"**{one.finding.rule}** ({one.finding.severity}) · `{one.where}`", ""]
        lines += [_escaped(one.what), "", *_fence(one)]
    if len(found) > MAX_SHOWN:
        lines += ["", f"{len(found) - MAX_SHOWN} more findings are not shown."]
    if report.moves:
        lines += ["", "<details><summary>What moved where</summary>", ""]
        lines += ["| from | section | to | units |", "|---|---|---|---:|"]
        lines += [
            f"| `{source}` | {_cell(section)} | `{target}` | {units} |"
            for source, section, target, units in report.moves
        ]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _sentence(report: AuditReport) -> str:
    count = len(report.judged.own)
    if not count:
        return "Nothing that it says was lost, added or changed in meaning."
    decided = f" What decided: {', '.join(report.reasons)}." if report.reasons else ""
    return f"{count} finding{'' if count == 1 else 's'} under policy `{report.judged.policy}`.{decided}"


def _fence(one: FoldedFinding) -> list[str]:
    shown = [f"{'-' if sign == '−' else sign or ' '} {text}" for sign, text in one.texts]
    longest = max((len(run) for line in shown for run in _ticks(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *shown, fence] if shown else []


def _ticks(line: str) -> list[str]:
    return "".join(c if c == "`" else " " for c in line).split()


def _escaped(text: str) -> str:
    """Text of a Skill is shown, never obeyed: no markup, no mention of a person."""
    marked = "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
    return marked.replace("@", "@\u200b")


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split()))


def as_github(report: AuditReport) -> str:
    """One workflow command a finding: GitHub shows it at file and line of the change."""
    lines = []
    for one in folded(report.judged.own):
        found = one.finding
        at = f"file={_property(report.path_of(found.file))}"
        if side_of(found) == "source":
            at = f"file={_property(report.path_of(''))}"
        elif found.line:
            at += f",line={found.line}"
        texts = "".join(f"\n{sign} {text}" for sign, text in one.texts)
        level, _ = _LEVELS[found.severity]
        lines.append(f"::{level} {at},title={_property(found.rule)}::{_message(one.what + texts)}")
    return "\n".join([*lines, report.verdict_line])


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(report: AuditReport) -> str:
    """SARIF 2.1.0, for code scanning."""
    found = folded(report.judged.own)
    rules = sorted({one.finding.rule for one in found})
    driver = {"name": "skilljuror", "rules": [{"id": rule} for rule in rules]}
    run = {"tool": {"driver": driver}, "results": [_sarif_result(report, one) for one in found]}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def _sarif_result(report: AuditReport, one: FoldedFinding) -> dict[str, Any]:
    found = one.finding
    lost = side_of(found) == "source"
    place: dict[str, Any] = {
        "artifactLocation": {"uri": report.path_of("" if lost else found.file)}
    }
    if found.line and not lost:
        place["region"] = {"startLine": found.line}
    texts = "".join(f"\n{sign} {text}" for sign, text in one.texts)
    return {
        "ruleId": found.rule,
        "level": _LEVELS[found.severity][1],
        "message": {"text": one.what + texts},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"finding/v1": found.id},
    }


FORMATS = {"text": as_text, "markdown": as_markdown, "github": as_github, "sarif": as_sarif}
"""Name of a format -> what writes it."""
