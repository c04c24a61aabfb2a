"""The built wheel works outside the checkout, its packaged data included."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.demo_report import differing
from tests.support.places import ROOT


def run(*words, cwd):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=env, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def megabytes(folder):
    files = (path.lstat() for path in folder.rglob("*") if not path.is_dir())
    return sum(file.st_blocks * 512 for file in files) >> 20


CORE_MEGABYTES = 250
"""What an environment with the core alone may take, pip included."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_builds_queries_and_runs_the_demo_alone_and_draws_with_its_extra(tmp_path):
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", tmp_path, cwd=ROOT)
    wheel = next(tmp_path.glob("*.whl"))
    run(sys.executable, "-m", "venv", "fresh", cwd=tmp_path)
    python = tmp_path / "fresh" / "bin" / "python"
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    run(*install, "-c", ROOT / "requirements.txt", wheel, cwd=tmp_path)
    assert megabytes(tmp_path / "fresh" / "lib") <= CORE_MEGABYTES
    command = tmp_path / "fresh" / "bin" / "skilljuror"
    run(
        command, "build", ROOT / "examples" / "skills" / "log-triage", "--out", "made", cwd=tmp_path
    )
    run(command, "ingest", ROOT / "trajectories" / "codex-rollout", "--study", "logs", cwd=tmp_path)
    run(command, "query", "logs", "trajectories", "--out", "rows.parquet", cwd=tmp_path)
    read = "import skilljuror; print(len(skilljuror.open_study('logs').rows('trajectories')))"
    assert int(run(python, "-c", read, cwd=tmp_path)) > 0

    summary = json.loads(run(command, "demo", "--out", "study", "--json", cwd=tmp_path))
    assert [note for note in summary["notes"] if "skilljuror[report]" in note]
    assert summary["trials"] > 0
    assert Path(tmp_path, summary["report"]).is_file()
    assert not (tmp_path / "study" / "report" / "figures").exists()
    assert Path(summary["real_study"]).is_file()
    run(*install, "-c", ROOT / "requirements.txt", f"{wheel}[report]", cwd=tmp_path)
    run(command, "report", "study", "--out", "fresh-report", "--no-quotes", cwd=tmp_path)
    assert differing(tmp_path / "fresh-report") == [], "reports/demo is stale: make reports"
    where = run(python, "-c", "import skilljuror; print(skilljuror.__file__)", cwd=tmp_path)
    assert str(ROOT) not in where
