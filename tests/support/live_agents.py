"""Real agent programs, where `make live` installed them, and what the scripted model lets each do."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skilljuror.harness.agents import TRIED
from tests.support.cli_process import call
from tests.support.model_server import Step, shell
from tests.support.places import ROOT

PINNED, NEWEST = ".live", ".live-newest"
"""Folders that `make live` and `make newest` install programs into, at the first version of `TRIED` and at the newest."""
LIVE = ROOT / os.environ.get("LIVE_AGENTS", PINNED)
"""The folder whose programs are tried."""


class LiveAgent(NamedTuple):
    """One agent, and how it comes to know the Skill `brew`."""

    name: str
    program: str
    """Path below LIVE."""
    key: str
    """Variable with its key."""
    api: str
    """What the address of its API ends with."""
    model: str
    format: str
    """Format of its native log."""
    reading: Step
    """The step that reads the SKILL.md."""
    package: str = ""
    """Its package in npm, or in PyPI where the program belongs to an environment."""

    @property
    def place(self) -> Path:
        """Where the program is."""
        return LIVE / self.program

    @property
    def version(self) -> str | None:
        """The installed version."""
        return installed_version(self.package, LIVE)

    def __str__(self) -> str:
        return f"{self.name}-{self.version or 'missing'}"

    def choice(self, address: str, **more: Any) -> dict[str, Any]:
        """The `agent` of a study."""
        program = {"program": str(self.place), "base_url": address + self.api}
        return {"name": self.name, "model": self.model, "options": program} | more

    def scripts(self) -> Mapping[str, Sequence[Step]]:
        """With the Skill offered it is read, and the task done; without, the answer is wrong."""
        ends = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
        end = [shell(self.name, ends)] if self.name == "mini-swe-agent" else []
        right, wrong = (
            shell(self.name, f"echo {said} > out.txt; env; env > env.txt")
            for said in ("done", "late")
        )
        done = Step("It is done.")
        return {"How to brew tea": [self.reading, right, *end, done], "": [wrong, *end, done]}


AGENTS = [
    LiveAgent(
        "codex", "node_modules/.bin/codex", "OPENAI_API_KEY", "/v1", "gpt-scripted", "codex-rollout",
        shell("codex", "cat ~/.agents/skills/brew/SKILL.md"), "@openai/codex",
    ),
    LiveAgent(
        "claude-code", "node_modules/.bin/claude", "ANTHROPIC_API_KEY", "", "claude-opus-4-6",
        "claude-session", Step("", (("Skill", {"skill": "brew"}),)), "@anthropic-ai/claude-code",
    ),
    LiveAgent(
        "gemini-cli", "node_modules/.bin/gemini", "GEMINI_API_KEY", "", "gemini-2.5-pro", "gemini-chat",
        Step("", (("activate_skill", {"name": "brew"}),)), "@google/gemini-cli",
    ),
    LiveAgent(
        "mini-swe-agent", "venv/bin/mini", "OPENAI_API_KEY", "/v1", "openai/scripted", "mini-swe-agent",
        shell("mini-swe-agent", "cat ~/.agents/skills/brew/SKILL.md"), "mini-swe-agent",
    ),
]  # fmt: skip


def why_not(agent: LiveAgent) -> str | None:
    """Why an agent cannot be run here; None when it can."""
    if shutil.which(agent.place) is None and LIVE.name == NEWEST:
        return f"{agent.name}: {NEWEST}/ has no version newer than the pinned one"
    if shutil.which(agent.place) is None:
        return f"{agent.program} is not in {LIVE.name}/: make live installs it"
    if LIVE.name == NEWEST and agent.version == TRIED[agent.name][0]:
        return f"{agent} is the newest, and is tried already"
    return None


def installed_version(package: str, folder: Path) -> str | None:
    """The version of a package of npm or Python below `folder`; None where it is missing."""
    file = folder / "node_modules" / package / "package.json"
    if file.is_file():
        return str(json.loads(file.read_text(encoding="utf-8"))["version"])
    name = package.replace("-", "_")
    found = (folder / "venv").glob(f"lib/python*/site-packages/{name}-*.dist-info")
    return next((one.name.removesuffix(".dist-info").rpartition("-")[2] for one in found), None)


def rows(out: Path, sql: str) -> list[list[Any]]:
    """The rows of a query."""
    done = call("query", out, sql, "--json")
    assert done.returncode == 0, done.stdout
    return [list(row.values()) for row in json.loads(done.stdout)]
