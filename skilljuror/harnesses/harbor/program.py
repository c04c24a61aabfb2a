"""Find the `harbor` program and check that it is usable."""

import os
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from skilljuror.errors import HarnessError
from skilljuror.models.harbor import SKILL_ROOTS

INSTALL = "uv tool install 'harbor>=0.24,<0.26' (Python 3.12 or newer)"
_ASK = "from importlib.metadata import version; print(version('harbor'))"
_SECONDS = 60.0
"""Time limit of `harbor --version`, seconds; its start is slow."""


class HarborProgram(Struct, frozen=True):
    """A usable Harbor."""

    path: Path
    """Its path."""
    version: str
    """Its version."""

    @property
    def skills_root(self) -> str:
        """Folder where it mounts a trial's Skills."""
        return SKILL_ROOTS[_minor(self.version)]


def find_harbor(option: str | None) -> HarborProgram:
    """Return the program named by the study, else the one on PATH. Raises HarnessError."""
    found = shutil.which(option or "harbor")
    if found is None:
        where = f"at {option!r}" if option else "on PATH"
        raise HarnessError(
            f"harness 'harbor': no program `harbor` {where}; install it: {INSTALL},"
            " or set harness.options.program"
        )
    path = Path(found).absolute()
    version = _version(path)
    if _minor(version) not in SKILL_ROOTS:
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} is Harbor {version}, and this skilljuror supports"
            f" {' and '.join(SKILL_ROOTS)}; install it: {INSTALL}"
        )
    return HarborProgram(path, version)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _version(path: Path) -> str:
    """Ask the Python next to it, which is much faster than the program."""
    python = path.resolve().with_name("python")
    asking = os.access(python, os.X_OK)
    ask = [str(python), "-I", "-c", _ASK] if asking else [str(path), "--version"]
    try:
        said = subprocess.run(
            ask, capture_output=True, text=True, timeout=_SECONDS, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} does not print its version: {error}; install it: {INSTALL}"
        ) from error
    return (said.stdout.split() or ["unknown"])[-1]
