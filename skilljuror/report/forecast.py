"""Forecast a study before it is run: cells, differences, detectable effect, time and cost.

Every figure names its source; unknown figures stay unknown.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.base.study import Condition, ExclusionRules, StudyConfig, StudyPlan
from skilljuror.harness.base import Requirement, time_limit
from skilljuror.measures.paired import NO_VARIATION
from skilljuror.measures.power import VarianceParts, detectable_effect, variance_parts
from skilljuror.report.computed import Answers, outcome_contrast, outcome_trials
from skilljuror.report.headline import say
from skilljuror.store.connect import Reader, open_read
from skilljuror.store.questions import run
from skilljuror.store.writer import differing, headline, setting
from skilljuror.study.plan import read_plan, requirements_of

POWER = 0.8
EFFECT = "smallest detectable effect"
_USED = """
SELECT t.condition, t.agent_seconds / 60 AS minutes, coalesce(l.value, w.value) AS dollars
FROM trials AS t
LEFT JOIN measures AS l ON l.trial = t.trial AND l.metric = 'cost_usd' AND l.key = ''
LEFT JOIN measures AS w ON w.trial = t.trial AND w.metric = 'cost_usd_logged' AND w.key = ''
"""
"""What each trial used."""


class Assumptions(Struct, frozen=True):
    """Stated figures; None if not stated."""

    sd: float | None = None
    """Standard deviation of the difference between the arms over tasks, points of the primary outcome."""
    minutes: float | None = None
    """Minutes of the agent for one trial."""
    dollars: float | None = None
    """US dollars for one trial."""
    hourly: float | None = None
    """US dollars for an hour of a hosted machine."""


class Difference(Struct, frozen=True):
    """A setting in which two conditions differ."""

    conditions: tuple[str, str]
    setting: str
    """skill, disclosure, agent (with its options), model or effort."""
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


class Pilot:
    """A study that was run and ingested before."""

    def __init__(self, folder: Path, reader: Reader) -> None:
        rows = run(reader, "SELECT config FROM study").rows
        self.name = str(folder)
        self.answers = Answers(reader)
        self.config = StudyConfig.model_validate_json(rows[0][0]) if rows else None
        """Its study file; None for logs alone."""
        self.used: list[dict[str, Any]] = run(reader, _USED).records()
        """Rows of `_USED`."""

    def arms_like(
        self, plan: StudyPlan, name: str, of: Callable[[StudyConfig, Condition], Any]
    ) -> list[str]:
        """Names of its conditions that are equal, by `of`, to one of the plan."""
        if self.config is None:
            return []
        wanted = next(of(plan.config, arm) for arm in plan.config.conditions if arm.name == name)
        return [arm.name for arm in self.config.conditions if of(self.config, arm) == wanted]

    def values(self, conditions: Collection[str], unit: str) -> list[float]:
        """Known minutes or dollars of the trials of these conditions."""
        rows = (row for row in self.used if row["condition"] in conditions)
        return [row[unit] for row in rows if row[unit] is not None]


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
    base, plan = study_file.parent, read_plan(study_file)
    config, given, notes = plan.config, stated or Assumptions(), list[str]()
    if config.exclude_rules != ExclusionRules():
        notes.append("exclude_rules apply after the variants are built")
    arms = [arm for arm in config.conditions if arm.name in headline(config)]
    settings = differing(config, *arms) if len(arms) == 2 else []
    if len(settings) > 1:
        notes.append(
            f"contrast: {' and '.join(arm.name for arm in arms)} differ in {' and '.join(settings)};"
            " their difference is of all of these together"
        )
    limits = {
        task.name: sum(
            time_limit(config.harness, base / task.path, part) for part in ("agent", "verifier")
        )
        for task in plan.tasks
    }
    hours = sum(limits[trial.task] for trial in plan.trials) / 3600
    with _opened(pilot) as before:
        time = _total(plan, "agent time", "minutes", given.minutes, before)
        figures = (
            *_effects(plan, given.sd, before),
            Figure("time limits, all trials", hours, "hours", "harness: timeout_sec and verifier_timeout_sec"),
            time,
            _total(plan, "cost", "dollars", given.dollars, before),
            *_machines(given.hourly, time.value, hours),
        )  # fmt: skip
        if before and (cut := say("roots_shown", answers=before.answers)):
            notes.append(f"{pilot}: {cut}; a layout that is not read whole is not that layout")
    differences = []
    for arm, other in combinations(config.conditions, 2):
        values, others = config.settings(arm), config.settings(other)
        differences += [
            Difference((arm.name, other.name), name, (values[name], others[name]))
            for name in differing(config, arm, other)
        ]
    return Forecast(
        name=config.name,
        tasks=tuple(task.name for task in plan.tasks),
        conditions=tuple(arm.name for arm in config.conditions),
        trials_per_cell=config.trials_per_cell,
        trials=len(plan.trials),
        contrast=headline(config),
        first_block=tuple(trial.trial for trial in plan.trials if trial.block == 0),
        differences=tuple(differences),
        figures=figures,
        requirements=requirements_of(plan, base, live=live),
        notes=tuple(notes),
    )


def _machines(hourly: float | None, minutes: float | None, limit: float) -> Iterator[Figure]:
    """Dollars for hosted machines, if their price is stated: by the agents' time, else at most, by the time limits."""
    if hourly is None:
        return
    if minutes is None:
        yield Figure("machines", hourly * limit, "dollars", "at most: --hourly × the time limits")
    else:
        source = "--hourly × agent time; setup and verifier come on top"
        yield Figure("machines", hourly * minutes / 60, "dollars", source)


@contextmanager
def _opened(folder: Path | None) -> Iterator[Pilot | None]:
    if folder is None:
        yield None
        return
    database = StudyFolder.existing(folder).database
    if not database.is_file():
        raise StudyError(
            f"--from {str(folder)!r} has no database; create it with skilljuror ingest --study {folder}",
            file=str(database),
        )
    with open_read(database) as reader:
        yield Pilot(folder, reader)


def _unknown(pilot: Pilot | None, option: str, lacking: str) -> str:
    if pilot:
        return f"unknown: {pilot.name} lacks {lacking}; state it with {option}"
    return f"unknown: name a finished study with --from STUDY, or state it with {option}"


def _effects(plan: StudyPlan, stated: float | None, pilot: Pilot | None) -> tuple[Figure, ...]:
    """The smallest detectable effect, and what twice the trials of a task or twice the tasks make of it."""
    sd, parts = stated, None
    source = "stated: --sd" if stated is not None else _unknown(None, "--sd POINTS", "")
    if stated is None and pilot is not None:
        sd, source, parts = _spread(plan, pilot)
    if sd is None:
        return (Figure(EFFECT, None, "pp", source),)
    if sd == 0:
        return (Figure(EFFECT, None, "pp", f"undetermined: {NO_VARIATION} ({source})"),)
    treated, control = (
        {trial.task for trial in plan.trials if trial.condition == arm}
        for arm in headline(plan.config)
    )
    tasks, trials = len(treated & control), plan.config.trials_per_cell
    effect = detectable_effect(sd, tasks, power=POWER).effect
    if effect is None:
        why = "unknown: an interval requires two or more tasks in both arms"
        return (Figure(EFFECT, None, "pp", why),)
    basis = f"{100 * POWER:.0f} % power at {tasks} tasks whose differences vary by {sd:.1f} pp"
    figures = [Figure(EFFECT, effect, "pp", f"{basis} ({source})")]
    if parts is not None:
        share = 100 * parts.between / (parts.between + parts.within / trials)
        why = f"{share:.0f} % of the variance is between tasks, the rest between trials of a task"
        more_trials = detectable_effect(parts.sd(2 * trials), tasks, power=POWER).effect
        more_tasks = detectable_effect(sd, 2 * tasks, power=POWER).effect
        figures += [
            Figure(f"{EFFECT} with twice the trials of a task", more_trials, "pp", why),
            Figure(f"{EFFECT} with twice the tasks", more_tasks, "pp", why),
        ]
    return tuple(figures)


def _spread(plan: StudyPlan, pilot: Pilot) -> tuple[float | None, str, VarianceParts | None]:
    """Standard deviation over tasks of the difference between the pilot's arms with the settings of the plan's
    treatment and control, points or None; its source, or why it is unknown; and its parts."""
    arms = list[str]()
    for name in headline(plan.config):
        if name is None:
            return None, "unknown: the study has no two arms to compare", None
        alike = pilot.arms_like(plan, name, StudyConfig.settings)
        if name not in alike and len(alike) != 1:
            lacking = (
                f"one arm with the Skill, agent, options, model, effort and disclosure of {name}"
            )
            return None, _unknown(pilot, "--sd POINTS", lacking), None
        arms.append(name if name in alike else alike[0])
    outcome = plan.config.primary_outcome
    delta = outcome_contrast(pilot.answers, outcome, *arms)
    used = (delta.clean or delta) if delta and len({*arms}) == 2 else None
    if used and delta and delta.refusal:
        return None, f"undetermined: {pilot.name}: {delta.refusal}", None
    if delta is None or used is None or used.sd is None:
        return None, _unknown(pilot, "--sd POINTS", "two tasks in both arms"), None
    source = f"{pilot.name}: standard deviation over its {used.tasks} tasks"
    source += " without contaminated trials" if delta.clean else ""
    values: dict[str, dict[str, list[float]]] = {arm: {} for arm in arms}
    for trial in outcome_trials(pilot.answers, outcome, *arms):
        if trial.value is not None and not trial.contaminated:
            values[trial.condition].setdefault(trial.task, []).append(trial.value)
    treatment, control = values.values()
    parts = variance_parts(control, treatment, 100.0)
    if parts is None or not used.sd:
        return used.sd, source, None
    trials = plan.config.trials_per_cell
    return parts.sd(trials), f"{source}, for {trials} trials of each", parts


def _total(
    plan: StudyPlan, name: str, unit: str, stated: float | None, pilot: Pilot | None
) -> Figure:
    """Sum over trials of the mean in the pilot's arms with the same settings; for a new Skill, of the mean in
    the arms that differ in the Skill alone."""
    if stated is not None:
        whole = stated * len(plan.trials)
        return Figure(name, whole, unit, f"stated: --{unit} {stated:g} per trial")
    if pilot is None:
        return Figure(name, None, unit, _unknown(None, f"--{unit} N", ""))
    means, entering, new = dict[str, float](), set[str](), list[str]()
    for arm in plan.config.conditions:
        alike = pilot.arms_like(plan, arm.name, StudyConfig.settings)
        if not (values := pilot.values(alike, unit)):
            alike = pilot.arms_like(plan, arm.name, setting)
            values = pilot.values(alike, unit)
            new.append(arm.name)
        if not values:
            lacking = (
                f"a trial with this figure and the agent, options, model and effort of {arm.name}"
            )
            return Figure(name, None, unit, _unknown(pilot, f"--{unit} N", lacking))
        means[arm.name] = fmean(values)
        entering.update(alike)
    value = sum(means[trial.condition] for trial in plan.trials)
    known = len(pilot.values(entering, unit))
    trials = sum(row["condition"] in entering for row in pilot.used)
    source = f"{pilot.name}: means by condition over {known} of its {trials} trials"
    if new:
        source += f"; {', '.join(new)}: the mean of arms with another Skill"
    return Figure(name, value, unit, source)
