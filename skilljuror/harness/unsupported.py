"""What a task needs that a sandbox of this machine cannot give: a built image, a network for its verifier."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from skilljuror.harness.base import Requirement
from skilljuror.harness.environment import read_recipe

UNSUPPORTED = ("refuse", "ignore")
"""Choices of a study for such tasks."""
COMPOSE = ("docker-compose.yaml", "docker-compose.yml")
_FETCHES = re.compile(
    r"\b(?:apt|apt-get|apk|dnf|yum)\s[^#\n]*\b(?:install|update|add)\b"
    r"|\b(?:pip3?|npm|conda|gem|cargo)\s+(?:install|ci)\b|\buvx\b|\buv\s+(?:pip\s+install|sync|tool|run)\b"
    r"|\b(?:curl|wget)\b[^#\n]*https?://(?!localhost|127\.|0\.0\.0\.0)"
)
"""Commands that need a package registry or the web."""
_SHOWN = 5
"""Tasks that a message names."""


def unsupported(task_dir: Path, *, offline: bool = True) -> list[str]:
    """Return lines of a task that no sandbox follows, and those of its verifier that need the network if
    it is `offline`."""
    environment = task_dir / "environment"
    lines = sorted(
        read_recipe(environment).left_out, key=lambda line: not line.upper().startswith("RUN")
    )
    found = [f"environment/Dockerfile: {line}" for line in lines]
    found += [f"environment/{name}" for name in COMPOSE if (environment / name).exists()]
    return found + list(_fetches(task_dir / "tests" / "test.sh") if offline else ())


def _fetches(script: Path) -> Iterator[str]:
    if not script.is_file():  # the task has no verifier
        return
    for line in script.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.lstrip().startswith("#") and _FETCHES.search(line):
            yield f"tests/test.sh, without a network: {line.strip()}"


def tasks_requirement(tasks: Sequence[Path], *, ignore: bool, offline: bool = True) -> Requirement:
    """Whether a sandbox that builds no image can run all tasks, or may `ignore` what it does not follow."""
    found = {path.name: lines for path in tasks if (lines := unsupported(path, offline=offline))}
    if not found:
        return Requirement("tasks", True, "none needs an image")
    shown = [
        f"{name} ({lines[0]}{f', and {len(lines) - 1} more' * (len(lines) > 1)})"
        for name, lines in list(found.items())[:_SHOWN]
    ]
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    told = f"{len(found)} of {len(tasks)} tasks need more than a sandbox: {'; '.join(shown)}{more}"
    if ignore:
        return Requirement("tasks", True, f"ignored, as the study says: {told}")
    fix = (
        ". Use harness harbor with environment docker, or exclude them; if this machine has what they"
        " install, set harness.options.unsupported: ignore"
    )
    return Requirement("tasks", False, told + fix)
