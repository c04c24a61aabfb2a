"""A run under construction, tools of every agent, tokens, line numbers."""

import pytest

from skilljuror.base.trajectory import Message
from skilljuror.logs.assembly import (
    MAIN,
    TrajectoryBuilder,
    call_fields,
    strip_line_numbers,
    total_usage,
    usage_of_response,
)


def draft(calls: int, *after: str) -> TrajectoryBuilder:
    """A run of one step with some answered calls, and messages of these kinds after it."""
    run = TrajectoryBuilder()
    step = run.add_step()
    for number in range(calls):
        run.add_call(step, str(number), "bash", {})
    for kind in after:
        run.messages.append(Message(MAIN, kind, "text", 2, 1))  # type: ignore[arg-type]
    return run


@pytest.mark.parametrize(
    ("calls", "after", "answered"),
    [
        (0, (), True),
        (1, (), False),
        (0, ("prompt",), False),
        (1, ("other",), True),
        (0, ("skill_listing",), True),
        (1, ("skill_body",), False),
        (0, ("prompt", "other"), True),
    ],
    ids=[
        "answered",
        "calling",
        "prompted",
        "calling, then a note",
        "answered, then a list",
        "calling, then a skill",
        "prompted, then a note",
    ],
)
def test_who_waits(calls, after, answered):
    assert draft(calls, *after).ends_with_answer() is answered


def test_no_usage_is_none():
    assert usage_of_response({}) is None
    assert total_usage([None, None]) is None


@pytest.mark.parametrize(
    ("name", "arguments", "fields"),
    [
        ("exec_command", {"cmd": "ls", "workdir": "/w"}, {"action": "shell", "command": "ls", "workdir": "/w"}),
        ("shell", {"command": ["bash", "-lc", "ls | wc"]}, {"action": "shell", "command": "ls | wc", "workdir": None}),
        ("powershell", {"command": "dir"}, {"action": "shell", "command": "dir", "workdir": None}),
        ("rg", {"pattern": "x", "paths": ["/w/a"]}, {"action": "search", "pattern": "x", "path": "/w/a"}),
        ("rg", {"pattern": "x", "paths": ["/w/a", "/w/b"]}, {"action": "search", "pattern": "x", "path": None}),
        ("shell", {"command": ["ls", "-l"]}, {"action": "shell", "command": "ls -l", "workdir": None}),
        ("shell", {"command": ["cat", "my notes.md"]}, {"action": "shell", "command": "cat 'my notes.md'", "workdir": None}),
        ("shell", {"command": ["python3", "-c", "print(1)"]}, {"action": "shell", "command": "python3 -c 'print(1)'", "workdir": None}),
        ("shell", {"command": ["/bin/bash", "--noprofile", "-lc", "ls"]}, {"action": "shell", "command": "ls", "workdir": None}),
        ("shell", {"command": ["bash", "-l", "-c", "ls"]}, {"action": "shell", "command": "ls", "workdir": None}),
        ("shell", {"command": ["powershell.exe", "-NoProfile", "-Command", "ls"]}, {"action": "shell", "command": "ls", "workdir": None}),
        ("Bash", {"command": "ls"}, {"action": "shell", "command": "ls", "workdir": None}),
        ("run_shell_command", {"command": "ls", "dir_path": "/w"}, {"action": "shell", "command": "ls", "workdir": "/w"}),
        ("bash_command", {"keystrokes": "ls\n"}, {"action": "shell", "command": "ls\n", "workdir": None}),
        ("Read", {"file_path": "a", "offset": 3, "limit": 2}, {"action": "read", "path": "a", "start": 3, "count": 2}),
        ("Read", {"file_path": "a"}, {"action": "read", "path": "a", "start": None, "count": None}),
        ("read", {"filePath": "a", "offset": 0, "limit": 9}, {"action": "read", "path": "a", "start": 1, "count": 9}),
        ("read_file", {"file_path": "a", "start_line": 4, "end_line": 6}, {"action": "read", "path": "a", "start": 4, "count": 3}),
        ("read_file", {"absolute_path": "a", "offset": 4, "limit": 2}, {"action": "read", "path": "a", "start": 5, "count": 2}),
        ("read_file", {"target_file": "a", "start_line_one_indexed": 4, "end_line_one_indexed_inclusive": 6}, {"action": "read", "path": "a", "start": 4, "count": 3}),
        ("ReadFile", {"path": "a", "line_offset": 4, "n_lines": 2}, {"action": "read", "path": "a", "start": 4, "count": 2}),
        ("run_terminal_cmd", {"command": "ls"}, {"action": "shell", "command": "ls", "workdir": None}),
        ("developer__text_editor", {"command": "view", "path": "a"}, {"action": "read", "path": "a", "start": None, "count": None}),
        ("Skill", {"command": "b"}, {"action": "skill", "skill": "b"}),
        ("view", {"path": "a", "view_range": [2, 3]}, {"action": "read", "path": "a", "start": 2, "count": 2}),
        ("view", {"path": "a", "view_range": [2, -1]}, {"action": "read", "path": "a", "start": 2, "count": None}),
        ("str_replace_editor", {"command": "view", "path": "a"}, {"action": "read", "path": "a", "start": None, "count": None}),
        ("str_replace_editor", {"command": "create", "path": "a", "file_text": "x"}, {"action": "write", "path": "a", "written": "x"}),
        ("str_replace_editor", {"command": "str_replace", "path": "a", "new_str": "y"}, {"action": "edit", "path": "a", "written": "y"}),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, {"action": "edit", "path": "a", "written": "y"}),
        ("MultiEdit", {"file_path": "a", "edits": [{"new_string": "x"}, {"new_string": "y"}]}, {"action": "edit", "path": "a", "written": "x\ny"}),
        ("Write", {"file_path": "a", "content": "x"}, {"action": "write", "path": "a", "written": "x"}),
        ("Grep", {"pattern": "x", "path": "d"}, {"action": "search", "pattern": "x", "path": "d"}),
        ("Glob", {"pattern": "*.md"}, {"action": "list", "pattern": "*.md", "path": None}),
        ("Skill", {"skill": "a:b"}, {"action": "skill", "skill": "a:b"}),
        ("activate_skill", {"name": "b"}, {"action": "skill", "skill": "b"}),
        ("Task", {"prompt": "x"}, {"action": "agent"}),
        ("write_stdin", {"session_id": 1}, {"action": "poll"}),
        ("mcp__x__y", {"path": "a"}, {"action": "other", "unknown": True}),
        ("update_plan", {"plan": []}, {"action": "other"}),
        ("mcp__x__get_skill", {"skillName": "a"}, {"action": "other", "unknown": True, "skill": "a"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_call_fields(name, arguments, fields):
    assert call_fields(name, arguments) == fields


def test_patch_names_its_first_file():
    patch = "*** Begin Patch\n*** Update File: a/b.md\n@@\n-x\n+y\n*** End Patch"
    assert call_fields("apply_patch", {"input": patch})["path"] == "a/b.md"
    heredoc = call_fields("exec_command", {"cmd": f"apply_patch <<'P'\n{patch}\nP"})
    assert (heredoc["action"], heredoc["path"]) == ("edit", "a/b.md")
    assert heredoc["command"].startswith("apply_patch")


@pytest.mark.parametrize(
    ("shown", "clean", "first"),
    [
        ("     1→a\n     2→b", "a\nb", 1),
        ("7\ta\n8\t\n9\tc\n10\t", "a\n\nc\n", 7),
        ("00003| a\n00004| b", "a\nb", 3),
        ("1. # T\n2. ", "# T\n", 1),
        ("1\ta\n2\tb\n\n<system-reminder>x</system-reminder>", "a\nb", 1),
        ("1\ta\n3\tc", "a", 1),
    ],
)
def test_numbers_are_taken_off(shown, clean, first):
    assert strip_line_numbers(shown) == (clean, first)


@pytest.mark.parametrize("shown", ["", "plain", "a\n1\tb", "(empty)"])
def test_text_without_numbers(shown):
    assert strip_line_numbers(shown) is None
