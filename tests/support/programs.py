"""Plugins of another package, named in study files as module:attribute, and work for worker processes."""

import os
import time
from pathlib import Path
from typing import ClassVar

from skilljuror.errors import HarnessError
from skilljuror.gates.findings import gate_result
from skilljuror.harnesses.local import LocalHarness
from skilljuror.models.gate import Finding
from skilljuror.transforms.layouts.origin import Origin
from tests.support.harness_tasks import shell_agent


def shell(options, model):
    """The agent whose script is an option."""
    return shell_agent(str(options["script"]))


class Faulty:
    """The local harness, except that the trials of one condition end as an option says."""

    def __init__(self, options):
        self.fault = options["fault"]
        self.local = LocalHarness({"isolation": "none"})

    def prepare(self):
        return self.local.prepare()

    def run(self, job, target):
        if job.trial.condition != "faulty":
            return self.local.run(job, target)
        (target / "half.txt").write_text("half", encoding="utf-8")
        if self.fault == "die":
            os._exit(9)
        if self.fault == "machine":
            raise HarnessError("no sandbox today")
        raise ValueError("nobody\nforesaw this")


class Twin(Origin):
    """A layout of our own: the source once more, under another name."""

    variant: ClassVar[str] = "twin"


class Grumpy:
    """A gate of our own, which finds one thing in every variant."""

    name: ClassVar[str] = "grumpy"

    def check(self, parent, variant, kind, policy):
        finding = Finding(rule="grumpy.always", severity="info", file="brew/SKILL.md")
        return gate_result(self.name, (parent, variant), policy, [finding], {"variant": 1})


def stay(mark: Path) -> None:
    """Leaves a mark while it works, for longer than any test takes."""
    mark.write_text(str(os.getpid()), encoding="utf-8")
    try:
        time.sleep(60)
    finally:
        mark.unlink()
