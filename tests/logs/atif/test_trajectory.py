"""ATIF by the letter of the format: compactions, parts, embedded agents, odd documents."""

import json

import pytest

from skilljuror.logs.base import Source
from skilljuror.logs.read import read
from tests.support.atif_documents import (
    agent_step,
    document,
    read_document,
    results_by_call,
    tool_call,
)
from tests.support.parsed_logs import compacted_at


def test_a_late_result_answers_the_call_of_an_earlier_step(tmp_path):
    late = agent_step("", tool_call("b"), results=[{"source_call_id": "a", "content": "late"}])
    run = read_document(tmp_path, document(agent_step("", tool_call("a")), late))
    assert results_by_call(run) == {"a": "late", "b": None}


def test_what_answers_nothing_reached_the_context_all_the_same(tmp_path):
    results = [
        {"source_call_id": "a", "content": "x"},
        {"source_call_id": "gone", "content": "lost"},
        {"content": "over"},
    ]
    told = {"source": "system", "message": "m", "observation": {"results": [{"content": "told"}]}}
    run = read_document(tmp_path, document(agent_step("", tool_call("a"), results=results), told))
    others = [(one.text, one.step) for one in run.messages if one.kind == "other"]
    assert others == [("lost", 1), ("over", 1), ("told", 1)]


def test_arguments_as_the_text_of_the_model(tmp_path):
    one = {**tool_call("a"), "arguments": '{"command": "cat x"}'}
    other = {**tool_call("b"), "arguments": "cat y"}
    run = read_document(tmp_path, document(agent_step("", one, other)))
    assert [given.arguments for given in run.steps[0].calls] == [
        {"command": "cat x"},
        {"input": "cat y"},
    ]


HANDOFF = {
    "source": "system", "message": "Performed context summarization and handoff to continue task.",
}  # fmt: skip
REPLACED = {"type": "compaction", "boundary": "replace"}


@pytest.mark.parametrize(
    ("step", "compactions"),
    [
        (HANDOFF, (("main", 1),)),
        ({"source": "system", "message": "m", "extra": {"context_management": REPLACED}}, (("main", 1),)),
        ({"source": "system", "message": "m", "extra": {"context_management": {"type": "injection", "boundary": "append"}}}, ()),
        ({"source": "system", "message": "m", "extra": {"context_management": "odd"}}, ()),
        ({**HANDOFF, "source": "user"}, ()),
    ], ids=['handoff', 'context replaced', 'context appended', 'odd management', 'handoff of a user'],
)  # fmt: skip
def test_a_step_that_tells_of_a_compaction(tmp_path, step, compactions):
    run = read_document(tmp_path, document(agent_step("a"), step, agent_step("b")))
    assert compacted_at(run) == compactions


def test_a_handoff_and_its_continuation_are_one_compaction(tmp_path):
    first = document(agent_step("a"), HANDOFF, continued_trajectory_ref="trajectory.cont-1.json")
    run = read_document(tmp_path, first, cont_1=document(agent_step("b"), HANDOFF, agent_step("c")))
    assert compacted_at(run) == (("main", 1), ("main", 2))


def test_steps_of_embedded_agents_have_places_of_their_own(tmp_path):
    deep = document(agent_step("DEEP", tool_call("d", "cat DEEPER\n")), trajectory_id="deep")
    child = document(agent_step("CHILD"), trajectory_id="child", subagent_trajectories=[deep])
    run = read_document(tmp_path, document(agent_step("MAIN"), subagent_trajectories=[child]))
    assert [(step.agent, step.line) for step in run.steps] == [
        ("main", 1), ("child", 2), ("deep", 3)
    ]  # fmt: skip
    assert run.steps[2].calls[0].line == 3


@pytest.mark.parametrize("broken", ['{"schema_version": "ATIF-v1.8"}', '{"schema_version": "ATIF-v1.8", "steps": 7}'])  # fmt: skip
def test_a_broken_part_costs_itself_alone(tmp_path, broken):
    run = read_document(tmp_path, document(agent_step("a")), summarization_1_summary=broken)
    assert [step.text for step in run.steps] == ["a"]
    assert "summarization-1-summary.json" in run.warnings[0]
    assert not run.complete


@pytest.mark.parametrize(
    ("before", "after"), [("\ufeff", ""), ("", "\n\x00\x00"), ("\ufeff", "\n")]
)
def test_a_mark_before_a_document_and_padding_after_it_cut_nothing(tmp_path, before, after):
    path = tmp_path / "t.json"
    plain = json.dumps(document(agent_step("a"), agent_step("b")), indent=1)
    path.write_text(before + plain + after, encoding="utf-8")
    (run,) = read(Source(path), "atif")
    assert run.complete
    assert [step.text for step in run.steps] == ["a", "b"]


@pytest.mark.parametrize("following", ["trajectory.json", "trajectory.cont-9.json", "../x.json", 7])
def test_a_continuation_that_leads_nowhere(tmp_path, following):
    run = read_document(tmp_path, document(agent_step("a"), continued_trajectory_ref=following))
    assert [step.text for step in run.steps] == ["a"]
    assert compacted_at(run) == ()


def test_parts_that_name_each_other(tmp_path):
    first = document(agent_step("a"), continued_trajectory_ref="trajectory.cont-1.json")
    second = document(agent_step("b"), continued_trajectory_ref="trajectory.json")
    run = read_document(tmp_path, first, cont_1=second)
    assert [step.text for step in run.steps] == ["a", "b"]
    assert compacted_at(run) == (("main", 1),)
