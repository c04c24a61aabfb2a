"""A study from its file to finished trials: plan, build, run; run again to go on."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from msgspec import Struct

from skilljuror import __version__
from skilljuror.agents import AGENTS, Agent
from skilljuror.bundles import load_bundle
from skilljuror.errors import GateError, StudyError, UsageError
from skilljuror.files import (
    StudyFolder,
    digest_json,
    read_record,
    sha256,
    write_atomic,
    write_record,
)
from skilljuror.harnesses import HARNESSES
from skilljuror.harnesses.base import Harness, TrialJob
from skilljuror.harnesses.environment import read_recipe
from skilljuror.models.agent import AgentProgram
from skilljuror.models.build import BuildRecord, VariantManifest
from skilljuror.models.study import (
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TrialRecord,
)
from skilljuror.pipeline.construction.assay import AssaySettings, keep_assays
from skilljuror.pipeline.construction.audit import load_gates
from skilljuror.pipeline.construction.build import build_source, load_build, load_transform
from skilljuror.pipeline.construction.build_folder import GATE_RESULTS, RECORD
from skilljuror.pipeline.execution.lock import exclusive_run, workers_lock
from skilljuror.pipeline.execution.trial import RunSetup, run_trial, stop_trial
from skilljuror.pipeline.workers import Listener, Progress, silent, worker_pool
from skilljuror.registry import resolve
from skilljuror.studies import changed_fields, freeze, load_study
from skilljuror.transforms import TRANSFORMS


class RunSummary(Struct, frozen=True):
    """Where a run stands."""

    folder: str
    """Folder of the study."""
    planned: int
    """Trials of the plan."""
    finished: int
    """Trials that have a record, those of earlier runs included."""
    ran: int
    """Trials that this call ran."""
    statuses: dict[str, int]
    """Finished trials by status."""
    isolation: str
    """What separated the trials from this machine."""
    interrupted: bool = False
    """True when a person stopped it; the same call goes on with what is missing."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know, one line each."""


class _StudyRun(Struct, frozen=True):
    """What one call of `run_study` works with."""

    base: Path
    """Folder of the study file, which its paths are relative to."""
    transforms: dict[str, str]
    """Variant that a condition offers -> the name of its transform, as the study file gives it."""
    plan: StudyPlan
    folder: StudyFolder
    agent: AgentProgram
    listener: Listener


def run_study(
    study_file: Path, folder: Path, *, jobs: int = 1, progress: Listener | None = None
) -> RunSummary:
    """Freeze the plan, build the variants, run every trial that has no record yet.

    `jobs` trials run at a time, in plan order. Raises StudyError when `folder` holds another
    plan or a run that is under way, GateError when a variant failed its gates, HarnessError
    when the machine cannot run trials; finished trials are kept in every case.
    """
    config = load_study(study_file)
    with _naming(study_file):
        make_program: Agent = resolve(AGENTS, config.agent.name, "agent", Agent)
        agent = make_program(config.agent.options, config.agent.model)
        harness = resolve(HARNESSES, config.harness.name, "harness", Harness)(
            config.harness.options
        )
        transforms = _check_build(config)
        plan = freeze(_with_variant_names(config, transforms), study_file.parent)
    plan = plan.model_copy(update={"agent_digest": agent_digest(agent)})
    isolation = harness.prepare()
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"--out {str(folder)!r} is a file; name a folder", file=str(folder))
    run = _StudyRun(
        study_file.parent, transforms, plan, StudyFolder(folder), agent, progress or silent
    )
    with exclusive_run(run.folder) as scratch:
        notes = [*_keep_plan(run, study_file), *_ignored_dockerfile_lines(run)]
        before = _finished(run)
        setup = RunSetup(folder.resolve(), scratch, workers_lock(run.folder), config.harness)
        interrupted = _build_and_run(run, setup, before.keys(), max(jobs, 1), notes)
        finished = _finished(run)
    return RunSummary(
        folder=str(folder),
        planned=len(plan.trials),
        finished=len(finished),
        ran=len(finished) - len(before),
        statuses=dict(sorted(Counter(finished.values()).items())),
        isolation=isolation,
        interrupted=interrupted,
        notes=tuple(notes),
    )


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
    wanted = {condition.variant for condition in config.conditions if condition.variant}
    transforms = {load_transform(name).variant: name for name in sorted(wanted)}
    if config.build.options and wanted <= TRANSFORMS.keys():
        name = min(config.build.options)
        option = f"build.{name}"
        guess = "did you mean 'assay'? " if get_close_matches(name, ["assay"]) else ""
        raise StudyError(
            f"{option}: {guess}no option of the packaged variants, which the plan engine builds; take it"
            " out (variants made with a model: `skilljuror build --engine … --out OUT/variants/TASK`"
            " first, then run into OUT)",
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
    return digest_json([agent.name, agent.version, agent.model, agent.argv, files])


def _keep_plan(run: _StudyRun, study_file: Path) -> list[str]:
    """Write the plan, or prove that the folder holds the same one."""
    folder = run.folder
    begun = bool(folder.finished_trials())
    if not folder.plan_file.exists():
        _refuse_other_content(folder, study_file, begun)
        _write_plan(run, study_file)
        return []
    before = read_record(StudyPlan, folder.plan_file)
    changed = _changed_fields(run, before)
    if changed and begun:
        raise StudyError(
            f"{str(folder.root)!r} holds a run of another plan; changed since:"
            f" {', '.join(changed[:8])}; restore them, or run into another folder",
            file=str(folder.plan_file),
            field=changed[0],
        )
    if changed:
        _write_plan(run, study_file)
        return [f"no trial had finished: the plan was made anew ({', '.join(changed[:8])})"]
    if before.skilljuror_version != __version__:
        return [f"the plan was frozen by skilljuror {before.skilljuror_version}"]
    return []


def _refuse_other_content(folder: StudyFolder, study_file: Path, begun: bool) -> None:
    if begun:
        raise StudyError(
            f"{str(folder.root)!r} holds trials but no plan.json; run into another folder",
            file=str(folder.root),
        )
    if folder.sources_file.exists():
        raise StudyError(
            f"{str(folder.root)!r} holds logs that were ingested; run into another folder",
            file=str(folder.sources_file),
        )
    copy = folder.study_file
    if copy.exists() and copy.read_bytes() != study_file.read_bytes():
        raise StudyError(
            f"{str(folder.root)!r} holds another study.yaml; run into another folder",
            file=str(copy),
        )


def _write_plan(run: _StudyRun, study_file: Path) -> None:
    copy = run.folder.study_file
    if not (copy.exists() and copy.samefile(study_file)):
        write_atomic(copy, study_file.read_bytes())
    write_record(run.folder.plan_file, run.plan)


def _changed_fields(run: _StudyRun, before: StudyPlan) -> list[str]:
    changed = changed_fields(before, run.plan)
    if before.agent_digest != run.plan.agent_digest:
        changed.append("the agent's program")
    return changed


def _finished(run: _StudyRun) -> dict[str, str]:
    """Trial -> status, of every finished trial of this plan. Raises StudyError for one of another."""
    statuses: dict[str, str] = {}
    for name in run.folder.finished_trials():
        record = read_record(TrialRecord, run.folder.trial_record(name))
        if record.config_digest != run.plan.config_digest:
            raise StudyError(
                f"trial {name!r} was run under another plan; move its folder away and run again",
                file=str(run.folder.trial_record(name)),
            )
        statuses[name] = record.status
    return statuses


def _build_and_run(
    run: _StudyRun, setup: RunSetup, finished: Collection[str], jobs: int, notes: list[str]
) -> bool:
    """Build what is not built, run what is not finished; True when a person stopped it."""
    try:
        builds = _build(run, notes)
        if sites := run.plan.config.build.assay:
            _assay(run, builds, sites, jobs)
        pending = [
            _job(run, builds, trial) for trial in run.plan.trials if trial.trial not in finished
        ]
        _run_all(run, setup, pending, jobs)
    except KeyboardInterrupt:
        return True
    return False


def _ignored_dockerfile_lines(run: _StudyRun) -> Iterator[str]:
    """What the local harness cannot do of a task's Dockerfile."""
    if run.plan.config.harness.name != "local":
        return
    for task in run.plan.tasks:
        left_out = read_recipe(run.base / task.path / "environment").left_out
        if left_out:
            yield f"task {task.name!r}: the Dockerfile's {left_out[0]!r} was not followed"


def _build(run: _StudyRun, notes: list[str]) -> dict[str, dict[str, VariantManifest]]:
    """task -> variant -> manifest of everything the conditions offer. Raises GateError."""
    wanted = sorted(run.transforms)
    builds: dict[str, dict[str, VariantManifest]] = {}
    for done, task in enumerate(run.plan.tasks if wanted else ()):
        run.listener(Progress("build", done, len(run.plan.tasks), task.name))
        record = _build_task(run, task, wanted)
        builds[task.name] = _manifests(run, task, record, wanted)
        for manifest in builds[task.name].values():
            notes += _gate_note(run, task, manifest)
        run.listener(Progress("build", done + 1, len(run.plan.tasks), task.name))
    return builds


def _assay(run: _StudyRun, tasks: Collection[str], sites: int, jobs: int) -> None:
    """Measure the gates on the builds that nobody has measured yet."""
    sources = {
        run.folder.build(task.name): run.base / task.skills
        for task in run.plan.tasks
        if task.name in tasks
    }
    missing = {build: sources[build] for build in sources if load_build(build).assay is None}
    keep_assays(missing, AssaySettings(sites=sites), jobs=jobs, progress=run.listener)


def _manifests(
    run: _StudyRun, task: PlannedTask, record: BuildRecord, wanted: list[str]
) -> dict[str, VariantManifest]:
    made = {manifest.variant: manifest for manifest in record.variants}
    for name in wanted:
        if name not in made:
            raise StudyError(
                f"the build of task {task.name!r} has no variant {name!r}, only"
                f" {', '.join(sorted(made))}; correct the condition, or delete the build",
                file=str(run.folder.build(task.name)),
                field="conditions",
            )
    return {name: made[name] for name in wanted}


def _build_task(run: _StudyRun, task: PlannedTask, wanted: list[str]) -> BuildRecord:
    """The build of a task's source, made where it is not there; one that is of another source, or
    lacks a variant, is made again as long as no trial rests on it."""
    target, source = run.folder.build(task.name), run.base / task.skills
    if (target / RECORD).is_file():
        record = read_record(BuildRecord, target / RECORD)
        same = record.source.tree_digest == load_bundle(source, inspect=False).digest
        complete = {manifest.variant for manifest in record.variants} >= set(wanted)
        if (same and complete) or record.engine != "plan" or run.folder.finished_trials():
            return _check_source(record, task, target, same)
    choice = run.plan.config.build
    return build_source(
        source,
        target,
        variants=[run.transforms[variant] for variant in wanted],
        options=choice.options,
        gates=choice.gates,
    )


def _check_source(record: BuildRecord, task: PlannedTask, target: Path, same: bool) -> BuildRecord:
    if not same:
        raise StudyError(
            f"the build at {str(target)!r} is of another source than {task.skills!r} of task"
            f" {task.name!r}; build that source there, or run into another folder",
            file=str(target),
        )
    return record


def _gate_note(run: _StudyRun, task: PlannedTask, manifest: VariantManifest) -> list[str]:
    where = f"variant {manifest.variant!r} of task {task.name!r}"
    if manifest.verdict == "fail":
        file = run.folder.build(task.name) / GATE_RESULTS
        raise GateError(
            f"{where} failed its gates, so it does not carry the source's knowledge;"
            f" read {file}, mend the source or waive the findings with a reason",
            file=str(file),
        )
    notes = {None: "was judged by no gate", "review": "waits for a person's review"}
    return [f"{where} {notes[manifest.verdict]}"] if manifest.verdict in notes else []


def _job(
    run: _StudyRun, builds: dict[str, dict[str, VariantManifest]], trial: PlannedTrial
) -> TrialJob:
    config = run.plan.config
    task = next(task for task in run.plan.tasks if task.name == trial.task)
    variant = next(arm.variant for arm in config.conditions if arm.name == trial.condition)
    return TrialJob(
        trial=trial,
        task=task,
        task_dir=(run.base / task.path).resolve(),
        variant=variant,
        variant_dir=run.folder.variant(task.name, variant).resolve() if variant else None,
        agent=run.agent,
        choice=config.harness,
        config_digest=run.plan.config_digest,
        variant_digest=builds[task.name][variant].tree_digest if variant else None,
    )


def _run_all(run: _StudyRun, setup: RunSetup, pending: list[TrialJob], jobs: int) -> None:
    """Run trials in order, `jobs` at a time, each worker handed one by one."""
    planned = len(run.plan.trials)
    before = planned - len(pending)
    run.listener(Progress("run", before, planned))
    with worker_pool(min(jobs, len(pending)) or 1, stop=stop_trial, in_process=False) as pool:
        records = pool.map_unordered(partial(run_trial, setup), pending, queued=1)
        for done, (_, record) in enumerate(records, before + 1):
            run.listener(Progress("run", done, planned, f"{record.trial}: {record.status}"))
