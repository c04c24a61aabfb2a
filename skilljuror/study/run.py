"""Run a study file: plan, build the variants, run the trials; rerun to resume."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct

from skilljuror.audit.audit import load_gates
from skilljuror.base.build import VariantManifest
from skilljuror.base.errors import ModelError, StudyError, UsageError, resolve
from skilljuror.base.files import (
    StudyFolder,
    digest_json,
    sha256,
)
from skilljuror.base.study import (
    AgentChoice,
    AgentProgram,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    arm_at,
    trial_arms,
)
from skilljuror.base.texts import with_packaged
from skilljuror.base.workers import Listener, silent
from skilljuror.harness import HARNESSES
from skilljuror.harness.agents import AGENTS, Agent, refuse_missing_keys
from skilljuror.harness.base import BatchHarness, CheckedHarness, Harness, TrialJob
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.harness.study_leaks import refuse_leaks
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.build.build import load_transform
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.layouts.build.protected_texts import fingerprints_of, save_fingerprints
from skilljuror.measures.metrics import families
from skilljuror.study.attempts import to_run_again
from skilljuror.study.budget import Spending
from skilljuror.study.exclusions import check_rules, decided, without_ruled_out
from skilljuror.study.lock import exclusive_run, workers_lock
from skilljuror.study.outcomes import OutcomeCounts, count_outcomes, uniform_rewards
from skilljuror.study.plan import freeze
from skilljuror.study.preflight import refuse_unprotected, refuse_unsupported
from skilljuror.study.saved_plan import finished_records, save_plan
from skilljuror.study.scheduling import run_all
from skilljuror.study.study_builds import StudyBuilds, StudyRun, engine_of
from skilljuror.study.study_file import load_study
from skilljuror.study.trial import RunSetup

DISCLOSURE = "Skills available for this task: {}."
"""Last line of the prompt with `disclosure: named`."""


class RunSummary(Struct, frozen=True):
    """Result of a run."""

    folder: str
    """Folder of the study."""
    planned: int
    """Planned trials."""
    finished: int
    """Trials with a record, including earlier runs."""
    ran: int
    """Trials run by this call."""
    rerun: int
    """Of these, trials that had finished before."""
    statuses: dict[str, int]
    """Finished trials by status, with no_answer for those without a model answer."""
    outcomes: tuple[OutcomeCounts, ...]
    """Rewards and exceptions by task; by condition only on request."""
    warnings: tuple[str, ...]
    """Tasks and conditions whose trials all have the same reward."""
    isolation: str
    """Isolation of the trials from this machine."""
    stopped: str | None = None
    """The budget that stopped the run; raise it and rerun to resume."""
    interrupted: bool = False
    """True if interrupted; rerun to resume."""
    notes: tuple[str, ...] = ()
    """One line each."""


def run_study(
    study_file: Path,
    folder: Path,
    *,
    jobs: int = 1,
    rerun: Collection[str] = (),
    unblind: bool = False,
    progress: Listener | None = None,
) -> RunSummary:
    """Freeze the plan, build the variants, run the trials without a record, and rerun those that ended as in
    `rerun` (`attempts.OUTCOMES`). With `unblind` the summary has rewards by condition, too.

    `jobs` trials run in parallel, in plan order. Raises StudyError if `folder` has another plan or an
    active run, GateError if a variant failed its gates, HarnessError if this machine cannot run
    trials. Finished trials are always saved.
    """
    run, isolation = prepared(study_file, folder, progress or silent)
    config = run.plan.config
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"--out {str(folder)!r} is a file; name a folder", file=str(folder))
    with exclusive_run(run.folder) as scratch:
        run = without_ruled_out(run, study_file)
        plan = run.plan
        notes = [*save_plan(run.folder, plan, study_file), *_unsupported(run), *_unmatched(run)]
        before = finished_records(run.folder, plan)
        setup = RunSetup(
            folder.resolve(), scratch, workers_lock(run.folder), config.harness, config.retries
        )
        again, rerun_notes = to_run_again(run.folder, before, rerun)
        notes += rerun_notes
        trials = {one.trial: one for one in plan.trials}
        left = [one for name, one in trials.items() if name not in before or name in again]
        interrupted = _build_and_run(run, setup, left, max(jobs, 1), len(trials), notes)
        finished = finished_records(run.folder, plan)
        spent = Spending(run.folder, config.budget, with_packaged(config.prices))
    waiting = not trials.keys() <= finished.keys() or any(
        finished[one] == before[one] for one in again
    )
    return RunSummary(
        folder=str(folder),
        planned=len(trials),
        finished=len(finished.keys() & trials.keys()),
        ran=sum(before.get(name) != record for name, record in finished.items()),
        rerun=sum(name in before and before[name] != finished[name] for name in finished),
        statuses=dict(sorted(Counter(record.end for record in finished.values()).items())),
        outcomes=count_outcomes(finished.values(), unblind=unblind),
        warnings=tuple(uniform_rewards(list(finished.values()), unblind=unblind)),
        isolation=isolation,
        stopped=spent.reached() if waiting else None,
        interrupted=interrupted,
        notes=(*notes, *spent.notes(), *_isolation_note(config, isolation)),
    )


def prepared(study_file: Path, folder: Path, listener: Listener = silent) -> tuple[StudyRun, str]:
    """Prepare a run into `folder` without writing; return it with the isolation of its trials.

    Raises StudyError and UsageError for an invalid study, HarnessError if this machine cannot run it.
    """
    config = load_study(study_file)
    study = StudyFolder(folder)
    with _naming(study_file):
        if not study.finished_trials():  # a started study resumes as planned
            _refuse_effort_in_options(config)
        harness: Harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(
            config.harness.options
        )
        agents = agents_of(config, harness)
        for agent in agents.values():
            refuse_missing_keys(agent)
        transforms = _check_build(config)
        families(config.metrics)  # refuse an invalid metric before any run
        named = _with_variant_names(config, transforms)
        check_rules(named.exclude_rules, named.conditions)
        base = study_file.parent
        given = GivenSkills(base)
        ruled_out = decided(study, named.exclude_rules)
        plan = freeze(named, base, given, ruled_out)
    plan = plan.model_copy(update={"agent_digest": _digest_of(agents)})
    refuse_unsupported(harness, [base / task.path for task in plan.tasks])
    isolation = harness.prepare()
    for agent in agents.values():
        refuse_unprotected(config, agent, harness)
    prices = with_packaged(config.prices)
    builds = StudyBuilds(base, study, transforms, config.build, listener, prices)
    return StudyRun(base, builds, given, plan, study, agents, harness, listener), isolation


def _refuse_effort_in_options(config: StudyConfig) -> None:
    """Raise UsageError for an effort in the agent's options, which a condition would silently override."""
    for agent in (config.agent, *(arm.agent for arm in config.conditions if arm.agent)):
        for name in {"effort", "reasoning_effort"} & agent.options.keys():
            field = f"agent.options.{name}"
            raise UsageError(
                f"{field}: unsupported option; use agent.effort: {agent.options[name]}", field=field
            )


def agents_of(config: StudyConfig, harness: Harness) -> dict[str, AgentProgram]:
    """Condition -> its agent, from the harness or from `AGENTS`.

    Raises UsageError for an unknown agent or invalid options.
    """
    made: dict[str, AgentProgram] = {}
    agents = {}
    for arm in config.conditions:
        choice = config.agent_of(arm)
        key = choice.model_dump_json()
        if key not in made:
            own = harness.own_agent(choice) if isinstance(harness, BatchHarness) else None
            made[key] = own or _program(choice)
        agents[arm.name] = made[key]
    return agents


def _program(choice: AgentChoice) -> AgentProgram:
    make_program: Agent = resolve(AGENTS, choice.name, "agent", Agent)
    effort = {"effort": choice.effort} if choice.effort else {}
    return make_program({**choice.options, **effort}, choice.model)


def _digest_of(agents: dict[str, AgentProgram]) -> str:
    """The digest of a single agent, or a digest over those of all conditions."""
    digests = {name: agent_digest(agent) for name, agent in agents.items()}
    return digest_json(digests) if len({*digests.values()}) > 1 else min(digests.values())


def _isolation_note(config: StudyConfig, isolation: str) -> list[str]:
    if isolation != "none":
        return []
    chosen = config.harness.name != "local" or config.harness.options.get("isolation") == "none"
    why = "as set in the study" if chosen else f"because no sandbox works: {bwrap_problem()}"
    return [
        f"isolation none: agents and verifiers ran as plain processes of this user, {why}; every trial"
        " is marked"
    ]


@contextmanager
def _naming(study_file: Path) -> Iterator[None]:
    """Add the study file to errors about its fields."""
    try:
        yield
    except UsageError as error:
        if error.file is not None:
            raise
        message = f"{study_file}: {error.message}"
        raise type(error)(message, file=str(study_file), field=error.field) from error


def _check_build(config: StudyConfig) -> dict[str, str]:
    """Variant -> name of its transform, for all conditions.

    Raises UsageError for an unknown transform or gate, StudyError for unknown build options.
    """
    load_gates(config.build.gates)
    engine_of(config.build, Path())
    wanted = {condition.variant for condition in config.conditions if condition.variant}
    transforms = {load_transform(name).variant: name for name in sorted(wanted)}
    if config.build.options and wanted <= TRANSFORMS.keys():
        name = min(config.build.options)
        option = f"build.{name}"
        guess = "did you mean 'assay'? " if get_close_matches(name, ["assay"]) else ""
        raise StudyError(
            f"{option}: unknown option; {guess}the packaged variants have none, remove it",
            field=option,
        )
    return transforms


def _with_variant_names(config: StudyConfig, transforms: dict[str, str]) -> StudyConfig:
    """Replace each condition's transform by the name of its variant."""
    variants = {name: variant for variant, name in transforms.items()}
    conditions = tuple(
        arm.model_copy(update={"variant": variants[arm.variant]}) if arm.variant else arm
        for arm in config.conditions
    )
    return config.model_copy(update={"conditions": conditions})


def agent_digest(agent: AgentProgram) -> str:
    """Digest an agent's command, version, model and files."""
    files = [(file.name, sha256(file.read_bytes())) for file in agent.files]
    values = [agent.name, agent.version, agent.model, agent.argv, files]
    values += [agent.keys] if agent.keys else []  # digests of agents without keys stay equal
    default = AgentProgram(agent.name, agent.version, (), ())
    further = {
        name: getattr(agent, name)
        for name in ("effort", "skills", "home_files", "env", "logs")
        if getattr(agent, name) != getattr(default, name)
    }
    return digest_json([*values, further] if further else values)


def _build_and_run(
    run: StudyRun,
    setup: RunSetup,
    trials: Sequence[PlannedTrial],
    jobs: int,
    planned: int,
    notes: list[str],
) -> bool:
    """Make missing builds and run these trials; return True if interrupted."""
    try:
        if failed := run.builds.make(run.plan.tasks):
            name, why = next(iter(failed.items()))
            raise ModelError(f"task {name!r} of a started study could not be built: {why}")
        builds = run.builds.accepted(run.plan.tasks, notes)
        run.builds.assay(run.plan.tasks, jobs)
        for task in run.plan.tasks:
            builds.setdefault(task.name, {}).update(run.given.save(run.folder, task))
        _save_fingerprints(run)
        run_all(run, setup, [_job(run, builds, trial) for trial in trials], jobs, planned)
    except KeyboardInterrupt:
        return True
    return False


def _save_fingerprints(run: StudyRun) -> None:
    """Fingerprint each task's protected texts before its first trial, and refuse a Skill with the answer."""
    begun = bool(run.folder.finished_trials())
    for task in run.plan.tasks:
        if not (begun and fingerprints_of(run.folder.root, task.name).is_file()):
            skills = run.base / task.skills if task.skills else None
            save_fingerprints(run.folder, task.name, run.base / task.path, skills)
    if not begun:
        refuse_leaks(run.folder)


def _unsupported(run: StudyRun) -> Iterator[str]:
    """Note what the harness ignores of tasks, as the study allows."""
    dirs = [run.base / task.path for task in run.plan.tasks]
    for one in (
        run.harness.task_requirements(dirs) if isinstance(run.harness, CheckedHarness) else ()
    ):
        if one.detail.startswith("ignored"):
            yield one.detail


def _unmatched(run: StudyRun) -> Iterator[str]:
    """Note arms whose Skill is offered by path, so that its knowledge is not matched."""
    arms = [arm.name for arm in run.plan.config.conditions if arm.skill]
    if arms:
        yield (
            f"{', '.join(arms)}: the Skill's knowledge is not matched with other arms; after ingest,"
            " query given_skills for what they share"
        )


def _job(
    run: StudyRun, builds: dict[str, dict[str, VariantManifest]], trial: PlannedTrial
) -> TrialJob:
    config = run.plan.config
    task = next(task for task in run.plan.tasks if task.name == trial.task)
    arm = next(arm for arm in config.conditions if arm.name == trial.condition)
    named = config.settings(arm)["disclosure"] == "named"
    offers = arm_at(arm, trial.number).offers
    manifest = builds[task.name][offers] if offers else None
    return TrialJob(
        trial=trial,
        task=task,
        task_dir=(run.base / task.path).resolve(),
        variant=offers,
        variant_dir=run.folder.offered(task.name, offers).resolve() if offers else None,
        agent=run.agents[arm.name],
        choice=config.harness,
        config_digest=run.plan.config_digest,
        variant_digest=manifest.tree_digest if manifest else None,
        announced=manifest.announced if manifest else (),
        disclosed=DISCLOSURE.format(", ".join(manifest.skills)) if named and manifest else None,
        keep=config.keep,
        hidden=(run.folder.root, *study_places(run.base, run.plan)),
    )


def study_places(base: Path, plan: StudyPlan) -> Iterator[Path]:
    """Yield the study file's folder, and those of its tasks and Skills."""
    yield base
    for task in plan.tasks:
        yield base / task.path
        if task.skills:
            yield base / task.skills
        for arm in trial_arms(plan.config):
            if arm.skill:
                yield base / arm.skill.at(task.name)
