"""Run a packaged task in a plain temporary folder, with real processes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.places import EXAMPLES, ROOT

TASKS = sorted(path.parent for path in EXAMPLES.glob("tasks/*/task.toml"))
SETS = sorted(path for path in EXAMPLES.glob("skills/*") if path.is_dir())
AGENT = ROOT / "skilljuror" / "harness" / "scripted.py"


class Trial:
    """One sandbox folder: app, logs, tests, home."""

    def __init__(self, folder: Path, task: Path, skills: Path | None = None) -> None:
        self.folder, self.task = folder, task
        skip = shutil.ignore_patterns("Dockerfile", "skills")
        shutil.copytree(task / "environment", folder / "app", ignore=skip)
        for name in ("logs/agent", "home", "tests"):
            (folder / name).mkdir(parents=True)
        self.skills = folder / "home" / "skills"
        if skills:
            shutil.copytree(skills, self.skills)

    @property
    def env(self) -> dict[str, str]:
        """Where things are, as a harness tells it."""
        return {
            "PATH": f"{Path(sys.base_prefix, 'bin')}{os.pathsep}{os.environ['PATH']}",
            "APP_DIR": str(self.folder / "app"),
            "LOGS_DIR": str(self.folder / "logs"),
            "TESTS_DIR": str(self.folder / "tests"),
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
        }

    def run(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        """A program in the app folder."""
        return subprocess.run(
            argv, env=self.env, cwd=self.folder / "app", text=True, capture_output=True, check=False
        )

    def agent(self, seed: int) -> list[dict[str, Any]]:
        """Run the scripted agent; its steps."""
        logs = self.folder / "logs" / "agent"
        options = {
            "instruction": self.task / "instruction.md",
            "logs": logs,
            "skills": self.skills,
            "seed": seed,
        }
        argv = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        done = self.run("python3", str(AGENT), *argv)
        assert done.returncode == 0, done.stderr
        document = json.loads((logs / "trajectory.json").read_text(encoding="utf-8"))
        steps: list[dict[str, Any]] = document["steps"]
        return steps

    def reward(self) -> float:
        """What the verifier says."""
        shutil.copytree(self.task / "tests", self.folder / "tests", dirs_exist_ok=True)
        done = self.run("sh", str(self.folder / "tests" / "test.sh"))
        assert done.returncode == 0, done.stderr
        answer = self.folder / "logs" / "verifier" / "reward.json"
        return float(json.loads(answer.read_text(encoding="utf-8"))["reward"])
