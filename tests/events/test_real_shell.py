"""Which lines real commands show, and which files they open, told from what they print."""

import pytest
import yaml

from skilljuror.base.trajectory import ToolCall, ToolResult
from skilljuror.events.attribute import attribute
from tests.support.attribution_runs import run_of
from tests.support.every import every
from tests.support.places import ROOT
from tests.support.real_shell import (
    TEXTS,
    attributed,
    forget,
    opened,
    run,
    said_lines,
    shown_lines,
)

COMMANDS = yaml.safe_load((ROOT / "tests/events/commands.yaml").read_text("utf-8"))


def told(home, command):
    """(lines told with a manifest, files told, lines told without one, lines shown)."""
    command = command.replace("@", str(home / ".claude/skills/ledger"))
    forget(home)
    output, status = run(home, command)
    events = [one for one in attributed(home, command, output, status) if one.resource in TEXTS]
    result = ToolResult(output, 3, status == 0, exit_code=status)
    call = ToolCall("c1", "Bash", "shell", 2, command=command, result=result)
    free = attribute(run_of(call, cwd=str(home / "work"), home=str(home)), None).events
    sure = [one for one in free if one.resource in TEXTS and (one.lines or one.content_exposed == "full")]  # fmt: skip
    return said_lines(events), {one.resource for one in events}, said_lines(sure), shown_lines(output)  # fmt: skip


def nothing_wrong(said, shown):
    assert all(numbers <= shown.get(path, set()) for path, numbers in said.items())


@pytest.mark.slow
@every("command", COMMANDS["followed"])
def test_commands_that_are_followed(watched, command):
    said, files, without_manifest, shown = told(watched, command)
    assert said == shown
    assert files == opened(watched)
    nothing_wrong(without_manifest, shown)


@every("command", COMMANDS["left"])
def test_of_commands_that_are_left_to_the_output_nothing_wrong_is_told(watched, command):
    said, _, without_manifest, shown = told(watched, command)
    nothing_wrong(said, shown)
    nothing_wrong(without_manifest, shown)


@pytest.mark.parametrize(
    "text", ["'", "$(", "((", "{ ", "case x in ", "<<a\n", "a | ", "x=(", "\\"]
)
def test_a_text_that_is_no_shell_is_read(watched, text):
    said, _, _, shown = told(watched, f"cat @/references/taxes.md; {text}")
    nothing_wrong(said, shown)
