"""The local harness: one trial is one fresh copy of the task, run as plain processes."""

import contextlib
import errno
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from skilljuror.errors import HarnessError, UsageError
from skilljuror.files import digest_tree
from skilljuror.harnesses.artifacts import copy_logs, listing
from skilljuror.harnesses.base import TrialJob
from skilljuror.harnesses.environment import Recipe, place
from skilljuror.harnesses.process import Ended, Launch, Logs
from skilljuror.harnesses.rewards import Reward, read_reward
from skilljuror.harnesses.sandbox import (
    HOME,
    Sandbox,
    inside,
    own_folder,
    remove_tree,
    sandbox_class,
    search_path,
)
from skilljuror.models.study import TrialRecord, TrialStatus

ISOLATIONS = ("auto", "bwrap", "none")
SKILLS_ROOT = f"{HOME}/.agents/skills"
"""User-level skills folder: skills in the working directory would leak names through listings."""
AGENT_DIR = "/agent"
LOGS, TESTS = "/logs", "/tests"
_PLACEHOLDER = re.compile(r"\{(agent_dir|instruction|prompt|logs|skills|seed)\}")
_CANARY = re.compile(r"\s*(?:<!--|#).*canary.*", re.IGNORECASE)
_MACHINE_FAULTS = frozenset({
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EIO,
})


class _Stage(Struct, frozen=True):
    """A trial's machine, ready for the agent."""

    sandbox: Sandbox
    recipe: Recipe
    prompt: str
    variant_digest: str | None

    def folder(self, guest: str) -> Path:
        return own_folder(self.sandbox.root, guest)

    @property
    def env(self) -> dict[str, str]:
        seen = self.sandbox.seen
        return {
            "PATH": search_path(),
            "HOME": seen(HOME),
            "TMPDIR": seen("/tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "APP_DIR": seen(self.recipe.workdir),
            "LOGS_DIR": seen(LOGS),
            "TESTS_DIR": seen(TESTS),
            "SKILLS_DIR": seen(SKILLS_ROOT),
        }


class LocalHarness:
    """Runs trials in bubblewrap where that works, else in plain temporary folders."""

    needs_container: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = dict(options or {})
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
        started = _now()
        with _machine_faults(), self._stage(job) as stage:
            agent = _run_agent(stage, job, target)
            listed = listing(stage.folder(stage.recipe.workdir))
            left_out = copy_logs(stage.folder(f"{LOGS}/agent"), target / "agent")
            verifier = _run_verifier(stage, job, target)
            answers = stage.folder(f"{LOGS}/verifier")
            left_out += copy_logs(answers, target / "verifier")
            listed |= {"left_out": left_out, "not_followed": stage.recipe.left_out}
            _write_listing(target / "artifacts.json", listed)
            return _record(job, stage, (agent, verifier, read_reward(answers)), started)

    @contextlib.contextmanager
    def _stage(self, job: TrialJob) -> Iterator[_Stage]:
        root = Path(tempfile.mkdtemp(prefix="trial-"))
        try:
            yield _set_up(sandbox_class(self.isolation)(root), job)
        finally:
            remove_tree(root)


def _set_up(sandbox: Sandbox, job: TrialJob) -> _Stage:
    root = sandbox.root
    root.chmod(0o755)
    for folder in (HOME, "/tmp", AGENT_DIR, f"{LOGS}/agent", f"{LOGS}/artifacts"):
        inside(root, folder).mkdir(parents=True, exist_ok=True)
    recipe = place(job.task_dir / "environment", root)
    for file in job.agent.files:
        shutil.copy(file, inside(root, AGENT_DIR) / file.name)
    prompt = _instruction(job.task_dir / "instruction.md")
    (inside(root, AGENT_DIR) / "instruction.md").write_text(prompt, encoding="utf-8")
    return _Stage(sandbox, recipe, prompt, _offer(root, job))


def _instruction(path: Path) -> str:
    """The instruction without canary comments at its top."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    while lines and _CANARY.fullmatch(lines[0].rstrip("\n")):
        lines.pop(0)
    return "".join(lines)


def _offer(root: Path, job: TrialJob) -> str | None:
    """Put the variant's skills in place and prove that they are what was built."""
    if job.variant_dir is None:
        _refuse_contamination(root, job)
        return None
    skills = inside(root, SKILLS_ROOT)
    shutil.copytree(job.variant_dir, skills, symlinks=True)
    found = digest_tree(skills)
    if job.variant_digest is not None and found != job.variant_digest:
        raise HarnessError(
            f"trial {job.trial.trial!r}: variant {job.variant!r} in the sandbox has digest"
            f" {found[:16]}, the build says {job.variant_digest[:16]};"
            " the variant was changed after its gates: build it again in a fresh folder"
        )
    return found


def _refuse_contamination(root: Path, job: TrialJob) -> None:
    for path in sorted(root.rglob("*")):
        if path.name.lower() == "skill.md":
            raise HarnessError(
                f"trial {job.trial.trial!r} offers no Skill, but /{path.relative_to(root)} is there;"
                " remove it from the task's environment"
            )


def _run_agent(stage: _Stage, job: TrialJob, target: Path) -> Ended:
    seen = stage.sandbox.seen
    values = {
        "agent_dir": seen(AGENT_DIR),
        "instruction": seen(f"{AGENT_DIR}/instruction.md"),
        "prompt": stage.prompt,
        "logs": seen(f"{LOGS}/agent"),
        "skills": seen(SKILLS_ROOT),
        "seed": str(job.trial.seed),
    }
    argv = tuple(_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in job.agent.argv)
    launch = Launch(argv, stage.env, seen(stage.recipe.workdir))
    logs = Logs(target / "agent-stdout.txt", target / "agent-stderr.txt")
    return stage.sandbox.run(launch, job.choice.timeout_sec, logs)


def _run_verifier(stage: _Stage, job: TrialJob, target: Path) -> Ended:
    """The task's own test, put in place only now; only what it writes afterwards counts."""
    for guest in (TESTS, f"{LOGS}/verifier"):
        remove_tree(stage.folder(guest))
    tests = stage.folder(TESTS)
    shutil.copytree(job.task_dir / "tests", tests, symlinks=True, dirs_exist_ok=True)
    (tests / "test.sh").chmod(0o755)
    stage.folder(f"{LOGS}/verifier")
    stage.folder(stage.recipe.workdir)
    seen = stage.sandbox.seen
    argv = ("bash", "-c", '"$0"', seen(f"{TESTS}/test.sh"))
    env = {**stage.env, "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    (target / "verifier").mkdir()
    output = target / "verifier" / "test-stdout.txt"
    launch = Launch(argv, env, seen(stage.recipe.workdir))
    return stage.sandbox.run(launch, job.choice.verifier_timeout_sec, Logs(output, output))


def _write_listing(path: Path, listed: dict[str, Any]) -> None:
    text = json.dumps(listed, indent=1, ensure_ascii=False)
    path.write_text(text, encoding="utf-8", errors="replace")


def _record(
    job: TrialJob, stage: _Stage, outcome: tuple[Ended, Ended, Reward], started: str
) -> TrialRecord:
    agent, verifier, reward = outcome
    status: TrialStatus = "unscored" if reward.value is None else "scored"
    return TrialRecord(
        trial=job.trial.trial,
        task=job.task.name,
        condition=job.trial.condition,
        number=job.trial.number,
        seed=job.trial.seed,
        status="timeout" if agent.timed_out else status,
        reward=reward.value,
        rewards=reward.rewards,
        exception=_exception(agent),
        message=_message(job, outcome),
        agent=job.agent.name,
        agent_version=job.agent.version,
        model=job.agent.model,
        scripted=job.agent.scripted,
        harness="local",
        isolation=stage.sandbox.name,
        config_digest=job.config_digest,
        substrate_digest=job.task.substrate_digest,
        variant=job.variant,
        variant_digest=stage.variant_digest,
        skill_root=stage.sandbox.seen(SKILLS_ROOT) if job.variant_dir else None,
        started_at=started,
        finished_at=_now(),
        agent_seconds=round(agent.seconds, 6),
        verifier_seconds=round(verifier.seconds, 6),
        exit_code=agent.exit_code,
        usage_reason=job.agent.usage_reason,
    )


def _exception(agent: Ended) -> str | None:
    if agent.timed_out:
        return "AgentTimeoutError"
    return "NonZeroAgentExitCodeError" if agent.exit_code else None


def _message(job: TrialJob, outcome: tuple[Ended, Ended, Reward]) -> str | None:
    agent, verifier, reward = outcome
    parts = []
    if agent.timed_out:
        parts.append(f"the agent was stopped after {job.choice.timeout_sec:g} s")
    elif agent.exit_code:
        parts.append(f"the agent ended with status {agent.exit_code}")
    if verifier.timed_out:
        parts.append(f"the verifier was stopped after {job.choice.verifier_timeout_sec:g} s")
    if reward.problem:
        parts.append(reward.problem)
    return "; ".join(parts) or None


@contextlib.contextmanager
def _machine_faults() -> Iterator[None]:
    """A full disk is no failure of the agent."""
    try:
        yield
    except OSError as error:
        if error.errno in _MACHINE_FAULTS:
            raise HarnessError(f"the machine failed in the middle of a trial: {error}") from error
        raise


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
