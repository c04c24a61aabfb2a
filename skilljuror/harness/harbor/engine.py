"""The Docker engine below Harbor: whether it can take a study's trials, and what a killed one left."""

import json
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from skilljuror.base.errors import HarnessError
from skilljuror.harness.base import Requirement, free_disk
from skilljuror.harness.environment import read_allowance

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(?P<base>\S+)(?:\s+AS\s+(?P<stage>\S+))?", re.I | re.M)
_SECONDS = 60.0
"""Time limit of one call, seconds."""
_REGISTRY_SECONDS = 10.0
"""Time limit of asking a registry for an image, seconds."""
_PROJECT = "com.docker.compose.project"
"""Label of all that compose makes: Harbor's name of a trial, and a suffix such as __env."""
_KINDS = {
    "container": (("ls", "-aq"), ("rm", "-fv")),
    "network": (("ls", "-q"), ("rm",)),
    "volume": (("ls", "-q"), ("rm", "-f")),
    "image": (("ls", "-q"), ("rm", "-f")),
}
"""Kind -> how its things are listed, and how removed."""
_POOLS: tuple[dict[str, Any], ...] = (
    *({"Base": f"172.{second}.0.0/16", "Size": 16} for second in range(17, 32)),
    {"Base": "192.168.0.0/16", "Size": 20},
)
"""Address pools of an engine that names none."""


def docker(*words: str, seconds: float = _SECONDS) -> str:
    """Return what `docker` prints. Raises HarnessError."""
    try:
        done = subprocess.run(
            ["docker", *words], capture_output=True, text=True, timeout=seconds, check=True
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
            f"harness 'harbor': `docker {words[0]}` gave no answer in {seconds:g} s; restart Docker"
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


def engine_requirements(tasks: Sequence[Path], cpus: int | None) -> Iterator[Requirement]:
    """Check the engine, its disk, the CPUs of every task (all have `cpus`, if given) and its base
    image."""
    try:
        info = require_engine()
    except HarnessError as error:
        yield Requirement("docker", False, error.message)
        return
    yield Requirement("docker", True, f"version {info['ServerVersion']}")
    root = Path(info["DockerRootDir"])
    if root.exists():  # an engine elsewhere has its own disk
        yield free_disk(root)
    yield _cpus(tasks, cpus, int(info["NCPU"]))
    bases = sorted({base for task in tasks for base in _bases(task / "environment" / "Dockerfile")})
    missing = [
        base for base in bases if not (_answers("image", base) or _answers("manifest", base))
    ]
    found = f"{len(bases) - len(missing)} of {len(bases)} base images are here or in their registry"
    detail = f"{found}; not found: {', '.join(missing)}" if missing else found
    yield Requirement("images", not missing, detail)


def _cpus(tasks: Sequence[Path], given: int | None, there: int) -> Requirement:
    """Docker starts no container with more CPUs than it has."""
    wanted = {task.name: given or read_allowance(task).cpus or 0 for task in tasks}
    above = sorted(name for name, cpus in wanted.items() if cpus > there)
    detail = f"{there} CPUs"
    if above:
        detail += (
            f"; {len(above)} of {len(tasks)} tasks ask for more, and Docker will not start them:"
            f" {', '.join(above[:3])}{', …' if above[3:] else ''}; leave them out, or set"
            " harness.options.environment_config.override_cpus"
        )
    return Requirement("cpus", not above, detail)


def _bases(dockerfile: Path) -> Iterator[str]:
    """Base images of a Dockerfile, without its own stages."""
    text = dockerfile.read_text(encoding="utf-8", errors="replace") if dockerfile.is_file() else ""
    stages = {"scratch"}
    for found in _FROM.finditer(text):
        if found["base"] not in stages and "$" not in found["base"]:
            yield found["base"]
        stages.add(found["stage"] or "")


def _answers(kind: str, image: str) -> bool:
    try:
        return bool(docker(kind, "inspect", image, seconds=_REGISTRY_SECONDS))
    except HarnessError:
        return False


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
    for kind, (listed, removed) in _KINDS.items():
        found = docker(kind, *listed, "--filter", f"label={_PROJECT}").split()
        if left := [one for one in dict.fromkeys(found) if _trial_of(kind, one) in trials]:
            docker(kind, *removed, *left)


def _trial_of(kind: str, name: str) -> str | None:
    """Harbor's name of the trial that something belongs to; None if it is gone by now."""
    try:
        (told,) = json.loads(docker(kind, "inspect", name))
    except HarnessError:  # a thing of another program, which removed it
        return None
    labels = told.get("Labels") or told["Config"]["Labels"]
    return "__".join(labels[_PROJECT].split("__")[:2])
