"""Tool results of Gemini CLI as the model saw them."""

import pytest

from skilljuror.logs.assembly.builders import CallBuilder, TrajectoryBuilder
from skilljuror.logs.gemini_cli.tool_results import read_result as gemini_result

OLDER_FRAME = "Command: cat a\ncat b\nDirectory: (root)\nOutput: one\ntwo\nError: (none)\nExit Code: 4\nSignal: (none)\nProcess Group PGID: 9"


def test_repeats_the_command_in_older_versions():
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
def test_says_which_lines_of_a_long_file_it_shows(notice):
    call = CallBuilder("c", "read_file", {"absolute_path": "a", "offset": 4}, 1)
    result = gemini_result(TrajectoryBuilder(), call, f"{notice}one\ntwo", 2, False)
    assert (result.clean, result.first_line, result.total_lines) == ("one\ntwo", 5, 31)


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
def test_shell(shown, code, ok, clean):
    result = gemini_result(
        TrajectoryBuilder(), call("run_shell_command", command="x"), shown, 1, False
    )
    assert (result.exit_code, result.ok, result.clean) == (code, ok, clean)


def test_lost_text_is_no_read():
    """A conversion drops the text of a failed read: nothing came, and nothing says why."""
    result = gemini_result(TrajectoryBuilder(), call("read_file", file_path="x"), "", 1, False)
    assert result.ok is None
