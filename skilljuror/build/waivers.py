"""Waive findings: a person accepts one, with a reason, a name and a time."""

from pathlib import Path
from typing import NamedTuple

from skilljuror.build.folder import REVIEWS
from skilljuror.build.reviews import counting, results_of, reviewed
from skilljuror.build.stored_builds import builds_at, refresh_builds
from skilljuror.errors import UsageError
from skilljuror.files import StudyFolder, append_jsonl
from skilljuror.models.gate import Finding
from skilljuror.models.review import Waiver, verdict_with
from skilljuror.runtime.review_rows import login_name, now


class OpenFinding(NamedTuple):
    """A finding that counts in a verdict."""

    build: str
    variant: str
    finding: Finding


def waive_finding(
    place: Path, finding: str, reason: str, by: str | None = None
) -> tuple[Waiver, ...]:
    """Waive a finding in every build at `place` (a build, a folder of builds, a study) that has it;
    return the new rows of `reviews.jsonl` and update the databases.

    `by` defaults to the login name. Raises UsageError for an unknown id and without a reason or a
    name, StudyError for no build.
    """
    if not reason.strip():
        raise UsageError("a waiver requires a reason: --reason '…'", field="reason")
    who, moment = by or login_name(), now()
    builds = builds_at(place)
    about = {build: found for build in builds if (found := _found(build, finding))}
    if not about:
        raise UsageError(
            f"unknown finding {finding!r} in {str(place)!r}; `skilljuror waive {place}` lists those"
            " that count",
            field="finding",
        )
    written = []
    for build, found in about.items():
        waiver = Waiver(
            build=build.resolve().name, finding=finding, about=found, reason=reason.strip(),
            by=who, at=moment,
        )  # fmt: skip
        append_jsonl(store_for(place, build), waiver)
        written.append(waiver)
    refresh_builds(about)
    return tuple(written)


def _found(build: Path, finding: str) -> Finding | None:
    own = (one for result in results_of(build) for one in result.findings if not one.inherited)
    return next((one for one in own if one.id == finding), None)


def store_for(place: Path, build: Path) -> Path:
    """Return the file for decisions about a build: of the named study, else of the build."""
    study = StudyFolder(place)
    return study.reviews if build.parent == study.builds else build / REVIEWS


def open_findings(place: Path) -> list[OpenFinding]:
    """List the findings that count in a verdict other than pass, at a build, a folder of builds or a
    study."""
    return [
        OpenFinding(build.resolve().name, result.variant, found)
        for build in builds_at(place)
        for result in reviewed(build).results
        if result.verdict != "pass"
        for found in counting(result.findings)
    ]


def verdict_sentences(place: Path) -> list[str]:
    """State the current verdict of each reviewed variant, and the stale waivers."""
    lines = []
    for build in builds_at(place):
        judged = reviewed(build)
        verdicts = {entry.variant: entry.verdict for entry in judged.record.variants}
        lines += [
            f"{build.resolve().name}/{variant}: {verdict_with(verdicts[variant], note)}"
            for variant, note in judged.review_notes.items()
        ]
        lines += judged.stale_notes
    return lines
