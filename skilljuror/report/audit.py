"""Audit results for people and for code review tools: plain text, Markdown for
a comment, annotations of GitHub, SARIF."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from skilljuror.base.build import AuditResult, Finding, FindingSeverity, SectionChange

Side = Literal["source", "variant"]
MAX_SHOWN = 60
"""Findings that a comment shows in full; it says how many more there are."""
MAX_RULES = 3  # kinds of finding in the line of a section
MAX_GONE = 3  # sections removed entirely that have lines of their own
MAX_TITLES = 4  # sections named in the line of a file that they moved to
MAX_EXAMPLE = 80  # characters of a text in the line of a section
_LOUD = ("high", "medium")
_INFORMING = ("knowledge.metadata", "knowledge.licence")
_LEVELS: dict[FindingSeverity, str] = {
    "high": "error", "medium": "warning", "low": "note", "info": "note",
}  # fmt: skip
"""Severity -> level of SARIF."""
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
    """An audit and how it is reported."""

    source: str
    """Name of the source."""
    variant: str
    """Name of the variant."""
    judged: AuditResult
    """Results of the gates."""
    reasons: tuple[str, ...]
    """Rules that decided the verdict."""
    sections: tuple[SectionChange, ...]
    """Changed sections, worst first."""
    moves: tuple[tuple[str, str, str, int], ...]
    """(file, section, new file, units) of what moved to another file."""
    path_of: Callable[[Side, str], str]
    """Side and file -> path from where the audit ran; the folder of the Skill for ""."""
    details: bool = False
    """Whether plain text lists each finding."""

    @property
    def verdict_line(self) -> str:
        """The verdict, what decided it, and how much was found."""
        own = len(self.judged.own)
        inherited = len(self.judged.findings) - own
        because = f": {', '.join(self.reasons)}" if self.reasons else ""
        accepted = len(self.judged.waived)
        also = f", {accepted} accepted" if accepted else ""
        return (
            f"verdict: {self.judged.verdict}{because} (policy {self.judged.policy}; {_count(own, 'finding')}{also},"
            f" {inherited} more inherited from the source)"
        )


class FoldedFinding(NamedTuple):
    """Findings that are one to a reader: a file that was replaced with its lines, or lines in a row."""

    findings: tuple[Finding, ...]
    """The first is told; the others are part of it."""

    @property
    def finding(self) -> Finding:
        """The reported finding."""
        return self.findings[0]

    @property
    def what(self) -> str:
        """Return the finding in one sentence."""
        if count := len(self.findings) - 1:
            return f"{self.finding.message} (with {_count(count, 'more finding')} of its lines)"
        return self.finding.message

    @property
    def texts(self) -> list[tuple[str, str]]:
        """(− or +, line), both texts; of lines in a row the first few."""
        whole = self.finding.rule in _WHOLE
        shown = [
            (sign, line)
            for finding in self.findings[: 1 if whole else MAX_LINES]
            for sign, text in (("−", finding.source_text), ("+", finding.variant_text))
            for line in (text or "").splitlines()
        ]
        return shown if whole or len(self.findings) <= MAX_LINES else [*shown, ("", "…")]


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
        near = row and (one.line or 0) - (row[-1].line or 0) <= 1
        if row and (above or (one.rule in _LINES and near)):
            row += groups.pop(id(one))
        else:
            last[one.file, one.rule] = groups[id(one)]
    return [FoldedFinding(tuple(group)) for group in groups.values()]


def as_text(report: AuditReport) -> str:
    """One line per section and the diffs of scripts, then the verdict; with `details` every finding."""
    lines, own = section_lines(report), report.judged.own
    scripts = (one for one in own if one.rule == "knowledge.file-changed" and not one.waived)
    for one in scripts:
        lines += ["", f"changed lines of {report.path_of('variant', one.file)}:"]
        for sign, text in (("−", one.source_text), ("+", one.variant_text)):
            changed = (text or "").splitlines()
            lines += [f"  {sign} {line}" for line in changed[:MAX_LINES]]
            if (rest := len(changed) - MAX_LINES) > 0:
                lines.append(f"  {sign} … {rest} more lines (--details)")
    for row in folded(own) if report.details else ():
        found = row.finding
        lines += [
            "", f"{found.severity:<7} {found.rule}  {_where(report, found)}", f"        {row.what}",
            *(f"        {sign} {text}" for sign, text in row.texts), f"        id {found.id}",
            *([f"        accepted: {found.waived}"] if found.waived else []),
        ]  # fmt: skip
    if own and not report.details:
        lines.append("every finding with its id: --details")
    return "\n".join([*lines, report.verdict_line])


def section_lines(report: AuditReport) -> list[str]:
    """One line for each section that decides or informs, and one for each file that text moved to."""
    gone = [
        one
        for one in report.sections
        if one.lost and not one.moved_to and one.verdict == "review"  # none of its texts was a duty
    ]
    gone = gone if len(gone) > MAX_GONE else []
    lines = [
        f"{'info' if one.verdict == 'pass' else one.verdict:<7}{_place(report, one)}: {text}"
        for one in report.sections
        if one not in gone and (text := _sentence(one, report))
    ]
    if gone:
        lines.append(f"review removed entirely: {_titles(gone)}")
    moved: dict[str, list[SectionChange]] = {}
    for one in report.sections:
        if one.moved_to and not _deciding(one):
            moved.setdefault(", ".join(one.moved_to), []).append(one)
    for target, sections in moved.items():
        paths = ", ".join(report.path_of("variant", file) for file in target.split(", "))
        lines.append(f"moved  {_titles(sections)} → {paths}")
    return lines


def _titles(sections: Sequence[SectionChange]) -> str:
    titles = [one.title or one.file for one in sections]
    rest = len(titles) - MAX_TITLES
    return f"{', '.join(titles[:MAX_TITLES])}{f' and {rest} more' if rest > 0 else ''}"


def _place(report: AuditReport, change: SectionChange) -> str:
    line = f":{change.line}" if change.line else ""
    path = report.path_of("source" if change.lost else "variant", change.file)
    return f"{path}{line}" + (f" {change.title}" if change.title else "")


def _deciding(change: SectionChange) -> list[Finding]:
    """The findings of a section that its line is about: those that decide and are not accepted, else what
    informs or is accepted."""
    shown = [one for one in change.findings if one.rule in _INFORMING or one.waived]
    if change.verdict == "pass":
        return shown
    return [one for one in change.findings if not one.waived and one.severity in _LOUD] or shown


def _sentence(change: SectionChange, report: AuditReport) -> str:
    findings = _deciding(change)
    if not findings:
        return ""
    parts = []
    if change.lost:
        parts.append("removed")
    if change.moved_to:
        where = ", ".join(report.path_of("variant", file) for file in change.moved_to)
        whole = change.moved == change.counted
        count = f"all {change.counted}" if whole else f"{change.moved} of {change.counted}"
        parts.append(
            f"{count} {change.noun} now in {where}" if change.counted > 1 else f"now in {where}"
        )
    by_rule: dict[tuple[str, bool], list[Finding]] = {}
    for one in findings:
        by_rule.setdefault((one.rule, one.waived is not None), []).append(one)
    for (_, accepted), group in list(by_rule.items())[:MAX_RULES]:
        what = group[0].message.partition(";")[0]
        more = f" ({len(group)} times)" if len(group) > 1 else ""
        by = f" [accepted: {group[0].waived}]" if accepted else ""
        parts.append(f"{what}{more}{_example(group[0])}{by}")
    rest = len(by_rule) - MAX_RULES
    return "; ".join([*parts, *([f"{rest} more kinds of finding"] if rest > 0 else [])])


def _example(finding: Finding) -> str:
    """What was lost, added or changed, cut to a few words."""
    old, new = finding.source_text, finding.variant_text
    if finding.rule in _WHOLE or "\n" in f"{old}{new}":
        return ""
    if old is not None and new is not None:
        return f": {' → '.join(_changed_words(old, new))}"
    text = old if old is not None else new
    return f": “{_short(text)}”" if text else ""


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


def _where(report: AuditReport, finding: Finding) -> str:
    side = side_of(finding)
    line = f":{finding.line}" if finding.line else ""
    return f"{side}: {report.path_of(side, finding.file)}{line}"


def as_markdown(report: AuditReport) -> str:
    """A comment for a review: verdict and sections, with findings and moves folded."""
    judged, count = report.judged, len(report.judged.own)
    summary = "No text was lost, added or changed in meaning."
    if count:
        accepted = f", {len(judged.waived)} accepted" if judged.waived else ""
        decided = f" Decided by: {', '.join(report.reasons)}." if report.reasons else ""
        summary = f"{_count(count, 'finding')} under policy `{judged.policy}`{accepted}.{decided}"
    lines = [f"### {escaped(report.variant)}: {judged.verdict}", "", summary, ""]
    lines += [f"- {escaped(line)}" for line in section_lines(report)]
    if found := folded(judged.own):
        lines += ["", f"<details><summary>{_count(count, 'finding')}</summary>", ""]
        for one in found[:MAX_SHOWN]:
            lines += [
                f"**{one.finding.rule}** ({one.finding.severity}) · {escaped(_where(report, one.finding))}"
                f" · `{one.finding.id}`",
                "", escaped(one.what), "", *_fence(one), "",
            ]  # fmt: skip
        if len(found) > MAX_SHOWN:
            lines += [f"{len(found) - MAX_SHOWN} more findings are not shown.", ""]
        lines.append("</details>")
    if report.moves:
        lines += ["", "<details><summary>What moved where</summary>", ""]
        lines += ["| from | section | to | units |", "|---|---|---|---:|"]
        lines += [
            f"| `{source}` | {escaped(' '.join(section.split()))} | `{target}` | {units} |"
            for source, section, target, units in report.moves
        ]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _fence(one: FoldedFinding) -> list[str]:
    """The texts as a diff, in a fence longer than any in them."""
    shown = [f"{'-' if sign == '−' else sign or ' '} {text}" for sign, text in one.texts]
    longest = max((len(ticks) for line in shown for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *shown, fence] if shown else []


def escaped(text: str) -> str:
    """Text of a Skill is shown, never obeyed: no markup, no mention of a person."""
    marked = "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
    return marked.replace("@", "@\u200b")


def as_github(report: AuditReport) -> str:
    """One workflow command per section that decides: GitHub shows few, at file and line of the change."""
    lines = []
    for one in report.sections:
        text = _sentence(one, report) if one.verdict != "pass" else ""
        if text:
            level = "error" if one.verdict == "fail" else "warning"
            path = report.path_of("variant", "" if one.lost else one.file)
            line = f",line={one.line}" if one.line and not one.lost else ""
            title = _property(one.title or one.file)
            lines.append(f"::{level} file={_property(path)}{line},title={title}::{_message(text)}")
    return "\n".join([*lines, report.verdict_line])


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(report: AuditReport) -> str:
    """SARIF 2.1.0, for code scanning."""
    results: list[dict[str, Any]] = []
    for one in folded(report.judged.own):
        found, lost = one.finding, side_of(one.finding) == "source"
        uri = report.path_of("variant", "" if lost else found.file)
        place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
        if found.line and not lost:
            place["region"] = {"startLine": found.line}
        texts = "".join(f"\n{sign} {text}" for sign, text in one.texts)
        results.append({
            "ruleId": found.rule,
            "level": _LEVELS[found.severity],
            "message": {"text": one.what + texts},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {"finding/v1": found.id},
        })
    rules = [{"id": rule} for rule in sorted({result["ruleId"] for result in results})]
    driver = {"name": "skilljuror", "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


FORMATS = {"text": as_text, "markdown": as_markdown, "github": as_github, "sarif": as_sarif}
"""Name of a format -> what writes it."""
