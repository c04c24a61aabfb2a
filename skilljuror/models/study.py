"""Study file, frozen plan and trial record."""

from datetime import date
from typing import Any, ClassVar, Literal

from pydantic import (
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from skilljuror.models.record import Record

NO_SKILL = "no_skill"

TrialStatus = Literal["scored", "timeout", "unscored", "error"]
Disclosure = Literal["silent", "named"]
"""Whether the prompt is the task's instruction alone, or names the offered Skills at its end."""
ArmSetting = Literal["skill", "disclosure", "model", "effort"]
"""What two conditions can differ in."""


class GrowingRecord(Record):
    """A record to which later versions gave fields: one of them at its default is not written, so that
    the digest of an older plan stands."""

    later: ClassVar[tuple[str, ...]] = ()
    """Fields that came later."""

    @model_serializer(mode="wrap")
    def _without_unasked(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dump(self)
        usual = type(self).model_fields
        unasked = {
            name
            for name in self.later
            if getattr(self, name) == usual[name].get_default(call_default_factory=True)
        }
        return {name: value for name, value in fields.items() if name not in unasked}


class SkillSource(Record):
    """A Skill that a condition offers as it is."""

    path: str = Field(min_length=1)
    """A skill's folder, a folder of skills or a .skill file, relative to the study file; {task} stands
    for the task's name."""
    revision: str | None = None
    """Revision of the git repository around the path, such as a tag or a commit; null: as it lies on
    disk."""

    @model_validator(mode="before")
    @classmethod
    def _bare_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    def at(self, task: str) -> str:
        """The path for a task."""
        return self.path.replace("{task}", task)


class Condition(GrowingRecord):
    """One arm of a study."""

    later = ("skill", "disclosure", "model", "effort")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name, used in trial names and tables."""
    variant: str | None = None
    """Variant of the task's build that the agent gets: a registered name, or the module:attribute of a
    transform; null offers no Skill."""
    skill: SkillSource | None = None
    """In place of a variant: a Skill as it lies at a path, or stood in a git revision."""
    disclosure: Disclosure | None = None
    """In place of the study's; it must be in the study's `vary`, as model and effort."""
    model: str | None = None
    """In place of the agent's."""
    effort: str | None = None
    """In place of the agent's."""

    @property
    def offers(self) -> str | None:
        """What trials and tables call the offered Skill: a variant, or the arm itself where it gives a
        Skill as it is; None for no Skill."""
        return self.name if self.skill else self.variant


class TaskEntry(Record):
    """One task of a study, or all that a glob fits."""

    path: str
    """Folder in Harbor task format, relative to the study file; or a glob, such as tasks/*, that stands
    for every folder it fits, sorted by name."""
    skills: str | None = None
    """Source bundle, relative to the study file, {task} for the task's name; default:
    environment/skills of the task."""
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


class AgentChoice(GrowingRecord):
    """Which agent is run."""

    later = ("effort",)

    name: str = "scripted"
    """Registered name or module:attribute."""
    model: str | None = None
    """Model, where the agent has one."""
    effort: str | None = None
    """Reasoning effort, in the agent's own words, such as high: its option `effort`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of that agent."""


class BuildChoice(GrowingRecord):
    """How the variants are built and weighed; further fields are options of the transforms."""

    model_config = ConfigDict(extra="allow")
    later = ("engine", "model", "assay", "gates")

    engine: Literal["plan", "assign", "rewrite"] = "plan"
    """plan moves text by rules; with assign a model picks the places, with rewrite it writes."""
    model: str | None = None
    """The model of assign and rewrite, as litellm names it, such as openai/gpt-5.4; its address and key
    come from the environment."""
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


class Exclusion(Record):
    """A task that a person leaves out before the study."""

    task: str
    """Name of the task."""
    category: str = Field(min_length=1)
    """Kind of reason, such as external credential: exclusions are counted by it."""
    reason: str = Field(min_length=1)
    """Why, in a sentence."""


class ExclusionRules(Record):
    """Rules by which tasks are left out before the study; its builds decide."""

    max_tokens: int | None = Field(default=None, gt=0)
    """Out is a task of which a condition offers a Skill with more tokens of text than this."""
    pd_worth: Literal["small"] | None = None
    """Out is a task whose `pd` has little to open on demand (`pd_worth` of its build)."""


class Budget(Record):
    """What all attempts of a study together may use; a run stops between trials where it is reached."""

    dollars: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars for models; null: no limit."""
    minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Minutes of agents' work; null: no limit."""


class ModelPrice(Record):
    """What a model's tokens cost, US dollars per million, of each of four classes that do not overlap."""

    model: str = Field(min_length=1)
    """Name of the model; provider prefix, date and punctuation do not matter."""
    input: float = Field(ge=0, allow_inf_nan=False)
    """Input tokens that were neither read from nor written to a cache."""
    cache_write: float = Field(ge=0, allow_inf_nan=False)
    """Input tokens written to a cache."""
    cache_read: float = Field(ge=0, allow_inf_nan=False)
    """Input tokens read from a cache."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """Output tokens."""
    as_of: date
    """Date of the price, YYYY-MM-DD."""


class StudyConfig(GrowingRecord):
    """study.yaml: what a person writes."""

    later = (
        "metrics", "disclosure", "vary", "primary_outcome", "margin", "exclude", "exclude_rules",
        "prices",
    )  # fmt: skip

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
    disclosure: Disclosure = "silent"
    """silent: the prompt is the task's instruction; named: its end names the offered Skills."""
    vary: tuple[ArmSetting, ...] = ("skill",)
    """What may differ between conditions; two that differ in anything else are refused."""
    primary_outcome: Literal["strict_pass", "reward"] = "strict_pass"
    """What the headline compares."""
    margin: float | None = Field(default=None, gt=0, le=100)
    """Difference in the primary outcome, percentage points, below which the arms count as equal: the
    headline then says whether they do. Declare it before the run."""
    retries: int = Field(default=0, ge=0, le=100)
    """Further attempts at a trial that a fault of the machine broke; may change between runs."""
    budget: Budget = Budget()
    """What all attempts together may use; may change between runs."""
    prices: tuple[ModelPrice, ...] = ()
    """Prices that go before those of the packaged list; may change between runs, ingest takes them."""
    exclude: tuple[Exclusion, ...] = ()
    """Tasks that are left out, with their reasons: each is a row of the accounting, none has trials."""
    exclude_rules: ExclusionRules = ExclusionRules()
    """Rules that leave tasks out as well."""

    @property
    def planned(self) -> dict[str, Any]:
        """What a plan holds of it: all but the fields that change no trial."""
        return self.model_dump(mode="json", exclude={"retries", "budget", "prices"})

    def settings(self, arm: Condition) -> dict[ArmSetting, str | None]:
        """What an arm has of all that two arms can differ in."""
        skill = arm.variant
        if arm.skill:
            revision = arm.skill.revision
            skill = f"{arm.skill.path} at {revision}" if revision else arm.skill.path
        return {
            "skill": skill,
            "disclosure": arm.disclosure or self.disclosure,
            "model": arm.model or self.agent.model,
            "effort": arm.effort or self.agent.effort,
        }


class GivenSkill(Record):
    """A Skill that a condition offers as it is, frozen."""

    path: str
    """Where it lies, relative to the study file."""
    commit: str | None = None
    """Full hash of the commit it is taken from; null for one on disk."""
    tree_digest: str
    """sha256 over paths, execute bits and contents."""


class PlannedTask(GrowingRecord):
    """A task with its digests, frozen."""

    later = ("settings_digest", "given")

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
    settings_digest: str = ""
    """sha256 of task.toml; "" in plans of format 1, which do not hold it."""
    given: dict[str, GivenSkill] = Field(default_factory=dict)
    """Condition -> the Skill that it offers as it is."""

    @property
    def substrate_digest(self) -> str:
        """What must be equal across conditions: instruction, environment, verifier and settings."""
        parts = [self.instruction_digest, self.environment_digest, self.verifier_digest]
        parts += [self.settings_digest] if self.settings_digest else []
        return "-".join(part[:16] for part in parts)


class ExcludedTask(Record):
    """A task that the study found and left out."""

    name: str
    """Folder name of the task."""
    path: str
    """Folder, relative to the study file."""
    category: str
    """Kind of reason."""
    reason: str
    """Why, in a sentence."""
    decided_by: Literal["person", "max_tokens", "pd_worth"]
    """The study file by name, or one of its rules."""


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


class StudyPlan(GrowingRecord):
    """plan.json: the frozen plan."""

    later = ("excluded",)

    format_version: Literal[1, 2] = 2
    """Version of this record; the substrate of version 1 is without task.toml."""
    readable: ClassVar[tuple[int, ...]] = (1, 2)
    """Versions that are read: a study that has begun goes on under its own."""
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
    excluded: tuple[ExcludedTask, ...] = ()
    """Tasks that were left out, in order of the study file."""
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
    effort: str | None = None
    """Reasoning effort that the agent was asked for; None for none."""
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
    """Variant offered, or the condition that gives a Skill as it is; None for no Skill."""
    disclosed: str | None = None
    """Sentence that named the offered Skills at the end of the prompt; None where nothing did."""
    variant_digest: str | None
    """Tree digest of the offered variant as it stood in the sandbox before the agent ran."""
    skill_root: str | None
    """Path of the skills folder as the agent saw it."""
    variant_digest_after: str | None = None
    """Tree digest of the same folder after the agent, without files that its pages said to write out:
    another one says that it was edited, "gone" that no such tree was left; None when it was not taken."""
    network: Literal["none", "host"] | None = None
    """Network of the agent: none, or that of the machine; None when it is not known. The verifier of an
    isolated trial has none."""
    task_network: str | None = None
    """What the task's own task.toml says of the network; None when it says nothing."""
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
    tools: tuple[str, ...] | None = None
    """Names of the agent's tools, where it said at its start which it has; else None."""

    @property
    def strict_pass(self) -> bool:
        """reward == 1 exactly; a missing reward is no pass (measures §1.1)."""
        return self.reward == 1.0
