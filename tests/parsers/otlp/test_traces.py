"""Traces that no golden log has: what an agent leaves out, and what goes wrong."""

import json

import pytest

from skilljuror.errors import TrajectoryError
from skilljuror.ingest.logs import events_of
from skilljuror.parsers.base import Source
from skilljuror.parsers.otlp.traces import OtlpTraces

MESSAGES = {
    "gen_ai.output.messages": [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "bash",
                                         "arguments": {"command": "ls"}}]}],
}  # fmt: skip


def span(id, operation, at, parent=None, trace="t", **given):
    attributes = {"gen_ai.operation.name": operation} | {
        name.replace("__", "."): value for name, value in given.items()
    }
    return {
        "traceId": trace, "spanId": id, "parentSpanId": parent, "name": operation,
        "startTimeUnixNano": str(at * 10**9), "endTimeUnixNano": (at + 1) * 10**9,
        "attributes": [{"key": key, "value": value_of(value)} for key, value in attributes.items()],
    }  # fmt: skip


def value_of(value):
    if isinstance(value, list | dict):
        return {"stringValue": json.dumps(value)}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def runs(path, *spans):
    """The runs of a file with one request on each line."""
    requests = [{"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]} for one in spans]
    path.write_text("".join(json.dumps(one) + "\n" for one in requests))
    return list(OtlpTraces("otlp").parse(Source(path)))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "traces.jsonl"


def test_each_conversation_is_a_run_and_spans_may_come_in_any_order(file):
    found = runs(
        file,
        span("b", "chat", 5, "r", **{"gen_ai.conversation.id": "two"}),
        span("a", "chat", 1, "r", **{"gen_ai.conversation.id": "one"}),
        span("c", "chat", 3, trace="u"),
        span("a", "chat", 1, "r", **{"gen_ai.conversation.id": "one"}),  # sent twice
        span("d", "embeddings", 4, trace="u"),
    )
    assert [(run.session, len(run.steps)) for run in found] == [("one", 1), ("u", 1), ("two", 1)]
    assert found[1].skipped == {"embeddings": 1}


def test_totals_of_the_invocation_count_only_where_its_calls_have_none(file):
    used = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 60,
            "gen_ai.usage.output_tokens": 7}  # fmt: skip
    root = span("r", "invoke_agent", 0, **used)
    (run,) = runs(file, root, span("a", "chat", 1, "r"))
    assert (run.usage.input, run.usage.cache_read, run.usage.output) == (40, 60, 7)
    (run,) = runs(file, root, span("a", "chat", 1, "r", **{"gen_ai.usage.output_tokens": 3}))
    assert (run.usage.input, run.usage.output) == (None, 3)


def test_a_result_among_the_next_messages_fills_a_span_without_text(file):
    answer = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "a.md"}]}
    ]
    (run,) = runs(
        file,
        span("a", "chat", 1, **MESSAGES),
        span("t", "execute_tool", 2, **{"gen_ai.tool.call.id": "c1", "gen_ai.tool.name": "bash"}),
        span("b", "chat", 4, **{"gen_ai.input.messages": answer}),
    )
    (call,) = run.steps[0].calls
    assert (call.result.text, call.result.seconds, call.command) == ("a.md", 1.0, "ls")


def test_parents_in_a_circle_end(file):
    (run,) = runs(file, span("a", "chat", 1, "b"), span("b", "invoke_agent", 0, "a"))
    assert len(run.steps) == 1


def test_a_deep_chain_is_read_in_one_pass(file):
    chain = [span(str(n), "execute_tool", n, str(n - 1)) for n in range(1, 3000)]
    (run,) = runs(file, *chain)
    assert sum(len(step.calls) for step in run.steps) == 2999


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"gen_ai.tool.name": "run_skill_script"}, "exec"),
        ({"gen_ai.tool.name": "my_runner", "process.exit.code": 0}, "exec"),
        ({"gen_ai.tool.name": "exec_command"}, "exec"),
        ({"gen_ai.tool.name": "load_skill_resource"}, "read"),
    ],
)
def test_a_command_that_runs_a_resource_is_no_read_of_it(file, given, kind):
    skill = {"gen_ai.skill.name": "tea", "gen_ai.skill.resource.name": "scripts/brew.py"}
    runs(file, span("a", "execute_tool", 1, **given, **skill))
    ((event,),) = ((run.events) for run in events_of([file]))
    assert (event.skill, event.resource, event.kind) == ("tea", "scripts/brew.py", kind)


def test_spans_without_an_agent_are_one_clear_error(file):
    with pytest.raises(TrajectoryError, match="has no span of a model call or tool of an agent"):
        runs(file, span("a", "embeddings", 1))
