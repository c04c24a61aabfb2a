"""Calls as other systems spell them."""

import pytest
from hypothesis import given

from skilljuror.base.trajectory import ToolCall, ToolResult
from skilljuror.events.resolution import call_normalisation as spelling
from tests.support.attribution_runs import (
    BUNDLE,
    REFERENCES,
    SKILL,
    TAXES,
    events_of,
    observed,
    ran,
    unknown_tool,
)
from tests.support.generated_texts import MANY, glued


@pytest.mark.parametrize(
    ("name", "kind", "exposed"),
    [
        ("mcp__files__read_text_file", "read", "full"),
        ("getFileContents", "read", "full"),
        ("mcp__files__write_file", "write", "none"),
        ("create_file_at", "write", "none"),
        ("mcp__files__edit_file", "edit", "none"),
        ("deleteFile", "edit", "none"),
        ("mcp__files__get_file_info", "list", "none"),
        ("lint_markdown", "read", "none"),
    ],
)
def test_the_name_of_an_unknown_tool_tells_what_it_does(name, kind, exposed):
    found = unknown_tool(
        name, TAXES if exposed == "full" else "done", path=f"{REFERENCES}/taxes.md"
    )
    assert [one[:3] for one in found] == [(kind, "references/taxes.md", exposed)]


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (r"Get-Content C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"type C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
    ],
)  # fmt: skip
def test_paths_of_windows(command, output, expected):
    (found,) = observed(command, output)
    assert (found[1], found[2:]) == ("SKILL.md", expected)


@pytest.mark.parametrize(
    "command",
    [
        r"rg -n hundred C:\Users\me\.codex\skills\ledger",
    ],
)
def test_searches_on_windows(command):
    path = r"C:\Users\me\.codex\skills\ledger\references\taxes.md"
    found = observed(command, f"{path}:2:No tax is due below one hundred cents.\n")
    assert found == [("search", "references/taxes.md", "partial", ((2, 2),))]


def test_a_command_typed_into_a_running_shell():
    typed = ToolCall(
        "c2", "write_stdin", "poll", 5,
        arguments={"chars": f"python3 {BUNDLE}/scripts/total.py\n"}, command="bash",
        result=ToolResult("total 7\n$ ", 6),
    )  # fmt: skip
    found = events_of(ran("bash", "$ "), typed, manifest=None)
    assert [(one.kind, one.resource, one.line) for one in found] == [
        ("exec", "scripts/total.py", 5)
    ]


@MANY
@given(
    command=glued(
        "\\",
        ":",
        "C:",
        "C:\\a",
        "\\.claude\\",
        "\\skills\\",
        ".codex",
        "\\.agent",
        "$env:HOME",
        "a",
        "$",
    )
)
def test_a_command_with_windows_paths_is_told_at_a_glance(command):
    slow = command
    if spelling._WINDOWS_PATH.search(command):
        slow = command.replace("\\", "/")
    assert spelling.with_forward_slashes(command) == slow
