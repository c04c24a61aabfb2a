"""A page of the documentation followed word by word: its files are written, its commands run.

A fenced block whose info string carries `file=NAME` is the content of that file. A block ```console
holds commands, each on a line `$ command` (which goes on below a line that ends with a backslash),
with what it prints below it, errors included; `…` stands for anything on its line, or for any number
of lines where it stands alone. A command ends with status 0, unless the block carries `status=N`. Every other
block is there to be read.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.places import ROOT

FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.M)
PROGRAM = """#!/bin/sh
PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{root}" exec {python} {options} "$@"
"""
PROGRAMS = {"skilljuror": "-P -m skilljuror", "python": ""}
"""`skilljuror` is as a user has it: installed, so that the working directory is not on its import path."""
END = "--- the end of a command ---"


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    """First word of the info string: python, yaml, console, …; "" without one."""
    attributes: dict[str, str]
    """The words `name=value` of the info string; a word alone has the value ""."""
    text: str
    """The lines between the fences."""


class Command(NamedTuple):
    """A command that a page shows."""

    line: str
    """What is typed."""
    output: str
    """What the page says it prints."""
    status: int
    """How the page says it ends."""


def fenced_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a Markdown page, in order."""
    blocks = []
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        language, *words = match["info"].split() or [""]
        attributes = {name: value for name, _, value in (word.partition("=") for word in words)}
        blocks.append(Block(language, attributes, match["text"]))
    return blocks


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a console block, each with what the page shows below it."""
    _, *parts = COMMAND.split(block.text)
    for line, output in zip(parts[::2], parts[1::2], strict=True):
        yield Command(line, output, int(block.attributes.get("status", "0")))


def follow_page(page: Path, folder: Path) -> None:
    """Do in a folder, in one shell, all that a page says; AssertionError where it comes out otherwise."""
    programs = folder.parent / f"{folder.name}-programs"
    programs.mkdir()
    for program, options in PROGRAMS.items():
        text = PROGRAM.format(root=ROOT, python=sys.executable, options=options)
        (programs / program).write_text(text, encoding="utf-8")
        (programs / program).chmod(0o755)
    commands: list[Command] = []
    script = ""
    for number, block in enumerate(fenced_blocks(page)):
        if name := block.attributes.get("file"):
            kept = programs / f"{number}.txt"
            kept.write_text(block.text, encoding="utf-8")
            target = shlex.quote(str(folder / name))
            script += f"mkdir -p $(dirname {target}) && cp {shlex.quote(str(kept))} {target}\n"
        elif block.language == "console":
            here = list(commands_of(block))
            commands += here
            script += "".join(
                f"{one.line}\nstatus=$?; echo; echo '{END}' $status\n" for one in here
            )
    assert commands, f"{page.name} shows no command"
    _compare(commands, _run(script, folder, programs))


def _run(script: str, folder: Path, programs: Path) -> str:
    """What a script prints, with `programs` before all others on the path."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"PATH": f"{programs}{os.pathsep}{env['PATH']}", "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800, check=False,
    )  # fmt: skip
    return done.stdout


def _compare(commands: list[Command], printed: str) -> None:
    said = re.split(rf"\n{END} (\d+)\n", printed)
    for command, output, status in zip(commands, said[::2], said[1::2], strict=False):
        assert int(status) == command.status, f"$ {command.line} ends with {status}:\n{output}"
        assert _fits(command.output, output), (
            f"$ {command.line}\nthe page shows:\n{command.output}\nit printed:\n{output}"
        )
    assert len(said) == 2 * len(commands) + 1, printed


def _fits(shown: str, printed: str) -> bool:
    """Whether an output is what the page shows, blanks at the ends of lines aside."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*") + r"\n"
        for line in shown.strip("\n").splitlines()
    )
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    plain = "".join(f"{line}\n" for line in lines.strip("\n").splitlines())
    return re.fullmatch(pattern, plain) is not None
