"""Numbers that no file, line or command has: they cost a field, never the log."""

import json

import pytest

from skilljuror.base.trajectory import ToolCall, ToolResult
from skilljuror.events.accesses.line_selection import sed_selection
from skilljuror.events.attribute import attribute
from skilljuror.events.commands.line_options import end_range
from skilljuror.logs.codex.tool_results import read_output
from tests.support.attribution_runs import BUNDLE, events_of, ran, run_of
from tests.support.shell_texts import read_shell


def test_numbers_that_are_too_long_are_none():
    long = "9" * 5000
    assert (
        read_output(f"Exit code: {long}\nWall time: 1 seconds\nOutput:\nx", 1)[0].exit_code is None
    )
    assert sed_selection(f"{long}p", silent=True) is not None
    for command in ("head -² a", "head -n ² a", "tail -c ٣ a", f"head -{long} a"):
        (one,) = read_shell(command)
        assert end_range(one)


@pytest.mark.parametrize("first", [2**40, 3_000_000_000, -4, 0])
def test_lines_that_no_file_has_are_not_told(first):
    result = ToolResult("a\nb", 3, ok=True, clean="a\nb", first_line=first, total_lines=2**41)
    call = ToolCall(
        "c1", "Read", "read", 2, path=f"{BUNDLE}/notes.md", start=first, count=2, result=result
    )
    (event,) = attribute(run_of(call), None).events
    assert event.lines is None or all(0 < a <= b < 2**31 for a, b in event.lines)
    json.dumps(event.lines)


def test_an_odd_count_in_a_command_loses_nothing_but_the_lines():
    (event,) = events_of(ran(f"head -n ² {BUNDLE}/SKILL.md", "# Ledger\n"))
    assert (event.kind, event.resource) == ("read", "SKILL.md")
