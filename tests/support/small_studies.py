"""Small studies that run in seconds, and runs of them in processes of their own."""

import os
import shutil
import subprocess
import sys
import time

import yaml

from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.places import ROOT

PROGRAMS = "tests.support.programs"
"""Module of the plugins that these studies name."""
MAIN = """\
import sys
from pathlib import Path
from skilljuror.pipeline.execution.run import run_study
if __name__ == "__main__":
    summary = run_study(Path(sys.argv[1]), Path(sys.argv[2]), jobs=2)
    print(summary.finished, summary.interrupted)
"""


def make_study(base, *, script="echo done > out.txt", trials=2, variants=None, **more):
    """A study of one task; `variants` maps conditions to variants (default: two bare arms)."""
    make_task(base / "tea")
    write_tree(base, {"brew/SKILL.md": SKILL, "main.py": MAIN})
    arms = variants or {"a": None, "b": None}
    study = {
        "name": "tea",
        "trials_per_cell": trials,
        "tasks": [{"path": "tea", "skills": "brew"}],
        "conditions": [{"name": name, "variant": variant} for name, variant in arms.items()],
        "agent": {"name": f"{PROGRAMS}:shell", "options": {"script": script}},
        "harness": {"options": {"isolation": "none"}, "timeout_sec": 20},
    } | more
    (base / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    return base / "study.yaml"


def edit_study(study, **more):
    """Change fields of a study file."""
    study.write_text(yaml.safe_dump(yaml.safe_load(study.read_text()) | more), encoding="utf-8")


def start(study, out, **more):
    """A run in a process of its own, as from a terminal."""
    return subprocess.Popen(
        [sys.executable, study.parent / "main.py", study, out],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip


def until(met, seconds=30.0):
    """Wait until something is met; AssertionError when it takes too long."""
    limit = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def run_example(base):
    """The folder of a study of one packaged task, run with the scripted agent: three trials."""
    study = {
        "name": "small",
        "trials_per_cell": 1,
        "tasks": [{"path": "tasks/alert-rules", "skills": "skills/log-triage"}],
        "conditions": [
            {"name": name, "variant": variant}
            for name, variant in (("no_skill", None), ("baseline", "baseline"), ("pd", "pd"))
        ],
        "agent": {"name": "scripted"},
    }
    shutil.copytree(ROOT / "examples", base / "examples")
    (base / "examples" / "small.yaml").write_text(yaml.safe_dump(study))
    command = [sys.executable, "-m", "skilljuror", "run", "examples/small.yaml", "--out", "small"]
    subprocess.run(command, cwd=base, check=True, capture_output=True)
    return base / "small"
