"""Results of mini-swe-agent's commands."""

import pytest

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import CallBuilder
from skilljuror.logs.mini_swe_agent.observations import read_result as mini_result


@pytest.mark.parametrize(
    ("command", "shown", "ok"),
    [
        ("ls", '{"returncode": 0, "output": "a"}', True),
        ("ls", '{"returncode": 2, "output": "a"}', False),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", '{"returncode": -1, "output": ""}', True),
        ("ls", "no JSON", None),
    ],
)
def test_results_of_commands(command, shown, ok):
    result: ToolResult = mini_result(
        CallBuilder("c", "bash", {"command": command}, 1), shown, 1, {}
    )
    assert result.ok is ok
