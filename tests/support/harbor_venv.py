"""The real Harbor, in an environment of its own beside the project's: `make harbor` makes it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror.harness.sandbox import bwrap_problem
from tests.support.places import ROOT

FOLDER = ROOT / ".venv-harbor"
HARBOR = FOLDER / "bin" / "harbor"
PYTHON = FOLDER / "bin" / "python"
OPTIONS = {
    "program": str(HARBOR), "environment": "tests.support.process_environment:ProcessEnvironment",
}  # fmt: skip
"""Options of the harness by which trials need no engine."""
WANTED = "harbor>=0.24,<0.26"
NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 12))"

needs_harbor = pytest.mark.skipif(
    not HARBOR.exists() or bwrap_problem() is not None,
    reason="the real Harbor is not installed (make harbor), or bubblewrap does not work here",
)


def candidates():
    """Interpreters that may be new enough, by uv, by pyenv, and on PATH."""
    if uv := find_uv():
        ask = [uv, "python", "find", "--no-python-downloads", ">=3.12"]
        yield subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/3.1[2-9]*/bin/python"), reverse=True))
    yield from filter(None, (shutil.which(f"python3.{minor}") for minor in range(12, 20)))


def find_uv():
    """The program uv, on PATH or beside this Python."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def works(python):
    """Whether an interpreter runs and is new enough."""
    try:
        return (
            subprocess.run([python, "-c", NEW_ENOUGH], capture_output=True, check=False).returncode
            == 0
        )
    except OSError:
        return False


def make():
    """Make the environment; a line why not, where it cannot be had."""
    python = next((one for one in candidates() if one and works(one)), None)
    if python is None:
        return "no Python 3.12 or newer was found by uv, by pyenv, or on PATH"
    uv = find_uv()
    shutil.rmtree(FOLDER, ignore_errors=True)
    environment = [uv, "venv", "-q", "--python", python] if uv else [python, "-m", "venv"]
    install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(PYTHON)]
    install = install if uv else [str(PYTHON), "-m", "pip", "install", "-q"]
    for command in ([*environment, str(FOLDER)], [*install, WANTED]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(FOLDER, ignore_errors=True)
            return f"{command[0]} failed: {(done.stderr.strip().splitlines() or [''])[-1]}"
    # Harbor's Python finds the environment of `OPTIONS` here, and no other program does.
    packages = next((FOLDER / "lib").glob("python3*/site-packages"))
    (packages / "tests_of_skilljuror.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    problem = make()
    sys.stdout.write(
        f"note: Harbor was not installed, its tests will skip: {problem}\n"
        if problem
        else f"{HARBOR}\n"
    )
