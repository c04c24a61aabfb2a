"""ATIF by the letter of the format: results, parts, embedded agents, totals, inline calls."""

import json

import pytest

from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support import places
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
            [tool_call(7), tool_call(8)],
            [{"source_call_id": 8, "content": "x"}],
            {"7": None, "8": "x"},
        ),
    ],
    ids=[
        "screen after the last command",
        "only the end",
        "one by its id",
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


def tokens(prompt, output=1, cost=None):
    return {"prompt_tokens": prompt, "completion_tokens": output, "cost_usd": cost}


def totals(prompt, output=None, cost=None, **more):
    given = {"total_prompt_tokens": prompt, "total_completion_tokens": output}
    return {**given, "total_cost_usd": cost, **more}


def test_a_continuation_counts_on_from_where_it_goes_on(tmp_path):
    """Its totals hold the part before it, and the summaries whose files are not there."""
    first = document(
        agent_step("a", metrics=tokens(100)), final_metrics=totals(100, 1),
        continued_trajectory_ref="trajectory.cont-1.json",
    )  # fmt: skip
    second = document(agent_step("b", metrics=tokens(50)), final_metrics=totals(230, 9, 0.5))
    usage = read_document(tmp_path, first, cont_1=second).usage
    assert (usage.input, usage.output, usage.cost_usd) == (230, 9, 0.5)


@pytest.mark.parametrize(("stated", "expected"), [(100, 170), (170, 170), (200, 200)])
def test_totals_that_leave_the_sub_agents_out_are_not_those_of_the_run(tmp_path, stated, expected):
    child = document(agent_step("b", metrics=tokens(70)), trajectory_id="child")
    given = document(
        agent_step("a", metrics=tokens(100)), final_metrics=totals(stated, 5),
        subagent_trajectories=[child],
    )  # fmt: skip
    assert read_document(tmp_path, given).usage.input == expected


@pytest.mark.parametrize(
    ("stated", "expected"), [(0.1, 0.75), (0.75, 0.75), (0.9, 0.9), (None, 0.75), (0.7499999999, 0.7499999999)]
)  # fmt: skip
def test_a_cost_below_that_of_the_steps_is_not_all(tmp_path, stated, expected):
    steps = [
        agent_step("a", metrics=tokens(1, cost=0.25)),
        agent_step("b", metrics=tokens(1, cost=0.5)),
    ]
    run = read_document(tmp_path, document(*steps, final_metrics=totals(2, 2, stated)))
    assert run.usage.cost_usd == expected


GOLDEN = places.CORPUS / "harbor-atif" / "sachiny0106+Xelron" / "tests" / "golden"
RAW = json.dumps({
    "analysis": "look", "plan": "list", "commands": [
        {"keystrokes": "ls\n", "duration": 0.1}, {"keystrokes": "cat a\n", "duration": 0.1},
    ],
})  # fmt: skip
XML = """<response>
<analysis>look</analysis>
<commands>
<keystrokes duration="0.1">ls
</keystrokes>
<keystrokes>cat a
</keystrokes>
</commands>
</response>"""


@pytest.mark.parametrize("raw", [RAW, f"<think>{{a}}</think>\n{RAW}", f"```json\n{RAW}\n```", XML])
def test_commands_in_raw_content_are_calls(tmp_path, raw):
    run = read_document(tmp_path, document(agent_step(raw, results=[{"content": "screen"}])))
    first, second = run.steps[0].calls
    assert (first.action, first.command, first.result) == ("shell", "ls\n", None)
    assert (second.command, second.result.text) == ("cat a\n", "screen")
    assert "look" in run.steps[0].text
    assert "cat a" not in run.steps[0].text


@pytest.mark.parametrize(
    ("step", "agent"),
    [
        (agent_step(RAW, results=[{"content": "Previous response had parsing errors:\nx"}]), "terminus-2"),
        (agent_step(RAW), "terminus-2"),
        (agent_step(RAW, results=[{"content": "screen"}]), "codex"),
        (agent_step("{} words", results=[{"content": "screen"}]), "terminus-2"),
    ], ids=['refused by terminus', 'without an answer', 'another agent', 'no reply'],
)  # fmt: skip
def test_words_that_were_no_commands(tmp_path, step, agent):
    run = read_document(tmp_path, document(step, agent=agent))
    assert run.steps[0].calls == ()
    assert run.steps[0].text == step["message"]


SPOKEN = """Look at it.
<function=str_replace_editor>
<parameter=command>view</parameter>
<parameter=path>/s/SKILL.md</parameter>
<parameter=view_range>[2, 3]</parameter>
</function>"""


def test_a_function_in_the_words_of_openhands(tmp_path):
    screen = "Here's the result of running `cat -n` on /s/SKILL.md:\n     2\ta\n     3\tb\n"
    step = agent_step(SPOKEN, results=[{"content": screen}])
    run = read_document(tmp_path, document(step, agent="openhands"))
    (one,) = run.steps[0].calls
    assert (one.action, one.path, one.start, one.count) == ("read", "/s/SKILL.md", 2, 2)
    assert (one.result.clean, one.result.first_line) == ("a\nb", 2)
    assert run.steps[0].text == "Look at it."


@pytest.mark.shared
@pytest.mark.skipif(
    not GOLDEN.is_dir(), reason="the corpus of real logs is not beside the checkout"
)
def test_logs_of_raw_content():
    found = discover([GOLDEN / "terminus_2", GOLDEN / "openhands"])
    runs = [run for one in found if one.format for run in read(one.source, one.format)]
    by_name = {run.files[0].rsplit("/", 1)[1].split(".")[0].split("-")[-1]: run for run in runs}
    history, world = by_name["history"], by_name["world"]
    assert [one.command for step in history.steps for one in step.calls] == [
        "mkdir test_dir\n", "echo 'test1' > test_dir/file1.txt\n", "echo 'test2' > test_dir/file2.txt\n",
        "printf 'Hello, world!\\n' > hello.txt\n", "cat hello.txt\n",
    ]  # fmt: skip
    assert all(one.result for step in history.steps for one in step.calls)
    assert compacted_at(history) == (("main", 3),)
    assert history.usage is not None
    assert (history.usage.input, history.usage.output) == (7802, 1030)
    assert [one.name for step in world.steps for one in step.calls] == ["execute_bash", "finish"]
    result = world.steps[0].calls[0].result
    assert result is not None
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("content", "code", "ok", "clean"),
    [
        ("out\n[The command completed with exit code 0.]\n[Current working directory: /a]", 0, True, "out"),
        ("no\n[The command completed with exit code 2.]", 2, False, "no"),
        ("x [The command completed with exit code 2.] y", None, None, None),
        ("ERROR:\nno such file", None, False, None),
    ],
)  # fmt: skip
def test_what_openhands_tells_of_a_command(tmp_path, content, code, ok, clean):
    step = agent_step(
        "",
        tool_call("a", name="execute_bash"),
        results=[{"source_call_id": "a", "content": content}],
    )
    result = read_document(tmp_path, document(step, agent="openhands")).steps[0].calls[0].result
    assert (result.exit_code, result.ok, result.clean) == (code, ok, clean)
