"""mini-swe-agent: costs, replies that were no calls, results."""

import pytest

from skilljuror.logs.assembly import CallBuilder, TrajectoryBuilder
from skilljuror.logs.mini_swe_agent import read_result as mini_result
from tests.support.parsed_logs import read_claimed


def mini(*messages, cost=0.0):
    return {
        "info": {"mini_version": "2.4.6", "model_stats": {"instance_cost": cost, "api_calls": 1}},
        "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1",
    }  # fmt: skip


def reply(**extra):
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return {"role": "assistant", "content": "hm", "extra": {"response": {"usage": usage}, **extra}}


@pytest.mark.parametrize(
    ("message", "stated", "expected"),
    [
        (reply(), 0.5, 0.5),
        (reply(cost=0.25), 0.5, 0.25),
        (reply(), 0.0, None),
        ({"role": "assistant", "content": "hm"}, 0.5, 0.5),
    ],
    ids=["of the run alone", "of the message", "zero", "without usage"],
)
def test_the_cost_of_a_whole_run_of_mini(tmp_path, message, stated, expected):
    usage = read_claimed(tmp_path, mini(message, cost=stated), "mini-swe-agent").usage
    assert usage.cost_usd == expected if usage else expected is None


def test_a_format_error_in_the_responses_shape(tmp_path):
    response = {
        "object": "response", "usage": {"input_tokens": 10, "output_tokens": 2}, "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "try"}]},
            {"type": "function_call", "call_id": "c", "name": "nope", "arguments": '{"a": 1}'},
        ],
    }  # fmt: skip
    extra = {"interrupt_type": "FormatError", "response": response}
    error = {"role": "user", "content": "Unknown tool", "extra": extra}
    run = read_claimed(tmp_path, mini(error), "mini-swe-agent")
    (step,) = run.steps
    (call,) = step.calls
    assert (step.text, call.name, call.arguments) == ("try", "nope", {"a": 1})
    assert (call.result.text, call.result.ok) == ("Unknown tool", False)
    assert (run.usage.input, run.usage.output) == (10, 2)


def test_a_format_error_leaves_nothing_asked(tmp_path):
    """The next user message is no output of a command that was refused."""
    response = {"choices": [{"message": {"role": "assistant", "content": "```bash\nls\n```"}}]}
    extra = {"interrupt_type": "FormatError", "response": response}
    error = {"role": "user", "content": "Format error", "extra": extra}
    later = {"role": "user", "content": "go on"}
    run = read_claimed(tmp_path, mini(error, later), "mini-swe-agent")
    assert run.steps[0].calls[0].result.text == "Format error"
    assert [(one.kind, one.text) for one in run.messages] == [("prompt", "go on")]


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
    call = CallBuilder("c", "bash", {"command": command}, 1)
    assert mini_result(TrajectoryBuilder(), call, shown, {}).ok is ok
