"""The Harbor harness: trials that one process of Harbor runs."""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from skilljuror.base.errors import HarnessError, UsageError
from skilljuror.base.files import data_dir, digest_tree
from skilljuror.base.skill import is_root_name
from skilljuror.base.study import (
    ENVIRONMENT_FIELDS,
    SCRIPTED,
    AgentChoice,
    AgentProgram,
    TrialRecord,
)
from skilljuror.harness.agent_home import skills_root
from skilljuror.harness.allowed_hosts import PORT, RELAY, proxy, proxy_environment, read_hosts
from skilljuror.harness.base import Batch, Collected, Requirement, TrialJob
from skilljuror.harness.environment import copy_environment, read_allowance
from skilljuror.harness.harbor.collect import (
    TrialPlace,
    collect,
    collect_stopped,
    finished_trials,
    remove_kept,
    stopped_trials,
)
from skilljuror.harness.harbor.engine import (
    engine_requirements,
    refuse_too_many,
    remove_leftovers,
    require_engine,
)
from skilljuror.harness.harbor.job import (
    BWRAP,
    OWN_AGENT,
    RunningJob,
    earlier_jobs,
    is_own,
    skill_folders,
    write_job,
)
from skilljuror.harness.harbor.program import HarborProgram, find_harbor
from skilljuror.harness.harbor.tasks import prepare_task
from skilljuror.harness.sandbox import host_parts, isolation_problem
from skilljuror.harness.unsupported import tasks_requirement

OPTIONS = (
    "environment",
    "environment_config",
    "environment_options",
    "isolation",
    "network",
    "program",
    "unsupported",
)
DOCKER = "docker"
PROXY = "proxy"
"""Socket in a batch's scratch folder."""
OURS = ("command", "scripted")
"""Agents that run as our programs; all others are Harbor's."""
LOGGING = frozenset({"claude-code", "codex", "gemini-cli", "mini-swe-agent", "terminus-2"})
"""Agents of Harbor that always write a log."""
_LOOK_SECONDS = 0.2
"""Polling interval of running jobs, seconds."""


class HarborHarness:
    """Runs Harbor, in bubblewrap or any environment of Harbor."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = dict(options or {})
        for name in given:
            if name not in OPTIONS:
                raise UsageError(
                    f"harness.options: unknown option {name!r}; choose one of {', '.join(OPTIONS)}",
                    field="harness.options",
                )
        self.environment: str = given.get("environment", "bwrap")
        self.environment_options: dict[str, Any] = given.get("environment_options", {})
        self.environment_config: dict[str, Any] = given.get("environment_config", {})
        for name in self.environment_config:
            if name not in ENVIRONMENT_FIELDS:
                raise UsageError(
                    f"harness.options.environment_config: unknown field {name!r}; choose one of"
                    f" {', '.join(ENVIRONMENT_FIELDS)}",
                    field="harness.options.environment_config",
                )
        self.hosts = read_hosts(given["network"]) if "network" in given else None
        if self.hosts is not None and self.environment != "bwrap":
            raise UsageError(
                f"harness.options.network: environment {self.environment!r} has its own list; set"
                " environment_config.extra_allowed_hosts, or use environment bwrap",
                field="harness.options.network",
            )
        self.unsupported = given.get("unsupported", "refuse")
        self.option: str | None = given.get("program")
        self.isolation: str | None = given.get("isolation")
        if self.isolation is not None and (self.isolation, self.environment) != ("sealed", "bwrap"):
            raise UsageError(
                f"harness.options.isolation: {self.isolation!r} is invalid for environment"
                f" {self.environment!r}; use sealed, with environment bwrap",
                field="harness.options.isolation",
            )

    def prepare(self) -> str:
        """Return the isolation of trials: bwrap, docker, … Raises HarnessError."""
        self._program()
        if self.environment == "bwrap":
            problem = isolation_problem(self.isolation or "bwrap") or _missing_programs()
            if problem:
                raise HarnessError(
                    f"harness 'harbor': environment bwrap does not work here: {problem}; or choose"
                    " another (harness.options.environment: docker)"
                )
        if self.environment == DOCKER:
            require_engine()
        return self.environment

    def task_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Whether `bwrap` can run every task: nothing is built there."""
        if self.environment == "bwrap":
            yield tasks_requirement(tasks, ignore=self.unsupported == "ignore", offline=False)

    def machine_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Harbor's version and, for Docker, the engine's disk and CPUs and the tasks' base images."""
        yield Requirement("harbor", True, self._program().version)
        if self.environment == DOCKER:
            yield from engine_requirements(tasks, self.environment_config.get("override_cpus"))

    def own_agent(self, choice: AgentChoice) -> AgentProgram | None:
        """Return one of Harbor's agents; None for ours: scripted, command, module:attribute."""
        if choice.name in OURS or ":" in choice.name:
            return None
        options = dict(choice.options)
        keys = options.pop("keys", [])
        env = {name: str(value) for name, value in options.pop("env", {}).items()}
        if choice.effort:
            options["reasoning_effort"] = choice.effort  # Harbor refuses it where an agent has none
        if choice.name == "codex":
            options["config"] = _with_defaults(options.get("config", {}))
        if choice.name == "claude-code":
            options.setdefault("disallowed_tools", "WebSearch,WebFetch")
            env.setdefault("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1")
        part = {"name": choice.name, "kwargs": options, **({"env": env} if env else {})}
        scripted = choice.name in SCRIPTED
        return AgentProgram(
            name=choice.name,
            version=None,
            files=(),
            argv=(OWN_AGENT, json.dumps(part, sort_keys=True)),
            model=choice.model,
            effort=options.get("reasoning_effort"),
            scripted=scripted,
            usage_reason="no_model" if scripted else None,
            keys=tuple(keys),
            writes_log=choice.name in LOGGING,
        )

    def run(self, job: TrialJob, target: Path) -> TrialRecord:
        """Run one trial as its own job; see `harnesses.base.Harness`."""
        with tempfile.TemporaryDirectory(prefix="harbor-") as name:
            folder = Path(name).resolve()
            with (folder / "lock").open("wb") as lock:
                batch = Batch((job,), folder / "jobs", folder, 1, lock.fileno())
                for _, collected in self.run_batch(batch):
                    return collected(target)
        raise AssertionError("a batch is run to its end or raises")

    def stopped(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """See `harnesses.base.BatchHarness`. A returned trial is removed when the next is
        requested."""
        for job in earlier_jobs(batch.folder, batch.jobs):
            remove_kept(job, batch.kept)
            for name, folder in stopped_trials(job).items():
                trial = job.trials[name]
                yield trial, partial(collect_stopped, trial, folder, place=self._place(trial))
                shutil.rmtree(folder, ignore_errors=True)

    def run_batch(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """Yield trials that ended in earlier runs, then all others as they end. A returned trial is
        removed from its job when the next is requested."""
        program = self._program()
        kept = set()
        for job in earlier_jobs(batch.folder, batch.jobs):
            if self.environment == DOCKER:
                remove_leftovers(job.trials)
            job.without_keys()
            remove_kept(job, batch.kept)
            for name, folder in finished_trials(job).items():
                kept.add(job.trials[name].trial.trial)
                yield from self._handed_out(job.trials[name], folder, program)
        pending = [job for job in batch.jobs if job.trial.trial not in kept]
        if pending:
            yield from self._run_all(batch, pending, program)

    def _run_all(
        self, batch: Batch, pending: Sequence[TrialJob], program: HarborProgram
    ) -> Iterator[tuple[TrialJob, Collected]]:
        for first in {(job.task.name, job.variant): job for job in pending}.values():
            _refuse_variant(first)
        if self.environment == DOCKER:
            refuse_too_many(min(batch.at_once, len(pending)))
        tasks = {job.task.name: job for job in pending}
        folders = {name: prepare_task(job, batch.folder / "tasks") for name, job in tasks.items()}
        roots = self._roots(folders, batch.scratch)
        hidden = sorted({
            *map(str, (path for job in pending for path in (*job.hidden, job.task_dir))),
            str(data_dir("examples")),
        })
        environment = partial(self._environment, roots, hidden, batch.scratch)
        job = write_job(batch.folder, pending, folders, environment, batch.at_once)
        running = RunningJob(job, program, batch.scratch, batch.lock)
        way = proxy(batch.scratch / PROXY, self.hosts) if self.hosts is not None else nullcontext()
        with way:
            try:
                yield from self._results(running, program)
            finally:
                running.ask_to_stop()
                try:
                    running.stop()
                finally:
                    job.without_keys()

    def _results(
        self, running: RunningJob, program: HarborProgram
    ) -> Iterator[tuple[TrialJob, Collected]]:
        """Yield every trial when it ends. Raises HarnessError if one has no result."""
        job, done = running.job, 0
        while done < len(job.trials):
            over = running.over
            for name in job.ended()[done:]:
                done += 1
                yield from self._handed_out(job.trials[name], job.trial_folders[name], program)
            if over and done < len(job.trials):
                left = next(one for name, one in job.trials.items() if name not in job.ended())
                raise HarnessError(
                    f"Harbor ended without a result for trial {left.trial.trial!r}:"
                    f" {running.last_words()} (full output in {job.folder}); fix this and rerun"
                )
            time.sleep(_LOOK_SECONDS)

    def _handed_out(
        self, trial: TrialJob, folder: Path, program: HarborProgram
    ) -> Iterator[tuple[TrialJob, Collected]]:
        home = trial.agent.skills and skills_root(trial.agent)
        root = None if is_own(trial.agent) else home or program.skills_root
        yield trial, partial(collect, trial, folder, place=self._place(trial), skill_root=root)
        shutil.rmtree(folder, ignore_errors=True)

    def _place(self, job: TrialJob) -> TrialPlace:
        """Network of the agent: in a container, as the task asks."""
        if self.environment != "bwrap":
            asked = read_allowance(job.task_dir).network or "public"
            asked = {"refused": "none", "no-network": "none", "allowed": "public"}.get(asked, asked)
        elif job.agent.scripted:
            asked = "none"
        else:
            asked = "host" if self.hosts is None else "allowlist"
        return TrialPlace(self.environment, asked)

    def _program(self) -> HarborProgram:
        return find_harbor(self.option)

    def _roots(self, tasks: Mapping[str, Path], scratch: Path) -> dict[str, dict[str, str]]:
        """Return task name -> initial files of its sandbox and working directory."""
        roots: dict[str, dict[str, str]] = {}
        for name, task in tasks.items() if self.environment == "bwrap" else ():
            root = Path(tempfile.mkdtemp(dir=scratch, prefix="root-"), name)
            root.mkdir()
            recipe = copy_environment(task / "environment", root)
            roots[name] = {"root": str(root), "workdir": recipe.workdir}
        return roots

    def _environment(
        self, roots: dict[str, dict[str, str]], hidden: list[str], scratch: Path, job: TrialJob
    ) -> dict[str, Any]:
        """Environment part of a trial's configuration."""
        options = dict(self.environment_options)
        if self.environment != "bwrap":
            kind = "import_path" if ":" in self.environment else "type"
            return {**self.environment_config, kind: self.environment, "kwargs": options}
        shown = [str(path) for path in job.agent.shown]
        options["show"] = [*options.get("show", []), *shown]
        options |= {"hide": hidden, "host": host_parts(), "network": not job.agent.scripted}
        options["task"] = roots[job.task.name]
        if self._place(job).network == "allowlist":
            options["host"]["proxy"] = {
                "socket": str(scratch / PROXY), "relay": str(RELAY), "port": PORT,
                "env": proxy_environment(),
            }  # fmt: skip
        return {**self.environment_config, "import_path": BWRAP, "kwargs": options}


def _with_defaults(config: dict[str, Any]) -> dict[str, Any]:
    """Disable the bundled Skills and the web search that Codex otherwise offers in every arm."""
    skills = config.get("skills", {})
    return {"web_search": "disabled", **config, "skills": {"bundled": {"enabled": False}, **skills}}


def _missing_programs() -> str | None:
    for name in ("nsenter", "prlimit", "setpriv"):
        if shutil.which(name) is None:
            return f"{name} is not installed; install util-linux"
    return None


def _refuse_variant(job: TrialJob) -> None:
    """Raise HarnessError for a variant that changed after the build, and for a Skill that Harbor
    would reject."""
    if job.variant_dir is None or job.variant_digest is None:
        return
    digest = digest_tree(job.variant_dir)
    if digest != job.variant_digest:
        raise HarnessError(
            f"trial {job.trial.trial!r}: variant {job.variant!r} has digest {digest[:16]}, the build says"
            f" {job.variant_digest[:16]}; the variant was changed after its gates: build it again in a"
            " fresh folder"
        )
    taken = skill_folders(job)
    for path in sorted(job.variant_dir.rglob("*")):
        if is_root_name(path.name) and not any(path.is_relative_to(folder) for folder in taken):
            raise HarnessError(
                f"trial {job.trial.trial!r}: Harbor requires Skills in one folder, each with a"
                f" SKILL.md, and {job.variant!r} has {str(path.relative_to(job.variant_dir))!r}; name"
                " the folder that contains the Skills"
            )
