"""What Harbor's own Python runs: `inside_harbor.py job.json PARENT` runs trials in one process of parent PARENT;
`ProgramAgent` is the agent that Harbor finds by import path for one of our programs.

Each trial starts when one of `at_once` slots is free, in the order of the file. When a trial has ended, its
name is a line of `ended.txt` beside that file. SIGTERM and SIGINT cancel all trials, in order.
"""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import NonZeroAgentExitCodeError
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.paths import EnvironmentPaths
from harbor.models.trial.result import AgentInfo
from harbor.trial.queue import TrialQueue

FOLDER = "/agent"
"""Folder of the program's files."""
_PLACEHOLDER = re.compile(r"\{(agent_dir|instruction|prompt|logs|skills|seed)\}")


class ProgramAgent(BaseAgent):
    """Runs a program in any environment of Harbor."""

    capabilities = AgentCapabilities(skills=True)

    def __init__(self, *args: Any, program: dict[str, Any], seed: int, **kwargs: Any) -> None:
        """`program` has the fields of skilljuror's AgentProgram, with `listing` (text about Skills)
        and `disclosed` (last sentence) of its prompt."""
        self.program, self.seed = program, seed
        super().__init__(*args, **kwargs)

    @staticmethod
    def name() -> str:
        """Name in Harbor."""
        return "skilljuror-program"

    def version(self) -> str | None:
        """Version of the program."""
        return self.program["version"]

    def to_agent_info(self) -> AgentInfo:
        """Name of the program."""
        return super().to_agent_info().model_copy(update={"name": self.program["name"]})

    async def setup(self, environment: BaseEnvironment) -> None:
        """Install the program's files, its settings and the Skills."""
        for file in self.program["files"]:
            await environment.upload_file(file, f"{FOLDER}/{Path(file).name}")
        home = await _done(environment, 'printf %s "$HOME"')
        for name, text in self.program["home_files"].items():
            await _write(environment, text, f"{home}/{name}")
        self.skills = self.skills_dir or EnvironmentPaths().default_skills_dir.as_posix()
        if self.program["skills"] is not None:
            offered, self.skills = self.skills, self.program["skills"].replace("~", home, 1)
            if self.skills_dir:
                target = shlex.quote(self.skills)
                await _done(environment, f"mkdir -p {target} && cp -R {offered}/. {target}/")

    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Run it; a nonzero status is an error, and the verifier still runs."""
        prompt = instruction + self.program["listing"].replace("{skills}", self.skills)
        if self.program["disclosed"]:
            prompt = f"{prompt.rstrip()}\n\n{self.program['disclosed']}\n"
        await _write(environment, prompt, f"{FOLDER}/instruction.md")
        logs = self.environment_logs_dir.as_posix()
        values = {
            "agent_dir": FOLDER,
            "instruction": f"{FOLDER}/instruction.md",
            "prompt": prompt,
            "logs": logs,
            "skills": self.skills,
            "seed": str(self.seed),
        }
        argv = [
            _PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in self.program["argv"]
        ]
        command = f"{shlex.join(argv)} >{logs}/agent-stdout.txt 2>{logs}/agent-stderr.txt"
        copies = ["true"]  # of its logs, to those that Harbor fetches, without the leading dot
        for name in self.program["logs"]:
            inside = name.removeprefix("~/")
            target = shlex.quote(f"{logs}/{inside.lstrip('.')}")
            source = f'"$HOME"/{shlex.quote(inside)}'
            copies.append(
                f"if [ -d {source} ]; then mkdir -p {target}; cp -R {source}/. {target}/; fi"
            )
        try:
            result = await environment.exec(command, env=self.program["env"])
        finally:  # after a timeout as well
            await environment.exec("; ".join(copies))
        if result.return_code:
            raise NonZeroAgentExitCodeError(f"the agent ended with status {result.return_code}")


async def _done(environment: BaseEnvironment, command: str) -> str:
    """Return the output of a command that must succeed."""
    result = await environment.exec(command)
    if result.return_code:
        raise RuntimeError(f"{command!r} ended with {result.return_code}: {result.stderr}")
    return result.stdout or ""


async def _write(environment: BaseEnvironment, text: str, path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.write_text(text, encoding="utf-8")
        await environment.upload_file(file, path)


async def run_all(file: Path) -> None:
    """Run every trial of a job file; what keeps one from having a result ends all."""
    for name in (signal.SIGINT, signal.SIGTERM):
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    job = json.loads(file.read_bytes())
    queue = TrialQueue(job["at_once"])  # without retries, which would delete what failed

    async def run(config: TrialConfig) -> None:
        await queue.submit(config)
        with file.with_name("ended.txt").open("a", encoding="utf-8") as lines:
            lines.write(config.trial_name + "\n")

    configs = [TrialConfig.model_validate(trial) for trial in job["trials"]]
    await asyncio.gather(*map(run, configs))


if __name__ == "__main__":
    if os.getppid() != int(sys.argv[2]):
        sys.exit("the run ended before this process asked to be told")
    asyncio.run(run_all(Path(sys.argv[1])))
