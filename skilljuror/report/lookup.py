"""Look up a study: its database, one run with all details, and its report."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from skilljuror.base.errors import StudyError, require
from skilljuror.base.files import StudyFolder
from skilljuror.base.results import LocalEffect, Measure, Verdict
from skilljuror.base.skill import CONTENT_KINDS, MappedUnit
from skilljuror.base.study import TrialRecord
from skilljuror.base.trajectory import Exposure, ResourceEvent, SkillManifest, Trajectory
from skilljuror.base.workers import Listener, Progress, silent
from skilljuror.harness.verifier_output import verifier_output
from skilljuror.judge.effects import effects
from skilljuror.store.ingest.analysis import analyse
from skilljuror.store.ingest.logs import logged_runs, read_logged
from skilljuror.store.ingest.quotes import (
    keeps_quotes,
    unquoted_effect,
    unquoted_event,
    unquoted_verdict,
    without_texts,
)
from skilljuror.store.ingest.trials import read_trial
from skilljuror.store.questions.run import run
from skilljuror.store.questions.several import study_names

if TYPE_CHECKING:
    from skilljuror.report.build import ReportSummary
    from skilljuror.report.several import SeveralReport

USE = ("agent_minutes", "log_minutes", "display_tokens")
"""Measures of a run's minutes and tokens."""
VERIFIER_BYTES = 65_536
"""Maximum length of a verifier's output."""
SUGGESTIONS = 4
"""Maximum number of suggested names in an error."""


class UnitSight(Struct, frozen=True):
    """A knowledge unit that a trial offered, and the first time that it reached an agent."""

    unit: str
    """Id of the unit, the same in all variants of a build."""
    text: str
    """Its text."""
    agent: str
    """Whose context it reached first; "" for nobody's."""
    step: int | None
    """Step at which it did, 0 before the first; None for never."""


class RunDetails(Struct, frozen=True):
    """One trial or foreign run with all details."""

    name: str
    """Trial, or key of the trajectory."""
    record: TrialRecord | None
    """The trial; None for foreign logs."""
    trajectory: Trajectory | None
    """The log, read again from its raw file."""
    events: tuple[ResourceEvent, ...]
    verdicts: tuple[Verdict, ...]
    """Verdicts on the events; empty before `judge`."""
    effects: tuple[LocalEffect, ...] = ()
    """Effects of its calls."""
    verifier: str | None = None
    """End of the verifier's output; None for foreign logs and without output."""
    manifest: SkillManifest | None = None
    """Skills that the trial offered; None for foreign logs and if unknown."""
    units: tuple[UnitSight, ...] = ()
    """Knowledge units that it offered, in the order of the source; empty without a map."""
    use: tuple[Measure, ...] = ()
    """Minutes and display tokens of the agent."""


def look_up(study: Path, name: str) -> RunDetails:
    """Return one trial of a study, or one run of ingested logs; `name` may be a unique prefix.

    Raises StudyError with suggestions.
    """
    verifier, manifest = None, None
    units: tuple[MappedUnit, ...] = ()
    if StudyFolder(study).planned:
        name = _full_name(StudyFolder(study).finished_trials(), name, study, "trials")
        trial = read_trial(study, name)
        record, trajectory, manifest = trial.record, trial.trajectory, trial.manifest
        units = trial.units
        analysis = analyse(name, trajectory, record, manifest, trial.units)
        verifier = verifier_output(StudyFolder(study).trial_raw(name), VERIFIER_BYTES)
    else:
        record = None
        database = StudyFolder.existing(study).existing_database
        names = [str(row[0]) for row in run(database, "trajectory_names").rows]
        _refuse_unlogged(database, study, name, names)
        name = _full_name(names, name, study, "trajectories")
        trajectory = read_logged(logged_runs(database, [name])[name])
        analysis = analyse(name, trajectory)
    verdicts = _verdicts(study, name)
    call_effects = tuple(effects(name, trajectory, analysis.events)) if trajectory else ()
    use = tuple(one for one in analysis.measures if one.metric in USE)
    details = RunDetails(
        name, record, trajectory, analysis.events, verdicts, call_effects, verifier, manifest,
        _sights(units, analysis.exposure, manifest.variant if manifest else None), use,
    )  # fmt: skip
    return details if keeps_quotes(study) else _without_quotes(details)


def _sights(
    units: Sequence[MappedUnit], exposure: Exposure | None, variant: str | None
) -> tuple[UnitSight, ...]:
    """The units of a variant that are text, each with its first arrival; none without an exposure."""
    if exposure is None:
        return ()
    first = {one.unit: one for one in reversed(exposure.seen)}
    offered = [
        mapped.unit
        for mapped in units
        if mapped.unit.kind in CONTENT_KINDS and mapped.places.get(variant or "")
    ]
    return tuple(
        UnitSight(unit.unit, unit.text, seen.agent, seen.step)
        if (seen := first.get(unit.unit))
        else UnitSight(unit.unit, unit.text, "", None)
        for unit in offered
    )


def _without_quotes(details: RunDetails) -> RunDetails:
    trajectory = details.trajectory and without_texts(details.trajectory)
    events = tuple(map(unquoted_event, details.events))
    verdicts = tuple(map(unquoted_verdict, details.verdicts))
    call_effects = tuple(map(unquoted_effect, details.effects))
    return RunDetails(
        details.name, details.record, trajectory, events, verdicts, call_effects, use=details.use
    )


class Case(Struct, frozen=True):
    """One task in the two arms of the study's contrast."""

    runs: tuple[RunDetails, ...]
    """A trial of each arm, the control first."""
    chosen: tuple[str, ...]
    """Of each, how often its arm passes and why it was chosen."""


def look_up_case(study: Path, name: str) -> Case | None:
    """Return a trial of each arm that ended as most trials of its arm did; None if `name` is no task of
    the study. Open and contaminated trials are not chosen.

    Raises StudyError without a contrast and without a trial to choose.
    """
    folder = StudyFolder.existing(study)
    if not folder.planned or not folder.database.is_file():
        return None
    setup = next(iter(run(folder.database, "setup").records()), {})
    tasks = {row["task"] for row in run(folder.database, "cells").records()}
    if name not in tasks:
        return None
    rows = run(folder.database, "contrast_trials", tasks=name).records()
    if not rows:
        raise StudyError(f"task {name!r} has no trial of two arms to compare", file=str(study))
    arms = [arm for arm in (setup["control"], setup["treatment"]) if arm]
    picked = [
        _representative(study, arm, [row for row in rows if row["condition"] == arm])
        for arm in arms
    ]
    return Case(
        tuple(look_up(study, trial) for trial, _ in picked), tuple(words for _, words in picked)
    )


def _representative(study: Path, arm: str, rows: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The first trial that ended as most did, and the reason in words."""
    fit = [row for row in rows if row["final"] and not row["contaminated"]]
    if not fit:
        raise StudyError(
            f"no trial of {arm!r} is final and uncontaminated; see: skilljuror query"
            f" {quote(str(study))} contrast_trials",
            file=str(study),
        )
    passes = sum(row["strict"] for row in fit)
    passing = 2 * passes >= len(fit)
    chosen = next(row["trial"] for row in fit if row["strict"] == passing)
    left_out = f", {len(rows) - len(fit)} open or contaminated" if len(fit) < len(rows) else ""
    does = "passes" if passing else "does not pass"
    return (
        chosen,
        f"{arm}: {passes} of {len(fit)} trials pass{left_out}; {chosen} is the first that {does}",
    )


def _refuse_unlogged(database: Path, study: Path, name: str, runs: Sequence[str]) -> None:
    """Raise StudyError with the reason if `name` is a trial without a run, and no run matches."""
    rows = run(database, "observed_trials").records()
    unlogged = {str(row["trial"]): row for row in rows if not row["logged"]}
    matching = [trial for trial in unlogged if trial.startswith(name)]
    if name in unlogged or (matching and not any(one.startswith(name) for one in runs)):
        trial = _full_name(matching, name, study, "observed_trials")
        raise StudyError(
            f"trial {trial!r} has no readable log ({unlogged[trial]['reason']}); see:"
            f" skilljuror query {quote(str(study))} observed_trials",
            file=str(unlogged[trial]["source"]),
        )


def _full_name(names: Sequence[str], name: str, study: Path, what: str) -> str:
    """Complete a name or unique prefix. Raises StudyError with suggestions; `what` is both the kind
    of the names and the query that lists them."""
    matching = [full for full in names if full.startswith(name)]
    if name in names or len(matching) == 1:
        return name if name in names else matching[0]
    listing = f"list them: skilljuror query {quote(str(study))} {what}"
    if matching:
        shown = ", ".join(matching[:SUGGESTIONS]) + (" …" if len(matching) > SUGGESTIONS else "")
        message = (
            f"{len(matching)} {what} begin with {name!r}: {shown}; name one in full, or {listing}"
        )
    else:
        near = " or ".join(map(repr, get_close_matches(name, names, n=SUGGESTIONS)))
        guess = f"; did you mean {near}?" if near else ";"
        message = (
            f"{name!r} is not among the {len(names)} {what} in {str(study)!r}{guess} {listing}"
        )
    raise StudyError(message, file=str(study))


def _verdicts(study: Path, name: str) -> tuple[Verdict, ...]:
    if not StudyFolder(study).database.is_file():
        return ()
    rows = run(StudyFolder(study).database, "verdicts_of", trial=name).records()
    return tuple(Verdict(**row) for row in rows)


def report_head(study: Path) -> str:
    """Return the head of the report as Markdown. Raises MissingDependency without the report's
    libraries."""
    require("report", "'report'")
    from skilljuror.report.markdown import report_markdown

    return report_markdown(StudyFolder.existing(study).existing_database)


def report_several(studies: Sequence[Path]) -> "SeveralReport":
    """Return the table of several studies. Raises MissingDependency without the report's libraries."""
    require("report", "'report'")
    from skilljuror.report.several import several_report

    named = study_names(studies)
    return several_report({
        name: StudyFolder.existing(study).existing_database for name, study in named.items()
    })


def report_paper(study: Path, target: Path | None = None) -> tuple[list[str], list[str]]:
    """Write the tables of the paper, to STUDY/report/paper by default; return the names of those with
    rows, and of those without. Raises MissingDependency without the report's libraries."""
    require("report", "'report'")
    from skilljuror.report.paper import write_paper

    database = StudyFolder.existing(study).existing_database
    return write_paper(database, (target or StudyFolder(study).report) / "paper")


def report_study(
    study: Path, target: Path | None = None, *, quotes: bool = True, progress: Listener = silent
) -> "ReportSummary":
    """Write report.html with tables and figures; the default folder is STUDY/report.

    Raises MissingDependency without the report's libraries.
    """
    require("report", "'report'")
    from skilljuror.report.build import build_report  # only the report needs its templates

    progress(Progress("report", 0, 1))
    summary = build_report(
        StudyFolder.existing(study).existing_database,
        target or StudyFolder(study).report,
        quotes=quotes,
    )
    progress(Progress("report", 1, 1))
    return summary
