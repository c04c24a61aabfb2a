"""Copy a task's environment/ folder into a sandbox by its Dockerfile, without Docker.

Only WORKDIR, COPY and ADD are supported; a task with other lines is refused, because nothing is built or
installed here. environment/skills is never copied.
"""

import posixpath
import re
import shlex
import shutil
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import HarnessError
from skilljuror.harness.inside_harbor.skilljuror_bwrap import own_file, own_folder
from skilljuror.harness.limits import MEGABYTE, Limits
from skilljuror.harness.sandbox import RESERVED, host_path

WORKDIR = "/app"
BAKED_SKILLS = "skills"
"""Entry of environment/ with the task's own Skill."""
NOT_COPIED = frozenset({"Dockerfile", "docker-compose.yaml", "docker-compose.yml", BAKED_SKILLS})
"""Entries of environment/ that are not task files."""
_SILENT = frozenset({
    "FROM", "WORKDIR", "COPY", "ADD", "CMD", "ENTRYPOINT", "LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL",
    "HEALTHCHECK",
})  # fmt: skip
"""Instructions that are supported or have no effect on a trial."""


class DockerfileRecipe(Struct, frozen=True):
    """The supported part of a Dockerfile."""

    workdir: str = WORKDIR
    """Working directory."""
    copies: tuple[tuple[str, str], ...] = ()
    """(source inside environment/, absolute destination)."""
    left_out: tuple[str, ...] = ()
    """Ignored lines."""
    added: frozenset[tuple[str, str]] = frozenset()
    """Those of `copies` that unpack an archive."""


class Allowance(Struct, frozen=True):
    """[environment] of a task's task.toml."""

    limits: Limits
    """At least the default limits; a task may raise memory and storage."""
    network: str | None
    """Network setting; None if missing."""
    cpus: int | None = None
    """CPUs that a container of the task gets; None if it does not say."""


def read_allowance(task_dir: Path) -> Allowance:
    """Read the allowance of a task."""
    table = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8")).get("environment")
    table = table if isinstance(table, dict) else {}
    default = Limits()
    limits = Limits(
        memory=max(default.memory, _megabytes(table, "memory") * MEGABYTE),
        storage=max(default.storage, _megabytes(table, "storage") * MEGABYTE),
    )
    network = table.get("network_mode", table.get("allow_internet"))
    words = {True: "allowed", False: "refused", None: None}
    cpus = table.get("cpus")
    return Allowance(
        limits, words.get(network, str(network)), cpus if isinstance(cpus, int) else None
    )


def _megabytes(table: dict[str, Any], name: str) -> int:
    """Parse `memory_mb = 4096`, or Harbor's older `memory = "4G"`; 0 otherwise."""
    size = table.get(f"{name}_mb")
    if isinstance(size, int):
        return size
    written = re.fullmatch(r"(\d+)\s*([GM])i?B?", str(table.get(name, "")))
    return int(written[1]) * (1_000 if written[2] == "G" else 1) if written else 0


def read_recipe(environment: Path) -> DockerfileRecipe:
    """Read the recipe of environment/; without a Dockerfile every file is copied to /app."""
    dockerfile = environment / "Dockerfile"
    if not dockerfile.is_file():
        return DockerfileRecipe()
    workdir, copies, left_out, added = WORKDIR, [], [], set[tuple[str, str]]()
    for line in _instructions(dockerfile.read_text(encoding="utf-8", errors="replace")):
        words = _words(line)
        verb = words[0].upper() if words else ""
        if verb == "WORKDIR" and len(words) == 2:
            workdir = posixpath.normpath(posixpath.join(workdir, words[1]))
        elif verb in {"COPY", "ADD"} and len(words) >= 3 and not words[1].startswith("--from"):
            found = _copies(words[1:], workdir)
            copies += found
            added |= {*found} if verb == "ADD" else set()
        elif verb and verb not in _SILENT:
            left_out.append(line)
    return DockerfileRecipe(workdir, tuple(copies), tuple(left_out), frozenset(added))


def _instructions(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _copies(words: list[str], workdir: str) -> list[tuple[str, str]]:
    paths = [word for word in words if not word.startswith("--")]
    *sources, target = paths
    slash = "/" if target.endswith(("/", ".")) or len(sources) > 1 else ""
    absolute = posixpath.normpath(posixpath.join(workdir, target)) + slash
    kept = [posixpath.normpath(source.lstrip("/")) for source in sources]
    return [(source, absolute) for source in kept if source.split("/")[0] != BAKED_SKILLS]


def copy_environment(environment: Path, root: Path) -> DockerfileRecipe:
    """Copy the environment's files below `root`. Raises HarnessError for an invalid COPY."""
    recipe = read_recipe(environment)
    _refuse_reserved(recipe.workdir)
    own_folder(root, recipe.workdir)
    for source, target in recipe.copies or ((".", recipe.workdir + "/"),):
        _refuse_reserved(target)
        for path in _matching(environment, source):
            if (source, target) in recipe.added and path.is_file() and tarfile.is_tarfile(path):
                _unpack(path, root, target)
            else:
                _copy(environment, path, root, target)
    return recipe


def _refuse_reserved(guest: str) -> None:
    for folder in RESERVED:
        if guest == folder or guest.startswith(f"{folder}/"):
            raise HarnessError(
                f"the task's Dockerfile writes to {guest!r}, which is read-only in the local harness;"
                " copy to another folder, or use a container harness"
            )


def _matching(environment: Path, source: str) -> list[Path]:
    globbed = any(sign in source for sign in "*?[")
    paths = sorted(environment.glob(source)) if globbed else [environment / source]
    paths = [path for path in paths if path.exists() and _is_below(path, environment)]
    if not paths:
        raise HarnessError(
            f"the task's Dockerfile copies {source!r}, which is not in {str(environment)!r};"
            " add the file or fix the line"
        )
    return [path for path in paths if not _is_below(path, environment / BAKED_SKILLS)]


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _unpack(archive: Path, root: Path, guest: str) -> None:
    """Unpack an archive as ADD does. Raises HarnessError for a damaged one, and for a link out of it."""
    own_folder(root, guest.rstrip("/"))
    try:
        with tarfile.open(archive) as opened:
            opened.extractall(host_path(root, guest.rstrip("/")), filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise HarnessError(
            f"{str(archive)!r} cannot be unpacked: {error}; repair the task's environment"
        ) from error


def _copy(environment: Path, path: Path, root: Path, guest: str) -> None:
    if path.is_dir():
        _copy_folder(environment, path, root, guest.rstrip("/"))
        return
    into = guest.endswith("/") or host_path(root, guest).is_dir()
    shutil.copy(path, own_file(root, f"{guest.rstrip('/')}/{path.name}" if into else guest))


def _copy_folder(environment: Path, folder: Path, root: Path, guest: str) -> None:
    """Copy a folder's content; links stay links, and files replace existing links."""
    own_folder(root, guest)
    whole = folder.resolve() == environment.resolve()
    for path in folder.iterdir():
        place = f"{guest}/{path.name}"
        if whole and path.name in NOT_COPIED:
            continue
        if path.is_symlink() or not path.is_dir():
            shutil.copy2(path, own_file(root, place), follow_symlinks=False)
        else:
            _copy_folder(environment, path, root, place)
            shutil.copystat(path, host_path(root, place))
