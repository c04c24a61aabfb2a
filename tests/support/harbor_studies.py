"""Studies of the packaged tasks, run by the real Harbor."""

import shutil

import yaml

from tests.support.harbor_venv import HARBOR
from tests.support.places import ROOT

TASKS = ("redact-lines", "alert-rules", "latency-layout")
"""Packaged tasks of one Skill."""


def make_harbor_study(base, *, harness="harbor", options=None, agent="scripted", **more):
    """A study file of packaged tasks in two arms."""
    if not (base / "examples").exists():
        shutil.copytree(ROOT / "examples", base / "examples")
    given = {"program": str(HARBOR)} if harness == "harbor" else {}
    given |= options or {}
    study = {
        "name": "small",
        "trials_per_cell": 1,
        "tasks": [
            {"path": f"examples/tasks/{task}", "skills": "examples/skills/log-triage"}
            for task in TASKS
        ],
        "conditions": [{"name": "no_skill", "variant": None}, {"name": "pd", "variant": "pd"}],
        "agent": {"name": agent},
        "harness": {"name": harness, "options": given},
    } | more
    path = base / f"{harness}-{agent}.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    return path
