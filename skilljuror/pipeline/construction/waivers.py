"""Waive a finding: a person accepts it, with a reason, a name and a time."""

from pathlib import Path
from typing import NamedTuple

from skilljuror.errors import UsageError
from skilljuror.files import StudyFolder, append_jsonl
from skilljuror.models.gate import Finding
from skilljuror.models.review import Waiver, verdict_with
from skilljuror.pipeline.construction.build_folder import REVIEWS
from skilljuror.pipeline.construction.reviews import counting, results_of, reviewed
from skilljuror.pipeline.construction.stored_builds import builds_at, refresh_builds
from skilljuror.pipeline.review_rows import login_name, now


class OpenFinding(NamedTuple):
    """A finding of a build that counts, and where it stands."""

    build: str
    """Folder name of the build."""
    variant: str
    """Variant that was judged."""
    finding: Finding
    """What was found."""


def waive_finding(
    place: Path, finding: str, reason: str, by: str | None = None
) -> tuple[Waiver, ...]:
    """Accept the finding of this id in every build at `place` (a build, a folder of builds, a study)
    that has it: one row in `reviews.jsonl` for each; the rows. The databases are brought up to date.

    `by` is the login name where nobody is named. Raises UsageError for an id that no build has and
    without a reason or a name, StudyError where there is no build.
    """
    if not reason.strip():
        raise UsageError("a waiver needs a reason: --reason '…'", field="reason")
    who, moment = by or login_name(), now()
    builds = builds_at(place)
    about = {build: found for build in builds if (found := _found(build, finding))}
    if not about:
        raise UsageError(
            f"no finding {finding!r} in {str(place)!r}; `skilljuror waive {place}` lists those that"
            " count",
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
    """A finding of a build that its variants brought in, by its id."""
    own = (one for result in results_of(build) for one in result.findings if not one.inherited)
    return next((one for one in own if one.id == finding), None)


def store_for(place: Path, build: Path) -> Path:
    """Where a decision about a build goes: into the study that was named, else into the build."""
    study = StudyFolder(place)
    return study.reviews if build.parent == study.builds else build / REVIEWS


def open_findings(place: Path) -> list[OpenFinding]:
    """The findings at a build, a folder of builds or a study that count in a verdict: brought in by a
    variant, not waived, and in an answer other than pass."""
    return [
        OpenFinding(build.resolve().name, result.variant, found)
        for build in builds_at(place)
        for result in reviewed(build).results
        if result.verdict != "pass"
        for found in counting(result.findings)
    ]


def verdict_sentences(place: Path) -> list[str]:
    """What the verdict of each reviewed variant is now, and which waivers are stale."""
    told = []
    for build in builds_at(place):
        judged = reviewed(build)
        verdicts = {entry.variant: entry.verdict for entry in judged.record.variants}
        told += [
            f"{build.resolve().name}/{variant}: {verdict_with(verdicts[variant], note)}"
            for variant, note in judged.review_notes.items()
        ]
        told += judged.stale_notes
    return told
