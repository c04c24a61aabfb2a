"""Programs of the tests that root runs as itself, and as an ordinary user."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.places import ROOT

WHO = ("root", "a normal user")
PATHS = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("-packages"))])
NORMAL = (
    "setpriv",
    "--reuid",
    "61100",
    "--regid",
    "61100",
    "--clear-groups",
    "/usr/bin/python3",
    "-B",
)


def told_by(name, who, seconds):
    """What a script of `tests/support` says on stdout, as JSON, run in a folder of its own by one of WHO;
    skips where this machine has no such user."""
    if who == "root" and os.geteuid():
        pytest.skip("root alone can try what root's trials do")
    python = (sys.executable,) if who == "root" else _ordinary()
    if python is None:
        pytest.skip("no Python of this machine has the libraries for a user who is not root")
    with tempfile.TemporaryDirectory() as folder:  # into pytest's own nobody else may go
        Path(folder).chmod(0o777)
        env = {**os.environ, "PYTHONPATH": PATHS, "HOME": "/", "TMPDIR": folder}
        done = subprocess.run(
            [*python, ROOT / "tests" / "support" / name, folder], env=env, cwd="/", text=True,
            capture_output=True, timeout=seconds, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def _ordinary():
    """A Python for a user who is not root; None where no other has the libraries at hand."""
    if os.geteuid():
        return (sys.executable,)
    ask = [*NORMAL, "-c", "import skilljuror.harness.sandbox as s; assert not s.bwrap_problem()"]
    env = {**os.environ, "PYTHONPATH": PATHS, "HOME": "/"}
    done = subprocess.run(ask, cwd="/", env=env, capture_output=True, check=False)
    return NORMAL if done.returncode == 0 else None
