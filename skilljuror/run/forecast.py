"""Forecast a study before it is run: cells, differences, detectable effect, time and cost.

Every figure names its source; unknown figures stay unknown.
"""

from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.build.given_skills import GivenSkills
from skilljuror.errors import SkilljurorError, StudyError
from skilljuror.files import StudyFolder
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import Harness, Requirement, time_limit
from skilljuror.models.agent import AgentProgram
from skilljuror.models.study import Condition, StudyConfig, StudyPlan
from skilljuror.queries.run import Reader, open_read, run
from skilljuror.registry import resolve
from skilljuror.reports.answers import Answers
from skilljuror.reports.headline import outcome_trials, primary_contrast
from skilljuror.reports.remarks import roots_shown
from skilljuror.run.exclusions import undecided
from skilljuror.run.preflight import preflight
from skilljuror.run.run import agents_of
from skilljuror.stats.coverage import NO_VARIATION
from skilljuror.stats.power import VarianceParts, detectable_effect, variance_parts
from skilljuror.store.plans import headline
from skilljuror.studies.plan import freeze
from skilljuror.studies.study_file import load_study

POWER = 0.8
_USED = """
SELECT
    t.condition,
    count(t.agent_seconds) AS timed,
    avg(t.agent_seconds) / 60 AS minutes,
    count(coalesce(l.value, w.value)) AS priced,
    avg(coalesce(l.value, w.value)) AS dollars,
    count(*) AS trials
FROM trials AS t
LEFT JOIN measures AS l ON l.trial = t.trial AND l.metric = 'cost_usd' AND l.key = ''
LEFT JOIN measures AS w ON w.trial = t.trial AND w.metric = 'cost_usd_logged' AND w.key = ''
GROUP BY GROUPING SETS ((t.condition), ())
"""
"""Means by condition, and over all trials (condition null)."""


class Assumptions(Struct, frozen=True):
    """Stated figures; None if not stated."""

    sd: float | None = None
    """Standard deviation of the difference between the arms over tasks, points of the primary outcome."""
    minutes: float | None = None
    """Minutes of the agent for one trial."""
    dollars: float | None = None
    """US dollars for one trial."""


class Difference(Struct, frozen=True):
    """A setting in which two conditions differ."""

    conditions: tuple[str, str]
    setting: str
    """skill, disclosure, model or effort."""
    values: tuple[str | None, str | None]
    """Value in each condition."""


class Figure(Struct, frozen=True):
    """A forecast number."""

    name: str
    value: float | None
    """None if unknown."""
    unit: str
    source: str
    """Source of the number, or how to obtain it."""


class Forecast(Struct, frozen=True):
    """A study before it is run."""

    name: str
    """Name of the study."""
    tasks: tuple[str, ...]
    conditions: tuple[str, ...]
    trials_per_cell: int
    """Trials of each (task, condition) pair."""
    trials: int
    """Total trials."""
    contrast: tuple[str | None, str | None]
    """Treatment and control of the headline."""
    first_block: tuple[str, ...]
    """The first block in order; later blocks are shuffled in the same way."""
    differences: tuple[Difference, ...]
    """Differences between every two conditions."""
    figures: tuple[Figure, ...]
    """Smallest detectable effect, time and cost."""
    requirements: tuple[Requirement, ...] = ()
    """What the run needs, and whether this machine has it."""
    notes: tuple[str, ...] = ()


def forecast(
    study_file: Path,
    pilot: Path | None = None,
    stated: Assumptions | None = None,
    *,
    live: bool = False,
) -> Forecast:
    """Forecast the study in `study_file`, and check what it needs; with `live` its models are asked.

    Figures are those in `stated`, else from the database of `pilot`, the folder of an ingested study.
    Raises StudyError if that database is missing.
    """
    base = study_file.parent
    plan = freeze(load_study(study_file), base, find_skill=GivenSkills(base))
    config = plan.config
    given = stated or Assumptions()
    notes = list(undecided(config.exclude_rules))
    if pilot is None:
        figures = _figures(plan, base, given, None, "")
    else:
        with open_read(_database(pilot)) as reader:
            figures = _figures(plan, base, given, reader, str(pilot))
            if cut := roots_shown(Answers(reader)):
                notes.append(f"{pilot}: {cut}; a layout that is not read whole is not that layout")
    return Forecast(
        name=config.name,
        tasks=tuple(task.name for task in plan.tasks),
        conditions=tuple(arm.name for arm in config.conditions),
        trials_per_cell=config.trials_per_cell,
        trials=len(plan.trials),
        contrast=headline(config),
        first_block=tuple(one.trial for one in plan.trials if one.block == 0),
        differences=tuple(
            difference
            for one, other in combinations(config.conditions, 2)
            for difference in _differences(config, one, other)
        ),
        figures=figures,
        requirements=_requirements(config, base, plan, live=live),
        notes=tuple(notes),
    )


def _requirements(
    config: StudyConfig, base: Path, plan: StudyPlan, *, live: bool
) -> tuple[Requirement, ...]:
    harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(config.harness.options)
    agents, missing = list[AgentProgram](), list[Requirement]()
    try:
        agents = list(agents_of(config, harness).values())
    except SkilljurorError as error:
        missing.append(Requirement(f"agent {config.agent.name}", False, error.message))
    dirs = [base / task.path for task in plan.tasks]
    return (*preflight(config, harness, agents, dirs, live=live), *missing)


def _database(pilot: Path) -> Path:
    folder = StudyFolder.existing(pilot)
    if not folder.database.is_file():
        raise StudyError(
            f"--from {str(pilot)!r} has no database; create it with skilljuror ingest --study {pilot}",
            file=str(folder.database),
        )
    return folder.database


def _differences(config: StudyConfig, one: Condition, other: Condition) -> list[Difference]:
    before, after = config.settings(one), config.settings(other)
    return [
        Difference((one.name, other.name), setting, (before[setting], after[setting]))
        for setting in before
        if before[setting] != after[setting]
    ]


def _longest(plan: StudyPlan, base: Path) -> Figure:
    """Hours of all trials, one after the other, if each took all its time."""
    choice = plan.config.harness
    limits = {
        task.name: sum(time_limit(choice, base / task.path, part) for part in ("agent", "verifier"))
        for task in plan.tasks
    }
    hours = sum(limits[one.task] for one in plan.trials) / 3600
    return Figure(
        "time limits, all trials", hours, "hours", "harness: timeout_sec and verifier_timeout_sec"
    )


def _figures(
    plan: StudyPlan, base: Path, given: Assumptions, reader: Reader | None, pilot: str
) -> tuple[Figure, ...]:
    used = run(reader, _USED).records() if reader else []
    return (
        *_effects(plan, given.sd, reader, pilot),
        _longest(plan, base),
        _total(plan, "agent time", "minutes", given.minutes, used, pilot),
        _total(plan, "cost", "dollars", given.dollars, used, pilot),
    )


def _effects(
    plan: StudyPlan, stated: float | None, reader: Reader | None, pilot: str
) -> tuple[Figure, ...]:
    """The smallest detectable effect, and what twice the trials of a task or twice the tasks make of it."""
    name, unit, tasks = "smallest detectable effect", "pp", len(plan.tasks)
    sd, source, parts = stated, "stated: --sd", None
    delta = None
    if stated is None and reader is not None:
        answers = Answers(reader)
        delta = primary_contrast(answers, plan.config.primary_outcome)
    if delta is not None and delta.refusal:
        return (Figure(name, None, unit, f"undetermined: {pilot}: {delta.refusal}"),)
    if delta is not None:
        used, left_out = delta.clean or delta, " without contaminated trials"
        sd, parts = used.sd, _parts(answers, plan.config.primary_outcome)
        source = f"{pilot}: standard deviation over its {used.tasks} tasks"
        source += left_out if delta.clean else ""
        if parts is not None and sd:
            sd = parts.sd(plan.config.trials_per_cell)
            source += f", for {plan.config.trials_per_cell} trials of each"
    if sd == 0:
        return (Figure(name, None, unit, f"undetermined: {NO_VARIATION} ({source})"),)
    if sd is None:
        return (Figure(name, None, unit, _unknown(pilot, "--sd POINTS", "two tasks in both arms")),)
    effect = detectable_effect(sd, tasks, power=POWER).effect
    if effect is None:
        return (Figure(name, None, unit, "unknown: an interval requires two or more tasks"),)
    basis = f"{100 * POWER:.0f} % power at {tasks} tasks whose differences vary by {sd:.1f} pp"
    found = [Figure(name, effect, unit, f"{basis} ({source})")]
    if parts is not None:
        more = parts.sd(2 * plan.config.trials_per_cell)
        for what, reach in (
            ("twice the trials of a task", detectable_effect(more, tasks, power=POWER)),
            ("twice the tasks", detectable_effect(sd, 2 * tasks, power=POWER)),
        ):
            within = parts.within / plan.config.trials_per_cell
            share = 100 * parts.between / (parts.between + within)
            why = (
                f"{share:.0f} % of the variance is between tasks, the rest between trials of a task"
            )
            found.append(Figure(f"{name} with {what}", reach.effect, unit, why))
    return tuple(found)


def _parts(answers: Answers, outcome: str) -> VarianceParts | None:
    """Variance of the difference between tasks and between trials, without contaminated trials."""
    study = answers.single("overview")
    arms: dict[str, dict[str, list[float]]] = {study["control"]: {}, study["treatment"]: {}}
    for trial in outcome_trials(answers, outcome, study["treatment"], study["control"]):
        if trial.value is not None and not trial.contaminated:
            arms[trial.condition].setdefault(trial.task, []).append(trial.value)
    control, treatment = arms.values()
    return variance_parts(control, treatment, 100.0)


def _total(
    plan: StudyPlan,
    name: str,
    unit: str,
    stated: float | None,
    used: list[dict[str, Any]],
    pilot: str,
) -> Figure:
    """Sum over trials of their condition's mean, or of the overall mean for a new condition."""
    if stated is not None:
        whole = stated * len(plan.trials)
        return Figure(name, whole, unit, f"stated: --{unit} {stated:g} per trial")
    means = {row["condition"]: row[unit] for row in used if row[unit] is not None}
    if None not in means:
        return Figure(name, None, unit, _unknown(pilot, f"--{unit} N", "a trial that reports it"))
    counts = {row["condition"]: row for row in used}
    known = counts[None]["timed" if unit == "minutes" else "priced"]
    value = sum(means.get(one.condition, means[None]) for one in plan.trials)
    source = f"{pilot}: means by condition over {known} of its {counts[None]['trials']} trials"
    if new := [arm.name for arm in plan.config.conditions if arm.name not in means]:
        source += f"; {', '.join(new)}: the overall mean"
    return Figure(name, value, unit, source)


def _unknown(pilot: str, option: str, lacking: str) -> str:
    if pilot:
        return f"unknown: {pilot} lacks {lacking}; state it with {option}"
    return f"unknown: name a finished study with --from STUDY, or state it with {option}"
