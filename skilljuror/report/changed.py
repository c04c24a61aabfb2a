"""The audit of a whole change for people and for GitHub: a row for each Skill, and why some fail."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property

from skilljuror.audit.changed import CHANGE, ChangedSkill
from skilljuror.base.build import VERDICTS, Finding
from skilljuror.report.audit import (
    AuditReport,
    annotation,
    as_text,
    counted,
    escaped,
    finding_line,
    side_of,
)

MAX_REASONS = {"red": 3, "yellow": 5}
"""Findings of a Skill that a summary shows, of each colour."""
_SAYS_ALL = {"skill.gutted", "skill.empty"}  # findings beside which no other is worth a line


class ChangedReport:
    """The audits of the Skills that a change touches."""

    def __init__(self, base: str, skills: Sequence[ChangedSkill], *, details: bool = False) -> None:
        self.skills, self.details = skills, details
        counts = Counter(one.verdict for one in skills)
        verdicts = [f"{counts[one]} {one}" for one in reversed(VERDICTS) if counts[one]]
        count = f"{len(skills)} Agent Skill{'' if len(skills) == 1 else 's'} changed since {base}"
        self.title = ": ".join(filter(None, (count, ", ".join(verdicts))))

    @cached_property
    def audits(self) -> list[tuple[ChangedSkill, AuditReport]]:
        """Each Skill with its report."""
        return [(skill, _report_of(skill, self.details)) for skill in self.skills]


def _report_of(skill: ChangedSkill, details: bool) -> AuditReport:
    """The report of a Skill, with the findings about all of it first."""
    results = sorted(skill.judged.results, key=lambda one: one.gate != CHANGE)
    if any(one.rule in _SAYS_ALL and not one.waived for one in skill.problems):
        results = [one for one in results if one.gate == CHANGE]
    judged = skill.judged.model_copy(update={"results": tuple(results), "verdict": skill.verdict})
    return AuditReport(", ".join(skill.before), skill.folder, judged, skill.path_of, details)


def _name(skill: ChangedSkill) -> str:
    """The folder of a Skill, and those that it continues."""
    others = ", ".join(one or "." for one in skill.before if one != skill.folder)
    note = f" (was {others})" if others else "" if skill.before else " (new)"
    return " ".join(f"{skill.folder or '.'}{note}".split())


def _why(report: AuditReport) -> str:
    """What decided the verdict, and what was accepted by whom."""
    accepted = dict.fromkeys(one.waived for one in report.judged.own if one.waived)
    by = [f"accepted: {', '.join(accepted)}"] if accepted else []
    red, yellow = counted(report.of("high")), counted(report.of("medium"))
    return "; ".join(filter(None, [red, f"yellow: {yellow}" if red and yellow else yellow, *by]))


def changed_text(report: ChangedReport) -> str:
    """The audit of each Skill, and a line that counts them."""
    lines = []
    for skill, audit in report.audits:
        first, *rest = as_text(audit).split("\n")
        lines += [f"{_name(skill)}: {first}", *(f"  {line}" for line in rest)]
    return "\n".join([*lines, report.title])


def changed_annotations(report: ChangedReport) -> str:
    """Workflow commands at the lines of the head, one for what several Skills share, and one line a Skill."""
    notes: dict[str, None] = {}
    for skill, audit in report.audits:
        for finding in audit.of("high", "medium"):
            file, line = _in_head(skill, finding)
            shown = finding.model_copy(update={"variant_text": finding.variant_text or ""})
            notes[annotation(shown, audit.path_of("variant", file), line)] = None
    rows = [f"{audit.judged.verdict:<7}{': '.join(filter(None, (_name(skill), _why(audit))))}" for skill, audit in report.audits]  # fmt: skip
    return "\n".join([*notes, *rows, report.title])


def _in_head(skill: ChangedSkill, finding: Finding) -> tuple[str, int | None]:
    """The file and line of the variant where a finding is, or was."""
    sides = [side.files.get(finding.file) for side in (skill.parent, skill.variant) if side]
    texts = [(blob.text or "").split("\n") for blob in sides if blob]
    if side_of(finding) == "variant" or not finding.line:
        return finding.file, finding.line or 1
    if len(texts) < 2:
        return "", 1
    return finding.file, _line_now(texts[0], texts[1], finding.line)


def _line_now(before: Sequence[str], after: Sequence[str], line: int) -> int:
    """The line of the later text at which a line of the earlier one is; the one above its place if it is gone."""
    codes = SequenceMatcher(None, before, after).get_opcodes()
    _, start, _, first, end = next(one for one in codes if line <= one[2] or one is codes[-1])
    place = min(first + line - 1 - start, end - 1)
    return next((n for n in range(place, 0, -1) if after[n].strip()), 0) + 1


def changed_page(report: ChangedReport) -> str:
    """A table with one row a Skill, and below it the reasons of those that fail, equal ones together."""
    return "\n".join(_page(report)) + "\n"


def _page(report: ChangedReport) -> Iterator[str]:
    yield f"## {escaped(report.title)}\n"
    if report.audits:
        yield "| Skill | verdict | why |\n|---|---|---|"
    reasons: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for skill, audit in report.audits:
        yield f"| {escaped(_name(skill))} | {audit.judged.verdict} | {escaped(_why(audit))} |"
        if shown := list(_reasons(audit)):
            alike = tuple(line.replace(f" {skill.folder}/", " ") for line in shown)
            reasons.setdefault(alike, (shown, []))[1].append(_name(skill))
    for lines, names in reasons.values():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"\n{escaped(names[0])}{others}:\n"
        yield from (f"- {escaped(' '.join(line.split()))}" for line in lines)


def _reasons(audit: AuditReport) -> Iterator[str]:
    for (colour, most), severity in zip(MAX_REASONS.items(), ("high", "medium"), strict=True):
        found = audit.of(severity)
        yield from (f"{colour}: {finding_line(audit, one)}" for one in found[:most])
        if found[most:]:
            yield f"{colour}: … {len(found) - most} more"


CHANGED_FORMATS = {"text": changed_text, "markdown": changed_page, "github": changed_annotations}
"""Name of a format -> what writes it."""
