"""Audit results for people and for code review tools: plain text, Markdown for
a comment, annotations of GitHub, SARIF."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from skilljuror.audit.edited import edit_rules
from skilljuror.audit.gates.rules import RULES
from skilljuror.base.build import AuditResult, Finding, FindingSeverity

Side = Literal["source", "variant"]
MAX_RED = 20
"""Findings that fail the check, in plain text without --details."""
MAX_YELLOW = 2
"""Findings that wait for a person, in plain text without --details, beside the line that counts the rest."""
MAX_EXAMPLE = 100  # characters of a text in the line of a finding
_WORDS = {"high": "red", "medium": "yellow", "low": "told", "info": "told"}
_LEVELS: dict[FindingSeverity, str] = {
    "high": "error", "medium": "warning", "low": "note", "info": "note",
}  # fmt: skip
"""Severity -> level of SARIF."""
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


class AuditReport(NamedTuple):
    """An audit and how it is reported."""

    source: str
    """Name of the source."""
    variant: str
    """Name of the variant."""
    judged: AuditResult
    """Results of the gates."""
    path_of: Callable[[Side, str], str]
    """Side and file -> path from where the audit ran; the folder of the Skill for ""."""
    details: bool = False
    """Whether plain text lists each finding."""

    def of(self, *severities: str) -> list[Finding]:
        """The findings of severities that the variant introduced and nobody accepted."""
        return [one for one in self.judged.own if one.severity in severities and not one.waived]

    @property
    def told(self) -> list[Finding]:
        """The other findings, where they decide, as under policy `strict`."""
        decide = self.judged.verdict != "pass" and not self.of("high", "medium")
        return self.of("low", "info") if decide else []

    @property
    def verdict_line(self) -> str:
        """The verdict and how much was found."""
        counts = [
            f"{len(found)} {word}"
            for word, severities in (("red", ("high",)), ("yellow", ("medium",)))
            if (found := self.of(*severities))
        ]
        if self.told:
            counts.append(f"{len(self.told)} told")
        if self.judged.waived:
            counts.append(f"{len(self.judged.waived)} accepted")
        said = ", ".join(counts) or "nothing lost, nothing changed in meaning"
        return f"{self.judged.verdict}: {said} (policy {self.judged.policy})"


def side_of(finding: Finding) -> Side:
    """The bundle in which the file and line of a finding lie: what is missing has none in the variant."""
    lost = finding.source_text is not None and finding.variant_text is None
    return "source" if lost else "variant"


def finding_line(report: AuditReport, finding: Finding) -> str:
    """One finding as a line: where, what, and the text that it is about."""
    return f"{_where(report, finding)}: {_what(finding)}"


def _where(report: AuditReport, finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    side = side_of(finding)
    return f"{report.path_of(side, finding.file)}{line}{' (before)' if side == 'source' else ''}"


def _what(finding: Finding) -> str:
    """The message, and the text if the message does not show it."""
    old, new = finding.source_text, finding.variant_text
    message = finding.message.partition(";")[0]
    if "→" in message or "\n" in f"{old}{new}" or finding.rule == "edit.target":
        return message
    if old and new and old != new:
        return f"{message}: {' → '.join(_changed_words(old, new))}"
    text = new or old or ""
    shown = f"'{text}'" in message or not text
    return message if shown else f"{message}: “{_short(text)}”"


def _changed_words(old: str, new: str) -> tuple[str, str]:
    """The parts of two texts from the first to the last word that differs, with a word around them."""
    before, after = old.split(), new.split()
    shared = min(len(before), len(after))
    start = next((n for n in range(shared) if before[n] != after[n]), shared)
    rest = shared - start
    end = next((n for n in range(rest) if before[-1 - n] != after[-1 - n]), rest)
    cuts = (words[max(0, start - 1) : len(words) - max(0, end - 1)] for words in (before, after))
    first, second = (f"“{_short(' '.join(words))}”" for words in cuts)
    return first, second


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_EXAMPLE else f"{text[: MAX_EXAMPLE - 1]}…"


def counted(findings: Sequence[Finding]) -> str:
    """What findings say, in the words of their rules, most frequent first."""
    known = {**RULES, **edit_rules()}
    counts = Counter(
        known[one.rule].what if one.rule in known else one.message.partition(";")[0]
        for one in findings
    )
    return ", ".join(
        f"{what} ({count})" if count > 1 else what for what, count in counts.most_common()
    )


def as_text(report: AuditReport) -> str:
    """The verdict, the findings that decide it, and how to accept them; with `details` every finding."""
    return "\n".join([report.verdict_line, *_text(report)])


def _text(report: AuditReport) -> Iterator[str]:
    if report.details:
        for one in report.judged.own:
            yield f"{_WORDS[one.severity]:<7}{finding_line(report, one)}"
            yield f"       {one.rule}, id {one.id}" + (
                f", accepted: {one.waived}" if one.waived else ""
            )
        return
    red, yellow = report.of("high"), report.of("medium")
    for word, found, most in (("red", red, MAX_RED), ("yellow", yellow, MAX_YELLOW)):
        for one in found[:most]:
            yield f"{word:<7}{finding_line(report, one)}"
        if rest := found[most:]:
            yield f"{word:<7}{len(rest)} more: {counted(rest)} (--details)"
    if told := told_line(report):
        yield f"told   {told}"
    elif report.told:
        yield f"told   {counted(report.told)} (--details)"
    if red:
        yield "to accept a finding: --details lists the ids, --accept ID --reason TEXT accepts it"


def told_line(report: AuditReport) -> str:
    """What moved, was added and was renamed, in one line."""
    parts = []
    for what in ("moved", "added"):
        found = [one for one in report.judged.own if one.rule == f"edit.{what}"]
        if count := sum(map(_texts, found)):
            files = len({one.file for one in found})
            parts.append(f"{_count(count, 'text')} {what} ({_count(files, 'file')})")
    if renamed := sum(one.rule == "edit.renamed" for one in report.judged.own):
        parts.append(f"{renamed} renamed throughout")
    return ", ".join(parts)


def _texts(finding: Finding) -> int:
    """How many texts a finding is about: "3 texts added", or one."""
    number = finding.message.partition(" ")[0]
    return int(number) if number.isdecimal() else 1


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def as_markdown(report: AuditReport) -> str:
    """A comment for a review: verdict and reasons, the rest folded."""
    lines = [
        f"### {escaped(report.variant)}: {report.judged.verdict}",
        "",
        escaped(report.verdict_line),
        "",
    ]
    lines += [f"- {escaped(finding_line(report, one))}" for one in report.of("high")]
    for title, found in (("yellow", report.of("medium")), ("told", report.of("low"))):
        if found:
            lines += ["", f"<details><summary>{len(found)} {title}</summary>", ""]
            lines += [f"- {escaped(finding_line(report, one))} `{one.id}`" for one in found]
            lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text of a Skill is shown, never obeyed: no markup, no mention of a person."""
    marked = "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
    return marked.replace("@", "@\u200b")


def as_github(report: AuditReport) -> str:
    """One workflow command per red and yellow finding: GitHub shows them at file and line of the change."""
    lines = [
        annotation(
            one, report.path_of("variant", "" if side_of(one) == "source" else one.file), one.line
        )
        for one in report.of("high", "medium")
    ]
    return "\n".join([*lines, report.verdict_line])


def annotation(finding: Finding, path: str, line: int | None) -> str:
    """A workflow command of GitHub about a finding."""
    level = "error" if finding.severity == "high" else "warning"
    at = f",line={line}" if line and side_of(finding) == "variant" else ""
    return f"::{level} file={_property(path)}{at},title={_property(finding.rule)}::{_message(_what(finding))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(report: AuditReport) -> str:
    """SARIF 2.1.0, for code scanning."""
    results: list[dict[str, Any]] = []
    for one in report.judged.own:
        lost = side_of(one) == "source"
        uri = report.path_of("variant", "" if lost else one.file)
        place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
        if one.line and not lost:
            place["region"] = {"startLine": one.line}
        results.append({
            "ruleId": one.rule,
            "level": _LEVELS[one.severity],
            "message": {"text": _what(one)},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {"finding/v1": one.id},
        })
    rules = [{"id": rule} for rule in sorted({result["ruleId"] for result in results})]
    driver = {"name": "skilljuror", "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


FORMATS = {"text": as_text, "markdown": as_markdown, "github": as_github, "sarif": as_sarif}
"""Name of a format -> what writes it."""
