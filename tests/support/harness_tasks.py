"""Small tasks, agents and jobs for the tests of running."""

import sys
from pathlib import Path

import pytest

from skilljuror.base.files import digest_tree
from skilljuror.base.study import AgentProgram, Condition, HarnessChoice, StudyConfig, TaskEntry
from skilljuror.harness.base import TrialJob
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.study.plan import freeze

VERDICT = 'if [ "$(cat "$APP_DIR/out.txt")" = done ]; then r=1; else r=0; fi\n'
REWARD = VERDICT + 'echo $r > "$LOGS_DIR/verifier/reward.txt"\n'
SKILL = "---\nname: brew\ndescription: How to brew tea.\n---\n# Brew\n\nSteep for 4 minutes.\n"

needs_bwrap = pytest.mark.skipif(
    bwrap_problem() is not None, reason=f"bubblewrap does not work here: {bwrap_problem()}"
)
ISOLATIONS = [pytest.param("bwrap", marks=needs_bwrap), "none"]


def write_tree(folder, files):
    """Write name -> text below `folder`; a name that ends in .sh is executable."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)
    return folder


def make_task(folder, *, test=REWARD, **more):
    """A task folder in Harbor format; `more` maps paths (with __ for /) to text."""
    files = {
        "task.toml": '[metadata]\ndomain = "kitchen"\ndifficulty = 2\n',
        "instruction.md": "Write done to out.txt.\n",
        "environment/input.txt": "tea\n",
        "tests/test.sh": "#!/bin/bash\n" + test,
        **{name.replace("__", "/"): text for name, text in more.items()},
    }
    return write_tree(folder, files)


def shell_agent(script, *, files=()):
    """An agent that is one bash script; $1.. are instruction, logs, skills, seed, agent folder."""
    places = ("{instruction}", "{logs}", "{skills}", "{seed}", "{agent_dir}")
    argv = ("bash", "-c", script, "agent", *places)
    return AgentProgram("shell", "1", tuple(files), argv, scripted=True, usage_reason="no_model")


def make_job(
    task, script="", *, variant=None, timeout=20.0, verifier_timeout=20.0, agent=None, keep=None
):
    """The first trial of a one-task study."""
    choice = HarnessChoice(timeout_sec=timeout, verifier_timeout_sec=verifier_timeout)
    arm = Condition(name="arm", variant="given" if variant else None)
    entry = TaskEntry(path=task.name, skills=str(variant) if variant else None)
    config = StudyConfig(name="s", tasks=(entry,), conditions=(arm,), harness=choice)
    plan = freeze(config, task.parent)
    return TrialJob(
        trial=plan.trials[0],
        task=plan.tasks[0],
        task_dir=task,
        variant=arm.variant,
        variant_dir=variant,
        agent=agent or shell_agent(script),
        choice=choice,
        config_digest=plan.config_digest,
        variant_digest=digest_tree(variant) if variant else None,
        keep=keep,
    )


def make_variant(folder):
    """A variant's folder: one skill with a reference."""
    return write_tree(folder, {"brew/SKILL.md": SKILL, "brew/references/time.md": "4 minutes\n"})


def alive(mark: str) -> list[int]:
    """Processes of this machine whose command line holds `mark`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line:
                found.append(int(entry.name))
    return found


PYTHON = sys.executable
