"""A study from its file to finished trials: plan, build, run; run again to go on."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from skilljuror.agents import AGENTS, Agent, refuse_missing_keys
from skilljuror.errors import HarnessError, StudyError, UsageError
from skilljuror.files import (
    StudyFolder,
    digest_json,
    sha256,
)
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import BatchHarness, Harness, TrialJob
from skilljuror.harnesses.environment import read_recipe
from skilljuror.harnesses.sandbox import bwrap_problem
from skilljuror.metrics import families
from skilljuror.models.agent import AgentProgram
from skilljuror.models.build import VariantManifest
from skilljuror.models.study import (
    AgentChoice,
    PlannedTrial,
    StudyConfig,
)
from skilljuror.pipeline.construction.audit import load_gates
from skilljuror.pipeline.construction.build import load_transform
from skilljuror.pipeline.construction.given_skills import GivenSkills
from skilljuror.pipeline.construction.model_build import model_engine
from skilljuror.pipeline.construction.protected_texts import fingerprints_of, keep_fingerprints
from skilljuror.pipeline.execution.attempts import to_run_again
from skilljuror.pipeline.execution.budget import Spending
from skilljuror.pipeline.execution.exclusions import check_rules, decided, without_ruled_out
from skilljuror.pipeline.execution.kept_plan import finished_records, keep_plan, plan_version
from skilljuror.pipeline.execution.lock import exclusive_run, workers_lock
from skilljuror.pipeline.execution.outcomes import (
    count_outcomes,
    uniform_rewards,
)
from skilljuror.pipeline.execution.scheduling import run_all
from skilljuror.pipeline.execution.study_builds import StudyBuilds
from skilljuror.pipeline.execution.study_run import RunSummary, StudyRun
from skilljuror.pipeline.execution.trial import RunSetup
from skilljuror.pipeline.workers import Listener, silent
from skilljuror.prices import with_packaged
from skilljuror.registry import resolve
from skilljuror.studies.plan import freeze
from skilljuror.studies.study_file import load_study
from skilljuror.transforms import TRANSFORMS

DISCLOSURE = "Skills available for this task: {}."
"""What the end of a prompt says where a study names the offered Skills."""


def run_study(
    study_file: Path,
    folder: Path,
    *,
    jobs: int = 1,
    rerun: Collection[str] = (),
    unblind: bool = False,
    progress: Listener | None = None,
) -> RunSummary:
    """Freeze the plan, build the variants, run every trial that has no record yet, and those again
    whose end is one of `rerun` (`attempts.ENDS`); their records are kept as earlier attempts. With
    `unblind` the summary tells rewards by condition, too.

    `jobs` trials run at a time, in plan order. Raises StudyError when `folder` holds another
    plan or a run that is under way, GateError when a variant failed its gates, HarnessError
    when the machine cannot run trials; finished trials are kept in every case.
    """
    run, isolation = prepared(study_file, folder, progress or silent)
    config = run.plan.config
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"--out {str(folder)!r} is a file; name a folder", file=str(folder))
    with exclusive_run(run.folder) as scratch:
        run = without_ruled_out(run, study_file)
        plan = run.plan
        notes = [*keep_plan(run.folder, plan, study_file), *_ignored_dockerfile_lines(run)]
        notes += _unmatched(run)
        before = finished_records(run.folder, plan)
        setup = RunSetup(
            folder.resolve(), scratch, workers_lock(run.folder), config.harness, config.retries
        )
        again, told = to_run_again(run.folder, before, rerun)
        notes += told
        kept = before.keys() - set(again)
        interrupted = _build_and_run(run, setup, kept, max(jobs, 1), notes)
        finished = finished_records(run.folder, plan)
        spent = Spending(run.folder, config.budget, with_packaged(config.prices))
    waiting = len(finished) < len(plan.trials) or any(finished[one] == before[one] for one in again)
    return RunSummary(
        folder=str(folder),
        planned=len(plan.trials),
        finished=len(finished),
        ran=sum(before.get(name) != record for name, record in finished.items()),
        rerun=sum(name in before and before[name] != finished[name] for name in finished),
        statuses=dict(sorted(Counter(record.status for record in finished.values()).items())),
        outcomes=count_outcomes(finished.values(), unblind=unblind),
        warnings=tuple(uniform_rewards(list(finished.values()), unblind=unblind)),
        isolation=isolation,
        stopped=spent.reached() if waiting else None,
        interrupted=interrupted,
        notes=(*notes, *spent.notes(), *_isolation_note(config, isolation)),
    )


def prepared(study_file: Path, folder: Path, listener: Listener = silent) -> tuple[StudyRun, str]:
    """The study as it would be run into `folder`, and the isolation of its trials; writes nothing.

    Raises StudyError, UsageError and HarnessError for what cannot be run.
    """
    config = load_study(study_file)
    study = StudyFolder(folder)
    with _naming(study_file):
        if not study.finished_trials():  # one that has begun goes on as it was planned
            _refuse_effort_in_options(config)
        harness: Harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(
            config.harness.options
        )
        agents = agents_of(config, harness)
        for agent in agents.values():
            refuse_missing_keys(agent)
        transforms = _check_build(config)
        families(config.metrics)  # one that is none is refused before anything is run
        named = _with_variant_names(config, transforms)
        check_rules(named.exclude_rules, named.conditions)
        base = study_file.parent
        given = GivenSkills(base)
        ruled_out = decided(study, named.exclude_rules)
        plan = freeze(named, base, plan_version(study), given, ruled_out)
    plan = plan.model_copy(update={"agent_digest": _digest_of(agents)})
    isolation = harness.prepare()
    for agent in agents.values():
        _refuse_unprotected(config, agent, isolation)
    prices = with_packaged(config.prices)
    builds = StudyBuilds(base, study, transforms, config.build, listener, prices)
    return StudyRun(base, builds, given, plan, study, agents, harness, listener), isolation


def _refuse_effort_in_options(config: StudyConfig) -> None:
    """Raise UsageError for an effort among the agent's options: it has a field of its own, and that of
    a condition would silently go before it."""
    for name in ("effort", "reasoning_effort"):
        if name in config.agent.options:
            field = f"agent.options.{name}"
            raise UsageError(
                f"{field}: the effort has a field of its own; write agent.effort:"
                f" {config.agent.options[name]} in its place",
                field=field,
            )


def agents_of(config: StudyConfig, harness: Harness) -> dict[str, AgentProgram]:
    """Condition -> its agent, one that the harness brings or one of ours.

    Raises UsageError for one that there is not, and for its options.
    """
    made: dict[
        tuple[str | None, str | None], AgentProgram
    ] = {}  # a program is asked its version once
    agents = {}
    for arm in config.conditions:
        settings = config.settings(arm)
        chosen = {"model": settings["model"], "effort": settings["effort"]}
        key = chosen["model"], chosen["effort"]
        if key not in made:
            choice = config.agent.model_copy(update=chosen)
            own = harness.own_agent(choice) if isinstance(harness, BatchHarness) else None
            made[key] = own or _program(choice)
        agents[arm.name] = made[key]
    return agents


def _program(choice: AgentChoice) -> AgentProgram:
    make_program: Agent = resolve(AGENTS, choice.name, "agent", Agent)
    effort = {"effort": choice.effort} if choice.effort else {}
    return make_program({**choice.options, **effort}, choice.model)


def _digest_of(agents: dict[str, AgentProgram]) -> str:
    """That of the one agent of a study; of several, over those of all conditions."""
    digests = {name: agent_digest(agent) for name, agent in agents.items()}
    return digest_json(digests) if len({*digests.values()}) > 1 else min(digests.values())


def _refuse_unprotected(config: StudyConfig, agent: AgentProgram, isolation: str) -> None:
    """A program that does what a model decides is not run as this user, unless the study says so."""
    if agent.scripted or isolation != "none" or config.harness.name != "local":
        return
    if config.harness.options.get("isolation") != "none":
        raise HarnessError(
            f"agent {agent.name!r} does what a model decides, and no sandbox works here:"
            f" {bwrap_problem()}; or let the study say harness.options.isolation: none, and it runs"
            " unprotected as this user"
        )


def _isolation_note(config: StudyConfig, isolation: str) -> list[str]:
    if isolation != "none":
        return []
    chosen = config.harness.name != "local" or config.harness.options.get("isolation") == "none"
    why = "as the study has it" if chosen else f"for no sandbox works here: {bwrap_problem()}"
    return [
        "isolation none: agents and verifiers ran as plain processes of this user, and every trial"
        f" says so, {why}"
    ]


@contextmanager
def _naming(study_file: Path) -> Iterator[None]:
    """Name the study file in errors about its fields."""
    try:
        yield
    except UsageError as error:
        if error.file is not None:
            raise
        message = f"{study_file}: {error.message}"
        raise type(error)(message, file=str(study_file), field=error.field) from error


def _check_build(config: StudyConfig) -> dict[str, str]:
    """Variant -> the name of its transform, of all that the conditions offer.

    Raises UsageError for a transform or gate that there is not, and for options that no build of this
    study takes.
    """
    load_gates(config.build.gates)
    model_engine(config.build.engine, config.build.model, Path())
    wanted = {condition.variant for condition in config.conditions if condition.variant}
    transforms = {load_transform(name).variant: name for name in sorted(wanted)}
    if config.build.options and wanted <= TRANSFORMS.keys():
        name = min(config.build.options)
        option = f"build.{name}"
        guess = "did you mean 'assay'? " if get_close_matches(name, ["assay"]) else ""
        raise StudyError(
            f"{option}: {guess}no option of the packaged variants; take it out",
            field=option,
        )
    return transforms


def _with_variant_names(config: StudyConfig, transforms: dict[str, str]) -> StudyConfig:
    """The study with each condition's transform replaced by the variant that it makes."""
    variants = {name: variant for variant, name in transforms.items()}
    conditions = tuple(
        arm.model_copy(update={"variant": variants[arm.variant]}) if arm.variant else arm
        for arm in config.conditions
    )
    return config.model_copy(update={"conditions": conditions})


def agent_digest(agent: AgentProgram) -> str:
    """sha256 over an agent's command, version, model and the content of its files."""
    files = [(file.name, sha256(file.read_bytes())) for file in agent.files]
    said = [agent.name, agent.version, agent.model, agent.argv, files]
    said += [agent.keys] if agent.keys else []  # so that the digest of an older agent stands
    usual = AgentProgram(agent.name, agent.version, (), ())
    further = {
        name: getattr(agent, name)
        for name in ("effort", "skills", "home_files", "env", "logs")
        if getattr(agent, name) != getattr(usual, name)
    }
    return digest_json([*said, further] if further else said)


def _build_and_run(
    run: StudyRun, setup: RunSetup, kept: Collection[str], jobs: int, notes: list[str]
) -> bool:
    """Build what is not built, run all but the `kept`; True when a person stopped it."""
    try:
        run.builds.make(run.plan.tasks)
        builds = run.builds.accepted(run.plan.tasks, notes)
        run.builds.assay(run.plan.tasks, jobs)
        for task in run.plan.tasks:
            builds.setdefault(task.name, {}).update(run.given.keep(run.folder, task))
        _keep_fingerprints(run)
        pending = [_job(run, builds, trial) for trial in run.plan.trials if trial.trial not in kept]
        run_all(run, setup, pending, jobs)
    except KeyboardInterrupt:
        return True
    return False


def _keep_fingerprints(run: StudyRun) -> None:
    """Write down what the agents of each task should not see, before the first of them starts."""
    begun = bool(run.folder.finished_trials())
    for task in run.plan.tasks:
        if not (begun and fingerprints_of(run.folder.root, task.name).is_file()):
            skills = run.base / task.skills if task.skills else None
            keep_fingerprints(run.folder, task.name, run.base / task.path, skills)


def _ignored_dockerfile_lines(run: StudyRun) -> Iterator[str]:
    """What the local harness cannot do of a task's Dockerfile."""
    if run.plan.config.harness.name != "local":
        return
    for task in run.plan.tasks:
        left_out = read_recipe(run.base / task.path / "environment").left_out
        if left_out:
            yield f"task {task.name!r}: the Dockerfile's {left_out[0]!r} was not followed"


def _unmatched(run: StudyRun) -> Iterator[str]:
    """A note on arms whose knowledge nobody matched."""
    arms = [arm.name for arm in run.plan.config.conditions if arm.skill]
    if arms:
        yield (
            f"{', '.join(arms)}: a Skill as it is, whose knowledge nobody matched with another arm's;"
            " what they share, after ingest: the question given_skills"
        )


def _job(
    run: StudyRun, builds: dict[str, dict[str, VariantManifest]], trial: PlannedTrial
) -> TrialJob:
    config = run.plan.config
    task = next(task for task in run.plan.tasks if task.name == trial.task)
    arm = next(arm for arm in config.conditions if arm.name == trial.condition)
    manifest = builds[task.name][arm.offers] if arm.offers else None
    named = config.settings(arm)["disclosure"] == "named"
    return TrialJob(
        trial=trial,
        task=task,
        task_dir=(run.base / task.path).resolve(),
        variant=arm.offers,
        variant_dir=run.folder.offered(task.name, arm.offers).resolve() if arm.offers else None,
        agent=run.agents[arm.name],
        choice=config.harness,
        config_digest=run.plan.config_digest,
        variant_digest=manifest.tree_digest if manifest else None,
        announced=manifest.announced if manifest else (),
        disclosed=DISCLOSURE.format(", ".join(manifest.skills)) if named and manifest else None,
    )
