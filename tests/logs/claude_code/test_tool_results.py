"""Tool results of Claude Code."""

import pytest

from skilljuror.logs.assembly.builders import CallBuilder
from skilljuror.logs.claude_code.tool_results import read_result as claude_result
from tests.support.claude_logs import assistant, parsed, tool_result, tool_use, user


def test_a_command_that_goes_on_after_a_while_has_no_status_yet(tmp_path):
    kept = {"stdout": "one", "stderr": "", "interrupted": False, "backgroundTaskId": "b7"}
    notice = "one\nCommand was manually backgrounded by user with ID: b7"
    more = tool_result(
        "c2", "<status>completed</status>\n<exit_code>3</exit_code>\n<output>two</output>"
    )
    rows = [
        user(1, "hi"), assistant(2, tool_use("c1", command="cat a; make")),
        user(3, [tool_result("c1", notice)], toolUseResult=kept),
        assistant(4, tool_use("c2", "TaskOutput", task_id="b7")), user(5, [more]),
    ]  # fmt: skip
    (started,) = parsed(tmp_path / "cut", *rows[:3]).steps[0].calls
    assert started.result is not None
    assert (started.result.ok, started.result.exit_code, started.result.text) == (
        None,
        None,
        notice,
    )
    first, then = (step.calls[0] for step in parsed(tmp_path / "whole", *rows).steps)
    assert first.result is not None
    assert (first.result.ok, first.result.exit_code) == (False, 3)
    assert then.command == "cat a; make"
    assert then.result is not None
    assert then.result.clean == "two"


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
