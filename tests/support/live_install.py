"""Install the agents of the live tests: `python -m tests.support.live_install pinned`, or `newest`.

The pinned versions must be there. Of the newest, a line says which is there, and which is not and why.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from skilljuror.harness.agents import TRIED
from tests.support.harbor_venv import find_uv
from tests.support.live_agents import AGENTS, NEWEST, PINNED, LiveAgent, installed_version
from tests.support.places import ROOT

SECONDS = 300
"""Time limit of one command."""
NPM = ("--no-fund", "--no-audit", "--loglevel", "error")


def run(command: Sequence[str], given: str | None = None) -> str:
    """The output of a command. Raises SubprocessError."""
    done = subprocess.run(
        command, input=given, check=True, capture_output=True, text=True, timeout=SECONDS
    )
    return done.stdout


def of_npm(agent: LiveAgent) -> bool:
    return agent.program.startswith("node_modules")


def install(agents: Sequence[LiveAgent], versions: dict[str, str], folder: Path) -> None:
    """Install agents at these versions. Raises SubprocessError."""
    folder.mkdir(exist_ok=True)
    packages = [f"{one.package}@{versions[one.name]}" for one in agents if of_npm(one)]
    if packages:
        run(["npm", "install", "--prefix", str(folder), *NPM, *packages])
    for one in agents:
        if not of_npm(one):
            python = folder / "venv" / "bin" / "python"
            if not python.exists():
                run([sys.executable, "-m", "venv", str(folder / "venv")])
            wanted = f"{one.package}=={versions[one.name]}"
            run([_uv(), "pip", "install", "-q", "--python", str(python), wanted, "mcp"])


def newest(agent: LiveAgent) -> tuple[str, str]:
    """(the newest version, the node that it asks for or ""). Raises SubprocessError."""
    if of_npm(agent):
        said = json.loads(run(["npm", "view", agent.package, "version", "engines", "--json"]))
        return str(said["version"]), said.get("engines", {}).get("node", "")
    ask = [_uv(), "pip", "compile", "-q", "--no-deps", "--no-header", "--no-annotate", "-"]
    return run(ask, agent.package).strip().rpartition("==")[2], ""


def _uv() -> str:
    return find_uv() or "uv"


def add_newest(agent: LiveAgent, folder: Path) -> str:
    """Install the newest version, unless it is the pinned one; say in a line what came of it."""
    try:
        version, node = newest(agent)
        if version == TRIED[agent.name][0]:
            return f"{version}, which is the pinned version"
        if installed_version(agent.package, folder) != version:
            install([agent], {agent.name: version}, folder)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        return f"not installed: {said[-1] if said else error}"
    here = run(["node", "--version"]).strip() if node else ""
    lacks = major(node) > major(here)
    return f"{version}, though it declares node {node} and here is {here}" if lacks else version


def major(version: str) -> int:
    """The first number of a version; 0 for none."""
    return int((re.findall(r"\d+", version) or [0])[0])


def main(which: str) -> None:
    if which == "pinned":
        install(AGENTS, {name: versions[0] for name, versions in TRIED.items()}, ROOT / PINNED)
        return
    for agent in AGENTS:
        sys.stdout.write(f"newest {agent.name}: {add_newest(agent, ROOT / NEWEST)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
