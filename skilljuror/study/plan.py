"""From a study file to a study that can run: its frozen plan, a harness and agents that can run, the builds of its
tasks, and the tasks that its rules exclude.

The plan is a pure function of the study file and the tasks' content. Order and seeds come from
sha256, so they are the same on every machine and Python.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from msgspec import Struct, structs
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skilljuror.audit.audit import load_gates
from skilljuror.base import __version__
from skilljuror.base.build import BuildRecord, PdWorth, Record, VariantManifest
from skilljuror.base.errors import (
    GateError,
    HarnessError,
    ModelError,
    QuestionRefused,
    SkilljurorError,
    StudyError,
    UnusableAnswer,
    UsageError,
    did_you_mean,
    resolve,
)
from skilljuror.base.files import (
    StudyFolder,
    digest_json,
    read_record,
    sha256,
    write_atomic,
    write_record,
)
from skilljuror.base.llm import ModelChoice
from skilljuror.base.review import verdict_with
from skilljuror.base.study import (
    AgentChoice,
    AgentProgram,
    BuildChoice,
    Condition,
    Contrast,
    ExcludedTask,
    ExclusionRules,
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TrialRecord,
    trial_arms,
)
from skilljuror.base.texts import with_packaged
from skilljuror.base.workers import Listener, Progress, silent
from skilljuror.harness import HARNESSES
from skilljuror.harness.agents import AGENTS, Agent, refuse_missing_keys, untried
from skilljuror.harness.base import BatchHarness, CheckedHarness, Harness, Requirement
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.harness.tasks import FindSkill, expanded, planned_task, task_name
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.build.build import build_source, load_build, load_transform
from skilljuror.layouts.build.folder import GATE_RESULTS, RECORD
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.layouts.build.model_build import (
    ModelEngine,
    build_with_model,
    model_engine,
)
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.layouts.build.scopes import judged_scopes
from skilljuror.measures.metrics import families
from skilljuror.skill.bundles import load_bundle
from skilljuror.store.trials import read_trial_record

MAX_STUDY_BYTES = 1_000_000
MAX_TRIAL_NAME = 200
MAX_FIELDS = 8
"""Changed fields of a plan that a message names."""
PROVIDERS = {"codex": "openai", "claude-code": "anthropic", "gemini-cli": "gemini"}
"""Provider of an agent's models, as litellm names it."""
TOO_LONG, LITTLE_TO_OPEN = "over the token limit", "little to open on demand"
WHY: dict[PdWorth, str] = {
    "none": "nothing in it can be opened on demand",
    "small": "its root and all files opened on demand are short",
}


class _StrictLoader(yaml.SafeLoader):
    """YAML without aliases, which can explode, and without duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            problem = "aliases are unsupported; write the value out"
            raise yaml.MarkedYAMLError(None, None, problem, self.get_mark())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                problem = f"duplicate key {key!r}"
                raise yaml.MarkedYAMLError(None, None, problem, node.start_mark)
        return super().construct_mapping(node, deep)


def read_plan(study_file: Path) -> StudyPlan:
    """Read a study file and freeze it as it stands. Raises StudyError with file, field and fix."""
    base = study_file.parent
    return freeze(load_study(study_file), base, GivenSkills(base))


R = TypeVar("R", bound=Record)


def load_study(path: Path) -> StudyConfig:
    """Read a study file. Raises StudyError with file, field and fix."""
    return load_yaml(path, StudyConfig, "study.yaml")


def load_yaml(path: Path, kind: type[R], usual: str) -> R:
    """Read a file that a person wrote; `usual` is its usual name. Raises StudyError with file, field and fix."""
    name = str(path)
    try:
        if path.stat().st_size > MAX_STUDY_BYTES:
            raise StudyError(f"{name}: larger than {MAX_STUDY_BYTES} bytes; is it a study file?")
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        inside = f", such as {path / usual}" if (path / usual).is_file() else ""
        raise StudyError(
            f"{name}: {reason}; name an existing study file{inside}", file=name
        ) from error
    except UnicodeDecodeError as error:
        raise StudyError(f"{name}: not UTF-8; save the study file as UTF-8", file=name) from error
    except RecursionError as error:
        raise StudyError(f"{name}: nested too deeply; write it flat", file=name) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an invalid date or number
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise StudyError(f"{name}: invalid YAML: {problem}{place}", file=name) from error
    if not isinstance(content, dict):
        kinds = "nothing: the file is empty" if content is None else f"a {type(content).__name__}"
        needed = [key for key, field in kind.model_fields.items() if field.is_required()]
        raise StudyError(
            f"{name}: must be a mapping with {', '.join(needed[:-1])} and {needed[-1]}, got {kinds}",
            file=name,
        )
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        details = error.errors()[0]
        field = ".".join(map(str, details["loc"]))
        raise StudyError(
            f"{name}: field {field!r}: {_explain(details, kind)}", file=name, field=field
        ) from error


def _explain(problem: ErrorDetails, record: type[Record]) -> str:
    """The problem of a field of a record, and its fix."""
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "missing":
        return f"{problem['msg']}; add it"
    if kind == "extra_forbidden":
        for part in (str(part) for part in place[:-1] if not isinstance(part, int)):
            field = record.model_fields[part].annotation  # a record, perhaps optional or in a tuple
            kinds = (kind for kind in (field, *get_args(field)) if isinstance(kind, type))
            record = next(kind for kind in kinds if issubclass(kind, Record))
        known = ", ".join(record.model_fields)
        return f"unknown; {did_you_mean(str(place[-1]), record.model_fields)}known fields: {known}"
    if kind == "string_pattern_mismatch":
        return (
            f"invalid name {given!r}; use lower-case letters, digits, '-' and '_', beginning with a"
            " letter or digit"
        )
    if kind == "string_type":
        return f"{problem['msg']}, got {given!r}; write it in quotes"
    if kind == "tuple_type":
        return "must be a list: one '- ' for each entry"
    return f"{problem['msg']}, got {str(given)[:60]!r}"


def freeze(
    config: StudyConfig,
    base: Path,
    find_skill: FindSkill | None = None,
    ruled_out: Collection[ExcludedTask] = (),
) -> StudyPlan:
    """Return the plan of `config`; its paths are relative to `base`.

    `find_skill` resolves Skills that conditions offer unchanged; `ruled_out` are the tasks that the
    study's rules exclude. Raises StudyError.
    """
    _check_skills(config.conditions)
    check_conditions([arm.name for arm in config.conditions], config.contrast)
    arms = trial_arms(config)
    _check_unique((arm.name for arm in arms), "condition")
    _check_differences(config)
    expanded_entries = list(expanded(config.tasks, base))
    _check_unique((task_name(base / entry.path) for entry in expanded_entries), "task")
    entries = {task_name(base / entry.path): entry for entry in expanded_entries}
    _check_unique((exclusion.task for exclusion in config.exclude), "excluded task")
    excluded = {}
    for exclusion in config.exclude:
        name = exclusion.task
        if name not in entries:
            raise StudyError(
                f"exclude: unknown task {name!r}; {did_you_mean(name, entries)}correct or remove it",
                field="exclude",
            )
        excluded[name] = ExcludedTask(
            name=name, path=entries[name].path, category=exclusion.category,
            reason=exclusion.reason, decided_by="person",
        )  # fmt: skip
    excluded |= {task.name: task for task in ruled_out}
    tasks = tuple(
        planned_task(arms, entry, base, find_skill)
        for name, entry in entries.items()
        if name not in excluded
    )
    if not tasks:
        raise StudyError("every task is excluded; include at least one", field="exclude")
    names = [task.name for task in tasks]
    for arm in config.conditions:
        for pattern in arm.tasks or ():
            if not any(fnmatchcase(name, pattern) for name in names):
                raise StudyError(
                    f"condition {arm.name!r}: tasks: {pattern!r} matches no task;"
                    f" {did_you_mean(pattern, names)}correct or remove it",
                    field="conditions",
                )
    return StudyPlan(
        skilljuror_version=__version__,
        config=config,
        config_digest=digest_json({
            "config": config.planned,
            "tasks": [task.model_dump(mode="json") for task in tasks],
        }),
        tasks=tasks,
        trials=tuple(_trials(config, tasks)),
        excluded=tuple(excluded[name] for name in entries if name in excluded),
    )


def _check_skills(conditions: Sequence[Condition]) -> None:
    """Raise StudyError for an arm with two Skills, and for two Skills with one name in tables."""
    variants = {"source"} | {arm.variant for arm in conditions if arm.variant}
    for arm in conditions:
        problem = None
        if arm.skill and arm.variant:
            problem = "has both a variant and a skill; remove one"
        elif arm.skill and arm.name in variants:
            problem = (
                "offers an unchanged Skill but has the name of a variant; rename the condition"
            )
        if problem:
            raise StudyError(f"condition {arm.name!r} {problem}", field="conditions")


def _check_differences(config: StudyConfig) -> None:
    """Raise StudyError for two arms that differ in a setting that the study does not vary."""
    first, *others = config.conditions
    expected = config.settings(first)
    for arm in others:
        for name, value in config.settings(arm).items():
            if value != expected[name] and name not in config.vary:
                raise StudyError(
                    f"conditions {first.name!r} and {arm.name!r} differ in {name}"
                    f" ({expected[name] or 'none'}, {value or 'none'}), but the study varies"
                    f" {', '.join(config.vary) or 'nothing'}; make them equal, or add it to vary",
                    field="conditions",
                )


def check_conditions(names: Sequence[str], contrast: Contrast | None) -> None:
    """Raise StudyError for duplicate conditions, and for a contrast of unknown ones."""
    _check_unique(names, "condition")
    if contrast is None:
        return
    for side in ("treatment", "control"):
        name = getattr(contrast, side)
        if name not in names:
            raise StudyError(
                f"contrast.{side}: unknown condition {name!r}; choose one of {', '.join(names)}",
                field=f"contrast.{side}",
            )
    if contrast.treatment == contrast.control:
        raise StudyError(
            f"contrast: {contrast.control!r} is compared with itself; name two conditions",
            field="contrast",
        )


def _check_unique(names: Iterable[str], kind: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise StudyError(f"duplicate {kind} {name!r}; every {kind} needs a unique name")
        seen.add(name)


def _trials(config: StudyConfig, tasks: tuple[PlannedTask, ...]) -> Iterator[PlannedTrial]:
    """Every cell once per block; a keyed hash shuffles each block."""
    cells = [
        (task.name, arm.name)
        for task in tasks
        for arm in config.conditions
        if arm.tasks is None or any(fnmatchcase(task.name, pattern) for pattern in arm.tasks)
    ]
    order = 0
    for block in range(config.trials_per_cell):
        for task, condition in sorted(
            cells, key=lambda cell: digest_json([config.seed, block, *cell])
        ):
            yield planned_trial(config.seed, task, condition, order, block)
            order += 1


def planned_trial(seed: int, task: str, condition: str, order: int, block: int) -> PlannedTrial:
    """Return the trial of a cell in a block, at its place in the run. Raises StudyError for long
    names."""
    number = block + 1
    trial = f"{task}__{condition}__{number}"
    if len(trial) > MAX_TRIAL_NAME:
        raise StudyError(
            f"trial name {trial[:40]!r}… has {len(trial)} characters, more than {MAX_TRIAL_NAME};"
            " shorten the names of task or condition"
        )
    return PlannedTrial(
        trial=trial, task=task, condition=condition, number=number, order=order, block=block,
        seed=int(digest_json([seed, task, number])[:8], 16) & 0x7FFFFFFF,
    )  # fmt: skip


def save_plan(folder: StudyFolder, plan: StudyPlan, study_file: Path) -> list[str]:
    """Write the plan, or check that the folder has the same one; return notes.

    Raises StudyError for a folder with finished trials of another plan, or with other content.
    """
    notes = list[str]()
    if folder.plan_file.exists():
        before = read_record(StudyPlan, folder.plan_file)
        changed = changed_fields(before, plan)
        if before.agent_digest != plan.agent_digest:
            changed.append("the agent's program")
        shown = ", ".join(changed[:MAX_FIELDS])
        if changed and folder.finished_trials():
            raise StudyError(
                f"{str(folder.root)!r} has trials of a different plan; changed fields: {shown};"
                " restore them, or choose another --out",
                file=str(folder.plan_file),
                field=changed[0],
            )
        if changed:
            notes.append(f"replaced the plan, because no trial had finished ({shown})")
        elif before.skilljuror_version != __version__:
            notes.append(f"the plan was created by skilljuror {before.skilljuror_version}")
        if not changed and before.config == plan.config:
            return notes
    else:
        refuse_other_content(folder, study_file)
    copy = folder.study_file
    if not (copy.exists() and copy.samefile(study_file)):
        write_atomic(copy, study_file.read_bytes())
    write_record(folder.plan_file, plan)
    return notes


def refuse_other_content(folder: StudyFolder, study_file: Path) -> None:
    """Raise StudyError for a folder without a plan that has other content."""
    copy = folder.study_file
    for problem, file in (
        ("has trials but no plan.json", folder.root if folder.finished_trials() else None),
        ("has ingested logs", folder.sources_file if folder.sources_file.exists() else None),
        (
            "has another study.yaml",
            copy if copy.exists() and copy.read_bytes() != study_file.read_bytes() else None,
        ),
    ):
        if file:
            raise StudyError(
                f"{str(folder.root)!r} {problem}; run into another folder", file=str(file)
            )


def changed_fields(before: StudyPlan, after: StudyPlan) -> list[str]:
    """Return the paths of the fields that differ between two plans; empty if a run may resume."""
    if before.config_digest == after.config_digest:
        return []
    changed = list(_differing_fields(before.config.planned, after.config.planned, ""))
    tasks_before = {task.name: task for task in before.tasks}
    for task in after.tasks:
        if task.name in tasks_before:
            old, new = (each.model_dump(mode="json") for each in (tasks_before[task.name], task))
            changed += _differing_fields(old, new, f"task {task.name}: ")
    names = {task.name for task in after.tasks}
    changed += [f"task {name}: new" for name in sorted(names - tasks_before.keys())]
    changed += [f"task {name}: removed" for name in sorted(tasks_before.keys() - names)]
    return changed or ["plan.json is from another version of skilljuror"]


def _differing_fields(before: Any, after: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        gap = "" if not place or place.endswith(" ") else "."
        for key in sorted({*before, *after}):
            yield from _differing_fields(before.get(key), after.get(key), f"{place}{gap}{key}")
    elif before != after:
        yield place


def finished_records(folder: StudyFolder, plan: StudyPlan) -> dict[str, TrialRecord]:
    """Trial -> record of every finished trial. Raises StudyError for a trial of another plan and for an
    invalid record."""
    records: dict[str, TrialRecord] = {}
    for name in folder.finished_trials():
        record = read_trial_record(folder, name)
        if record.config_digest != plan.config_digest:
            raise StudyError(
                f"trial {name!r} was run under another plan; move its folder away and rerun",
                file=str(folder.trial_record(name)),
            )
        records[name] = record
    return records


class StudyRun(Struct, frozen=True):
    """A study that can run: its plan, and everything that its trials need."""

    base: Path
    """Folder of the study file, which its paths are relative to."""
    plan: StudyPlan
    given: GivenSkills
    """The Skills that conditions offer by path."""
    folder: StudyFolder
    transforms: Mapping[str, str]
    """Offered variant -> name of its transform in the study file."""
    agents: dict[str, AgentProgram]
    """Condition -> agent."""
    harness: Harness
    isolation: str
    """Isolation of the trials from this machine."""
    listener: Listener
    """Progress callback."""


def prepared(study_file: Path, folder: Path, listener: Listener = silent) -> StudyRun:
    """Prepare a run into `folder` without writing.

    Raises StudyError and UsageError for an invalid study, HarnessError if this machine cannot run it.
    """
    config = load_study(study_file)
    base, study = study_file.parent, StudyFolder(folder)
    with _naming(study_file):
        if not study.finished_trials():  # a started study resumes as planned
            _refuse_effort_in_options(config)
        harness = harness_of(config)
        agents = agents_of(config, harness)
        for agent in agents.values():
            refuse_missing_keys(agent)
        transforms = _check_build(config)
        families(config.metrics)  # refuse an invalid metric before any run
        variants = {name: variant for variant, name in transforms.items()}
        conditions = tuple(
            arm.model_copy(update={"variant": variants[arm.variant]}) if arm.variant else arm
            for arm in config.conditions
        )
        config = config.model_copy(update={"conditions": conditions})
        check_rules(config)
        given = GivenSkills(base)
        plan = freeze(config, base, given, _ruled_out_before(study, config.exclude_rules))
    digests = {name: agent_digest(agent) for name, agent in agents.items()}
    several = len({*digests.values()}) > 1
    digest = digest_json(digests) if several else min(digests.values())
    plan = plan.model_copy(update={"agent_digest": digest})
    refuse_unsupported(harness, [base / task.path for task in plan.tasks])
    isolation = harness.prepare()
    for agent in agents.values():
        refuse_unprotected(config, agent, harness)
    return StudyRun(base, plan, given, study, transforms, agents, harness, isolation, listener)


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


def _refuse_effort_in_options(config: StudyConfig) -> None:
    """Raise UsageError for an effort in the agent's options, which a condition would silently override."""
    for agent in (config.agent, *(arm.agent for arm in config.conditions if arm.agent)):
        for name in {"effort", "reasoning_effort"} & agent.options.keys():
            field = f"agent.options.{name}"
            raise UsageError(
                f"{field}: unsupported option; use agent.effort: {agent.options[name]}", field=field
            )


def harness_of(config: StudyConfig) -> Harness:
    """Return the study's harness. Raises UsageError for an unknown one."""
    make_harness = resolve(HARNESSES, config.harness.name, "harness", Harness)
    harness: Harness = make_harness(config.harness.options)
    return harness


def agents_of(config: StudyConfig, harness: Harness) -> dict[str, AgentProgram]:
    """Condition -> its agent, from the harness or from `AGENTS`.

    Raises UsageError for an unknown agent or invalid options.
    """
    programs: dict[str, AgentProgram] = {}
    agents = {}
    for arm in config.conditions:
        choice = config.agent_of(arm)
        key = choice.model_dump_json()
        if key not in programs:
            own = harness.own_agent(choice) if isinstance(harness, BatchHarness) else None
            programs[key] = own or program_of(choice)
        agents[arm.name] = programs[key]
    return agents


def program_of(choice: AgentChoice) -> AgentProgram:
    """Return an agent of `AGENTS`. Raises UsageError for an unknown one or invalid options."""
    make_program: Agent = resolve(AGENTS, choice.name, "agent", Agent)
    effort = {"effort": choice.effort} if choice.effort else {}
    return make_program({**choice.options, **effort}, choice.model)


def agent_digest(agent: AgentProgram) -> str:
    """Digest an agent's command, version, model, settings and files."""
    files = [(file.name, sha256(file.read_bytes())) for file in agent.files]
    return digest_json(structs.asdict(agent) | {"files": files, "shown": len(agent.shown)})


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
        guess = did_you_mean(name, ["assay"])
        raise StudyError(
            f"build.{name}: unknown option; {guess}the packaged variants have none, remove it",
            field=f"build.{name}",
        )
    return transforms


def refuse_unsupported(harness: Harness, tasks: Sequence[Path]) -> None:
    """Raise HarnessError for tasks that the harness cannot run."""
    for need in harness.task_requirements(tasks) if isinstance(harness, CheckedHarness) else ():
        if not need.ready:
            raise HarnessError(need.detail, field="harness")


def chose_isolation(config: StudyConfig) -> bool:
    """Whether a study without isolation asked for that."""
    return config.harness.name != "local" or config.harness.options.get("isolation") == "none"


def refuse_unprotected(config: StudyConfig, agent: AgentProgram, harness: Harness) -> None:
    """Raise HarnessError for an agent with a model and no sandbox, unless the study allows it."""
    if not agent.scripted and not chose_isolation(config) and harness.prepare() == "none":
        raise HarnessError(
            f"agent {agent.name!r} requires a sandbox, which is unavailable: {bwrap_problem()}; or set"
            " harness.options.isolation: none to run it unprotected as this user"
        )


def requirements_of(plan: StudyPlan, base: Path, *, live: bool = False) -> tuple[Requirement, ...]:
    """Check the harness, the tasks, the agents' keys and, if `live`, that each model answers."""
    config, harness = plan.config, harness_of(plan.config)
    tasks = [base / task.path for task in plan.tasks]
    agents, missing = list[AgentProgram](), list[Requirement]()
    try:
        agents = list(agents_of(config, harness).values())
    except SkilljurorError as error:
        missing.append(Requirement(f"agent {config.agent.name}", False, error.message))
    rows = [_tried(f"harness {config.harness.name}", lambda: f"isolation {harness.prepare()}")]
    if isinstance(harness, CheckedHarness):
        rows += harness.task_requirements(tasks)
        rows += harness.machine_requirements(tasks) if rows[0].ready else ()
    for agent in {agent.name: agent for agent in agents}.values():
        rows.append(_tried(f"agent {agent.name}", partial(_agent_ready, config, agent, harness)))
    if live:
        for name, model in dict.fromkeys((one.name, one.model) for one in agents if one.model):
            rows.append(_tried(f"model {model}", partial(_model_answers, config, name, model)))
    return (*rows, *missing)


def _tried(name: str, check: Callable[[], str]) -> Requirement:
    try:
        return Requirement(name, True, check())
    except SkilljurorError as error:
        return Requirement(name, False, error.message)


def _agent_ready(config: StudyConfig, agent: AgentProgram, harness: Harness) -> str:
    refuse_missing_keys(agent)
    refuse_unprotected(config, agent, harness)
    version = f"version {agent.version}" if agent.version else "no version on this machine"
    version = untried(agent.name, agent.version) or version
    return f"{version}; {', '.join(agent.keys) or 'no key'}"


def _model_answers(config: StudyConfig, agent: str, model: str) -> str:
    """Ask a model one question, through its provider's address or that of the study."""
    from skilljuror.base.llm import complete  # takes seconds to import

    choices = map(config.agent_of, config.conditions)
    options = next((choice.options for choice in choices if choice.model == model), {})
    env = sorted((options.get("env") or {}).items())
    address = next((value for name, value in env if name.endswith("BASE_URL")), None)
    provider = "" if "/" in model else PROVIDERS.get(agent, "openai") + "/"
    choice = ModelChoice(
        provider + model, api_base=options.get("base_url") or address or None, transport_retries=0
    )
    reply = complete(choice, [{"role": "user", "content": "Answer with: ready"}], None)
    return f"it answered {reply.text.strip()[:60]!r}"


def make_builds(run: StudyRun, tasks: Collection[PlannedTask]) -> dict[str, str]:
    """Make missing builds; return task -> why a model gave no variants. Raises UsageError, and
    ModelError for an unreachable model."""
    failed = {}
    for done, task in enumerate(tasks if run.transforms else ()):
        run.listener(Progress("build", done, len(tasks), task.name))
        try:
            _make_build(run, task)
        except (UnusableAnswer, QuestionRefused) as error:
            failed[task.name] = error.message
        run.listener(Progress("build", done + 1, len(tasks), task.name))
    return failed


def _make_build(run: StudyRun, task: PlannedTask) -> None:
    """Make a missing build. A build with another source or model, or without a variant, is rebuilt
    unless trials have finished. A model's build is used as is if the study names no engine."""
    target, source = run.folder.build(task.name), run.base / task.skills
    choice, wanted = run.plan.config.build, sorted(run.transforms)
    if (target / RECORD).is_file():
        record = read_record(BuildRecord, target / RECORD)
        bundle = load_bundle(source, inspect=False)
        same = record.source.tree_digest == bundle.digest
        complete = {manifest.variant for manifest in record.variants} >= set(wanted)
        given = choice.engine == "plan" and record.engine != "plan"
        written = record.engine == "rewrite"
        judged = written or record.options.get("scopes", {}) == judged_scopes(source, bundle)
        fits = same and complete and judged and made_as_asked(record, choice)
        if fits or given or run.folder.finished_trials():
            if not same:
                raise StudyError(
                    f"the build at {str(target)!r} has another source than {task.skills!r} of task"
                    f" {task.name!r}; build that source there, or run into another folder",
                    file=str(target),
                )
            return
    engine = engine_of(choice, run.folder.calls)
    build = build_source
    if engine:
        prices = with_packaged(run.plan.config.prices)
        build = partial(build_with_model, engine=engine._replace(prices=prices))
    transforms = [run.transforms[variant] for variant in wanted]
    build(source, target, variants=transforms, options=choice.options, gates=choice.gates)


def engine_of(choice: BuildChoice, calls: Path) -> ModelEngine | None:
    """Return the engine that a study file names; raises as `model_engine`."""
    return model_engine(choice.engine, choice.model, calls, rubric=choice.rubric)


def made_as_asked(record: BuildRecord, choice: BuildChoice) -> bool:
    """Whether engine, model and rubric are those of the study file."""
    if choice.engine != "rewrite":
        return record.engine == choice.engine
    made = record.engine, record.options.get("model"), record.options.get("rubric")
    return made == (choice.engine, choice.model, choice.rubric)


def _offered(run: StudyRun, task: PlannedTask, record: BuildRecord) -> dict[str, VariantManifest]:
    """Offered variant -> manifest, regardless of its gates."""
    manifests = {manifest.variant: manifest for manifest in record.variants}
    for name in sorted(run.transforms):
        if why := record.not_built.get(name):
            raise StudyError(
                f"task {task.name!r} has no variant {name!r}: {why}; leave such tasks out with exclude_rules:"
                " {pd_worth: none}, or let a model write it with build: {engine: rewrite}",
                file=str(run.folder.build(task.name)),
                field="conditions",
            )
        if name not in manifests:
            raise StudyError(
                f"the build of task {task.name!r} has no variant {name!r} (it has"
                f" {', '.join(sorted(manifests))}); fix the condition, or delete the build",
                file=str(run.folder.build(task.name)),
                field="conditions",
            )
    return {name: manifests[name] for name in sorted(run.transforms)}


def accepted_builds(run: StudyRun, notes: list[str]) -> dict[str, dict[str, VariantManifest]]:
    """task -> offered variant -> manifest; appends to `notes`. Raises GateError for a variant that
    failed its gates."""
    builds: dict[str, dict[str, VariantManifest]] = {}
    for task in run.plan.tasks if run.transforms else ():
        place = run.folder.build(task.name)
        judged = reviewed(place)
        builds[task.name] = _offered(run, task, judged.record)
        for manifest in builds[task.name].values():
            by = judged.review_notes.get(manifest.variant)
            variant = f"variant {manifest.variant!r} of task {task.name!r}"
            if manifest.verdict == "fail":
                raise GateError(
                    f"{variant} failed {f'with {by}' if by else 'its gates'}, so it does not preserve the"
                    f" source's knowledge; read {place / GATE_RESULTS}, then fix the source or waive the"
                    f" findings: skilljuror waive {run.folder.root}",
                    file=str(place / GATE_RESULTS),
                )
            if manifest.verdict is None:
                notes.append(f"{variant} has no gate results")
            elif manifest.verdict == "review":
                notes.append(
                    f"{variant} waits for a person's review: skilljuror review {run.folder.root}"
                )
            elif by:
                notes.append(f"{variant} {verdict_with(manifest.verdict, by)}")
        notes += judged.stale_notes
    return builds


def assay_builds(run: StudyRun, jobs: int) -> None:
    """Measure the gates on builds without an assay, if the study requests it."""
    sites = run.plan.config.build.assay
    if not (sites and run.transforms):
        return
    sources = {run.folder.build(task.name): run.base / task.skills for task in run.plan.tasks}
    missing = {build: sources[build] for build in sources if load_build(build).assay is None}
    from skilljuror.layouts.build.assay import AssaySettings, keep_assays

    keep_assays(missing, AssaySettings(sites=sites), jobs=jobs, progress=run.listener)


def check_rules(config: StudyConfig) -> None:
    """Raise StudyError for a rule that the study's builds cannot decide."""
    rules = config.exclude_rules
    needs = (
        ("pd_worth", "the variant pd", any(arm.variant == "pd" for arm in config.conditions)),
        ("max_tokens", "a Skill", any(arm.offers for arm in config.conditions)),
    )
    for name, needed, present in needs:
        if getattr(rules, name) and not present:
            raise StudyError(
                f"exclude_rules.{name}: requires a condition with {needed}; remove the rule",
                field=f"exclude_rules.{name}",
            )


def _ruled_out_before(folder: StudyFolder, rules: ExclusionRules) -> tuple[ExcludedTask, ...]:
    """Tasks already excluded by these rules in a started study."""
    if not (folder.planned and folder.finished_trials()):
        return ()
    plan = read_record(StudyPlan, folder.plan_file)
    same = plan.config.exclude_rules == rules
    return tuple(task for task in plan.excluded if same and task.decided_by != "person")


def without_ruled_out(run: StudyRun, study_file: Path) -> StudyRun:
    """Make the builds and remove tasks excluded by rule or without a model's variants from the run; a
    started study stays unchanged.

    Raises StudyError for a folder with other content, ModelError if no task could be built.
    """
    folder, plan = run.folder, run.plan
    rules = plan.config.exclude_rules
    nothing_decides = rules == ExclusionRules() and plan.config.build.engine == "plan"
    if nothing_decides or folder.finished_trials():
        return run
    if not folder.plan_file.exists():
        refuse_other_content(folder, study_file)
    failed = make_builds(run, plan.tasks)
    excluded, offered = [], []
    for task in plan.tasks:
        if task.name in failed:
            excluded.append(
                ExcludedTask(
                    name=task.name,
                    path=task.path,
                    category="no usable answer of a model",
                    reason=failed[task.name],
                    decided_by="build",
                )
            )
            continue
        built = dict[str, VariantManifest]()
        if run.transforms:
            record = reviewed(folder.build(task.name)).record
            missing = [why for name, why in record.not_built.items() if name in run.transforms]
            if missing and rules.pd_worth:
                excluded.append(
                    ExcludedTask(
                        name=task.name,
                        path=task.path,
                        category=LITTLE_TO_OPEN,
                        reason=missing[0],
                        decided_by="pd_worth",
                    )
                )
                continue
            built = _offered(run, task, record)
        offered.append((task, [*built.values(), *run.given.save(folder, task).values()]))
    excluded += ruled_out(rules, offered)
    if len(failed) == len(plan.tasks):
        raise ModelError(f"no task of the study could be built: {excluded[0].reason}")
    left = freeze(plan.config, run.base, run.given, excluded)
    return structs.replace(run, plan=left.model_copy(update={"agent_digest": plan.agent_digest}))


def ruled_out(
    rules: ExclusionRules, offered: Iterable[tuple[PlannedTask, Collection[VariantManifest]]]
) -> Iterator[ExcludedTask]:
    """Yield the excluded tasks, each by its first matching rule, from (task, offered manifests). The rule
    `small` about the worth of a `pd` excludes `none` too."""
    unworthy = {"none": ("none",), "small": ("none", "small")}.get(rules.pd_worth or "", ())
    for task, manifests in offered:
        longest = max(manifests, key=lambda row: (row.tokens, row.variant), default=None)
        worth = next((row.pd_worth for row in manifests if row.pd_worth in unworthy), None)
        excluded = partial(ExcludedTask, name=task.name, path=task.path)
        if rules.max_tokens and longest and longest.tokens > rules.max_tokens:
            reason = f"{longest.variant} has {longest.tokens} tokens, more than {rules.max_tokens}"
            yield excluded(category=TOO_LONG, reason=reason, decided_by="max_tokens")
        elif worth:
            yield excluded(category=LITTLE_TO_OPEN, reason=WHY[worth], decided_by="pd_worth")
