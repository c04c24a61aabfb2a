"""The harness interface: a trial's inputs, and what its agent is told."""

import math
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin, runtime_checkable

import msgspec
from msgspec import Struct

from skilljuror.base.errors import UsageError, redact
from skilljuror.base.skill import is_root_name
from skilljuror.base.study import (
    SKILLS,
    AgentChoice,
    AgentProgram,
    HarnessChoice,
    PlannedTask,
    PlannedTrial,
    TrialRecord,
)
from skilljuror.harness.sandbox import HOME
from skilljuror.skill.markdown import parse_frontmatter, plain_field

_CANARY = re.compile(r"\s*(?:<!--|#).*canary.*", re.IGNORECASE)
_LISTING = """
The following Skills are available. Each is a folder of instructions for one kind of work: read its
SKILL.md when the task fits its description.

<available_skills>
{skills}
</available_skills>
"""
_SKILL = """<skill>
<name>{name}</name>
<description>{description}</description>
<location>{location}</location>
</skill>"""


class TrialJob(Struct, frozen=True):
    """Inputs of one trial."""

    trial: PlannedTrial
    task: PlannedTask
    task_dir: Path
    """The task's folder in Harbor format."""
    variant: str | None
    """Name of the variant; None offers no Skill."""
    variant_dir: Path | None
    """Folder with the skill folders."""
    agent: AgentProgram
    choice: HarnessChoice
    """Time limits and options."""
    config_digest: str
    """Digest of the plan."""
    variant_digest: str | None = None
    """Tree digest of the build; a harness refuses any other."""
    announced: tuple[str, ...] = ()
    """Files that the variant instructs the agent to write, relative to `variant_dir`; they do not count
    as edits of the Skill."""
    disclosed: str | None = None
    """Sentence that names the offered Skills, appended to the prompt as a paragraph; None for none."""
    keep: tuple[str, ...] | None = None
    """Globs of the agent's text files to keep; None: all that it changed."""
    hidden: tuple[Path, ...] = ()
    """Host folders of the study, which no trial may see: its file, output, tasks and Skills."""

    @property
    def agent_limit(self) -> float:
        """Time limit of the agent, seconds."""
        return time_limit(self.choice, self.task_dir, "agent")

    @property
    def verifier_limit(self) -> float:
        """Time limit of the verifier, seconds."""
        return time_limit(self.choice, self.task_dir, "verifier")


def time_limit(choice: HarnessChoice, task_dir: Path, part: Literal["agent", "verifier"]) -> float:
    """Return the time limit of a part of a trial, seconds: the study's, or the task's own."""
    limit = choice.timeout_sec if part == "agent" else choice.verifier_timeout_sec
    if choice.timeouts == "task":
        table = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8")).get(part)
        own = table.get("timeout_sec") if isinstance(table, dict) else None
        limit = own if isinstance(own, int | float) and 0 < own < math.inf else limit
    return limit * choice.timeout_multiplier


class Harness(Protocol):
    """Runs trials one at a time; created with `options` once per worker process."""

    def prepare(self) -> str:
        """Check the machine and return the isolation of trials. Raises HarnessError."""
        ...

    def run(self, job: TrialJob, target: Path) -> TrialRecord:
        """Run one trial and write its raw artifacts to the empty folder `target`.

        Faults of the agent or the verifier are recorded; only a fault of the machine raises
        HarnessError.
        """
        ...


class Requirement(Struct, frozen=True):
    """Something that a study needs, and whether it is there."""

    name: str
    ready: bool
    detail: str
    """What was found, or what is missing and how to get it."""


@runtime_checkable
class CheckedHarness(Harness, Protocol):
    """A harness that can tell before a run what a study lacks."""

    def task_requirements(self, tasks: Sequence[Path]) -> Iterable[Requirement]:
        """Whether it can run these task folders. A run is refused if it cannot."""
        ...

    def machine_requirements(self, tasks: Sequence[Path]) -> Iterable[Requirement]:
        """Whether the machine has what these tasks need, after `prepare`; this may take seconds."""
        ...


Collected = Callable[[Path], TrialRecord]
"""Writes the raw artifacts of one finished trial to an empty folder and returns its record."""


class Batch(Struct, frozen=True):
    """Trials for a harness that schedules them itself."""

    jobs: tuple[TrialJob, ...]
    """In the order of the plan."""
    folder: Path
    """Folder for state that survives a kill."""
    scratch: Path
    """Temporary folder."""
    at_once: int
    """Maximum trials in parallel."""
    lock: int
    """A file descriptor that every started process keeps open."""
    kept: frozenset[tuple[str, str]] = frozenset()
    """(trial, start) of saved attempts; their leftovers are ignored."""


@runtime_checkable
class BatchHarness(Harness, Protocol):
    """A harness that schedules trials itself and may have its own agents."""

    def own_agent(self, choice: AgentChoice) -> AgentProgram | None:
        """Return the chosen agent if it is one of the harness."""
        ...

    def stopped(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """Yield attempts that were stopped or killed while an agent ran or may have run. Each is
        collected before the next is requested."""
        ...

    def run_batch(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """Run every trial of a batch, starting with results of earlier runs.

        Each trial is collected before the next is requested. Closing the iterator stops active
        trials. Raises HarnessError.
        """
        ...


Options = TypeVar("Options", bound=Struct)


def read_options(
    place: str, options: Mapping[str, Any], kind: type[Options], refused: Collection[str] = ()
) -> Options:
    """Return options of a study file as a record. Raises UsageError for one that it does not have or that is
    `refused`."""
    fields = [field for field in msgspec.structs.fields(kind) if field.name not in refused]
    names: Sequence[str] = [field.name for field in fields]
    choices = {
        field.name: get_args(field.type) for field in fields if get_origin(field.type) is Literal
    }
    try:
        for name in {*refused} & {*options}:
            raise msgspec.ValidationError(f"Object contains unknown field `{name}`")
        for name, values in choices.items():
            if options.get(name, values[0]) not in values:
                names = values
                raise msgspec.ValidationError(f"unknown {name} {options[name]!r}")
        return msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{place}: {error}; choose from {', '.join(names)}", field=place.split(", ")[-1]
        ) from error


def key_values(agent: AgentProgram) -> dict[str, str]:
    """Return the agent's keys with their values from the environment."""
    return {name: os.environ[name] for name in agent.keys if name in os.environ}


def without_keys(text: str, agent: AgentProgram) -> str:
    """Redact the values of the agent's keys."""
    return redact(text, key_values(agent).values())


def trial_record(job: TrialJob, **outcome: Any) -> TrialRecord:
    """Create a trial's record from its job and the fields in `outcome`."""
    return TrialRecord(
        trial=job.trial.trial,
        task=job.task.name,
        condition=job.trial.condition,
        number=job.trial.number,
        seed=job.trial.seed,
        agent=job.agent.name,
        agent_version=job.agent.version,
        model=job.agent.model,
        effort=job.agent.effort,
        scripted=job.agent.scripted,
        config_digest=job.config_digest,
        substrate_digest=job.task.substrate_digest,
        variant=job.variant,
        disclosed=job.disclosed,
        usage_reason=job.agent.usage_reason,
        **outcome,
    )


def free_disk(folder: Path) -> Requirement:
    """Free space below a folder."""
    free = shutil.disk_usage(folder).free / 1e9
    return Requirement("disk", free > 1, f"{free:.0f} GB free")


def in_home(path: str) -> str:
    """Expand `~/x` to the sandbox's HOME."""
    return HOME + path.removeprefix("~")


def skills_root(agent: AgentProgram) -> str:
    """Return the agent's Skills folder in the sandbox."""
    return in_home(agent.skills or SKILLS)


def read_instruction(task_dir: Path) -> str:
    """Read the instruction without canary comments at the top."""
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    while lines and _CANARY.fullmatch(lines[0].rstrip("\n")):
        lines.pop(0)
    return "".join(lines)


def skills_listing(variant_dir: Path, root: str) -> str:
    """List each Skill's name, description and location, for the prompt of an agent without a Skills
    folder."""
    pages = [path for path in variant_dir.rglob("*") if is_root_name(path.name)]
    skills = []
    for path in sorted(pages, key=lambda path: str(path).encode()):
        fields, _ = parse_frontmatter(path.read_text(encoding="utf-8").splitlines())
        shown = {
            "name": plain_field(fields, "name") or path.parent.name,
            "description": plain_field(fields, "description") or "",
            "location": f"{root}/{path.relative_to(variant_dir)}",
        }
        skills.append(_SKILL.format(**{key: escape(text, False) for key, text in shown.items()}))
    return _LISTING.format(skills="\n".join(skills))
