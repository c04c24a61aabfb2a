"""Tools of every agent, spelled one way."""

import json

import pytest

from skilljuror.models.trajectory import ToolResult
from skilljuror.parsers.assembly.builders import CallBuilder, TrajectoryBuilder, total_usage
from skilljuror.parsers.assembly.token_usage import usage_of_response
from skilljuror.parsers.assembly.tool_calls import call_fields
from skilljuror.parsers.claude_code.tool_results import read_result as claude_result
from skilljuror.parsers.codex.token_usage import UsageMeter
from skilljuror.parsers.codex.tool_results import read_output
from skilljuror.parsers.gemini_cli.tool_results import read_result as gemini_result
from skilljuror.parsers.mini_swe_agent.observations import read_result as mini_result


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
        ("mcp__x__y", {"path": "a"}, {"action": "other"}),
    ],
)  # fmt: skip
def test_call_fields(name, arguments, fields):
    assert call_fields(name, arguments) == fields


def test_patch_names_its_first_file():
    patch = "*** Begin Patch\n*** Update File: a/b.md\n@@\n-x\n+y\n*** End Patch"
    assert call_fields("apply_patch", {"input": patch})["path"] == "a/b.md"
    heredoc = call_fields("exec_command", {"cmd": f"apply_patch <<'P'\n{patch}\nP"})
    assert (heredoc["action"], heredoc["path"]) == ("edit", "a/b.md")
    assert heredoc["command"].startswith("apply_patch")


@pytest.mark.parametrize("text", ["a\nb\n", ""])
def test_codex_output_of_older_versions_is_an_object(text):
    shown = json.dumps({"output": text, "metadata": {"exit_code": 3, "duration_seconds": 0.5}})
    result, running = read_output(shown, 7)
    assert (result.clean, result.exit_code, result.ok) == (text, 3, False)
    assert (result.seconds, running) == (0.5, None)
    assert read_output('{"output": 1}', 7)[0].clean is None


def test_codex_output_of_another_server_is_a_list_of_pieces():
    pieces = json.dumps([{"type": "text", "text": "a\nb"}, {"type": "text", "text": "c"}])
    result, _ = read_output(f"Wall time: 0.1 seconds\nOutput:\n{pieces}", 7)
    assert result.clean == "a\nb\nc"


@pytest.mark.parametrize(
    ("text", "clean", "exit_code"),
    [
        ("Exit code 3\none\ntwo", "one\ntwo", 3),
        ("Exit code 1", "", 1),
        ("Exit code 10 is what it should give", None, None),
        ("The user doesn't want to proceed with this tool use.", None, None),
    ],
)
def test_claude_puts_the_exit_code_before_the_output(text, clean, exit_code):
    call = CallBuilder("c", "Bash", {"command": "x"}, 1)
    result = claude_result(call, {"content": text, "is_error": True}, None, 2)
    assert (result.clean, result.exit_code, result.ok) == (clean, exit_code, False)


@pytest.mark.parametrize("text", ["aborted by user after 3.2s", "exec command rejected by user"])
def test_codex_says_in_words_that_a_command_did_not_run(text):
    assert read_output(text, 1)[0].ok is False


OLDER_FRAME = "Command: cat a\ncat b\nDirectory: (root)\nOutput: one\ntwo\nError: (none)\nExit Code: 4\nSignal: (none)\nProcess Group PGID: 9"


def test_gemini_repeats_the_command_in_older_versions():
    call = CallBuilder("c", "run_shell_command", {"command": "cat a\ncat b"}, 1)
    result = gemini_result(TrajectoryBuilder(), call, OLDER_FRAME, 2, False)
    assert (result.clean, result.exit_code, result.ok) == ("one\ntwo", 4, False)


@pytest.mark.parametrize(
    "notice",
    [
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 5-6 of 31 total lines.\nAction: To read more, use offset.\n\n--- FILE CONTENT (truncated) ---\n",
        "[File content truncated: showing lines 5-6 of 31 total lines. Use offset/limit parameters to view more.]\n",
    ],
)
def test_gemini_says_which_lines_of_a_long_file_it_shows(notice):
    call = CallBuilder("c", "read_file", {"absolute_path": "a", "offset": 4}, 1)
    result = gemini_result(TrajectoryBuilder(), call, f"{notice}one\ntwo", 2, False)
    assert (result.clean, result.first_line, result.total_lines) == ("one\ntwo", 5, 31)


FRAME = "Chunk ID: ab12\nWall time: 1.5 seconds\nProcess exited with code 2\nOriginal token count: 3\nOutput:\n"


@pytest.mark.parametrize(
    ("shown", "code", "ok", "clean"),
    [
        (FRAME + "x\n", 2, False, "x\n"),
        (FRAME.replace("code 2", "code 0"), 0, True, ""),
        (FRAME + "Total output lines: 9\n\nx", 2, False, "x"),
        (FRAME + "Exit code: 9\n", 2, False, "Exit code: 9\n"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nDone\n", 0, True, "Done\n"),
        ("Wall time: 0.2 seconds\nOutput:\n[]", None, None, "[]"),
        ("unsupported call: x", None, False, None),
        ("apply_patch verification failed: x", None, False, None),
        ("Plan updated", None, None, None),
        ("", None, None, None),
    ],
)
def test_codex_output(shown, code, ok, clean):
    result, running = read_output(shown, 4)
    assert (result.text, result.exit_code, result.ok, result.clean) == (shown, code, ok, clean)
    assert running is None


def test_codex_output_of_a_running_command():
    shown = (
        "Chunk ID: ab\nWall time: 0.5 seconds\nProcess running with session ID 77\nOutput:\npart"
    )
    result, running = read_output(shown, 4)
    assert running == "77"
    assert (result.ok, result.exit_code, result.clean, result.seconds) == (None, None, "part", 0.5)


def totals(**counts):
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return {name: counts.get(name.split("_")[0], 0) for name in names}


def test_codex_differences_of_a_repeated_total():
    meter = UsageMeter()
    first = {"total_token_usage": totals(input=100, cached=20, output=5)}
    assert meter.token_count(first) is not None
    assert meter.token_count(first) is None
    meter.token_count({"total_token_usage": totals(input=150, cached=60, output=9)})
    assert meter.total is not None
    assert (meter.total.input, meter.total.cache_read, meter.total.output) == (90, 60, 9)
    assert meter.total.cache_write is None


def test_codex_total_that_starts_again():
    meter = UsageMeter()
    meter.token_count({"total_token_usage": totals(input=100, output=5)})
    meter.token_count({
        "total_token_usage": totals(input=40, output=2),
        "last_token_usage": totals(input=40, output=2),
    })
    assert meter.total is not None
    assert (meter.total.input, meter.total.output) == (140, 7)


def test_codex_records_win_over_counts():
    meter = UsageMeter()
    record = {"response_id": "r", "usage": {"input_tokens": 9, "output_tokens": 1}}
    assert meter.usage_record(record) is not None
    assert meter.usage_record(record) is None
    assert meter.token_count({"total_token_usage": totals(input=9, output=1)}) is None


def call(name, **arguments) -> CallBuilder:
    return CallBuilder("c", name, arguments, 1)


@pytest.mark.parametrize(
    ("shown", "code", "ok", "clean"),
    [
        ("<untrusted_context>\nOutput: a\nb\nExit Code: 7\nProcess Group PGID: 1\n</untrusted_context>", 7, False, "a\nb"),
        ("<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 1\n</untrusted_context>", 0, True, ""),
        ("just text", None, None, None),
    ],
)  # fmt: skip
def test_gemini_shell(shown, code, ok, clean):
    result = gemini_result(
        TrajectoryBuilder(), call("run_shell_command", command="x"), shown, 1, False
    )
    assert (result.exit_code, result.ok, result.clean) == (code, ok, clean)


def test_gemini_lost_text_is_no_read():
    """A conversion drops the text of a failed read: nothing came, and nothing says why."""
    result = gemini_result(TrajectoryBuilder(), call("read_file", file_path="x"), "", 1, False)
    assert result.ok is None


@pytest.mark.parametrize(
    ("command", "shown", "ok"),
    [
        ("ls", '{"returncode": 0, "output": "a"}', True),
        ("ls", '{"returncode": 2, "output": "a"}', False),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", '{"returncode": -1, "output": ""}', True),
        ("ls", "no JSON", None),
    ],
)
def test_mini_results(command, shown, ok):
    result: ToolResult = mini_result(call("bash", command=command), shown, 1, {})
    assert result.ok is ok


def test_usage_of_both_spellings():
    chat = usage_of_response({
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
    })
    responses = usage_of_response({
        "usage": {
            "input_tokens": 10,
            "output_tokens": 2,
            "input_tokens_details": {"cached_tokens": 4},
        }
    })
    assert chat == responses
    assert chat is not None
    assert (chat.input, chat.cache_read, chat.cache_write) == (6, 4, None)


def test_no_usage_is_none():
    assert usage_of_response({}) is None
    assert total_usage([None, None]) is None
