"""Waive findings: a person accepts one, with a reason, a name and a time.

Waivers of a build are rows of its or its study's `reviews.jsonl`, those of an audit between two revisions are
entries of `ACCEPTED` in the repository.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import ValidationError

from skilljuror.audit.audit import waive_findings
from skilljuror.base.build import AuditResult, Finding
from skilljuror.base.errors import UsageError
from skilljuror.base.files import StudyFolder, append_jsonl, write_atomic
from skilljuror.base.review import Waiver, verdict_with
from skilljuror.base.review_rows import login_name, now
from skilljuror.harness.leaks import study_leaks
from skilljuror.layouts.build.folder import REVIEWS, builds_at
from skilljuror.layouts.build.reviews import counting, results_of, reviewed
from skilljuror.store.connect import open_write
from skilljuror.store.study_files import refresh

ACCEPTED = ".skilljuror/accepted.yaml"
"""File of a repository with its accepted changes: a list of waivers."""


class OpenFinding(NamedTuple):
    """A finding that counts in a verdict, of a build or of a task's Skill."""

    build: str
    variant: str
    finding: Finding
    id: str


def waive_finding(
    place: Path, finding: str, reason: str, by: str | None = None
) -> tuple[Waiver, ...]:
    """Waive a finding in every build at `place` (a build, a folder of builds, a study) that has it, or a
    leak of a study; return the new rows of `reviews.jsonl` and update the databases.

    `by` defaults to the login name. Raises UsageError for an unknown id and without a reason or a
    name, StudyError for no build.
    """
    if not reason.strip():
        raise UsageError("a waiver requires a reason: --reason '…'", field="reason")
    who, moment = by or login_name(), now()

    def waive(build: str, about: Finding, store: Path) -> Waiver:
        waiver = Waiver(
            build=build, finding=finding, about=about, reason=reason.strip(), by=who, at=moment
        )
        append_jsonl(store, waiver)
        return waiver

    study = StudyFolder(place)
    leak = next((leak for leak in study_leaks(study) if leak.finding == finding), None)
    if leak:
        waiver = waive(leak.task, leak.as_finding(), study.reviews)
        if study.database.is_file():
            with open_write(study.database) as store:
                store.put("skill_leaks", study_leaks(study))
        return (waiver,)
    about = {
        build: found
        for build in _builds_at(study)
        for result in reversed(results_of(build))
        for found in reversed(result.findings)
        if found.id == finding and not found.inherited
    }
    if not about:
        raise UsageError(
            f"unknown finding {finding!r} in {str(place)!r}; `skilljuror waive {place}` lists those"
            " that count",
            field="finding",
        )
    written = [
        waive(build.resolve().name, found, store_for(place, build))
        for build, found in about.items()
    ]
    refresh(place, about)
    return tuple(written)


def store_for(place: Path, build: Path) -> Path:
    """Return the file for decisions about a build: of the named study, else of the build."""
    study = StudyFolder(place)
    return study.reviews if build.parent == study.builds else build / REVIEWS


def open_findings(place: Path) -> list[OpenFinding]:
    """List the findings that count in a verdict other than pass, at a build, a folder of builds or a
    study, and its leaks."""
    study = StudyFolder(place)
    leaks = [
        OpenFinding(one.task, one.condition, one.as_finding(), one.finding)
        for one in study_leaks(study)
        if one.finding and one.verdict != "ok" and not one.waived
    ]
    return leaks + [
        OpenFinding(build.resolve().name, result.variant, found, found.id)
        for build in _builds_at(study)
        for result in reviewed(build).results
        if result.verdict != "pass"
        for found in counting(result.findings)
    ]


def _builds_at(study: StudyFolder) -> list[Path]:
    """As `builds_at`, but a study may have no builds."""
    return [] if study.planned and not study.builds.is_dir() else builds_at(study.root)


def verdict_sentences(place: Path) -> list[str]:
    """State the current verdict of each reviewed variant, and the stale waivers."""
    lines = []
    for build in _builds_at(StudyFolder(place)):
        judged = reviewed(build)
        verdicts = {entry.variant: entry.verdict for entry in judged.record.variants}
        lines += [
            f"{build.resolve().name}/{variant}: {verdict_with(verdicts[variant], note)}"
            for variant, note in judged.review_notes.items()
        ]
        lines += judged.stale_notes
    return lines


def read_accepted(text: bytes, name: str) -> list[Waiver]:
    """Return the waivers of an `ACCEPTED` file. Raises UsageError for an invalid one; `name` is for messages."""
    try:
        rows = yaml.safe_load(text) or []
        return [Waiver.model_validate(row) for row in rows]
    except (yaml.YAMLError, ValidationError, TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:300]
        raise UsageError(
            f"{name} is not a list of accepted findings: {why}; write it with skilljuror audit --accept",
            file=name,
        ) from error


def accept_known(
    judged: AuditResult, accepted: Iterable[Waiver], skills: Sequence[str]
) -> AuditResult:
    """Waive the findings that `accepted` covers; `skills` are the paths of the Skill in both revisions."""
    known = [row for row in accepted if row.build in skills]

    def reason_of(found: Finding) -> str | None:
        return next((f"{row.reason} ({row.by})" for row in known if row.covers(found)), None)

    return waive_findings(judged, reason_of)


def accept(
    judged: AuditResult,
    findings: Sequence[str],
    reason: str,
    by: str | None,
    skill: str,
    file: Path,
) -> list[Waiver]:
    """Add waivers of findings to an `ACCEPTED` file and return them; "all" stands for each that counts.

    Raises UsageError for an unknown id, without a reason, and for an invalid file.
    """
    if not reason.strip():
        raise UsageError("an accepted finding requires a reason: --reason '…'", field="reason")
    own = {found.id: found for found in judged.own if not found.waived}
    deciding = (one.id for one in own.values() if one.severity in {"high", "medium"})
    chosen = [*deciding] if "all" in findings else findings
    unknown = next((one for one in chosen if one not in own), None)
    if unknown:
        raise UsageError(
            f"unknown finding {unknown!r}; skilljuror audit --details lists the ids", field="accept"
        )
    who, moment = by or login_name(), now()
    rows = read_accepted(file.read_bytes(), str(file)) if file.exists() else []
    new = [
        Waiver(build=skill, finding=one, about=own[one], reason=reason.strip(), by=who, at=moment)
        for one in dict.fromkeys(chosen)
    ]
    kept = [
        row for row in rows if (row.build, row.finding) not in {(skill, one.finding) for one in new}
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(
        [row.model_dump(mode="json", exclude_defaults=True) for row in (*kept, *new)],
        sort_keys=False, allow_unicode=True, width=100,
    )  # fmt: skip
    write_atomic(file, text)
    return new
