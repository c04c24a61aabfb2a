"""Forecast a study before it is run: cells, differences, detectable effect, time and cost.

Every figure names its source; unknown figures stay unknown.
"""

from collections.abc import Collection
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import SkilljurorError, StudyError, resolve
from skilljuror.base.files import StudyFolder
from skilljuror.base.study import AgentProgram, Condition, StudyConfig, StudyPlan
from skilljuror.harness import HARNESSES
from skilljuror.harness.base import Harness, Requirement, time_limit
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.measures.stats.coverage import NO_VARIATION
from skilljuror.measures.stats.power import VarianceParts, detectable_effect, variance_parts
from skilljuror.report.answers import Answers
from skilljuror.report.headline import outcome_contrast, outcome_trials
from skilljuror.report.remarks import roots_shown
from skilljuror.store.plans import differing, headline, setting
from skilljuror.store.questions.run import Reader, open_read, run
from skilljuror.study.exclusions import undecided
from skilljuror.study.plan import freeze
from skilljuror.study.preflight import preflight
from skilljuror.study.run import agents_of
from skilljuror.study.study_file import load_study

POWER = 0.8
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
    notes = [*undecided(config.exclude_rules), *_confounded(config)]
    if pilot is None:
        figures = _figures(plan, base, given, None)
    else:
        with open_read(_database(pilot)) as reader:
            figures = _figures(plan, base, given, _open_pilot(pilot, reader))
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


def _confounded(config: StudyConfig) -> list[str]:
    """A remark on a contrast of arms that differ in several settings."""
    arms = [arm for arm in config.conditions if arm.name in headline(config)]
    differ = differing(config, *arms) if len(arms) == 2 else []
    if len(differ) < 2:
        return []
    names, settings = (" and ".join(one) for one in ([arm.name for arm in arms], differ))
    return [f"contrast: {names} differ in {settings}; their difference is of all of these together"]


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
        Difference((one.name, other.name), name, (before[name], after[name]))
        for name in differing(config, one, other)
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


class _Pilot(Struct, frozen=True):
    """A study that was run before."""

    folder: str
    reader: Reader
    config: StudyConfig | None
    """Its study file; None for logs alone."""
    used: list[dict[str, Any]]
    """Rows of `_USED`."""


def _open_pilot(folder: Path, reader: Reader) -> _Pilot:
    rows = run(reader, "SELECT config FROM study").rows
    config = StudyConfig.model_validate_json(rows[0][0]) if rows else None
    return _Pilot(str(folder), reader, config, run(reader, _USED).records())


def _figures(
    plan: StudyPlan, base: Path, given: Assumptions, pilot: _Pilot | None
) -> tuple[Figure, ...]:
    return (
        *_effects(plan, given.sd, pilot),
        _longest(plan, base),
        _total(plan, "agent time", "minutes", given.minutes, pilot),
        _total(plan, "cost", "dollars", given.dollars, pilot),
    )


def _arms_like(pilot: _Pilot, plan: StudyPlan, name: str, *, any_skill: bool = False) -> list[str]:
    """Conditions of the pilot with all settings of one of the plan, or all but its Skill."""
    if pilot.config is None:
        return []
    of = setting if any_skill else StudyConfig.settings
    wanted = next(of(plan.config, arm) for arm in plan.config.conditions if arm.name == name)
    return [arm.name for arm in pilot.config.conditions if of(pilot.config, arm) == wanted]


class _Spread(Struct, frozen=True):
    """Spread over tasks of the difference between two arms."""

    sd: float | None
    """Points; None if unknown."""
    source: str
    """Source, or why it is unknown."""
    parts: VarianceParts | None = None


def _spread(plan: StudyPlan, pilot: _Pilot) -> _Spread:
    """Spread between the pilot's arms with the settings of the plan's treatment and control."""
    arms = list[str]()
    for name in headline(plan.config):
        if name is None:
            return _Spread(None, "unknown: the study has no two arms to compare")
        alike = _arms_like(pilot, plan, name)
        if name not in alike and len(alike) != 1:
            lacking = (
                f"one arm with the Skill, agent, options, model, effort and disclosure of {name}"
            )
            return _Spread(None, _unknown(pilot, "--sd POINTS", lacking))
        arms.append(name if name in alike else alike[0])
    answers, outcome = Answers(pilot.reader), plan.config.primary_outcome
    delta = outcome_contrast(answers, outcome, *arms)
    if delta is None or len({*arms}) < 2:
        return _Spread(None, _unknown(pilot, "--sd POINTS", "two tasks in both arms"))
    if delta.refusal:
        return _Spread(None, f"undetermined: {pilot.folder}: {delta.refusal}")
    used, parts = delta.clean or delta, _parts(answers, outcome, *arms)
    source = f"{pilot.folder}: standard deviation over its {used.tasks} tasks"
    source += " without contaminated trials" if delta.clean else ""
    if used.sd is None:
        return _Spread(None, _unknown(pilot, "--sd POINTS", "two tasks in both arms"))
    if parts is None or not used.sd:
        return _Spread(used.sd, source)
    trials = plan.config.trials_per_cell
    return _Spread(parts.sd(trials), f"{source}, for {trials} trials of each", parts)


def _effects(plan: StudyPlan, stated: float | None, pilot: _Pilot | None) -> tuple[Figure, ...]:
    """The smallest detectable effect, and what twice the trials of a task or twice the tasks make of it."""
    name, unit = "smallest detectable effect", "pp"
    in_arm = [
        {one.task for one in plan.trials if one.condition == arm} for arm in headline(plan.config)
    ]
    tasks = len(in_arm[0] & in_arm[1])
    spread = _Spread(None, _unknown(None, "--sd POINTS", ""))
    if stated is not None:
        spread = _Spread(stated, "stated: --sd")
    elif pilot is not None:
        spread = _spread(plan, pilot)
    sd, source, parts = spread.sd, spread.source, spread.parts
    if sd is None:
        return (Figure(name, None, unit, source),)
    if sd == 0:
        return (Figure(name, None, unit, f"undetermined: {NO_VARIATION} ({source})"),)
    effect = detectable_effect(sd, tasks, power=POWER).effect
    if effect is None:
        return (
            Figure(
                name, None, unit, "unknown: an interval requires two or more tasks in both arms"
            ),
        )
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


def _parts(answers: Answers, outcome: str, one: str, other: str) -> VarianceParts | None:
    """Variance of the difference between tasks and between trials, without contaminated trials."""
    arms: dict[str, dict[str, list[float]]] = {other: {}, one: {}}
    for trial in outcome_trials(answers, outcome, one, other):
        if trial.value is not None and not trial.contaminated:
            arms[trial.condition].setdefault(trial.task, []).append(trial.value)
    control, treatment = arms.values()
    return variance_parts(control, treatment, 100.0)


def _total(
    plan: StudyPlan, name: str, unit: str, stated: float | None, pilot: _Pilot | None
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
        alike = _arms_like(pilot, plan, arm.name)
        if not (values := _values(pilot, alike, unit)):
            alike = _arms_like(pilot, plan, arm.name, any_skill=True)
            values = _values(pilot, alike, unit)
            new.append(arm.name)
        if not values:
            lacking = (
                f"a trial with this figure and the agent, options, model and effort of {arm.name}"
            )
            return Figure(name, None, unit, _unknown(pilot, f"--{unit} N", lacking))
        means[arm.name] = fmean(values)
        entering.update(alike)
    value = sum(means[one.condition] for one in plan.trials)
    known = len(_values(pilot, entering, unit))
    trials = sum(row["condition"] in entering for row in pilot.used)
    source = f"{pilot.folder}: means by condition over {known} of its {trials} trials"
    if new:
        source += f"; {', '.join(new)}: the mean of arms with another Skill"
    return Figure(name, value, unit, source)


def _values(pilot: _Pilot, conditions: Collection[str], unit: str) -> list[float]:
    rows = (row for row in pilot.used if row["condition"] in conditions)
    return [row[unit] for row in rows if row[unit] is not None]


def _unknown(pilot: _Pilot | None, option: str, lacking: str) -> str:
    if pilot:
        return f"unknown: {pilot.folder} lacks {lacking}; state it with {option}"
    return f"unknown: name a finished study with --from STUDY, or state it with {option}"
