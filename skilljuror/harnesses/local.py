"""The local harness: one trial is one fresh copy of the task, run as plain processes."""

import contextlib
import errno
import json
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.errors import HarnessError, UsageError
from skilljuror.files import data_dir, digest_tree
from skilljuror.harnesses.agent_home import (
    collect_logs,
    read_instruction,
    skills_listing,
    skills_root,
    told_tools,
    write_agent_record,
    write_home_files,
)
from skilljuror.harnesses.artifacts import copy_logs, digest_left, list_files
from skilljuror.harnesses.base import TrialJob, key_values, trial_record, without_keys
from skilljuror.harnesses.environment import (
    Allowance,
    DockerfileRecipe,
    copy_environment,
    read_allowance,
)
from skilljuror.harnesses.inside_harbor.skilljuror_places import own_file, own_folder
from skilljuror.harnesses.process import Command, OutputFiles, ProcessOutcome
from skilljuror.harnesses.rewards import read_reward
from skilljuror.harnesses.sandbox import (
    HOME,
    BubblewrapSandbox,
    PlainSandbox,
    Sandbox,
    host_path,
    remove_tree,
    sandbox_class,
    search_path,
)
from skilljuror.models.harbor import Reward
from skilljuror.models.study import TrialRecord, TrialStatus
from skilljuror.redaction import redact_files

ISOLATIONS = ("auto", "bwrap", "none")
AGENT_DIR = "/agent"
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""So that running a script of a Skill leaves nothing in its folder."""
LOGS, TESTS = "/logs", "/tests"
_PLACEHOLDER = re.compile(r"\{(agent_dir|instruction|prompt|logs|skills|seed)\}")
_MACHINE_FAULTS = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO,
})  # fmt: skip


class _TrialMachine(Struct, frozen=True):
    """A trial's machine, ready for the agent."""

    sandbox: Sandbox
    allowance: Allowance
    recipe: DockerfileRecipe
    prompt: str
    skills: str
    """The folder of Skills, as programs in it see the path."""
    variant_digest: str | None

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
            "SKILLS_DIR": self.skills,
        }


class LocalHarness:
    """Runs trials in bubblewrap where that works, else in plain temporary folders."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = dict(options or {})
        self.agent_seconds: float | None = None
        """Wall clock of the last trial's agent, seconds; None as long as it has not ended."""
        self.isolation = given.pop("isolation", "auto")
        if given:
            raise UsageError(
                f"harness.options: unknown option {sorted(given)[0]!r}; choose one of isolation",
                field="harness.options",
            )
        if self.isolation not in ISOLATIONS:
            raise UsageError(
                f"harness.options.isolation: unknown {self.isolation!r};"
                f" choose one of {', '.join(ISOLATIONS)}",
                field="harness.options.isolation",
            )

    def prepare(self) -> str:
        """The isolation that will be used, found by trying it."""
        return sandbox_class(self.isolation).name

    def run(self, job: TrialJob, target: Path) -> TrialRecord:
        """One trial; see `harnesses.base.Harness`."""
        started, keys = _now(), key_values(job.agent).values()
        self.agent_seconds = None
        with _machine_faults(), _redacted(target, keys), self._machine(job) as machine:
            write_agent_record(target / "agent.json", job.agent)
            agent = _run_agent(machine, job, target)
            self.agent_seconds = round(agent.seconds, 6)
            after = _digest_after(machine, job)
            artifacts = list_files(machine.folder(machine.recipe.workdir))
            left_out = copy_logs(machine.folder(f"{LOGS}/agent"), target / "agent")
            left_out += collect_logs(machine.sandbox.root, job.agent, target / "agent")
            root = machine.sandbox.root.with_name("fresh")
            root.mkdir()
            judged = replace(machine, sandbox=machine.sandbox.fresh(root))
            verifier = _run_verifier(judged, job, target)
            answers = judged.folder(f"{LOGS}/verifier")
            redact_files(answers, keys)  # an error may quote a part of one
            left_out += copy_logs(answers, target / "verifier")
            artifacts |= {"left_out": left_out, "not_followed": machine.recipe.left_out}
            _write_listing(target / "artifacts.json", artifacts)
            record = _record(job, machine, (agent, verifier, read_reward(answers)), started)
            told = {
                "variant_digest_after": after,
                "tools": told_tools(target / "agent-stdout.txt"),
            }
            text = record.model_copy(update=told).model_dump_json()
        return TrialRecord.model_validate_json(without_keys(text, job.agent))

    @contextlib.contextmanager
    def _machine(self, job: TrialJob) -> Iterator[_TrialMachine]:
        """A trial's machine in a folder of its own, which is removed with all copies in it."""
        folder = Path(tempfile.mkdtemp(prefix="trial-"))
        root = folder / "first"
        root.mkdir()
        allowance = read_allowance(job.task_dir)
        try:
            if sandbox_class(self.isolation) is PlainSandbox:
                yield _set_up(PlainSandbox(root), allowance, job)
            else:
                hidden = (job.task_dir, data_dir("examples"))
                shown = job.agent.shown
                sandbox = BubblewrapSandbox(root, allowance.limits, hidden, shown)
                yield _set_up(sandbox, allowance, job)
        finally:
            remove_tree(folder)


def _set_up(sandbox: Sandbox, allowance: Allowance, job: TrialJob) -> _TrialMachine:
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
    return _TrialMachine(sandbox, allowance, recipe, prompt, skills, _place_skills(root, job))


def _place_skills(root: Path, job: TrialJob) -> str | None:
    """Put the variant's skills in place and prove that they are what was built."""
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
            " the variant was changed after its gates: build it again in a fresh folder"
        )
    return digest


def _refuse_occupied(root: Path, guest: str, job: TrialJob) -> None:
    """In every arm, for it is one with a Skill alone that could not have its place."""
    skills = host_path(root, guest)
    if skills.exists() or skills.resolve() != host_path(root.resolve(), guest):
        raise HarnessError(
            f"trial {job.trial.trial!r}: the task brings {guest!r} along, or a link on the way to it,"
            " where Skills are put; have its Dockerfile copy that to another place"
        )


def _refuse_contamination(root: Path, job: TrialJob) -> None:
    for path in sorted(root.rglob("*")):
        if path.name.lower() == "skill.md":
            raise HarnessError(
                f"trial {job.trial.trial!r} offers no Skill, but /{path.relative_to(root)} is there;"
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
    online = not job.agent.scripted
    command = Command(argv, env, visible_path(machine.recipe.workdir), network=online)
    logs = OutputFiles(target / "agent-stdout.txt", target / "agent-stderr.txt")
    outcome = machine.sandbox.run(command, job.choice.timeout_sec, logs)
    machine.folder(machine.recipe.workdir)  # the agent may have locked it, and the root above it
    return outcome


def _digest_after(machine: _TrialMachine, job: TrialJob) -> str | None:
    """Digest of the Skill as the agent left it, without the files that its pages told it to write."""
    if job.variant_dir is None:
        return None
    return digest_left(machine.sandbox.root, skills_root(job.agent), job.announced)


@contextlib.contextmanager
def _redacted(target: Path, keys: Collection[str]) -> Iterator[None]:
    """However a trial ends, nothing that it leaves in `target` holds the values of the agent's keys."""
    try:
        yield
    finally:
        redact_files(target, keys)


def _run_verifier(machine: _TrialMachine, job: TrialJob, target: Path) -> ProcessOutcome:
    """The task's own test, put in place only now; only what it writes afterwards counts."""
    for guest in (TESTS, f"{LOGS}/verifier"):
        remove_tree(machine.folder(guest))
    tests = machine.folder(TESTS)
    shutil.copytree(job.task_dir / "tests", tests, symlinks=True, dirs_exist_ok=True)
    test = tests / "test.sh"
    if test.resolve().is_relative_to(tests.resolve()):  # not through a link to the host's files
        test.chmod(0o755)
    machine.folder(f"{LOGS}/verifier")
    machine.folder(machine.recipe.workdir)
    visible_path = machine.sandbox.visible_path
    argv = ("bash", "-c", '"$0"', visible_path(f"{TESTS}/test.sh"))
    env = {**machine.env, "PYTHONNOUSERSITE": "1", **NO_BYTECODE}
    (target / "verifier").mkdir()
    output = target / "verifier" / "test-stdout.txt"
    command = Command(argv, env, visible_path(machine.recipe.workdir))
    return machine.sandbox.run(
        command, job.choice.verifier_timeout_sec, OutputFiles(output, output)
    )


def _write_listing(path: Path, artifacts: dict[str, Any]) -> None:
    text = json.dumps(artifacts, indent=1, ensure_ascii=False)
    path.write_text(text, encoding="utf-8", errors="replace")


def _record(
    job: TrialJob,
    machine: _TrialMachine,
    outcome: tuple[ProcessOutcome, ProcessOutcome, Reward],
    started: str,
) -> TrialRecord:
    agent, verifier, reward = outcome
    if verifier.timed_out or verifier.limit:  # it may have meant to write another one
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
        variant_digest=machine.variant_digest,
        skill_root=machine.skills if job.variant_dir else None,
        network="none" if machine.sandbox.name == "bwrap" and job.agent.scripted else "host",
        task_network=machine.allowance.network,
        started_at=started,
        finished_at=_now(),
        agent_seconds=round(agent.seconds, 6),
        verifier_seconds=round(verifier.seconds, 6),
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
        parts.append(f"the agent was stopped after {job.choice.timeout_sec:g} s")
    elif agent.limit:
        parts.append(f"the agent was stopped: {agent.limit}")
    elif agent.exit_code:
        parts.append(f"the agent ended with status {agent.exit_code}")
    if verifier.timed_out:
        parts.append(f"the verifier was stopped after {job.choice.verifier_timeout_sec:g} s")
    if verifier.limit:
        parts.append(f"the verifier was stopped: {verifier.limit}")
    if reward.problem:
        parts.append(reward.problem)
    return "; ".join(parts) or None


@contextlib.contextmanager
def _machine_faults() -> Iterator[None]:
    """A full disk is no failure of the agent; a file that it locked is none of the machine, and no
    reason to try again."""
    try:
        yield
    except OSError as error:
        if error.errno in _MACHINE_FAULTS:
            raise HarnessError(f"the machine failed in the middle of a trial: {error}") from error
        raise RuntimeError(f"a file of the trial is in the way: {error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
