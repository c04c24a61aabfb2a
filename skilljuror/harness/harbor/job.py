"""The trials that one Harbor runs: their file, its process and their folders."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import HarnessError, redact, redact_files
from skilljuror.base.files import write_atomic
from skilljuror.base.study import AgentProgram
from skilljuror.harness.agent_home import skills_listing
from skilljuror.harness.artifacts import WORK
from skilljuror.harness.base import TrialJob, key_values
from skilljuror.harness.environment import read_recipe
from skilljuror.harness.harbor.program import HarborProgram

INSIDE = Path(__file__).parents[1] / "inside_harbor"
"""Modules that Harbor loads; no other code of ours is on its path."""
BWRAP = "skilljuror_sandbox:SandboxEnvironment"
QUEUE = "skilljuror_queue.py"
PROGRAM = "skilljuror_program:ProgramAgent"
OWN_AGENT = "harbor-agent"
"""First word of the command of a Harbor agent; the second is its part of a job file."""
TRIALS = "trials.json"
OUTPUT = "harbor.txt"
DOWNLOADED = f"artifacts/{WORK}"
"""Where Harbor puts the agent's working directory in a trial's folder."""
ENDED = "ended.txt"
_STOP_SECONDS = 60.0
"""Seconds that Harbor gets to end its trials and remove its machines."""
_LAST_WORDS = 600
"""Characters of its output quoted in an error."""
_NAME = 32
"""Characters of a task's name in the name of a trial, which must fit into names of containers."""
_FIXED = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}


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
            said = (self.folder / ENDED).read_text(encoding="utf-8")
            return said[: said.rfind("\n") + 1].splitlines()
        return []

    def without_keys(self) -> None:
        """Redact the values of the agents' keys in Harbor's output and in its trials; unfinished
        trials stay here."""
        keys = {value for job in self.trials.values() for value in key_values(job.agent).values()}
        with contextlib.suppress(FileNotFoundError):
            output = self.folder / OUTPUT
            write_atomic(
                output, redact(output.read_text(encoding="utf-8", errors="replace"), keys).encode()
            )
        with contextlib.suppress(PermissionError):  # files of a container's own user
            redact_files(self.folder / "harbor", keys)


def write_job(
    folder: Path,
    trials: Sequence[TrialJob],
    tasks: Mapping[str, Path],
    environment: Callable[[TrialJob], dict[str, Any]],
    at_once: int,
) -> HarborJob:
    """Create a job below `folder` whose trials run in this order, `at_once` at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / str(1 + max((int(one.name) for one in folder.glob("[0-9]*")), default=0))
    job = HarborJob(place, {_name(one): one for one in trials})
    place.mkdir()
    places = {name: environment(one) for name, one in job.trials.items()}
    configs = [
        {
            "trial_name": name,
            "trials_dir": str(place / "harbor"),
            "task": {"path": str(tasks[one.task.name])},
            "agent": _agent(one),
            "environment": places[name],
            "artifacts": _work(one, in_bwrap=places[name].get("import_path") == BWRAP),
            "verifier": {"override_timeout_sec": one.verifier_limit},
            "extra_instructions": [one.disclosed] if one.disclosed and is_own(one.agent) else [],
        }
        for name, one in job.trials.items()
    ]
    _write_json(place / "job.json", {"at_once": at_once, "trials": configs})
    names = {name: one.trial.trial for name, one in job.trials.items()}
    _write_json(place / TRIALS, {"config_digest": trials[0].config_digest, "trials": names})
    return job


def _work(job: TrialJob, *, in_bwrap: bool) -> list[dict[str, str]]:
    """The working directory, as Harbor downloads it before the verifier: where the study names files, and
    in bwrap, where it is small. Not where a verifier of its own would get it, and not step by step."""
    settings = tomllib.loads((job.task_dir / "task.toml").read_text(encoding="utf-8"))
    tables = {name: one for name, one in settings.items() if isinstance(one, dict)}
    verifier, container = tables.get("verifier", {}), tables.get("environment", {})
    other = verifier.get("environment_mode") == "separate" or verifier.get("environment")
    if settings.get("steps") or other or not (job.keep or (in_bwrap and job.keep is None)):
        return []
    workdir = container.get("workdir") or read_recipe(job.task_dir / "environment").workdir
    return [{"source": workdir, "destination": WORK}]


def _name(job: TrialJob) -> str:
    """A name that no other trial of this machine has: containers are named and found by it."""
    task = (
        job.task.name[:_NAME].rstrip("_-.").lower().replace(".", "-")
    )  # as Docker's names of projects
    return f"{task}__{secrets.token_hex(4)}"


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
    """Agent part of a trial's configuration."""
    agent = job.agent
    config: dict[str, Any] = {"model_name": agent.model} if agent.model else {}
    if is_own(agent):
        config |= json.loads(agent.argv[1])
    else:
        kwargs = {"program": _program(job), "seed": job.trial.seed}
        config |= {"import_path": PROGRAM, "kwargs": kwargs}
    config["override_timeout_sec"] = job.agent_limit
    config["skills"] = [str(folder) for folder in skill_folders(job)]
    if agent.keys:
        keys = {name: f"${{{name}}}" for name in agent.keys}
        config["env"] = {**config.get("env", {}), **keys}
    return config


def _program(job: TrialJob) -> dict[str, Any]:
    """One of our agents, as input for `ProgramAgent`; its keys are passed separately."""
    agent, listing = job.agent, ""
    if agent.skills is None and job.variant_dir is not None:
        listing = skills_listing(job.variant_dir, "{skills}")
    return {
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


def skill_folders(job: TrialJob) -> list[Path]:
    """Skill folders offered to a trial."""
    if job.variant_dir is None:
        return []
    return sorted(file.parent for file in job.variant_dir.glob("*/SKILL.md"))


def _write_json(path: Path, content: object) -> None:
    write_atomic(path, json.dumps(content, indent=1).encode())


class RunningJob:
    """A running Harbor in its own process group. It is asked to stop if this process ends: it then
    fetches logs and removes its machines."""

    def __init__(self, job: HarborJob, program: HarborProgram, scratch: Path, lock: int) -> None:
        self.job = job
        env = {**os.environ, **_FIXED, "PYTHONPATH": str(INSIDE), "TMPDIR": str(scratch)}
        bound = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        words = [*bound, str(program.python), str(INSIDE / QUEUE), str(job.folder / "job.json")]
        try:
            with (job.folder / OUTPUT).open("wb") as output:
                self.process = subprocess.Popen(
                    words, cwd=job.folder, env=env, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True, pass_fds=(lock,),
                )  # fmt: skip
        except OSError as error:
            raise HarnessError(f"cannot start {words[-3]!r}: {error}") from error

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def ask_to_stop(self) -> None:
        """Ask it to stop."""
        if not self.over:
            self.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """End it after it was asked; trial folders remain."""
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
