"""The Docker engine below Harbor: whether it can take a study's trials, and what a killed one left."""

import json
import subprocess
from collections.abc import Collection
from ipaddress import ip_network
from typing import Any

from skilljuror.errors import HarnessError

_SECONDS = 60.0
"""Time limit of one call, seconds."""
_LEFT = {
    "ps": ("ps", "-aq"),
    "network": ("network", "ls", "-q"),
    "volume": ("volume", "ls", "-q"),
    "image": ("image", "ls", "-q"),
}
_REMOVE = {
    "ps": ("rm", "-fv"),
    "network": ("network", "rm"),
    "volume": ("volume", "rm", "-f"),
    "image": ("image", "rm", "-f"),
}
_POOLS: tuple[dict[str, Any], ...] = (
    *({"Base": f"172.{second}.0.0/16", "Size": 16} for second in range(17, 32)),
    {"Base": "192.168.0.0/16", "Size": 20},
)
"""Address pools of an engine that names none."""


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
    for name in trials:
        chosen = ("--filter", f"label=com.docker.compose.project={name}")
        for kind, words in _LEFT.items():
            if found := docker(*words, *chosen).split():
                docker(*_REMOVE[kind], *dict.fromkeys(found))
