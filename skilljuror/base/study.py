"""Records of a study: its file, frozen plan, tasks, agents and trials."""

import json
import math
from datetime import date
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field
from pydantic import ConfigDict, Field, FiniteFloat, StrictBool, model_validator

from skilljuror.base.build import PdWorth, Record

# Tasks that a study leaves out before it runs.


class Exclusion(Record):
    """A task that a person excludes before the study."""

    task: str
    """Name of the task."""
    category: str = Field(min_length=1)
    """Category for counting, such as external credential."""
    reason: str = Field(min_length=1)
    """Reason in one sentence."""


class ExclusionRules(Record):
    """Rules that exclude tasks before the study, based on their builds."""

    max_tokens: int | None = Field(default=None, gt=0)
    """Exclude tasks for which a condition offers a Skill with more tokens than this."""
    pd_worth: PdWorth | None = None
    """Exclude tasks by `pd_worth` of the build: none, tasks whose `pd` has nothing to open on demand; small,
    those with little too."""


NO_SKILL, NO_ANSWER, NO_LOG, NO_VERIFIER = "no_skill", "no_answer", "no_log", "no_verifier"

TrialStatus = Literal["scored", "timeout", "unscored", "error"]
TrialReason = Literal["no_answer", "no_log", "no_verifier"]
TaskJudge = Literal["verifier", "rubric", "trigger"]
"""What judges the trials of a task: tests/test.sh, else tests/rubric.json, else tests/trigger.json."""
Disclosure = Literal["silent", "named"]
"""Whether the prompt is the task's instruction alone, or names the offered Skills at its end."""
ArmSetting = Literal["skill", "disclosure", "agent", "model", "effort"]
"""Settings in which conditions can differ."""


class SkillSource(Record):
    """An existing Skill that a condition offers unchanged."""

    path: str = Field(min_length=1)
    """A skill's folder, a folder of skills or a .skill file, relative to the study file; {task} stands
    for the task's name, {number} for that of the trial, so that each trial has a Skill of its own."""
    revision: str | None = None
    """Revision of the git repository around the path, such as a tag or a commit; null: the files on
    disk."""

    @model_validator(mode="before")
    @classmethod
    def _bare_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    def at(self, task: str) -> str:
        """The path for a task."""
        return self.path.replace("{task}", task)


class AgentChoice(Record):
    """Agent that runs the trials."""

    name: str = "scripted"
    """Registered name or module:attribute."""
    model: str | None = None
    """Model of the agent, if it has one."""
    effort: str | None = None
    """Reasoning effort in the agent's own terms, such as high."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the agent."""


class Condition(Record):
    """One arm of a study: which Skill the agent is given, if any."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name, used in trial names and tables."""
    variant: str | None = None
    """Variant of the task's build that the agent gets: a registered name, or the module:attribute of a
    transform; null offers no Skill."""
    skill: SkillSource | None = None
    """Instead of a variant: an existing Skill at a path or in a git revision."""
    disclosure: Disclosure | None = None
    """Overrides the study's disclosure; requires disclosure in `vary`, as do agent, model and effort."""
    model: str | None = None
    """Overrides the agent's model."""
    effort: str | None = None
    """Overrides the agent's effort."""
    tasks: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Names or globs of its tasks; default: all. Comparisons use the tasks of both arms."""
    agent: AgentChoice | None = None
    """Another agent, with its own model, effort and options."""

    @property
    def offers(self) -> str | None:
        """Name of the offered Skill in trials and tables: the variant, or the condition's name for an
        existing Skill; None for no Skill."""
        return self.name if self.skill else self.variant


class TaskEntry(Record):
    """One task of a study, or all that match a glob."""

    path: str
    """Folder in Harbor task format, relative to the study file; or a glob of folders, such as tasks/*."""
    skills: str | None = None
    """Source bundle, relative to the study file, {task} for the task's name; default:
    environment/skills of the task."""
    attributes: dict[str, str] = Field(default_factory=dict)
    """Task attributes (workflow_type, validation_type, domain); default: task.toml [metadata]."""


class Contrast(Record):
    """Headline comparison."""

    treatment: str
    """Condition on the plus side."""
    control: str
    """Condition on the minus side."""


class HarnessChoice(Record):
    """Harness that runs the trials."""

    name: str = "local"
    """Registered name or module:attribute."""
    timeout_sec: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Time limit for the agent of one trial, seconds."""
    verifier_timeout_sec: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Time limit for the verifier of one trial, seconds."""
    timeouts: Literal["study", "task"] = "study"
    """task: a limit in a task's task.toml goes before those above."""
    timeout_multiplier: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Factor of every limit."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the harness (local: isolation = auto | bwrap | sealed | none)."""


class BuildChoice(Record):
    """How the variants are built and gated; other fields are options of the transforms."""

    model_config = ConfigDict(extra="allow")
    engine: Literal["plan", "assign", "rewrite"] = "plan"
    """plan: rules move text; assign: a model judges what belongs to the main path; rewrite: a model writes."""
    model: str | None = None
    """The model of assign and rewrite, as litellm names it, such as openai/gpt-5.4; its address and key
    come from the environment."""
    rubric: str | None = None
    """Model that rates rewrites by the rubric, as litellm names it (engine rewrite)."""
    assay: int = Field(default=0, ge=0, le=1000)
    """Measure the gates on every build: plant known drift and benign edits at up to this many places per kind
    of change and variant; the report shows how many were flagged. 0 turns it off."""
    gates: tuple[str, ...] = ()
    """Additional gates, as module:attribute."""

    @property
    def options(self) -> dict[str, Any]:
        """Options of the transforms."""
        return dict(self.model_extra or {})


class Budget(Record):
    """Limits for all attempts of a study together; a run stops between trials when one is reached."""

    dollars: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars for models; null: no limit."""
    minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Minutes of agents' work; null: no limit."""


class ModelPrice(Record):
    """Price of a model's tokens, US dollars per million in each of four disjoint classes."""

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


_CHANGEABLE = {"retries", "stop_after_unanswered", "budget", "prices", "accept_skills"}
"""Fields of a study file that may change between runs."""


class StudyConfig(Record):
    """study.yaml: the tasks, conditions, agent and trials of a study, as a person writes them."""

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
    """Headline comparison; default: the last condition against the nearest that differs in one setting."""
    harness: HarnessChoice = HarnessChoice()
    """Harness."""
    agent: AgentChoice = AgentChoice()
    """Agent."""
    build: BuildChoice = BuildChoice()
    """How the variants are built and gated."""
    metrics: tuple[str, ...] = ()
    """Additional metrics for ingest, as module:attribute."""
    disclosure: Disclosure = "silent"
    """silent: the prompt is the task's instruction; named: it also names the offered Skills at its end."""
    vary: tuple[ArmSetting, ...] = ("skill",)
    """Settings that may differ between conditions; any other difference is an error."""
    primary_outcome: Literal["strict_pass", "reward", "checks"] = "strict_pass"
    """Outcome that the headline compares. checks: the share of points that a trial earned in the verifier's tests,
    or, if no trial of its task reported any, in its rubrics' items, never in both; without all results it has none."""
    margin: float | None = Field(default=None, gt=0, le=100)
    """Difference in the primary outcome, percentage points, below which the arms count as equivalent.
    Declare it before the run."""
    healthy_first: int | None = Field(default=None, ge=1)
    """Trials of every (task, condition) pair that count; the others are spares. First come usable trials with
    a reward, then usable ones without, such as time-outs, each by number. Default: all count."""
    fewest_usable: int | None = Field(default=None, ge=2)
    """Conditions with fewer usable trials get no figures. Default: no such rule."""
    keep: tuple[str, ...] | None = Field(default=None, max_length=100)
    """Globs of text files of the work that trials keep, such as out/*; default: those that agents changed."""
    retries: int = Field(default=0, ge=0, le=100)
    """Retries of a trial after a fault of the machine or the model's provider, with increasing pauses;
    may change between runs."""
    stop_after_unanswered: int = Field(default=5, ge=1)
    """Stop the run after this many consecutive trials without an answer of the model or without a log;
    may change between runs."""
    budget: Budget = Budget()
    """Limits for all attempts together; may change between runs."""
    prices: tuple[ModelPrice, ...] = ()
    """Prices that override the packaged list; may change between runs."""
    accept_skills: tuple[str, ...] = ()
    """Names of Skills that logs may list, or not list, whatever the condition offers, such as the agent's
    own; may change between runs."""
    exclude: tuple[Exclusion, ...] = ()
    """Excluded tasks with reasons; they appear in the report but have no trials."""
    exclude_rules: ExclusionRules = ExclusionRules()
    """Rules that exclude tasks."""

    @property
    def planned(self) -> dict[str, Any]:
        """Fields that a plan stores: all that affect trials."""
        return self.model_dump(mode="json", exclude=_CHANGEABLE)

    def agent_of(self, arm: Condition) -> AgentChoice:
        """Return the agent of an arm, with its model and effort."""
        chosen = arm.agent or self.agent
        own = {"model": arm.model or chosen.model, "effort": arm.effort or chosen.effort}
        return chosen.model_copy(update=own)

    def settings(self, arm: Condition) -> dict[ArmSetting, str | None]:
        """Return the settings of an arm in which arms can differ; the agent's include its options."""
        agent = self.agent_of(arm)
        options = json.dumps(agent.options, sort_keys=True, default=str) if agent.options else ""
        skill = arm.variant
        if arm.skill:
            revision = arm.skill.revision
            skill = f"{arm.skill.path} at {revision}" if revision else arm.skill.path
        return {
            "skill": skill,
            "disclosure": arm.disclosure or self.disclosure,
            "agent": f"{agent.name} {options}".rstrip(),
            "model": agent.model,
            "effort": agent.effort,
        }


class GivenSkill(Record):
    """An existing Skill that a condition offers, frozen.

    The columns of `given_skills` say what its fields mean."""

    path: str
    commit: str | None = None
    """Full commit hash; null for files on disk."""
    tree_digest: str


class PlannedTask(Record):
    """A task with its digests, frozen.

    The columns of `tasks` say what its fields mean."""

    name: str
    path: str
    skills: str
    attributes: dict[str, str]
    """workflow_type, validation_type, domain and other metadata of the task."""
    instruction_digest: str
    environment_digest: str
    verifier_digest: str
    source_digest: str
    stripped: tuple[str, ...] = ()
    """Skills removed from the task's own environment: environment/skills, its COPY lines, skills_dir."""
    settings_digest: str = ""
    given: dict[str, GivenSkill] = Field(default_factory=dict)
    """Condition -> the existing Skill that it offers."""
    judged_by: TaskJudge = "verifier"

    @property
    def substrate_digest(self) -> str:
        """Digest that must be equal across conditions: instruction, environment, verifier, settings."""
        parts = (
            self.instruction_digest, self.environment_digest, self.verifier_digest, self.settings_digest,
        )  # fmt: skip
        return "-".join(part[:16] for part in parts if part)


class ExcludedTask(Record):
    """An excluded task.

    The columns of `excluded_tasks` say what its fields mean."""

    name: str
    path: str
    category: str
    reason: str
    decided_by: Literal["person", "max_tokens", "pd_worth", "build"]


class PlannedTrial(Record):
    """One trial to run.

    The columns of `planned_trials` say what its fields mean."""

    trial: str
    task: str
    condition: str
    number: int
    order: int
    block: int
    seed: int


class StudyPlan(Record):
    """plan.json: the frozen plan."""

    format_version: Literal[2] = 2
    skilljuror_version: str
    config: StudyConfig
    config_digest: str
    """sha256 of the study file's content and the tasks' digests; a run resumes only if it is unchanged."""
    tasks: tuple[PlannedTask, ...]
    trials: tuple[PlannedTrial, ...]
    excluded: tuple[ExcludedTask, ...] = ()
    agent_digest: str | None = None
    """sha256 of the agent's command and files; None before an agent is chosen. A run resumes only
    with the same program."""


class TrialRecord(Record):
    """trial.json: one finished trial.

    The columns of `trials` say what its fields mean."""

    format_version: Literal[1] = 1
    trial: str
    task: str
    condition: str
    number: int
    seed: int
    status: TrialStatus
    reward: float | None = Field(ge=0, le=1)
    rewards: dict[str, FiniteFloat] = Field(default_factory=dict)
    exception: str | None = None
    message: str | None = None
    reason: TrialReason | None = None
    agent: str
    agent_version: str | None = None
    agent_untried: str | None = None
    model: str | None = None
    effort: str | None = None
    scripted: bool = False
    harness: str
    isolation: str
    unsealed: tuple[str, ...] | None = None
    config_digest: str
    substrate_digest: str
    variant: str | None
    disclosed: str | None = None
    variant_digest: str | None
    skill_root: str | None
    variant_digest_after: str | None = None
    network: Literal["none", "host", "public", "allowlist"] | None = None
    task_network: str | None = None
    started_at: str
    finished_at: str
    agent_seconds: float | None = Field(ge=0, allow_inf_nan=False)
    verifier_seconds: float | None = Field(ge=0, allow_inf_nan=False)
    exit_code: int | None = None
    usage_reason: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the agent's tools if it lists them at its start, else None."""
    left_out: tuple[str, ...] = ()

    @property
    def strict_pass(self) -> bool:
        """reward == 1 exactly; a missing reward is not a pass (measures §1.1)."""
        return self.reward == 1.0

    @property
    def end(self) -> str:
        """The status, or for an unscored trial its reason, which is counted separately."""
        return self.reason if self.status == "unscored" and self.reason else self.status


# An agent as a program.


SKILLS = "~/.agents/skills"
"""Folder in which most agents look for a user's Skills."""


class AgentProgram(Struct, frozen=True):
    """An agent as a program that a harness can start."""

    name: str
    version: str | None
    files: tuple[Path, ...]
    """Files the program needs; copied into one folder of the sandbox."""
    argv: tuple[str, ...]
    """Command; `{agent_dir}` (folder of `files`), `{instruction}` (path of a file that holds the
    instruction), `{prompt}` (the instruction itself), `{logs}` (folder for the agent's own logs),
    `{skills}` (its folder of Skills, absent in the no-skill arm) and `{seed}` are filled in. It
    starts in the task's working directory."""
    model: str | None = None
    scripted: bool = False
    usage_reason: str | None = None
    """Why tokens and cost are null, such as no_model."""
    keys: tuple[str, ...] = ()
    """Environment variables that hold its keys, such as OPENAI_API_KEY. Their values come from the
    environment of the run, reach only the agent's process, and are redacted from its output."""
    effort: str | None = None
    skills: str | None = SKILLS
    """Folder in which it looks for a user's Skills; `~` is its HOME. If None, the prompt names the path
    of each Skill."""
    home_files: dict[str, str] = {}
    """Path in its HOME -> text of a file to create there, such as its settings."""
    env: dict[str, str] = {}
    """Environment variables in addition to those of every trial."""
    logs: tuple[str, ...] = ()
    """Folders in its HOME, such as `~/.codex/sessions`, that are saved along with `{logs}`."""
    writes_log: bool = False
    """Whether it always writes a log, so that a trial without one is an error. False if unknown."""
    shown: tuple[Path, ...] = ()
    """Files and folders of this machine that it needs, mounted at their own paths."""


# Harbor's record of one trial, read without importing Harbor.


OUT_OF_TIME = frozenset({"AgentTimeoutError"})
"""Harbor exceptions of an agent that timed out; the verifier still ran."""
CANCELLED = frozenset({"CancelledError", "KeyboardInterrupt"})
"""Harbor exceptions of a trial cancelled from outside."""
ENVIRONMENT_FIELDS = (
    "cpu_enforcement_policy", "delete", "env", "extra_allowed_hosts", "extra_docker_compose", "force_build",
    "memory_enforcement_policy", "mounts", "override_cpus", "override_gpus", "override_memory_mb",
    "override_storage_mb",
)  # fmt: skip
"""Fields of Harbor's environment that a study may set, beside its type and keyword arguments."""
SCRIPTED = frozenset({"oracle", "nop"})
"""Harbor's scripted agents; their figures say nothing about real agents."""

REWARD = "reward"
"""Name of the reward that counts."""


class Reward(Struct, frozen=True):
    """The verifier's answer."""

    value: float | None
    rewards: dict[str, float] = field(default_factory=dict)
    problem: str | None = None
    """Why the trial is unscored, in one line."""


def chosen_reward(rewards: dict[str, float], name: str = REWARD) -> Reward:
    """Return the reward of that name; if nobody named one, else the only one (measures A-04)."""
    kept = {key: number for key, number in rewards.items() if math.isfinite(number)}
    if name not in rewards and (len(rewards) > 1 or name != REWARD):
        names = ", ".join(sorted(rewards)[:5])
        return Reward(None, kept, f"no key {name!r} among: {names}")
    value = rewards[name] if name in rewards else next(iter(rewards.values()))
    if not 0.0 <= value <= 1.0:
        return Reward(None, kept, f"reward {value!r} is outside [0, 1]")
    return Reward(value, kept)


class HarborResult(Struct, frozen=True):
    """A trial's result.json; None means unknown, times are seconds since the epoch, UTC."""

    id: str
    trial_name: str
    task_name: str
    """Task, as "org/name" or a bare name."""
    task_checksum: str | None = None
    reward: float | None = None
    rewards: dict[str, float] = field(default_factory=dict)
    problem: str | None = None
    """Why no reward counts, in one line."""
    verified: bool = False
    exception: str | None = None
    message: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    environment: str | None = None
    """Isolation of the trial: docker, daytona, … or an import path."""
    input_tokens: int | None = None
    """Input tokens, cached ones included; None also if all counts are 0."""
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    agent_window: tuple[float, float] | None = None
    """Start and end of the agent's execution, seconds since the epoch."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration of each phase that ended: environment_setup, agent_setup, agent_execution,
    verifier."""
    steps: tuple[str, ...] = ()

    @property
    def status(self) -> TrialStatus:
        """How the trial ended; the verifier also runs after a timeout or a failed agent."""
        if self.exception in OUT_OF_TIME:
            return "timeout"
        if self.reward is not None:
            return "scored"
        return "error" if self.exception else "unscored"


# A condition as one trial has it: with `{number}` in its Skill's path, each trial has a Skill of its own.


NUMBER = "{number}"


def arm_at(arm: Condition, number: int) -> Condition:
    """Return the condition of the n-th trial; with a Skill of its own, its name ends with the number."""
    if not (arm.skill and NUMBER in arm.skill.path):
        return arm
    skill = arm.skill.model_copy(update={"path": arm.skill.path.replace(NUMBER, str(number))})
    return arm.model_copy(update={"name": f"{arm.name}-{number}", "skill": skill})


def trial_arms(config: StudyConfig) -> list[Condition]:
    """Return the conditions; one with a Skill per trial is there once per trial."""
    arms: list[Condition] = []
    for arm in config.conditions:
        own = arm_at(arm, 1) is not arm
        arms += [arm_at(arm, n + 1) for n in range(config.trials_per_cell if own else 1)]
    return arms


# A task that is a trigger query: whether its prompt should make the agent open a Skill.


TRIGGER_FILE = "trigger.json"
"""Its name in a task's tests/, which no agent's sandbox holds."""


class TaskTrigger(Record):
    """tests/trigger.json of a task."""

    should_trigger: StrictBool
    """Whether an agent should open the Skill."""
    skill: str = Field(min_length=1)
    """Name of its folder, by which tables name a Skill."""

    @property
    def attributes(self) -> dict[str, str]:
        """The same as attributes of the task, which the question `activation` reads."""
        return {
            "should_trigger": "true" if self.should_trigger else "false",
            "trigger_skill": self.skill,
        }


# The map of an adoption: which finished trials of Harbor belong to which arm of a study.


class AdoptedCondition(Record):
    """One arm and its trials."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name, used in trial names and tables."""
    variant: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Name of the variant the agent was given; null if no Skill was offered."""
    trials: str = Field(min_length=1)
    """Glob over the path of a trial's folder, job and all: "*-noskills-*"; * stands for / as well."""
    skills: str | None = None
    """Folder of the skill folders that were offered, relative to the map, {task} for the task's name;
    if missing, the contents of a Skill are taken from the logs."""


class AdoptionMap(Record):
    """map.yaml: how finished jobs become a study."""

    format_version: Literal[1] = 1
    """Version of the map."""
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name of the study."""
    conditions: tuple[AdoptedCondition, ...] = Field(min_length=1)
    """The arms."""
    contrast: Contrast | None = None
    """Headline comparison; default: the last condition against the one before it."""
    reward: str = REWARD
    """Name of the reward that counts, where the verifier gave several: "overall"."""
    agent: str | None = None
    """The agent, as Harbor names it; required if the jobs ran several."""
    model: str | None = None
    """The model; required if the jobs ran several."""
    healthy_first: int | None = Field(default=None, ge=1)
    """As in a study file."""
    fewest_usable: int | None = Field(default=None, ge=2)
    """As in a study file."""
    tasks: tuple[TaskEntry, ...] = ()
    """Folders of tasks, relative to the map, for the attributes that RQ4 groups by."""
