"""What Codex puts around a tool's output."""

import json

import pytest

from skilljuror.logs.codex.tool_results import read_output


@pytest.mark.parametrize("text", ["a\nb\n", ""])
def test_output_of_older_versions_is_an_object(text):
    shown = json.dumps({"output": text, "metadata": {"exit_code": 3, "duration_seconds": 0.5}})
    result, running = read_output(shown, 7)
    assert (result.clean, result.exit_code, result.ok) == (text, 3, False)
    assert (result.seconds, running) == (0.5, None)
    assert read_output('{"output": 1}', 7)[0].clean is None


def test_output_of_another_server_is_a_list_of_pieces():
    pieces = json.dumps([{"type": "text", "text": "a\nb"}, {"type": "text", "text": "c"}])
    result, _ = read_output(f"Wall time: 0.1 seconds\nOutput:\n{pieces}", 7)
    assert result.clean == "a\nb\nc"


@pytest.mark.parametrize("text", ["aborted by user after 3.2s", "exec command rejected by user"])
def test_says_in_words_that_a_command_did_not_run(text):
    assert read_output(text, 1)[0].ok is False


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
def test_output(shown, code, ok, clean):
    result, running = read_output(shown, 4)
    assert (result.text, result.exit_code, result.ok, result.clean) == (shown, code, ok, clean)
    assert running is None


def test_output_of_a_running_command():
    shown = (
        "Chunk ID: ab\nWall time: 0.5 seconds\nProcess running with session ID 77\nOutput:\npart"
    )
    result, running = read_output(shown, 4)
    assert running == "77"
    assert (result.ok, result.exit_code, result.clean, result.seconds) == (None, None, "part", 0.5)
