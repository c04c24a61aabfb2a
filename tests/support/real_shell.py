"""Commands that really run: the file system and the output are the truth, not this project.

Every line of the bundle carries a token of its own, so the tokens in a command's output say
which lines of which file were shown, and access times say which files were opened.
"""

import os
import re
import subprocess
from pathlib import Path

from skilljuror.base.skill import class_of
from skilljuror.base.trajectory import Resource, SkillManifest, ToolCall, ToolResult
from skilljuror.events.attribute import attribute
from tests.support.attribution_runs import run_of

FILES = {
    "SKILL.md": ("S", 40),
    "references/format.md": ("F", 120),
    "references/taxes.md": ("T", 12),
    "scripts/total.py": ("P", 9),
    "scripts/helper.sh": ("H", 5),
}
TOKEN = re.compile(r"\b([A-Z])-(\d{4})-token\b")
OLD = 1_000_000_000


def _text(path: str, letter: str, count: int) -> str:
    mark = "# " if path.startswith("scripts") else ""
    lines = [
        f"{mark}{letter}-{n:04d}-token says what rule {n} is about" for n in range(1, count + 1)
    ]
    if path == "SKILL.md":
        lines[:4] = ["---", "name: ledger", f"description: {letter}-0003-token", "---"]
    if path == "scripts/total.py":
        lines[2:5] = ["def total():", "    return 7", "print('ran total', total())"]
    if path == "scripts/helper.sh":
        lines[-1] = "echo ran helper"
    return "\n".join(lines) + "\n"


TEXTS = {path: _text(path, *shape) for path, shape in FILES.items()}
LETTERS = {shape[0]: path for path, shape in FILES.items()}


def make_home(base: Path) -> Path:
    """A home folder with the bundle in it, and a working folder beside it."""
    bundle = base / ".claude" / "skills" / "ledger"
    for path, text in TEXTS.items():
        (bundle / path).parent.mkdir(parents=True, exist_ok=True)
        (bundle / path).write_text(text)
        (bundle / path).chmod(0o755)
    (base / "work").mkdir()
    (base / "work" / "notes.md").write_text("nothing here\n")
    return base


def run(home: Path, command: str) -> tuple[str, int]:
    """What a command prints, both streams, and its exit status."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=home / "work", env=environment, text=True, timeout=60, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout, done.returncode


def attributed(home: Path, command: str, output: str, status: int):
    """The events of the command in a run with the bundle's manifest."""
    root = str(home / ".claude" / "skills")
    resources = tuple(Resource("ledger", p, class_of(p), text) for p, text in TEXTS.items())
    manifest = SkillManifest(resources=resources, roots=(root,), skills=("ledger",))
    result = ToolResult(text=output, line=3, exit_code=status, ok=status == 0)
    call = ToolCall("c1", "Bash", "shell", 2, command=command, result=result)
    run_ = run_of(call, cwd=str(home / "work"), home=str(home))
    return attribute(run_, manifest).events


def shown_lines(output: str) -> dict[str, set[int]]:
    """Truth: lines whose token stands in the output."""
    found: dict[str, set[int]] = {}
    for letter, number in TOKEN.findall(output):
        found.setdefault(LETTERS[letter], set()).add(int(number))
    return found


def said_lines(events) -> dict[str, set[int]]:
    """What attribution says, for the lines that carry a token."""
    said: dict[str, set[int]] = {}
    for event in events:
        if event.content_exposed == "none":
            continue
        lines = TEXTS[event.resource].splitlines()
        spans = ((1, len(lines)),) if event.content_exposed == "full" else event.lines or ()
        numbers = {n for first, last in spans for n in range(first, last + 1)}
        said.setdefault(event.resource, set()).update(
            n for n in numbers if TOKEN.search(lines[n - 1])
        )
    return {path: numbers for path, numbers in said.items() if numbers}


def opened(home: Path) -> set[str]:
    """Truth: files of the bundle whose access time moved."""
    bundle = home / ".claude/skills/ledger"
    return {path for path in TEXTS if (bundle / path).stat().st_atime > OLD + 1}


def forget(home: Path) -> None:
    """Set every access time back, so that the next access shows."""
    for path in TEXTS:
        os.utime(home / ".claude/skills/ledger" / path, (OLD, OLD + 10))
