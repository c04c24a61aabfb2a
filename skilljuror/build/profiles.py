"""Layout by profile: what the runs of a study opened and used decides where the sections of a Skill go.

The profile is fitted on half of the study's tasks with this source, so that the other half can test it. It is
stored in `NAME.profile.json` beside the source; the variant `pd-profile` follows it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skilljuror.build.scopes import beside, flat_page
from skilljuror.bundles.limits import PROFILE
from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder, digest_json, sha256, write_atomic
from skilljuror.models.bundle import Bundle
from skilljuror.queries.run import open_read, run
from skilljuror.stats.intervals import wilson_interval
from skilljuror.transforms.disclosure.scope import OpenSection, branches, open_sections
from skilljuror.transforms.disclosure.sections import FlatSkill

HALF = 0.5
"""Share of runs above which a section is for most runs, and below which it is for few."""
_TASKS = """
SELECT b.build, f.sha256
FROM builds AS b
JOIN variant_files AS f ON f.build = b.build AND f.variant = 'baseline' AND f.path = $page
WHERE b.source_digest = $digest
ORDER BY b.build
"""
_EVIDENCE = """
WITH of_task AS (
    SELECT r.task, r.run, t.trajectory, c.variant
    FROM runs AS r
    JOIN trajectories AS t ON t.trial = r.run
    JOIN conditions AS c ON c.condition = r.condition
    WHERE t.units IS NOT NULL AND r.task IN (SELECT unnest($tasks::VARCHAR[]))
        AND r.run NOT IN (SELECT trial FROM contaminations) AND NOT is_unplaced(t.trajectory)
),
said AS (
    SELECT v.event, v.high FROM uptake_verdicts AS v
    WHERE v.judge = tracing_judge()
),
judged AS (
    SELECT o.run, count(u.event) = count(s.event) AS whole
    FROM of_task AS o LEFT JOIN uses AS u ON u.run = o.run LEFT JOIN said AS s ON s.event = u.event
    GROUP BY o.run
),
showings AS (
    SELECT e.trajectory, e.unit, bool_or(coalesce(s.high = 1, true)) AS maybe
    FROM exposure AS e LEFT JOIN said AS s ON s.event = e.trajectory || '#' || e.ordinal
    GROUP BY e.trajectory, e.unit
)
SELECT
    o.task, o.run, b.first_line - 1 AS line,
    f.resource_class <> 'root' AS apart,
    s.unit IS NOT NULL AS shown,
    EXISTS (SELECT 1 FROM unit_uses AS x WHERE x.trial = o.run AND x.unit = p.unit) AS used,
    coalesce(s.maybe, false) AS maybe,
    j.whole AS judged
FROM of_task AS o
JOIN judged AS j ON j.run = o.run
JOIN unit_places AS p ON p.build = o.task AND p.variant = o.variant
JOIN variant_files AS f ON f.build = p.build AND f.variant = p.variant AND f.path = p.file
JOIN unit_places AS b ON b.build = o.task AND b.variant = 'baseline' AND b.unit = p.unit AND b.file = $page
LEFT JOIN showings AS s ON s.trajectory = o.trajectory AND s.unit = p.unit
ORDER BY o.task, o.run, line
"""


class _Evidence(NamedTuple):
    """What one run says of one section."""

    apart: bool
    """Whether its layout had the section, or a part of it, in a file opened on demand."""
    opened: bool
    """Whether it was shown any of it there."""
    used: bool
    """Whether a line of it proves a use."""
    maybe: bool
    """Whether it may have used it: it was shown any of it, and the use is proven or open."""
    judged: bool


_Runs = Mapping[str, Sequence[_Evidence]]
"""Task -> its runs."""


def profile_file(source: Path) -> Path:
    """Return where the profile of a source is stored."""
    return beside(source, PROFILE)


def stored_profile(source: Path, bundle: Bundle) -> dict[str, Any] | None:
    """Return the profile of a source; None without one, or if the source has changed since.

    Raises StudyError for a damaged file.
    """
    path = profile_file(source)
    if not path.is_file():
        return None
    try:
        stored = dict(json.loads(path.read_bytes()))
        known = stored["sections"], stored["source_digest"]
    except (ValueError, KeyError, TypeError) as error:
        raise StudyError(
            f"{str(path)!r} is no profile ({error}); make it again with --profile", file=str(path)
        ) from error
    return stored if known[1] == bundle.digest else None


def make_profile(source: Path, bundle: Bundle, study: Path) -> dict[str, Any]:
    """Fit a profile on half of a study's tasks with this source, store it and return it.

    A section that the rules leave open, or call a branch, goes to the main path if most runs opened it on
    demand or used it; an open one becomes a branch if few did either. "Most" and "few": Wilson's interval over
    all runs is on one side of one half, and so is the share of every task. Raises StudyError for a study
    without such a task, or whose variants another version built.
    """
    flat = flat_page(bundle)
    fit, held_out = _halves(_tasks_of(flat, bundle, study))
    with open_read(StudyFolder.existing(study).existing_database) as reader:
        rows = run(reader, _EVIDENCE, tasks=fit, page=flat.path).records()
    if not rows:
        raise StudyError(
            f"no run of {', '.join(fit)} in {str(study)!r} has a readable log and a knowledge map",
            file=str(study),
        )
    sections = {
        section.key: judged
        for section in [*open_sections(flat), *branches(flat)]
        if (judged := _judged(section, _of_section(section, flat, rows), study.resolve().name))
    }
    profile = {
        "study": study.resolve().name,
        "source_digest": bundle.digest,
        "evidence_digest": digest_json(rows),
        "fit": fit,
        "held_out": held_out,
        "sections": sections,
    }
    write_atomic(profile_file(source), json.dumps(profile, indent=1, ensure_ascii=False) + "\n")
    return profile


def _tasks_of(flat: FlatSkill, bundle: Bundle, study: Path) -> list[str]:
    """Tasks of a study whose builds have this source and this flat page."""
    database = StudyFolder.existing(study).existing_database
    rows = run(database, _TASKS, page=flat.path, digest=bundle.digest).rows
    page = bundle_page_digest(flat)
    tasks = [str(task) for task, digest in rows if digest == page]
    if not tasks:
        why = (
            "was built by another version of skilljuror, with another flat page; run it again"
            if rows
            else "has no task with this source and the variant baseline"
        )
        raise StudyError(f"--profile: {str(study)!r} {why}", file=str(study))
    return tasks


def bundle_page_digest(flat: FlatSkill) -> str:
    """Return the sha256 of the flat page's bytes."""
    return flat.bundle.files[flat.path].sha256


def _halves(tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide tasks in two, the same on every machine; a single one is fitted on."""
    ordered = sorted(tasks, key=lambda name: sha256(name.encode()))
    return sorted(ordered[::2]), sorted(ordered[1::2])


def _of_section(
    section: OpenSection, flat: FlatSkill, rows: Iterable[dict[str, Any]]
) -> dict[str, list[_Evidence]]:
    """Task -> what each run says of a section: by the units on its lines in the flat page."""
    ends = {node.start: node.text_end for node in flat.nodes()}
    ranges = [(start, ends[start]) for start in section.starts]
    runs: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if any(start <= row["line"] < end for start, end in ranges):
            runs[row["task"], row["run"]].append(row)
    found: dict[str, list[_Evidence]] = defaultdict(list)
    for (task, _), units in runs.items():
        apart = [one for one in units if one["apart"]]
        found[task].append(
            _Evidence(
                bool(apart),
                any(one["shown"] for one in apart),
                any(one["used"] for one in units),
                any(one["maybe"] or one["used"] for one in units),
                units[0]["judged"],
            )
        )
    return found


def _judged(section: OpenSection, runs: _Runs, study: str) -> dict[str, Any] | None:
    """Scope of a section with its evidence; None where the runs cannot tell."""
    apart = {task: [one.opened for one in of if one.apart] for task, of in runs.items()}
    known = {task: of for task, of in runs.items() if all(one.judged for one in of)}
    used = {task: [one.used for one in of] for task, of in known.items()}
    maybe = {task: [one.maybe for one in of] for task, of in known.items()}
    opened, low, high = _side(apart), _side(used), _side(maybe)
    by = {"title": section.title, "by": f"profile {study}"}
    if opened == "most" or low == "most":
        counted, words = (apart, "opened") if opened == "most" else (used, "used")
        return by | {"scope": "main", "reason": f"{words} {_counts(counted)}"}
    if high == "few" and opened != "most":
        return by | {"scope": "branch", "reason": f"used at most {_counts(maybe)}"}
    if opened == "few":
        return by | {"scope": "branch", "reason": f"opened {_counts(apart)}"}
    return None


def _side(runs: Mapping[str, Sequence[bool]]) -> str:
    """most, few, or "" if interval and tasks do not agree."""
    counted = {task: one for task, one in runs.items() if one}
    every = [answer for one in counted.values() for answer in one]
    interval = wilson_interval(sum(every), len(every))
    shares = [sum(one) / len(one) for one in counted.values()]
    if interval is None:
        return ""
    if interval.low > HALF and min(shares) > HALF:
        return "most"
    return "few" if interval.high < HALF and max(shares) < HALF else ""


def _counts(runs: Mapping[str, Sequence[bool]]) -> str:
    counted = {task: one for task, one in runs.items() if one}
    every = [answer for one in counted.values() for answer in one]
    interval = wilson_interval(sum(every), len(every))
    within = f" (95 %: {interval.low:.2f} to {interval.high:.2f})" if interval else ""
    return f"by {sum(every)} of {len(every)} runs of {len(counted)} tasks{within}"
