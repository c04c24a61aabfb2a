"""The local harness: run each trial in a fresh copy of the task, in bubblewrap or a plain folder."""

import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, UsageError, redact_files
from skilljuror.base.files import data_dir, digest_tree
from skilljuror.base.study import Reward, TrialRecord
from skilljuror.harness import network
from skilljuror.harness.artifacts import (
    GONE,
    MACHINE_FAULTS,
    OUTPUT,
    WORK,
    Reading,
    Unchanged,
    collect_logs,
    copy_logs,
    digest_left,
    drop_traps,
    keep_work,
    list_files,
    listed_tools,
    read_reward,
    unchanged_since,
    write_agent_record,
    write_listing,
)
from skilljuror.harness.base import (
    Requirement,
    TrialJob,
    free_disk,
    key_values,
    read_instruction,
    read_options,
    skills_listing,
    skills_root,
    trial_record,
    without_keys,
)
from skilljuror.harness.sandbox import (
    HOME,
    OVER_LIMIT,
    BubblewrapSandbox,
    Command,
    OutputFiles,
    PlainSandbox,
    ProcessOutcome,
    Sandbox,
    host_path,
    own_file,
    own_folder,
    remove_tree,
    sandbox_class,
    search_path,
    unsealed,
)
from skilljuror.harness.tasks import (
    DockerfileRecipe,
    copy_environment,
    read_allowance,
    tasks_requirement,
)

AGENT_DIR = "/agent"
LOGS, TESTS, VERIFIER = "/logs", "/tests", "/verifier"
JUDGED = (TESTS, f"{LOGS}/verifier", VERIFIER)
"""Places of the verifier alone; the last is its HOME."""
_NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Keeps a Skill's folder unchanged when its scripts run."""
_APPEND = """\
import os, sys
script = next((word for word in sys.orig_argv[1:] if word.endswith(".py")), "")
sys.path += [os.path.dirname(os.path.abspath(script)), os.getcwd()]
"""
"""Makes a program's own modules importable after all others: none can replace one of Python."""
_PLACEHOLDER = re.compile(r"\{(agent_dir|instruction|prompt|logs|skills|seed)\}")


class _Machine(Struct, frozen=True):
    """A trial's sandbox, ready for the agent."""

    sandbox: Sandbox
    recipe: DockerfileRecipe
    prompt: str
    skills: str
    """Skills folder in the sandbox."""
    variant_digest: str | None
    unchanged: Unchanged
    """Whether a file of the working directory is as the agent found it."""
    network: str
    """Network of the agent, as on the trial's record."""

    def folder(self, guest: str) -> Path:
        return own_folder(self.sandbox.root, guest)

    def env(self, job: TrialJob) -> dict[str, str]:
        """Variables of agent and verifier."""
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
            **({"SKILLS_DIR": self.skills} if job.variant_dir else {}),
        }


class LocalOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the harness."""

    isolation: Literal["auto", "bwrap", "sealed", "none"] = "auto"
    network: list[str] | None = None
    """Hosts that an agent with a model reaches, each as host (any port) or host:port; None: this machine's network."""
    unsupported: Literal["refuse", "ignore"] = "refuse"
    """What becomes of a task with lines that no sandbox follows."""


class LocalHarness:
    """Runs trials in bubblewrap if available, else in plain temporary folders."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options = read_options("harness.options", options or {}, LocalOptions)
        self.hosts = _hosts(self.options.network)
        self.agent_seconds: float | None = None
        """Seconds of the last trial's agent; None until it ends."""

    def prepare(self) -> str:
        """Return the available isolation, found by a probe. Raises HarnessError."""
        isolation = sandbox_class(self.options.isolation).name
        if self.hosts is not None and isolation != "bwrap":
            raise HarnessError(
                f"harness.options.network requires a sandbox, and isolation here is {isolation}; install bubblewrap,"
                " or remove the option",
                field="harness.options.network",
            )
        return isolation

    def task_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Whether every task does without an image and a network of its verifier."""
        yield tasks_requirement(tasks, ignore=self.options.unsupported == "ignore")

    def machine_requirements(self, tasks: Sequence[Path]) -> Iterator[Requirement]:
        """Whether there is room for trials."""
        yield free_disk(Path(tempfile.gettempdir()))

    def run(self, job: TrialJob, target: Path) -> TrialRecord:
        """Run one trial; see `skilljuror.harness.base.Harness`."""
        started, keys = _now(), key_values(job.agent).values()
        self.agent_seconds = None
        with _machine_faults(), contextlib.ExitStack() as stack:
            stack.callback(redact_files, target, keys)  # however the trial ends
            machine = stack.enter_context(self._machine(job))
            write_agent_record(target / "agent.json", job.agent)
            agent = self._run_agent(machine, job, target)
            self.agent_seconds = round(agent.seconds, 6)
            reading = Reading()
            tools, after, listing = _read_artifacts(machine, job, target, reading)
            verifier, reward = _judge(machine, job, target, listing["left_out"], reading)
            write_listing(target, listing)
            record = trial_record(
                job,
                **_outcome(job, agent, verifier, reward),
                harness="local",
                isolation=machine.sandbox.name,
                unsealed=unsealed() if machine.sandbox.name == "bwrap" else None,
                variant_digest=machine.variant_digest,
                variant_digest_after=after,
                tools=tools,
                left_out=reading.summary(),
                skill_root=machine.skills if job.variant_dir else None,
                network=machine.network,
                task_network=read_allowance(job.task_dir).network,
                started_at=started,
                finished_at=_now(),
            )
            text = record.model_dump_json()
        return TrialRecord.model_validate_json(without_keys(text, job.agent))

    @contextlib.contextmanager
    def _machine(self, job: TrialJob) -> Iterator[_Machine]:
        """Set up a trial's sandbox in a temporary folder."""
        folder = Path(tempfile.mkdtemp(prefix="trial-"))
        root = folder / "first"
        root.mkdir()
        sandbox: Sandbox = PlainSandbox(root)
        try:
            if sandbox_class(self.options.isolation) is BubblewrapSandbox:
                hidden = (*job.hidden, job.task_dir, data_dir("examples"))
                limits = read_allowance(job.task_dir).limits
                sandbox = BubblewrapSandbox(root, limits, hidden, job.agent.shown)
            yield self._set_up(sandbox, job)
        finally:
            sandbox.close()
            remove_tree(folder)

    def _set_up(self, sandbox: Sandbox, job: TrialJob) -> _Machine:
        """Lay out the task's environment, the agent's files, the Skills and the prompt."""
        root = sandbox.root
        for folder in (HOME, "/tmp", AGENT_DIR, f"{LOGS}/agent", f"{LOGS}/artifacts"):
            own_folder(root, folder)
        recipe = copy_environment(job.task_dir / "environment", root)
        for file in job.agent.files:
            shutil.copy(file, own_file(root, f"{AGENT_DIR}/{file.name}"))
        for name, text in job.agent.home_files.items():
            own_file(root, f"{HOME}/{name}").write_text(text, encoding="utf-8")
        skills = sandbox.visible_path(skills_root(job.agent))
        prompt = read_instruction(job.task_dir)
        if job.variant_dir and job.agent.skills is None:
            prompt += skills_listing(job.variant_dir, skills)
        if job.disclosed:
            prompt = f"{prompt.rstrip()}\n\n{job.disclosed}\n"
        own_file(root, f"{AGENT_DIR}/instruction.md").write_text(prompt, encoding="utf-8")
        digest = _place_skills(root, job)
        reach = "host" if self.hosts is None else "allowlist"
        if sandbox.name != "bwrap":
            reach = "host"
        elif job.agent.scripted:
            reach = "none"
        unchanged = unchanged_since(host_path(root, recipe.workdir))
        return _Machine(sandbox, recipe, prompt, skills, digest, unchanged, reach)

    def _run_agent(self, machine: _Machine, job: TrialJob, target: Path) -> ProcessOutcome:
        """Run the agent; save its seconds and logs if the run is stopped meanwhile."""
        root, visible_path = machine.sandbox.root, machine.sandbox.visible_path
        values = {
            "agent_dir": visible_path(AGENT_DIR),
            "instruction": visible_path(f"{AGENT_DIR}/instruction.md"),
            "prompt": machine.prompt,
            "logs": visible_path(f"{LOGS}/agent"),
            "skills": machine.skills,
            "seed": str(job.trial.seed),
        }
        argv = tuple(
            _PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in job.agent.argv
        )
        env = {**machine.env(job), **_NO_BYTECODE, **job.agent.env, **key_values(job.agent)}
        output = OutputFiles(target / "agent-stdout.txt", target / "agent-stderr.txt")
        started = time.monotonic()
        with contextlib.ExitStack() as stack:
            socket = None
            if self.hosts is not None and machine.network == "allowlist":
                relay = f"{AGENT_DIR}/network.py"
                shutil.copy(Path(network.__file__), own_file(root, relay))
                argv = ("python3", relay, str(network.PORT), network.PLACE, *argv)
                env |= network.proxy_environment()
                socket = network.PLACE
                stack.enter_context(network.proxy(own_file(root, socket), self.hosts))
            workdir, online = visible_path(machine.recipe.workdir), machine.network == "host"
            command = Command(argv, env, workdir, network=online, socket=socket)
            try:
                return machine.sandbox.run(command, job.agent_limit, output)
            except SystemExit:
                self.agent_seconds = round(time.monotonic() - started, 6)
                logs, reading = target / "agent", Reading()
                copy_logs(machine.folder(f"{LOGS}/agent"), logs, reading)
                collect_logs(machine.sandbox.root, job.agent, logs, reading)
                raise


def _hosts(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Read the study's hosts. Raises UsageError."""
    for host in given or ():
        try:
            network.read_address(host, 443)
        except ValueError:
            raise UsageError(
                f"harness.options.network: {host!r} is not a host; write a list such as [api.openai.com]",
                field="harness.options.network",
            ) from None
    return None if given is None else tuple(host.lower() for host in given)


def _place_skills(root: Path, job: TrialJob) -> str | None:
    """Copy the variant's Skills; return their digest, which must be that of the build. Raises HarnessError also for a
    task that has a Skill where an arm without one would see it, or files in the place of the Skills."""
    # user-level: Skills in the working directory would leak names through listings
    guest, trial = skills_root(job.agent), job.trial.trial
    skills = host_path(root, guest)
    if skills.exists() or skills.resolve() != host_path(root.resolve(), guest):
        raise HarnessError(
            f"trial {trial!r}: the task contains {guest!r}, the Skills folder, or a link in its"
            " path; change its Dockerfile to copy to another folder"
        )
    if job.variant_dir is None:
        for path in sorted(root.rglob("*")):
            if path.name.lower() == "skill.md":
                raise HarnessError(
                    f"trial {trial!r} offers no Skill, but /{path.relative_to(root)} exists;"
                    " remove it from the task's environment"
                )
        return None
    shutil.copytree(job.variant_dir, own_folder(root, guest), symlinks=True, dirs_exist_ok=True)
    digest = digest_tree(skills)
    if job.variant_digest is not None and digest != job.variant_digest:
        raise HarnessError(
            f"trial {trial!r}: variant {job.variant!r} in the sandbox has digest"
            f" {digest[:16]}, the build says {job.variant_digest[:16]};"
            " the variant changed after its gates: build it again in a fresh folder"
        )
    return digest


def _read_artifacts(
    machine: _Machine, job: TrialJob, target: Path, reading: Reading
) -> tuple[tuple[str, ...] | None, str | None, dict[str, Any]]:
    """Copy logs and work into `target`; return the agent's tools, the digest of the Skills that it left, and the
    listing of artifacts."""
    folder = machine.folder(machine.recipe.workdir)  # the agent may have made it unreadable
    root, logs, after = machine.sandbox.root, target / "agent", None
    skills, none = skills_root(job.agent), list[str]()
    if job.variant_dir is not None:
        after = reading.of("Skill", lambda: digest_left(root, skills, reading, job.announced), GONE)
    source = machine.folder(f"{LOGS}/agent")
    left_out = [
        *reading.of("logs", lambda: copy_logs(source, logs, reading), none),
        *reading.of("logs", lambda: collect_logs(root, job.agent, logs, reading), none),
    ]
    empty: dict[str, Any] = {"files": [], "others": []}
    listing = reading.of("files", lambda: list_files(folder, reading), empty)
    tools = reading.of("output", lambda: listed_tools(target / "agent-stdout.txt"), None)
    not_kept = reading.of(
        "work", lambda: keep_work(folder, target / WORK, job.keep, machine.unchanged), none
    )
    listing |= {"left_out": left_out, "not_followed": machine.recipe.left_out}
    return tools, after, {**listing, "not_kept": not_kept}


def _judge(
    machine: _Machine, job: TrialJob, target: Path, left_out: list[str], dropped: Reading
) -> tuple[ProcessOutcome, Reward]:
    """Run the verifier on a copy of all files; return its outcome and reward. It gets the task's tests, an empty log
    folder and an empty HOME only now."""
    if job.task.judged_by != "verifier":
        return ProcessOutcome(0, 0.0), Reward(None)
    for guest in JUDGED:
        remove_tree(machine.folder(guest))
    sandbox, visible_path = machine.sandbox, machine.sandbox.visible_path
    work = (*map(visible_path, (machine.recipe.workdir, HOME)), *map(str, sandbox.shown))
    others = (*map(visible_path, JUDGED), "/proc", "/dev", "/sys")
    drop_traps(sandbox.root, sandbox.base, work, others, dropped)
    with tempfile.TemporaryDirectory(prefix="verifier-") as folder:
        root = Path(folder, "first")
        root.mkdir()
        for guest in JUDGED:
            own_folder(root, guest)
        tests = root / TESTS[1:]
        shutil.copytree(job.task_dir / "tests", tests, symlinks=True, dirs_exist_ok=True)
        test = tests / "test.sh"
        if test.resolve().is_relative_to(tests.resolve()):  # not through a link to the host's files
            test.chmod(0o755)
        own_file(root, f"{VERIFIER}/python/sitecustomize.py").write_text(_APPEND, encoding="utf-8")
        home = visible_path(VERIFIER)
        python = {"PYTHONPATH": f"{home}/python", "PYTHONNOUSERSITE": "1", "PYTHONSAFEPATH": "1"}
        env = {**machine.env(job), "HOME": home, **python, **_NO_BYTECODE}
        argv = ("bash", "-c", '"$0"', visible_path(f"{TESTS}/test.sh"))
        (target / OUTPUT).parent.mkdir()
        output = OutputFiles(target / OUTPUT, target / OUTPUT)
        fresh = sandbox.fresh(root)
        try:
            command = Command(argv, env, visible_path(machine.recipe.workdir))
            verifier = fresh.run(command, job.verifier_limit, output)
            answers, reading = own_folder(fresh.root, f"{LOGS}/verifier"), Reading()
            left_out += copy_logs(answers, target / "verifier", reading)
            left_out += reading.summary()
            return verifier, read_reward(answers, key_values(job.agent).values())
        except TimeoutError as error:
            return ProcessOutcome(OVER_LIMIT, 0.0, str(error)), Reward(None)
        finally:
            fresh.close()


def _outcome(
    job: TrialJob, agent: ProcessOutcome, verifier: ProcessOutcome, reward: Reward
) -> dict[str, Any]:
    """Fields of the record that say how the trial ended."""
    if verifier.timed_out or verifier.limit:  # the reward may be preliminary
        reward = replace(reward, value=None)
    exception, parts = "NonZeroAgentExitCodeError" if agent.exit_code else None, []
    if agent.timed_out:
        exception = "AgentTimeoutError"
    limits = (job.agent_limit, job.verifier_limit)
    for who, outcome, limit in zip(("agent", "verifier"), (agent, verifier), limits, strict=True):
        if outcome.timed_out:
            parts.append(f"the {who} was stopped after {limit:g} s")
        elif outcome.limit:
            parts.append(f"the {who} was stopped: {outcome.limit}")
        elif outcome.exit_code:
            parts.append(f"the {who} ended with status {outcome.exit_code}")
    parts += [reward.problem] if reward.problem else []
    scored = "unscored" if reward.value is None else "scored"
    return {
        "status": "timeout" if agent.timed_out else scored,
        "reward": reward.value,
        "rewards": reward.rewards,
        "exception": exception,
        "message": "; ".join(parts) or None,
        "exit_code": agent.exit_code,
        "agent_seconds": round(agent.seconds, 6),
        "verifier_seconds": (
            round(verifier.seconds, 6) if job.task.judged_by == "verifier" else None
        ),
    }


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
