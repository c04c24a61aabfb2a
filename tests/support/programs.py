"""Plugins of another package, named in study files as module:attribute, and work for worker processes."""

import os
import time
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from skilljuror.audit.gates.findings import gate_result
from skilljuror.base.build import Finding
from skilljuror.base.errors import HarnessError
from skilljuror.harness.local import LocalHarness
from skilljuror.layouts.flattening import Origin
from tests.support.harness_tasks import shell_agent


def shell(options, model):
    """The agent whose script is an option."""
    return shell_agent(str(options["script"]))


def echo(options, model):
    """An agent that says its model and its effort."""
    program = shell_agent(f"echo {model} {options['effort']}; echo done > out.txt")
    return replace(program, name="echo", model=model, effort=options["effort"])


def creator(options, model):
    """A scripted creator of Skills, whose script the environment names."""
    return replace(shell_agent(os.environ["CREATOR_SCRIPT"]), name="creator")


KEY = "TEA_API_KEY"
"""Variable that holds the key of `talkative`."""


def talkative(options, model):
    """An agent with a model, so to speak, whose script is an option and which takes a key."""
    program = shell_agent(str(options.get("script", "true")))
    fields = {"model": "tea-1", "scripted": False, "usage_reason": None, "keys": (KEY,)}
    return replace(program, name="talkative", **fields)


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
        if self.fault == "flaky" and _first_time(job):
            raise HarnessError(f"no sandbox yet {os.environ.get(KEY)}")
        if self.fault == "unreachable":
            raise ConnectionRefusedError("no server")
        if self.fault in {"flaky", "wrong"}:
            (target / "half.txt").unlink()
            return self.local.run(job, target)
        if self.fault == "die":
            os._exit(9)
        if self.fault == "machine":
            raise HarnessError("no sandbox today")
        raise ValueError("nobody\nforesaw this")


def _first_time(job):
    """Whether this trial was never tried before; a file beside its task remembers it."""
    mark = job.task_dir.parent / f"tried-{job.trial.trial}"
    new = not mark.exists()
    mark.touch()
    return new


class Twin(Origin):
    """A layout of our own: the source once more, under another name."""

    variant: ClassVar[str] = "twin"


class Grumpy:
    """A gate of our own, which finds one thing in every variant."""

    name: ClassVar[str] = "grumpy"

    def check(self, parent, variant, kind, policy):
        finding = Finding(rule="grumpy.always", severity="info", file="brew/SKILL.md")
        return gate_result(self.name, (parent, variant), policy, [finding], {"variant": 1})


class Cautious:
    """A gate of our own that fails every page which is not the source: by a line of it that says
    "water", and by its length."""

    name: ClassVar[str] = "cautious"

    def check(self, parent, variant, kind, policy):
        path = variant.skills[0].path
        lines = (variant.files[path].text or "").splitlines()
        texts = [line for line in lines if "water" in line]
        about = {"severity": "high", "file": path}
        findings = [
            *(
                Finding(rule="cautious.water", source_text=one, variant_text=one, **about)
                for one in texts
            ),
            Finding(rule="cautious.length", message=f"{len(lines)} lines", **about),
        ]
        return gate_result(self.name, (parent, variant), policy, findings, {"variant": 1})


class Doubtful:
    """A gate of our own that flags every line with "water": it leaves them to a person, but fails a page
    that says "acid"."""

    name: ClassVar[str] = "doubtful"

    def check(self, parent, variant, kind, policy):
        path = variant.skills[0].path
        lines = (variant.files[path].text or "").splitlines()
        findings = [
            Finding(
                rule="doubtful.water", severity="high", file=path, line=number,
                source_text=line, variant_text=line, message="it says water",
            )
            for number, line in enumerate(lines, 1)
            if "water" in line
        ]  # fmt: skip
        strict = policy if any("acid" in line for line in lines) else "rewritten"
        return gate_result(self.name, (parent, variant), strict, findings, {"variant": 1})


def stay(mark: Path) -> None:
    """Leaves a mark while it works, for longer than any test takes."""
    mark.write_text(str(os.getpid()), encoding="utf-8")
    try:
        time.sleep(60)
    finally:
        mark.unlink()
