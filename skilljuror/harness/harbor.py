"""The Harbor harness: trials that one process of Harbor runs, in any of its environments.

Harbor is never imported here: a job file goes in, `inside_harbor` runs it in Harbor's own Python, and trial folders
come out.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from skilljuror.base.errors import HarnessError, TrajectoryError, UsageError, redact, redact_files
from skilljuror.base.files import digest_tree, write_atomic
from skilljuror.base.skill import SKILL_ROOTS, is_root_name
from skilljuror.base.study import (
    CANCELLED,
    ENVIRONMENT_FIELDS,
    SCRIPTED,
    AgentChoice,
    AgentProgram,
    TrialRecord,
)
from skilljuror.harness.artifacts import (
    WORK,
    Reading,
    copy_logs,
    keep_work,
    list_files,
    write_agent_record,
    write_listing,
)
from skilljuror.harness.base import (
    Batch,
    Collected,
    Requirement,
    TrialJob,
    free_disk,
    key_values,
    read_options,
    skills_listing,
    skills_root,
    trial_record,
    without_keys,
)
from skilljuror.harness.sandbox import own_file
from skilljuror.harness.tasks import copy_environment_folder, read_allowance, read_recipe
from skilljuror.logs.harbor import (
    describe_skills,
    locked_skills,
    read_result,
    record_fields,
    skill_digest,
)

DOCKER = "docker"
OURS = ("command", "scripted")
"""Agents that run as our programs; all others are Harbor's."""
LOGGING = frozenset({"claude-code", "codex", "gemini-cli", "mini-swe-agent", "terminus-2"})
"""Agents of Harbor that always write a log."""
OWN_AGENT = "harbor-agent"
"""First word of the command of a Harbor agent; the second is its part of a job file."""
INSTALL = "uv tool install 'harbor>=0.24,<0.26' (Python 3.12 or newer)"
TRIALS, OUTPUT, ENDED = "trials.json", "harbor.txt", "ended.txt"
"""Files of a job: names of its trials, Harbor's output, names of the ended trials."""
DOWNLOADED = f"artifacts/{WORK}"
"""Where Harbor puts the agent's working directory in a trial's folder."""
NO_TESTS = "#!/bin/sh\n# This task has no verifier, and Harbor requires one: it writes no reward.\n"
_INSIDE = Path(__file__).with_name("inside_harbor.py")
"""The module that Harbor loads; it is copied, so that no other one of ours is on its path."""
_ASK_VERSION = "from importlib.metadata import version; print(version('harbor'))"
_SECONDS = 60.0
"""Time limit of a question to a program, seconds."""
_POLL_SECONDS = 0.2
"""Polling interval of running jobs, seconds."""
_STOP_SECONDS = 60.0
"""Seconds that Harbor gets to end its trials and remove its machines."""
_LAST_WORDS = 600
"""Characters of its output quoted in an error."""
_NAME = 32
"""Characters of a task's name in the name of a trial, which must fit into names of containers."""
_FIXED = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}
_PROJECT = "com.docker.compose.project"
"""Label of all that compose makes: Harbor's name of a trial, and a suffix such as __env."""
_KINDS = {
    "container": (("ls", "-aq"), ("rm", "-fv")),
    "network": (("ls", "-q"), ("rm",)),
    "volume": (("ls", "-q"), ("rm", "-f")),
    "image": (("ls", "-q"), ("rm", "-f")),
}
"""Kind -> how its things are listed, and how removed."""
_POOLS: tuple[dict[str, Any], ...] = (
    *({"Base": f"172.{second}.0.0/16", "Size": 16} for second in range(17, 32)),
    {"Base": "192.168.0.0/16", "Size": 20},
)
"""Address pools of an engine that names none."""


# The program


class HarborProgram(Struct, frozen=True):
    """A usable Harbor."""

    python: Path
    """The Python that runs it."""
    version: str
    """Its version."""

    @property
    def skills_root(self) -> str:
        """Folder where it mounts a trial's Skills."""
        return SKILL_ROOTS[_minor(self.version)]


def find_harbor(option: str | None) -> HarborProgram:
    """Return the program named by the study, else the one on PATH. Raises HarnessError."""
    place = shutil.which(option or "harbor")
    if place is None:
        where = f"at {option!r}" if option else "on PATH"
        raise HarnessError(
            f"harness 'harbor': no program `harbor` {where}; install it: {INSTALL},"
            " or set harness.options.program"
        )
    path = Path(place).absolute()
    python = path.resolve().with_name("python")
    if not os.access(python, os.X_OK):
        first = path.read_bytes()[:500].partition(b"\n")[0].decode(errors="replace")
        python = Path(first.removeprefix("#!").strip())
    if "python" not in python.name or not os.access(python, os.X_OK):
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} has no Python beside it or in its first line;"
            f" install it: {INSTALL}"
        )
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _ASK_VERSION],
            capture_output=True, text=True, timeout=_SECONDS, check=True, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} does not print its version: {error}; install it: {INSTALL}"
        ) from error
    version = (done.stdout.split() or ["unknown"])[-1]
    if _minor(version) not in SKILL_ROOTS:
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} is Harbor {version}, and this skilljuror supports"
            f" {' and '.join(SKILL_ROOTS)}; install it: {INSTALL}"
        )
    return HarborProgram(python, version)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


# Tasks: copies without their own Skills


def prepare_task(job: TrialJob, folder: Path) -> Path:
    """Copy the job's task below `folder`, without its Skill, as the plan says. Raises HarnessError
    for a Dockerfile line that cannot be separated."""
    target = folder / job.task.name
    shutil.rmtree(target, ignore_errors=True)
    without = shutil.ignore_patterns("environment")
    shutil.copytree(
        job.task_dir, target, symlinks=True,
        ignore=lambda base, names: without(base, names) if Path(base) == job.task_dir else set(),
    )  # fmt: skip
    copy_environment_folder(job.task_dir, target / "environment")
    if job.task.judged_by != "verifier":
        own_file(target, "tests/test.sh").write_text(NO_TESTS, encoding="utf-8")
    if "task.toml: environment.skills_dir" in job.task.stripped:
        _drop_skills_dir(target)
    return target


def _drop_skills_dir(task: Path) -> None:
    lines = (task / "task.toml").read_text(encoding="utf-8").splitlines(keepends=True)
    names = {"skills_dir", "environment.skills_dir"}
    text = "".join(line for line in lines if line.partition("=")[0].strip() not in names)
    own_file(task, "task.toml").write_text(text, encoding="utf-8")
    left = tomllib.loads(text).get("environment")
    if isinstance(left, dict) and left.get("skills_dir"):
        raise HarnessError(
            f"cannot remove environment.skills_dir from {task.name}/task.toml; put it on a line"
            " of its own"
        )


# Jobs


class HarborJob(Struct, frozen=True):
    """Trials that one Harbor runs."""

    folder: Path
    """Its folder."""
    trials: Mapping[str, TrialJob]
    """Harbor's name of a trial -> trial, in the order of the plan."""

    @property
    def trial_folders(self) -> dict[str, Path]:
        """Harbor's name -> folder of every trial that has one."""
        places = {name: self.folder / "harbor" / name for name in self.trials}
        return {name: place for name, place in places.items() if (place / "config.json").exists()}

    def ended(self) -> list[str]:
        """Harbor's names of the trials that ended, in that order."""
        with contextlib.suppress(FileNotFoundError):
            text = (self.folder / ENDED).read_text(encoding="utf-8")
            return text[: text.rfind("\n") + 1].splitlines()
        return []

    def finished(self) -> dict[str, Path]:
        """Harbor's name -> folder of every trial that ended by itself."""
        folders = self.trial_folders
        return {name: folder for name, folder in folders.items() if _end(folder) == "finished"}

    def stopped(self) -> dict[str, Path]:
        """Harbor's name -> folder of every unfinished trial whose agent ran, or may have run if there is
        no result."""
        folders = self.trial_folders
        return {name: folder for name, folder in folders.items() if _end(folder) == "stopped"}

    def remove_kept(self, kept: Collection[tuple[str, str]]) -> None:
        """Remove leftovers of saved attempts, as (trial, start), after a killed run."""
        for name, folder in (self.finished() | self.stopped()).items():
            if (self.trials[name].trial.trial, _fields(folder)["started_at"]) in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def without_keys(self) -> None:
        """Redact the values of the agents' keys in Harbor's output and in its trials; unfinished
        trials stay here."""
        keys = {value for job in self.trials.values() for value in key_values(job.agent).values()}
        with contextlib.suppress(FileNotFoundError):
            output = self.folder / OUTPUT
            text = output.read_text(encoding="utf-8", errors="replace")
            write_atomic(output, redact(text, keys).encode())
        with contextlib.suppress(PermissionError):  # files of a container's own user
            redact_files(self.folder / "harbor", keys)


def _end(folder: Path) -> Literal["finished", "stopped"] | None:
    """How a trial ended; None if its agent never ran. A signal can leave a result with neither an exception
    nor a verifier's reward, and a kill none, or half of one."""
    try:
        result = read_result(folder)
    except TrajectoryError:
        return "stopped"
    spoke = result.exception or result.verified or result.steps
    if result.finished_at and spoke and result.exception not in CANCELLED:
        return "finished"
    return "stopped" if result.agent_window is not None else None


def write_job(
    folder: Path,
    trials: Sequence[TrialJob],
    tasks: Mapping[str, Path],
    environment: Mapping[str, Any],
    at_once: int,
) -> HarborJob:
    """Create a job below `folder` whose trials run in this order in `environment`, `at_once` at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / str(1 + max((int(path.name) for path in folder.glob("[0-9]*")), default=0))
    job = HarborJob(place, {_name(trial): trial for trial in trials})
    place.mkdir()
    configs = [
        {
            "trial_name": name,
            "trials_dir": str(place / "harbor"),
            "task": {"path": str(tasks[trial.task.name])},
            "agent": _agent(trial),
            "environment": environment,
            "artifacts": _work(trial),
            "verifier": {"override_timeout_sec": trial.verifier_limit},
            "extra_instructions": (
                [trial.disclosed] if trial.disclosed and is_own(trial.agent) else []
            ),
        }
        for name, trial in job.trials.items()
    ]
    names = {name: trial.trial.trial for name, trial in job.trials.items()}
    for file, content in (
        ("job.json", {"at_once": at_once, "trials": configs}),
        (TRIALS, {"config_digest": trials[0].config_digest, "trials": names}),
    ):
        write_atomic(place / file, json.dumps(content, indent=1).encode())
    return job


def _name(job: TrialJob) -> str:
    """A name that no other trial of this machine has, as Docker names projects: containers are named and
    found by it."""
    task = job.task.name[:_NAME].rstrip("_-.").lower().replace(".", "-")
    return f"{task}__{secrets.token_hex(4)}"


def _work(job: TrialJob) -> list[dict[str, str]]:
    """The working directory, as Harbor downloads it before the verifier, where the study names files. Not
    where a verifier of its own would get it, and not step by step."""
    settings = tomllib.loads((job.task_dir / "task.toml").read_text(encoding="utf-8"))
    tables = {name: table for name, table in settings.items() if isinstance(table, dict)}
    verifier, container = tables.get("verifier", {}), tables.get("environment", {})
    other = verifier.get("environment_mode") == "separate" or verifier.get("environment")
    if settings.get("steps") or other or not job.keep:
        return []
    workdir = container.get("workdir") or read_recipe(job.task_dir / "environment").workdir
    return [{"source": workdir, "destination": WORK}]


def earlier_jobs(folder: Path, pending: Sequence[TrialJob]) -> Iterator[HarborJob]:
    """Yield jobs of earlier runs of this plan, with their trials that are still pending."""
    wanted = {job.trial.trial: job for job in pending}
    for path in sorted(folder.glob(f"*/{TRIALS}")):
        with contextlib.suppress(ValueError):
            said = json.loads(path.read_text(encoding="utf-8"))
            names = {key: wanted[name] for key, name in said["trials"].items() if name in wanted}
            if any(said["config_digest"] == job.config_digest for job in names.values()):
                yield HarborJob(path.parent, names)


def is_own(agent: AgentProgram) -> bool:
    """Whether an agent is one of Harbor's."""
    return agent.argv[0] == OWN_AGENT


def _agent(job: TrialJob) -> dict[str, Any]:
    """Agent part of a trial's configuration; keys are passed by name."""
    agent = job.agent
    config: dict[str, Any] = {"model_name": agent.model} if agent.model else {}
    if is_own(agent):
        config |= json.loads(agent.argv[1])
    else:
        listing = ""
        if agent.skills is None and job.variant_dir is not None:
            listing = skills_listing(job.variant_dir, "{skills}")
        program = {
            "name": agent.name,
            "version": agent.version,
            "argv": list(agent.argv),
            "files": [str(file.absolute()) for file in agent.files],
            "skills": agent.skills,
            "home_files": agent.home_files,
            "env": agent.env,
            "logs": list(agent.logs),
            "listing": listing,
            "disclosed": job.disclosed,
        }
        config["import_path"] = f"{_INSIDE.stem}:ProgramAgent"
        config["kwargs"] = {"program": program, "seed": job.trial.seed}
    config["override_timeout_sec"] = job.agent_limit
    config["skills"] = [str(folder) for folder in skill_folders(job)]
    if agent.keys:
        keys = {name: f"${{{name}}}" for name in agent.keys}
        config["env"] = {**config.get("env", {}), **keys}
    return config


def skill_folders(job: TrialJob) -> list[Path]:
    """Skill folders offered to a trial."""
    if job.variant_dir is None:
        return []
    return sorted(file.parent for file in job.variant_dir.glob("*/SKILL.md"))


class RunningJob:
    """A running Harbor in its own process group. It is asked to stop if this process ends: it then
    fetches logs and removes its machines."""

    def __init__(self, job: HarborJob, program: HarborProgram, scratch: Path, lock: int) -> None:
        self.job = job
        inside = scratch / "inside" / _INSIDE.name
        inside.parent.mkdir(exist_ok=True)
        shutil.copyfile(_INSIDE, inside)
        env = {**os.environ, **_FIXED, "TMPDIR": str(scratch)}
        bound = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        inner = [str(program.python), str(inside), str(job.folder / "job.json"), str(os.getpid())]
        try:
            with (job.folder / OUTPUT).open("wb") as output:
                self.process = subprocess.Popen(
                    [*bound, *inner], cwd=job.folder, env=env, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True, pass_fds=(lock,),
                )  # fmt: skip
        except OSError as error:
            raise HarnessError(f"cannot start {inner[0]!r}: {error}") from error

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """Ask it to stop, and end it if it does not; trial folders remain."""
        if not self.over:
            self.process.send_signal(signal.SIGTERM)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_STOP_SECONDS)
        finally:
            if not self.over:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def last_words(self) -> str:
        """End of its output, on one line."""
        text = (self.job.folder / OUTPUT).read_text(encoding="utf-8", errors="replace")
        return " ".join(text.split())[-_LAST_WORDS:] or f"status {self.process.returncode}"


# Finished trials


Place = tuple[str, str]
"""Where an agent ran: Harbor's environment, and the network as on the trial's record."""


def collect(
    job: TrialJob, folder: Path, target: Path, place: Place, skill_root: str | None
) -> TrialRecord:
    """Copy the artifacts of a finished trial into the empty folder `target`; return its record.
    Raises HarnessError if Harbor offered other Skills than the variant's, and for an agent without
    Skill support."""
    result = read_result(folder)
    if "does not support skills" in (result.message or ""):
        raise HarnessError(
            f"agent {job.agent.name!r} takes no Skills in Harbor, and condition"
            f" {job.trial.condition!r} offers some; choose another agent"
        )
    locked = locked_skills(folder) or {}
    held = {path.name: digest_of(path) for path in skill_folders(job)}
    if locked != held:
        raise HarnessError(
            f"trial {job.trial.trial!r} did not get the Skills of its condition: its lock.json has"
            f" {describe_skills(locked)}, {'variant ' + repr(job.variant) if job.variant else 'the arm'} has"
            f" {describe_skills(held)}; build the variant again in a fresh folder"
        )
    record = collect_stopped(job, folder, target, place, skill_root)
    if record.agent_version is None:
        record = record.model_copy(update={"agent_version": result.agent_version})
    return record


def collect_stopped(
    job: TrialJob, folder: Path, target: Path, place: Place, skill_root: str | None = None
) -> TrialRecord:
    """Copy the artifacts of a trial; return its record, with null for what an interrupted one does not tell."""
    reading, fields = Reading(), _fields(folder)
    left_out = copy_logs(folder, target, reading, skip=folder / DOWNLOADED)
    work = folder / DOWNLOADED
    if work.is_dir():

        def keep() -> None:
            not_kept = keep_work(work, target / WORK, job.keep, lambda name, info: False)
            write_listing(target, {**list_files(work, Reading()), "not_kept": not_kept})

        reading.of("work", keep, None)
    write_agent_record(target / "agent.json", job.agent)
    redact_files(target, key_values(job.agent).values())
    said = [fields["message"], *(f"not copied: {name}" for name in left_out[:1])]
    fields |= {
        "message": "; ".join(filter(None, said)) or None,
        "isolation": place[0],
        "left_out": reading.summary(),
        "variant_digest": job.variant_digest,
        "skill_root": skill_root if job.variant_dir else None,
        "network": place[1],
        "task_network": read_allowance(job.task_dir).network,
    }
    text = trial_record(job, **fields).model_dump_json()
    return TrialRecord.model_validate_json(without_keys(text, job.agent))


def _fields(folder: Path) -> dict[str, Any]:
    """Return what a trial's result says; without one, when Harbor wrote its first and last file."""
    try:
        return record_fields(read_result(folder))
    except TrajectoryError:
        first, log = folder / "config.json", folder / "trial.log"
        times = [
            datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
            for file in (first, log if log.exists() else first)
        ]
        return {
            "status": "error",
            "reward": None,
            "message": None,
            "harness": "harbor",
            "started_at": times[0],
            "finished_at": times[1],
            "agent_seconds": None,
            "verifier_seconds": None,
        }


def digest_of(skill: Path) -> str:
    """Digest of a Skill's folder as in Harbor's lock file."""
    files = (path for path in skill.rglob("*") if path.is_file())
    return skill_digest(
        (path.relative_to(skill).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    )


# The harness


class HarborOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the harness."""

    environment: str = DOCKER
    """An environment of Harbor, or one's own as module:Class."""
    environment_config: dict[str, Any] = {}
    """Fields of Harbor's environment."""
    environment_options: dict[str, Any] = {}
    """Keyword arguments of that environment."""
    program: str | None = None
    """The `harbor` to run; default: the one on PATH."""


class HarborHarness:
    """Runs Harbor, in any environment of it."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options = read_options("harness.options", options or {}, HarborOptions)
        self.environment = self.options.environment
        for name in self.options.environment_config.keys() - {*ENVIRONMENT_FIELDS}:
            field = "harness.options.environment_config"
            raise UsageError(
                f"{field}: unknown field {name!r}; choose one of {', '.join(ENVIRONMENT_FIELDS)}",
                field=field,
            )

    def prepare(self) -> str:
        """Return the isolation of trials: docker, podman, … Raises HarnessError."""
        find_harbor(self.options.program)
        if self.environment == DOCKER:
            require_engine()
        return self.environment

    def task_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Nothing: Harbor's environments build what a task asks for."""
        yield from ()

    def machine_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Harbor's version and, for Docker, the engine's disk and CPUs."""
        yield Requirement("harbor", True, find_harbor(self.options.program).version)
        if self.environment == DOCKER:
            yield from engine_requirements(
                tasks, self.options.environment_config.get("override_cpus")
            )

    def own_agent(self, choice: AgentChoice) -> AgentProgram | None:
        """Return one of Harbor's agents; None for ours: scripted, command, module:attribute."""
        if choice.name in OURS or ":" in choice.name:
            return None
        options = dict(choice.options)
        keys = options.pop("keys", [])
        env = {name: str(value) for name, value in options.pop("env", {}).items()}
        if choice.effort:
            options["reasoning_effort"] = choice.effort  # Harbor refuses it where an agent has none
        if choice.name == "codex":  # without its bundled Skills and its web search
            config = options.get("config", {})
            skills = {"bundled": {"enabled": False}, **config.get("skills", {})}
            options["config"] = {"web_search": "disabled", **config, "skills": skills}
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
        """Run one trial as its own job; see `skilljuror.harness.base.Harness`."""
        with tempfile.TemporaryDirectory(prefix="harbor-") as name:
            folder = Path(name).resolve()
            with (folder / "lock").open("wb") as lock:
                batch = Batch((job,), folder / "jobs", folder, 1, lock.fileno())
                for _, collected in self.run_batch(batch):
                    return collected(target)
        raise AssertionError("a batch is run to its end or raises")

    def stopped(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """See `skilljuror.harness.base.BatchHarness`. A returned trial is removed when the next is
        requested."""
        for job in earlier_jobs(batch.folder, batch.jobs):
            job.remove_kept(batch.kept)
            for name, folder in job.stopped().items():
                trial = job.trials[name]
                yield trial, partial(collect_stopped, trial, folder, place=self._place(trial))
                shutil.rmtree(folder, ignore_errors=True)

    def run_batch(self, batch: Batch) -> Iterator[tuple[TrialJob, Collected]]:
        """Yield trials that ended in earlier runs, then all others as they end. A returned trial is
        removed from its job when the next is requested."""
        program, kept = find_harbor(self.options.program), set()
        for job in earlier_jobs(batch.folder, batch.jobs):
            if self.environment == DOCKER:
                remove_leftovers(job.trials)
            job.without_keys()
            job.remove_kept(batch.kept)
            for name, folder in job.finished().items():
                kept.add(job.trials[name].trial.trial)
                yield from self._handed_out(job.trials[name], folder, program)
        pending = [job for job in batch.jobs if job.trial.trial not in kept]
        if not pending:
            return
        for trial in {(job.task.name, job.variant): job for job in pending}.values():
            _refuse_variant(trial)
        if self.environment == DOCKER:
            refuse_too_many(min(batch.at_once, len(pending)))
        first = {job.task.name: job for job in pending}
        tasks = {name: prepare_task(job, batch.folder / "tasks") for name, job in first.items()}
        kind = "import_path" if ":" in self.environment else "type"
        place = {kind: self.environment, "kwargs": self.options.environment_options}
        environment = {**self.options.environment_config, **place}
        job = write_job(batch.folder, pending, tasks, environment, batch.at_once)
        running = RunningJob(job, program, batch.scratch, batch.lock)
        try:
            yield from self._results(running, program)
        finally:
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
                left = next(job.trials[name] for name in job.trials if name not in job.ended())
                raise HarnessError(
                    f"Harbor ended without a result for trial {left.trial.trial!r}:"
                    f" {running.last_words()} (full output in {job.folder}); fix this and rerun"
                )
            time.sleep(_POLL_SECONDS)

    def _handed_out(
        self, trial: TrialJob, folder: Path, program: HarborProgram
    ) -> Iterator[tuple[TrialJob, Collected]]:
        home = trial.agent.skills and skills_root(trial.agent)
        root = None if is_own(trial.agent) else home or program.skills_root
        yield trial, partial(collect, trial, folder, place=self._place(trial), skill_root=root)
        shutil.rmtree(folder, ignore_errors=True)

    def _place(self, job: TrialJob) -> Place:
        """Network of the agent, as the task asks."""
        asked = read_allowance(job.task_dir).network or "public"
        told = {"refused": "none", "no-network": "none", "allowed": "public"}.get(asked, asked)
        return self.environment, told


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


# The Docker engine below Harbor: whether it can take a study's trials, and what a killed one left


def docker(*words: str) -> str:
    """Return what `docker` prints. Raises HarnessError."""
    try:
        done = subprocess.run(
            ["docker", *words], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except FileNotFoundError:
        raise HarnessError(
            "harness 'harbor': no program `docker` on PATH; install Docker"
        ) from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip() or f"status {error.returncode}").splitlines()[-1]
        raise HarnessError(f"harness 'harbor': `docker {words[0]}` failed: {said}") from error
    except subprocess.TimeoutExpired as error:
        raise HarnessError(
            f"harness 'harbor': `docker {words[0]}` gave no answer in {_SECONDS:g} s; restart Docker"
        ) from error
    return done.stdout


def require_engine() -> dict[str, Any]:
    """Return what the engine says of itself. Raises HarnessError if none answers."""
    info: dict[str, Any] = json.loads(docker("info", "--format", "{{json .}}"))
    if problems := info.get("ServerErrors"):
        raise HarnessError(
            f"harness 'harbor': Docker does not answer: {problems[0]}; start it, or set DOCKER_HOST"
        )
    return info


def engine_requirements(tasks: Sequence[Path], cpus: int | None) -> Iterator[Requirement]:
    """Check the engine, its disk, and the CPUs of every task (all have `cpus`, if given)."""
    try:
        info = require_engine()
    except HarnessError as error:
        yield Requirement("docker", False, error.message)
        return
    yield Requirement("docker", True, f"version {info['ServerVersion']}")
    root, there = Path(info["DockerRootDir"]), int(info["NCPU"])
    if root.exists():  # an engine elsewhere has its own disk
        yield free_disk(root)
    wanted = {task.name: cpus or read_allowance(task).cpus or 0 for task in tasks}
    above, detail = sorted(name for name in wanted if wanted[name] > there), f"{there} CPUs"
    if above:  # Docker starts no container with more CPUs than it has
        detail += (
            f"; {len(above)} of {len(tasks)} tasks ask for more, and Docker will not start them:"
            f" {', '.join(above[:3])}{', …' if above[3:] else ''}; leave them out, or set"
            " harness.options.environment_config.override_cpus"
        )
    yield Requirement("cpus", not above, detail)


def refuse_too_many(jobs: int) -> None:
    """Raise HarnessError if the engine cannot create a network for each of `jobs` trials."""
    pools = require_engine().get("DefaultAddressPools") or _POOLS
    most = sum(2 ** (pool["Size"] - ip_network(pool["Base"]).prefixlen) for pool in pools)
    free = most - len(docker("network", "ls", "-q", "--filter", "driver=bridge").split())
    if jobs > free:
        raise HarnessError(
            f"--jobs {jobs}: each trial needs a network, and Docker has addresses for {free} more; use"
            f" --jobs {max(free, 1)}, or add default-address-pools to the engine's daemon.json"
        )


def remove_leftovers(trials: Collection[str]) -> None:
    """Remove containers, networks, volumes and images of trials, by Harbor's names of them."""

    def trial_of(kind: str, thing: str) -> str | None:
        try:
            (told,) = json.loads(docker(kind, "inspect", thing))
        except HarnessError:  # a thing of another program, which removed it
            return None
        labels = told.get("Labels") or told["Config"]["Labels"]
        return "__".join(labels[_PROJECT].split("__")[:2])

    for kind, (listed, removed) in _KINDS.items():
        things = docker(kind, *listed, "--filter", f"label={_PROJECT}").split()
        if left := [thing for thing in dict.fromkeys(things) if trial_of(kind, thing) in trials]:
            docker(kind, *removed, *left)
