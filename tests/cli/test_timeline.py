"""`show` at a terminal: what a person sees of one run."""

import json

import pytest

from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.cli_process import call
from tests.support.terminals import at_terminal

LONG = " ".join(f"word{number}" for number in range(60))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The lines of one run at a terminal of 60 columns."""
    place = tmp_path_factory.mktemp("shown")
    write_lines(
        place / "projects" / "-w" / "a.jsonl",
        user(1, LONG),
        assistant(
            2, {"type": "text", "text": LONG}, tool_use("t1", "Bash", command=f"echo {LONG}")
        ),
        user(3, [tool_result("t1", LONG)]),
        assistant(4, tool_use("t2", "Read", file_path="/w/notes.md")),
        user(5, [tool_result("t2", "     1→first\n")]),
    )
    assert call("ingest", "projects", "--study", "mine", cwd=place).returncode == 0
    (run,) = json.loads(call("query", "mine", "trajectories", "--json", cwd=place).stdout)
    status, text = at_terminal(
        "show", "mine", run["trajectory"], "--full", cwd=place, columns=60, TERM="dumb"
    )
    assert status == 0
    return text.splitlines()


@pytest.mark.slow
def test_wrapped_lines_keep_their_indent(shown):
    assert max(map(len, shown)) <= 60
    begins = ("[prompt] word0 ", "1. word0 ", "   $ echo word0 ", "     word0 ")
    for begin, indent in zip(begins, ("   word", "   word", "     word", "     word"), strict=True):
        (first,) = [number for number, line in enumerate(shown) if line.startswith(begin)]
        assert all(line.startswith(indent) for line in shown[first + 1 : first + 6])


@pytest.mark.slow
def test_a_dollar_stands_before_shell_commands_alone(shown):
    assert "   Read /w/notes.md" in shown
    assert [line.split()[1] for line in shown if line.lstrip().startswith("$")] == ["echo"]
