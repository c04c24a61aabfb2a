"""Study file, frozen plan and trial record."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat, SerializerFunctionWrapHandler, model_serializer

from skilljuror.models.record import Record

NO_SKILL = "no_skill"

TrialStatus = Literal["scored", "timeout", "unscored", "error"]


class Condition(Record):
    """One arm of a study."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name, used in trial names and tables."""
    variant: str | None = None
    """Variant of the task's build that the agent gets: a registered name, or the module:attribute of a
    transform; null offers no Skill."""


class TaskEntry(Record):
    """One task of a study."""

    path: str
    """Folder in Harbor task format, relative to the study file."""
    skills: str | None = None
    """Source bundle, relative to the study file; default: environment/skills of the task."""
    attributes: dict[str, str] = Field(default_factory=dict)
    """Task attributes (workflow_type, validation_type, domain); default: task.toml [metadata]."""


class Contrast(Record):
    """The comparison the headline reports."""

    treatment: str
    """Condition on the plus side."""
    control: str
    """Condition on the minus side."""


class HarnessChoice(Record):
    """Which harness runs the trials."""

    name: str = "local"
    """Registered name or module:attribute."""
    timeout_sec: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Wall clock for the agent of one trial, seconds."""
    verifier_timeout_sec: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Wall clock for the verifier of one trial, seconds."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of that harness (local: isolation = auto | bwrap | none)."""


class AgentChoice(Record):
    """Which agent is run."""

    name: str = "scripted"
    """Registered name or module:attribute."""
    model: str | None = None
    """Model, where the agent has one."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of that agent."""


class BuildChoice(Record):
    """How the variants are built and weighed; further fields are options of the transforms."""

    model_config = ConfigDict(extra="allow")

    assay: int = Field(default=0, ge=0, le=1000)
    """Measure the gates on every build of the study: known drift and harmless edits are planted
    into its variants, in up to so many places for each kind of change and variant, and the report
    says how many of them the gates flagged. 0: not measured. Costs seconds per source."""
    gates: tuple[str, ...] = ()
    """Gates that judge the variants beside the registered ones, as module:attribute."""

    @property
    def options(self) -> dict[str, Any]:
        """Options of the transforms."""
        return dict(self.model_extra or {})

    @model_serializer(mode="wrap")
    def _without_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is not asked for, so that the digest of an older plan stands."""
        fields: dict[str, Any] = dump(self)
        unasked = [name for name in ("assay", "gates") if not getattr(self, name)]
        return {name: value for name, value in fields.items() if name not in unasked}


class StudyConfig(Record):
    """study.yaml: what a person writes."""

    format_version: Literal[1] = 1
    """Version of the study file."""
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name of the study."""
    seed: int = 0
    """Seed of trial order and of the agents' own seeds."""
    trials_per_cell: int = Field(default=5, ge=1, le=1000)
    """Trials of every (task, condition) pair."""
    tasks: tuple[TaskEntry, ...] = Field(min_length=1)
    """The tasks."""
    conditions: tuple[Condition, ...] = Field(min_length=1)
    """The arms."""
    contrast: Contrast | None = None
    """Headline comparison; default: the last condition against the one before it."""
    harness: HarnessChoice = HarnessChoice()
    """How trials are run."""
    agent: AgentChoice = AgentChoice()
    """Who runs them."""
    build: BuildChoice = BuildChoice()
    """How the variants are built and weighed."""
    metrics: tuple[str, ...] = ()
    """Metrics of other packages, as module:attribute, that ingest takes beside its own."""

    @model_serializer(mode="wrap")
    def _spare(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is not asked for, so that the digest of an older plan stands."""
        fields: dict[str, Any] = dump(self)
        return fields if self.metrics else {key: fields[key] for key in fields if key != "metrics"}


class PlannedTask(Record):
    """A task with its digests, frozen."""

    name: str
    """Folder name of the task, unique in the study."""
    path: str
    """Folder, relative to the study file."""
    skills: str
    """Source bundle, relative to the study file; "" when there is none and no arm needs one."""
    attributes: dict[str, str]
    """workflow_type, validation_type, domain and what else the task says of itself."""
    instruction_digest: str
    """sha256 of the instruction."""
    environment_digest: str
    """Tree digest of environment/ without skills."""
    verifier_digest: str
    """Tree digest of tests/."""
    source_digest: str
    """Tree digest of the source bundle; "" when there is none."""
    stripped: tuple[str, ...] = ()
    """What the task bakes in and no arm gets: environment/skills, COPY lines of it, skills_dir."""

    @property
    def substrate_digest(self) -> str:
        """What must be equal across conditions: instruction, environment and verifier."""
        return f"{self.instruction_digest[:16]}-{self.environment_digest[:16]}-{self.verifier_digest[:16]}"


class PlannedTrial(Record):
    """One trial to run."""

    trial: str
    """<task>__<condition>__<number>."""
    task: str
    """Name of the task."""
    condition: str
    """Name of the condition."""
    number: int
    """1-based number inside the cell."""
    order: int
    """0-based position in the run."""
    block: int
    """0-based block; each block holds every cell once, shuffled by the study's seed."""
    seed: int
    """Seed handed to the agent; equal for the same task and number in every condition."""


class StudyPlan(Record):
    """plan.json: the frozen plan."""

    format_version: int = 1
    """Version of this record."""
    skilljuror_version: str
    """Version of the package that froze it."""
    config: StudyConfig
    """The study file as read."""
    config_digest: str
    """sha256 of the study file's content and the tasks' digests; a run resumes only under it."""
    tasks: tuple[PlannedTask, ...]
    """Tasks with digests."""
    trials: tuple[PlannedTrial, ...]
    """Trials in running order."""
    agent_digest: str | None = None
    """sha256 of the agent's command and files; None before an agent is chosen. A run resumes only
    with the same program."""


class TrialRecord(Record):
    """trial.json: one finished trial, whatever its end."""

    format_version: int = 1
    """Version of this record."""
    trial: str
    """<task>__<condition>__<number>."""
    task: str
    """Name of the task."""
    condition: str
    """Name of the condition."""
    number: int
    """1-based number inside the cell."""
    seed: int
    """Seed handed to the agent."""
    status: TrialStatus
    """scored, timeout (the verifier's answer, if any, is in reward), unscored, error."""
    reward: float | None = Field(ge=0, le=1)
    """Verifier's reward in [0, 1]; None when it gave none."""
    rewards: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Every key the verifier wrote."""
    exception: str | None = None
    """Class of the agent's end when not clean: AgentTimeoutError, NonZeroAgentExitCodeError, …"""
    message: str | None = None
    """One line on what went wrong."""
    agent: str
    """Name of the agent."""
    agent_version: str | None = None
    """Version of the agent."""
    model: str | None = None
    """Model; None for an agent without one."""
    scripted: bool = False
    """True when a scripted policy ran: figures say nothing about real agents."""
    harness: str
    """Name of the harness."""
    isolation: str
    """bwrap, none, docker, …"""
    config_digest: str
    """Digest of the plan it ran under."""
    substrate_digest: str
    """Digest of instruction, environment and verifier as run."""
    variant: str | None
    """Variant offered; None for no Skill."""
    variant_digest: str | None
    """Tree digest of the offered variant as it stood in the sandbox before the agent ran."""
    skill_root: str | None
    """Path of the skills folder as the agent saw it."""
    started_at: str
    """UTC, ISO 8601."""
    finished_at: str
    """UTC, ISO 8601."""
    agent_seconds: float | None = Field(ge=0, allow_inf_nan=False)
    """Wall clock of the agent's execution; None when it never started."""
    verifier_seconds: float | None = Field(ge=0, allow_inf_nan=False)
    """Wall clock of the verifier; None when it never started."""
    exit_code: int | None = None
    """Exit status of the agent; None after a timeout."""
    usage_reason: str | None = None
    """Why tokens and cost are null, such as no_model."""

    @property
    def strict_pass(self) -> bool:
        """reward == 1 exactly; a missing reward is no pass (measures §1.1)."""
        return self.reward == 1.0
