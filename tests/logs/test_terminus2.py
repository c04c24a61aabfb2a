"""terminus-2's own list: replies in every wrapping."""

import json

import pytest

from skilljuror.events.attribute import attribute
from tests.support.parsed_logs import read_claimed

ANSWER = {"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\n", "duration": 0.1}]}
QUOTED = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "response",
    [
        QUOTED,
        ANSWER,
        json.dumps(QUOTED),
        f"I use {{a}} and {{'b': 1}}.\n{QUOTED}",
        f'{{"note": 1}}\n{QUOTED}',
        f"```json\n{QUOTED}\n```\nDone.",
    ],
    ids=["text", "object", "quoted", "behind words", "behind another object", "fenced"],
)
def test_replies_of_terminus_in_every_wrapping(tmp_path, response):
    given = [{"episode": 0, "prompt": "do", "response": response}]
    (step,) = read_claimed(tmp_path, given, "terminus-2").steps
    assert step.text == "a\np"
    assert [call.command for call in step.calls] == ["ls\n"]


@pytest.mark.parametrize(
    "response",
    ["", "{" * 5000, "null", "[1]", '"x"', None, 7],
    ids=["empty", "braces", "null text", "list text", "string text", "null", "number"],
)
def test_replies_of_terminus_that_are_none(tmp_path, response):
    given = [{"episode": 0, "prompt": "do", "response": response}]
    (step,) = read_claimed(tmp_path, given, "terminus-2").steps
    assert step.calls == ()


def test_a_skill_is_known_by_its_folder_where_the_list_names_it_otherwise(tmp_path):
    listing = [{"name": " # # docx", "location": "/root/.claude/skills/docx"}]
    given = [
        {"episode": 0, "prompt": f"available_skills:\n{json.dumps(listing)}", "response": '{"load_skill": "docx"}'},
        {"episode": 0, "prompt": "Loaded skill: docx\n---\n# Docx\n", "response": QUOTED},
    ]  # fmt: skip
    run = read_claimed(tmp_path, given, "terminus-2")
    assert [skill.name for skill in run.offered] == ["docx"]
    assert {event.skill for event in attribute(run, None).events} == {"docx"}
