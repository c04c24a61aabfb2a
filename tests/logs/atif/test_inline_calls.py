"""Calls that an agent wrote into its words."""

import json

import pytest

from skilljuror.logs.discovery.find_logs import discover
from skilljuror.logs.read import read
from tests.support import places
from tests.support.atif_documents import agent_step, document, read_document
from tests.support.parsed_logs import compacted_at

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
