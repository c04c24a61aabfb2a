"""The local harness: run each trial in a fresh copy of the task."""

import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, UsageError, redact_files
from skilljuror.base.files import data_dir, digest_tree
from skilljuror.base.study import Reward, TrialRecord, TrialStatus
from skilljuror.harness.agent_home import (
    collect_logs,
    listed_tools,
    read_instruction,
    skills_listing,
    skills_root,
    write_agent_record,
    write_home_files,
)
from skilljuror.harness.allowed_hosts import (
    PLACE,
    PORT,
    RELAY,
    proxy,
    proxy_environment,
    read_hosts,
)
from skilljuror.harness.artifacts import (
    GONE,
    MACHINE_FAULTS,
    WORK,
    Reading,
    Unchanged,
    copy_logs,
    digest_left,
    keep_work,
    list_files,
    unchanged_since,
    write_listing,
)
from skilljuror.harness.base import (
    Requirement,
    TrialJob,
    free_disk,
    key_values,
    trial_record,
    without_keys,
)
from skilljuror.harness.environment import (
    Allowance,
    DockerfileRecipe,
    copy_environment,
    read_allowance,
)
from skilljuror.harness.inside_harbor.skilljuror_bwrap import own_file, own_folder
from skilljuror.harness.process import OVER_LIMIT, Command, OutputFiles, ProcessOutcome
from skilljuror.harness.rewards import read_reward
from skilljuror.harness.sandbox import (
    HOME,
    BubblewrapSandbox,
    PlainSandbox,
    Sandbox,
    host_path,
    remove_tree,
    sandbox_class,
    search_path,
)
from skilljuror.harness.seal import unsealed
from skilljuror.harness.traps import drop_traps
from skilljuror.harness.unsupported import UNSUPPORTED, tasks_requirement

ISOLATIONS = ("auto", "bwrap", "sealed", "none")
AGENT_DIR = "/agent"
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Keeps a Skill's folder unchanged when its scripts run."""
LOGS, TESTS, VERIFIER = "/logs", "/tests", "/verifier"
JUDGED = (TESTS, f"{LOGS}/verifier", VERIFIER)
"""Places of the verifier alone; the last is its HOME."""
_APPEND = """\
import os, sys
script = next((word for word in sys.orig_argv[1:] if word.endswith(".py")), "")
sys.path += [os.path.dirname(os.path.abspath(script)), os.getcwd()]
"""
"""Makes a program's own modules importable after all others: none can replace one of Python."""
_CLEAN = {
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",  # a program that git starts, also from the work's own settings
    "GIT_CONFIG_VALUE_0": "false",
}
_PLACEHOLDER = re.compile(r"\{(agent_dir|instruction|prompt|logs|skills|seed)\}")


class _TrialMachine(Struct, frozen=True):
    """A trial's sandbox, ready for the agent."""

    sandbox: Sandbox
    allowance: Allowance
    recipe: DockerfileRecipe
    prompt: str
    skills: str
    """Skills folder in the sandbox."""
    variant_digest: str | None
    offered: bool
    """Whether the trial has a Skill."""
    hosts: tuple[str, ...] | None
    """Hosts that an agent with a model may reach; None: all."""
    unchanged: Unchanged
    """Whether a file of the working directory is as the agent found it."""

    def folder(self, guest: str) -> Path:
        return own_folder(self.sandbox.root, guest)

    @property
    def env(self) -> dict[str, str]:
        visible_path = self.sandbox.visible_path
        return {
            "PATH": search_path(),
            "HOME": visible_path(HOME),
            "TMPDIR": visible_path("/tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "APP_DIR": visible_path(self.recipe.workdir),
            "LOGS_DIR": visible_path(LOGS),
            "TESTS_DIR": visible_path(TESTS),
            **({"SKILLS_DIR": self.skills} if self.offered else {}),
        }


class LocalHarness:
    """Runs trials in bubblewrap if available, else in plain temporary folders."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = dict(options or {})
        self.agent_seconds: float | None = None
        """Seconds of the last trial's agent; None until it ends."""
        self.isolation = given.pop("isolation", "auto")
        self.unsupported = given.pop("unsupported", "refuse")
        self.hosts = read_hosts(given.pop("network")) if "network" in given else None
        if given:
            raise UsageError(
                f"harness.options: unknown option {sorted(given)[0]!r}; choose one of isolation,"
                " network, unsupported",
                field="harness.options",
            )
        if self.unsupported not in UNSUPPORTED:
            raise UsageError(
                f"harness.options.unsupported: unknown {self.unsupported!r};"
                f" choose one of {', '.join(UNSUPPORTED)}",
                field="harness.options.unsupported",
            )
        if self.isolation not in ISOLATIONS:
            raise UsageError(
                f"harness.options.isolation: unknown {self.isolation!r};"
                f" choose one of {', '.join(ISOLATIONS)}",
                field="harness.options.isolation",
            )

    def prepare(self) -> str:
        """Return the available isolation, found by a probe. Raises HarnessError."""
        found = sandbox_class(self.isolation).name
        if self.hosts is not None and found != "bwrap":
            raise HarnessError(
                f"harness.options.network requires a sandbox, and isolation here is {found}; install bubblewrap,"
                " or remove the option",
                field="harness.options.network",
            )
        return found

    def task_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Whether every task does without an image and a network of its verifier."""
        yield tasks_requirement(tasks, ignore=self.unsupported == "ignore")

    def machine_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Whether there is room for trials."""
        yield free_disk(Path(tempfile.gettempdir()))

    def run(self, job: TrialJob, target: Path) -> TrialRecord:
        """Run one trial; see `harnesses.base.Harness`."""
        started, keys = _now(), key_values(job.agent).values()
        self.agent_seconds = None
        with _machine_faults(), _redacted(target, keys), self._machine(job) as machine:
            write_agent_record(target / "agent.json", job.agent)
            with self._saves_spending(machine, job, target):
                agent = _run_agent(machine, job, target)
            self.agent_seconds = round(agent.seconds, 6)
            reading = Reading()
            update, artifacts = _read_artifacts(machine, job, target, reading)
            verifier, reward = _judge(machine, job, target, artifacts["left_out"], reading)
            write_listing(target, artifacts)
            record = _record(job, machine, (agent, verifier, reward), started)
            update["left_out"] = reading.summary()
            text = record.model_copy(update=update).model_dump_json()
        return TrialRecord.model_validate_json(without_keys(text, job.agent))

    @contextlib.contextmanager
    def _saves_spending(
        self, machine: _TrialMachine, job: TrialJob, target: Path
    ) -> Iterator[None]:
        """Save seconds and logs if the run is stopped while the agent runs."""
        started = time.monotonic()
        try:
            yield
        except SystemExit:
            self.agent_seconds = round(time.monotonic() - started, 6)
            logs, reading = target / "agent", Reading()
            copy_logs(machine.folder(f"{LOGS}/agent"), logs, reading)
            collect_logs(machine.sandbox.root, job.agent, logs, reading)
            raise

    @contextlib.contextmanager
    def _machine(self, job: TrialJob) -> Iterator[_TrialMachine]:
        """Set up a trial's sandbox in a temporary folder."""
        folder = Path(tempfile.mkdtemp(prefix="trial-"))
        root = folder / "first"
        root.mkdir()
        allowance = read_allowance(job.task_dir)
        sandbox: Sandbox = PlainSandbox(root)
        try:
            if sandbox_class(self.isolation) is BubblewrapSandbox:
                hidden = (*job.hidden, job.task_dir, data_dir("examples"))
                sandbox = BubblewrapSandbox(root, allowance.limits, hidden, job.agent.shown)
            yield _set_up(sandbox, allowance, job, self.hosts)
        finally:
            sandbox.close()
            remove_tree(folder)


def _set_up(
    sandbox: Sandbox, allowance: Allowance, job: TrialJob, hosts: tuple[str, ...] | None
) -> _TrialMachine:
    root = sandbox.root
    for folder in (HOME, "/tmp", AGENT_DIR, f"{LOGS}/agent", f"{LOGS}/artifacts"):
        own_folder(root, folder)
    recipe = copy_environment(job.task_dir / "environment", root)
    for file in job.agent.files:
        shutil.copy(file, own_file(root, f"{AGENT_DIR}/{file.name}"))
    write_home_files(root, job.agent)
    skills = sandbox.visible_path(skills_root(job.agent))
    prompt = read_instruction(job.task_dir)
    if job.variant_dir and job.agent.skills is None:
        prompt += skills_listing(job.variant_dir, skills)
    if job.disclosed:
        prompt = f"{prompt.rstrip()}\n\n{job.disclosed}\n"
    own_file(root, f"{AGENT_DIR}/instruction.md").write_text(prompt, encoding="utf-8")
    digest, offered = _place_skills(root, job), job.variant_dir is not None
    since = unchanged_since(host_path(root, recipe.workdir))
    return _TrialMachine(sandbox, allowance, recipe, prompt, skills, digest, offered, hosts, since)


def _place_skills(root: Path, job: TrialJob) -> str | None:
    """Copy the variant's skills and check their digest."""
    # user-level: Skills in the working directory would leak names through listings
    guest = skills_root(job.agent)
    _refuse_occupied(root, guest, job)
    if job.variant_dir is None:
        _refuse_contamination(root, job)
        return None
    skills = own_folder(root, guest)
    shutil.copytree(job.variant_dir, skills, symlinks=True, dirs_exist_ok=True)
    digest = digest_tree(skills)
    if job.variant_digest is not None and digest != job.variant_digest:
        raise HarnessError(
            f"trial {job.trial.trial!r}: variant {job.variant!r} in the sandbox has digest"
            f" {digest[:16]}, the build says {job.variant_digest[:16]};"
            " the variant changed after its gates: build it again in a fresh folder"
        )
    return digest


def _refuse_occupied(root: Path, guest: str, job: TrialJob) -> None:
    """Check the Skills folder in every arm, because only arms with a Skill would be affected."""
    skills = host_path(root, guest)
    if skills.exists() or skills.resolve() != host_path(root.resolve(), guest):
        raise HarnessError(
            f"trial {job.trial.trial!r}: the task contains {guest!r}, the Skills folder, or a link in its"
            " path; change its Dockerfile to copy to another folder"
        )


def _refuse_contamination(root: Path, job: TrialJob) -> None:
    for path in sorted(root.rglob("*")):
        if path.name.lower() == "skill.md":
            raise HarnessError(
                f"trial {job.trial.trial!r} offers no Skill, but /{path.relative_to(root)} exists;"
                " remove it from the task's environment"
            )


def _run_agent(machine: _TrialMachine, job: TrialJob, target: Path) -> ProcessOutcome:
    visible_path = machine.sandbox.visible_path
    values = {
        "agent_dir": visible_path(AGENT_DIR),
        "instruction": visible_path(f"{AGENT_DIR}/instruction.md"),
        "prompt": machine.prompt,
        "logs": visible_path(f"{LOGS}/agent"),
        "skills": machine.skills,
        "seed": str(job.trial.seed),
    }
    argv = tuple(_PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in job.agent.argv)
    env = {**machine.env, **NO_BYTECODE, **job.agent.env, **key_values(job.agent)}
    network, root, socket = _network(machine, job), machine.sandbox.root, None
    way: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if machine.hosts is not None and network == "allowlist":
        shutil.copy(RELAY, own_file(root, f"{AGENT_DIR}/{RELAY.name}"))
        argv = ("python3", f"{AGENT_DIR}/{RELAY.name}", str(PORT), PLACE, *argv)
        env |= proxy_environment()
        socket = PLACE
        way = proxy(own_file(root, PLACE), machine.hosts)
    workdir = visible_path(machine.recipe.workdir)
    command = Command(argv, env, workdir, network=network == "host", socket=socket)
    logs = OutputFiles(target / "agent-stdout.txt", target / "agent-stderr.txt")
    with way:
        outcome = machine.sandbox.run(command, job.agent_limit, logs)
    machine.folder(machine.recipe.workdir)  # the agent may have made it unreadable
    return outcome


def _network(machine: _TrialMachine, job: TrialJob) -> str:
    """Network of the agent, as on the trial's record."""
    if machine.sandbox.name != "bwrap":
        return "host"
    if job.agent.scripted:
        return "none"
    return "host" if machine.hosts is None else "allowlist"


def _read_artifacts(
    machine: _TrialMachine, job: TrialJob, target: Path, reading: Reading
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copy logs into `target`; return fields of the record and the listing of artifacts."""
    root, logs = machine.sandbox.root, target / "agent"
    skills, after = skills_root(job.agent), None
    if job.variant_dir is not None:
        after = reading.of("Skill", lambda: digest_left(root, skills, reading, job.announced), GONE)
    nothing: list[str] = []
    kept = machine.folder(f"{LOGS}/agent")
    left_out = reading.of("logs", lambda: copy_logs(kept, logs, reading), nothing)
    left_out = left_out + reading.of(
        "logs", lambda: collect_logs(root, job.agent, logs, reading), nothing
    )
    listing: dict[str, Any] = {"files": [], "others": []}
    folder = machine.folder(machine.recipe.workdir)
    listing = reading.of("files", lambda: list_files(folder, reading), listing)
    tools = reading.of("output", lambda: listed_tools(target / "agent-stdout.txt"), None)
    not_kept = reading.of(
        "work", lambda: keep_work(folder, target / WORK, job.keep, machine.unchanged), nothing
    )
    listed = {**listing, "left_out": left_out, "not_followed": machine.recipe.left_out}
    listed["not_kept"] = not_kept
    return {"variant_digest_after": after, "tools": tools}, listed


def _judge(
    machine: _TrialMachine, job: TrialJob, target: Path, left_out: list[str], dropped: Reading
) -> tuple[ProcessOutcome, Reward]:
    """Run the verifier on a copy of all files; return its outcome and reward."""
    if job.task.judged_by != "verifier":
        return ProcessOutcome(0, 0.0), Reward(None)
    for guest in JUDGED:
        remove_tree(machine.folder(guest))
    sandbox, see = machine.sandbox, machine.sandbox.visible_path
    work = (*map(see, (machine.recipe.workdir, HOME)), *sandbox.host["show"])
    others = (*map(see, JUDGED), "/proc", "/dev", "/sys")
    drop_traps(sandbox.root, sandbox.base, work, others, dropped)
    with tempfile.TemporaryDirectory(prefix="verifier-") as folder:
        root = Path(folder, "first")
        root.mkdir()
        _lay_out_verifier(root, job)
        judged = replace(machine, sandbox=machine.sandbox.fresh(root))
        try:
            verifier = _run_verifier(judged, job, target)
            answers, reading = judged.folder(f"{LOGS}/verifier"), Reading()
            left_out += copy_logs(answers, target / "verifier", reading)
            left_out += reading.summary()
            return verifier, read_reward(answers, key_values(job.agent).values())
        except TimeoutError as error:
            return ProcessOutcome(OVER_LIMIT, 0.0, str(error)), Reward(None)
        finally:
            judged.sandbox.close()


@contextlib.contextmanager
def _redacted(target: Path, keys: Collection[str]) -> Iterator[None]:
    """Redact the values of the agent's keys in `target`, however the trial ends."""
    try:
        yield
    finally:
        redact_files(target, keys)


def _lay_out_verifier(root: Path, job: TrialJob) -> None:
    """Copy the task's tests only now, next to an empty log folder and HOME."""
    for guest in JUDGED:
        own_folder(root, guest)
    tests = root / TESTS[1:]
    shutil.copytree(job.task_dir / "tests", tests, symlinks=True, dirs_exist_ok=True)
    test = tests / "test.sh"
    if test.resolve().is_relative_to(tests.resolve()):  # not through a link to the host's files
        test.chmod(0o755)
    own_file(root, f"{VERIFIER}/python/sitecustomize.py").write_text(_APPEND, encoding="utf-8")


def _run_verifier(machine: _TrialMachine, job: TrialJob, target: Path) -> ProcessOutcome:
    visible_path = machine.sandbox.visible_path
    argv = ("bash", "-c", '"$0"', visible_path(f"{TESTS}/test.sh"))
    home = visible_path(VERIFIER)
    env = {**machine.env, "HOME": home, "PYTHONPATH": f"{home}/python", **_CLEAN, **NO_BYTECODE}
    (target / "verifier").mkdir()
    output = target / "verifier" / "test-stdout.txt"
    command = Command(argv, env, visible_path(machine.recipe.workdir))
    return machine.sandbox.run(command, job.verifier_limit, OutputFiles(output, output))


def _record(
    job: TrialJob,
    machine: _TrialMachine,
    outcome: tuple[ProcessOutcome, ProcessOutcome, Reward],
    started: str,
) -> TrialRecord:
    agent, verifier, reward = outcome
    if verifier.timed_out or verifier.limit:  # the reward may be preliminary
        reward = replace(reward, value=None)
    status: TrialStatus = "unscored" if reward.value is None else "scored"
    return trial_record(
        job,
        status="timeout" if agent.timed_out else status,
        reward=reward.value,
        rewards=reward.rewards,
        exception=_exception(agent),
        message=_message(job, outcome),
        harness="local",
        isolation=machine.sandbox.name,
        unsealed=unsealed() if machine.sandbox.name == "bwrap" else None,
        variant_digest=machine.variant_digest,
        skill_root=machine.skills if job.variant_dir else None,
        network=_network(machine, job),
        task_network=machine.allowance.network,
        started_at=started,
        finished_at=_now(),
        agent_seconds=round(agent.seconds, 6),
        verifier_seconds=(round(verifier.seconds, 6) if job.task.judged_by == "verifier" else None),
        exit_code=agent.exit_code,
    )


def _exception(agent: ProcessOutcome) -> str | None:
    if agent.timed_out:
        return "AgentTimeoutError"
    return "NonZeroAgentExitCodeError" if agent.exit_code else None


def _message(job: TrialJob, outcome: tuple[ProcessOutcome, ProcessOutcome, Reward]) -> str | None:
    agent, verifier, reward = outcome
    parts = []
    if agent.timed_out:
        parts.append(f"the agent was stopped after {job.agent_limit:g} s")
    elif agent.limit:
        parts.append(f"the agent was stopped: {agent.limit}")
    elif agent.exit_code:
        parts.append(f"the agent ended with status {agent.exit_code}")
    if verifier.timed_out:
        parts.append(f"the verifier was stopped after {job.verifier_limit:g} s")
    if verifier.limit:
        parts.append(f"the verifier was stopped: {verifier.limit}")
    elif verifier.exit_code:
        parts.append(f"the verifier ended with status {verifier.exit_code}")
    if reward.problem:
        parts.append(reward.problem)
    return "; ".join(parts) or None


@contextlib.contextmanager
def _machine_faults() -> Iterator[None]:
    """Distinguish faults of the machine, such as a full disk, from files that the agent locked."""
    try:
        yield
    except OSError as error:
        if error.errno in MACHINE_FAULTS:
            raise HarnessError(f"the machine failed during a trial: {error}") from error
        raise RuntimeError(f"cannot access a file of the trial: {error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
