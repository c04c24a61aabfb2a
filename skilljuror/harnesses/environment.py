"""A task's environment/ folder as files of a sandbox: what a Dockerfile says without Docker.

Only WORKDIR and COPY lines count; everything else is reported as left out, for nothing is
built or installed here. environment/skills never gets in, whatever the Dockerfile says.
"""

import posixpath
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from skilljuror.errors import HarnessError
from skilljuror.harnesses.sandbox import RESERVED, host_path

WORKDIR = "/app"
NOT_COPIED = frozenset({"Dockerfile", "docker-compose.yaml", "docker-compose.yml", "skills"})
"""Entries of environment/ that are no files of the task."""
_SILENT = frozenset({"FROM", "WORKDIR", "COPY", "ADD", "CMD", "ENTRYPOINT", "LABEL", "MAINTAINER"})
"""Instructions that are followed, or that change nothing a trial could see."""


class DockerfileRecipe(Struct, frozen=True):
    """What a Dockerfile asks for, as far as it can be followed."""

    workdir: str = WORKDIR
    """Working directory."""
    copies: tuple[tuple[str, str], ...] = ()
    """(source inside environment/, absolute destination)."""
    left_out: tuple[str, ...] = ()
    """Lines that were not followed."""


def read_recipe(environment: Path) -> DockerfileRecipe:
    """The recipe of environment/; without a Dockerfile every file goes to /app."""
    dockerfile = environment / "Dockerfile"
    if not dockerfile.is_file():
        return DockerfileRecipe()
    workdir, copies, left_out = WORKDIR, [], []
    for line in _instructions(dockerfile.read_text(encoding="utf-8", errors="replace")):
        words = _words(line)
        verb = words[0].upper() if words else ""
        if verb == "WORKDIR" and len(words) == 2:
            workdir = posixpath.normpath(posixpath.join(workdir, words[1]))
        elif verb in {"COPY", "ADD"} and len(words) >= 3 and not words[1].startswith("--from"):
            copies += _copies(words[1:], workdir)
        elif verb and verb not in _SILENT:
            left_out.append(line)
    return DockerfileRecipe(workdir, tuple(copies), tuple(left_out))


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
    kept = [source.lstrip("/").removeprefix("./") or "." for source in sources]
    return [(source, absolute) for source in kept if source.split("/")[0] != "skills"]


def copy_environment(environment: Path, root: Path) -> DockerfileRecipe:
    """Copy the environment's files below `root`. Raises HarnessError for what cannot be placed."""
    recipe = read_recipe(environment)
    _refuse_reserved(recipe.workdir)
    host_path(root, recipe.workdir).mkdir(parents=True, exist_ok=True)
    for source, target in recipe.copies or ((".", recipe.workdir + "/"),):
        _refuse_reserved(target)
        for path in _matching(environment, source):
            _copy(environment, path, host_path(root, target), into=target.endswith("/"))
    return recipe


def _refuse_reserved(guest: str) -> None:
    for folder in RESERVED:
        if guest == folder or guest.startswith(f"{folder}/"):
            raise HarnessError(
                f"the task's Dockerfile writes to {guest!r}, which the local harness shows"
                " read-only from the host; copy to another folder or use a container harness"
            )


def _matching(environment: Path, source: str) -> list[Path]:
    globbed = any(sign in source for sign in "*?[")
    paths = sorted(environment.glob(source)) if globbed else [environment / source]
    paths = [path for path in paths if path.exists() and _is_below(path, environment)]
    if not paths:
        raise HarnessError(
            f"the task's Dockerfile copies {source!r}, which is not in {str(environment)!r};"
            " add the file or correct the line"
        )
    return paths


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _copy(environment: Path, path: Path, target: Path, into: bool) -> None:
    if path.is_dir():
        shutil.copytree(
            path, target, symlinks=True, dirs_exist_ok=True, ignore=_ignoring(environment)
        )
        return
    target = target / path.name if into or target.is_dir() else target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)


def _ignoring(environment: Path) -> Callable[[str, list[str]], set[str]]:
    def ignored(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(folder) == environment and name in NOT_COPIED}

    return ignored
