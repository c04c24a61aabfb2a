"""Study files with their tasks and sources, and runs of them."""

import os
import shutil
import subprocess
import sys
import time

import yaml

from skilljuror.study.plan import freeze, load_study
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.places import ROOT

PROGRAMS = "tests.support.programs"
"""Module of the plugins that these studies name."""
PACKAGED = ("redact-lines", "alert-rules", "latency-layout")
"""Packaged tasks of one Skill."""
MAIN = """\
import sys
from pathlib import Path
from skilljuror.study.run import run_study
if __name__ == "__main__":
    summary = run_study(Path(sys.argv[1]), Path(sys.argv[2]), jobs=2)
    print(summary.finished, summary.interrupted)
"""
KETTLE = """\
name: tea
seed: 3
trials_per_cell: 2
tasks:
  - path: kettle
    skills: brew
    attributes: {domain: garden}
conditions:
  - name: no_skill
  - name: baseline
    variant: baseline
contrast: {treatment: baseline, control: no_skill}
"""
"""A study file as a person writes it, of the task `kettle`."""


def make_study(
    base,
    *,
    text=None,
    task="tea",
    packaged=(),
    variants=None,
    trials=2,
    script="echo done > out.txt",
    file="study.yaml",
    **more,
):
    """The path of a study file in `base`, with all that it names.

    task: folder of the one task that is made, with the source `brew`; packaged: names of packaged
    tasks of one Skill instead. variants: condition -> variant (default: two bare arms). script: what
    the agent does. more: further fields of the file, or others than these. text: the whole file.
    """
    if packaged:
        shutil.copytree(ROOT / "examples", base / "examples", dirs_exist_ok=True)
        rows = [
            {"path": f"examples/tasks/{name}", "skills": "examples/skills/log-triage"}
            for name in packaged
        ]
    else:
        make_task(base / task)
        write_tree(base, {"brew/SKILL.md": SKILL, "main.py": MAIN})
        rows = [{"path": task, "skills": "brew"}]
    arms = variants or {"a": None, "b": None}
    study = {
        "name": "tea",
        "trials_per_cell": trials,
        "tasks": rows,
        "conditions": [{"name": name, "variant": variant} for name, variant in arms.items()],
        "agent": {"name": f"{PROGRAMS}:shell", "options": {"script": script}},
        "harness": {"options": {"isolation": "none"}, "timeout_sec": 20},
        "accept_skills": ["debug", "skill-maker", "tide-table"],  # of golden logs that agents copy
    } | more
    (base / file).write_text(text or yaml.safe_dump(study), encoding="utf-8")
    return base / file


def edit_study(study, **more):
    """Change fields of a study file."""
    study.write_text(yaml.safe_dump(yaml.safe_load(study.read_text()) | more), encoding="utf-8")


def edit(base, before, after):
    """Change a text of the study file in a folder."""
    text = (base / "study.yaml").read_text(encoding="utf-8")
    assert before in text
    (base / "study.yaml").write_text(text.replace(before, after), encoding="utf-8")


def plan_of(base):
    """The frozen plan of the study in a folder."""
    return freeze(load_study(base / "study.yaml"), base)


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
    arms = {"no_skill": None, "baseline": "baseline", "pd": "pd"}
    scripted = {"agent": {"name": "scripted"}, "harness": {"name": "local"}}
    make_study(base, packaged=PACKAGED[1:2], variants=arms, trials=1, **scripted)
    command = [sys.executable, "-m", "skilljuror", "run", "study.yaml", "--out", "small"]
    subprocess.run(command, cwd=base, check=True, capture_output=True)
    return base / "small"
