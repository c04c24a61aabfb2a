"""Find the `harbor` program and check that it is usable."""

import os
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from skilljuror.base.errors import HarnessError
from skilljuror.base.study import SKILL_ROOTS

INSTALL = "uv tool install 'harbor>=0.24,<0.26' (Python 3.12 or newer)"
_ASK = "from importlib.metadata import version; print(version('harbor'))"
_SECONDS = 60.0
"""Time limit of asking its Python for its version, seconds."""


class HarborProgram(Struct, frozen=True):
    """A usable Harbor."""

    python: Path
    """The Python that runs it."""
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
    python = _python(path)
    version = _version(path, python)
    if _minor(version) not in SKILL_ROOTS:
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} is Harbor {version}, and this skilljuror supports"
            f" {' and '.join(SKILL_ROOTS)}; install it: {INSTALL}"
        )
    return HarborProgram(python, version)


def _python(path: Path) -> Path:
    """Return the Python beside it, else that of its first line."""
    beside = path.resolve().with_name("python")
    if os.access(beside, os.X_OK):
        return beside
    first = path.read_bytes()[:500].partition(b"\n")[0].decode(errors="replace")
    named = first.removeprefix("#!").strip()
    if "python" not in Path(named).name or not os.access(named, os.X_OK):
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} has no Python beside it or in its first line;"
            f" install it: {INSTALL}"
        )
    return Path(named)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _version(path: Path, python: Path) -> str:
    try:
        said = subprocess.run(
            [str(python), "-I", "-c", _ASK],
            capture_output=True, text=True, timeout=_SECONDS, check=True, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise HarnessError(
            f"harness 'harbor': {str(path)!r} does not print its version: {error}; install it: {INSTALL}"
        ) from error
    return (said.stdout.split() or ["unknown"])[-1]
