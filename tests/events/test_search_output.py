"""Searches that print lines."""

import pytest

from skilljuror.base.trajectory import ToolCall, ToolResult
from tests.support.attribution_runs import BUNDLE, events_of, file_tool


def test_a_search_tool_is_one_event_per_file_with_lines():
    text = f"{BUNDLE}/references/format.md:3:Column 2 holds\n{BUNDLE}/SKILL.md:7:Read references/format.md"
    call = file_tool(
        "search",
        ToolResult(text, 3, True),
        path=BUNDLE,
        pattern="x",
        arguments={"output_mode": "content"},
    )
    found = {(one.kind, one.resource, one.lines) for one in events_of(call)}
    assert found == {
        ("search", "references/format.md", ((3, 3),)),
        ("search", "SKILL.md", ((7, 7),)),
    }


@pytest.mark.parametrize(
    "text",
    [
        'Found 1 match in path "x":\n---\nFile: references/format.md\nL3: Column 2 holds\n---',
        f"Found 1 matches\n{BUNDLE}/references/format.md:\n  Line 3: Column 2 holds",
    ],
)
def test_searches_that_print_the_file_as_a_heading(text):
    call = ToolCall(
        "c1", "grep_search", "search", 2, path=BUNDLE, pattern="x", result=ToolResult(text, 3, True)
    )
    (event,) = events_of(call)
    assert (event.kind, event.resource, event.lines) == (
        "search",
        "references/format.md",
        ((3, 3),),
    )
