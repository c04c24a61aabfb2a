"""The built wheel works outside the checkout, its packaged data included."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT


def run(*words, cwd):
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_wheel_runs_the_demo_in_an_empty_environment(tmp_path):
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", tmp_path, cwd=ROOT)
    wheel = next(tmp_path.glob("*.whl"))
    run(sys.executable, "-m", "venv", "fresh", cwd=tmp_path)
    python = tmp_path / "fresh" / "bin" / "python"
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    run(*install, "-c", ROOT / "requirements.txt", wheel, cwd=tmp_path)
    command = tmp_path / "fresh" / "bin" / "skilljuror"
    summary = json.loads(run(command, "demo", "--out", "study", "--json", cwd=tmp_path))
    assert summary["trials"] > 0
    assert Path(tmp_path, summary["report"]).is_file()
    assert Path(summary["real_study"]).is_file()
    where = run(python, "-c", "import skilljuror; print(skilljuror.__file__)", cwd=tmp_path)
    assert str(ROOT) not in where
