"""Which observation result of a step answers which of its calls."""

import pytest

from tests.support.atif_documents import (
    agent_step,
    document,
    read_document,
    results_by_call,
    tool_call,
)

DONE = tool_call("done", name="mark_task_complete")


@pytest.mark.parametrize(
    ("calls", "results", "expected"),
    [
        (
            [tool_call("a"), tool_call("b"), DONE],
            [{"content": "x"}],
            {"a": None, "b": "x", "done": None},
        ),
        ([DONE], [{"content": "x"}], {"done": "x"}),
        (
            [tool_call("a"), tool_call("b")],
            [{"source_call_id": "b", "content": "of b"}, {"content": "x"}],
            {"a": "x", "b": "of b"},
        ),
        (
            [tool_call("a")],
            [{"source_call_id": "a", "content": "x"}, {"source_call_id": "a", "content": "y"}],
            {"a": "x\ny"},
        ),
        (
            [tool_call("a")],
            [
                {"source_call_id": "a", "content": "x"},
                {"source_call_id": "a", "subagent_trajectory_ref": [{"trajectory_id": "t"}]},
            ],
            {"a": "x"},
        ),
        (
            [tool_call(7), tool_call(8)],
            [{"source_call_id": 8, "content": "x"}],
            {"7": None, "8": "x"},
        ),
    ],
    ids=[
        "screen after the last command",
        "only the end",
        "one by its id",
        "two results of one call",
        "a result and a sub-agent",
        "numbers as ids",
    ],
)
def test_which_result_answers_which_call(tmp_path, calls, results, expected):
    assert (
        results_by_call(read_document(tmp_path, document(agent_step("", *calls, results=results))))
        == expected
    )


def test_calls_of_one_id_are_answered_in_order(tmp_path):
    results = [{"source_call_id": "a", "content": text} for text in ("x", "y")]
    run = read_document(
        tmp_path, document(agent_step("", tool_call("a"), tool_call("a"), results=results))
    )
    assert [one.result.text for one in run.steps[0].calls] == ["x", "y"]


def test_the_sub_agent_of_a_second_result_is_told(tmp_path):
    results = [
        {"source_call_id": "a", "content": "x"},
        {"source_call_id": "a", "subagent_trajectory_ref": [{"trajectory_id": "t"}]},
    ]
    run = read_document(tmp_path, document(agent_step("", tool_call("a"), results=results)))
    assert run.steps[0].calls[0].agent == "t"
