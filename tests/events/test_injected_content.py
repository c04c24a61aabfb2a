"""What the harness put into the context: bodies, files, trees of names."""

import pytest
from msgspec.structs import replace

from skilljuror.base.trajectory import Message, ToolCall, ToolResult
from skilljuror.events.attribute import body_text
from skilljuror.events.evidence import text_digest
from tests.support.attribution_runs import BODY, BUNDLE, SKILL, TAXES, events_of
from tests.support.generated_texts import SIZE, soon

BASE = f"Base directory for this skill: {BUNDLE}\n\n{BODY}"


def skill(text="Launching skill: ledger", ok=True, name="ledger"):
    return ToolCall("c1", "Skill", "skill", 2, skill=name, result=ToolResult(text, 3, ok=ok))


def body(**more):
    return Message(**{
        "agent": "main",
        "kind": "skill_body",
        "text": BASE,
        "line": 4,
        "step": 1,
        **more,
    })


def test_a_skill_call_and_its_body_are_one_activation():
    (event,) = events_of(skill(), messages=(body(call_id="c1", path=BUNDLE, skill="ledger"),))
    assert (event.kind, event.line, event.via, event.content_exposed) == (
        "activate",
        2,
        "skill-tool",
        "full",
    )
    assert event.lines == ((5, 10),)


def test_what_another_session_was_shown_is_no_event():
    assert events_of(messages=(body(path=BUNDLE, skill="ledger", inherited=True),)) == []


def test_a_skill_call_whose_log_drops_the_body_is_still_full():
    (event,) = events_of(skill())
    assert (event.ok, event.content_exposed, event.note) == (
        True,
        "full",
        "no text of the body in the log",
    )


def test_an_unknown_skill_fails():
    (event,) = events_of(skill("<tool_use_error>Unknown skill: legder", ok=False, name="legder"))
    assert (event.skill, event.ok, event.content_exposed, event.phantom) == (
        "legder",
        False,
        "none",
        True,
    )


def test_a_skill_call_that_discloses_names_is_a_listing_too():
    text = f"<instructions>{BODY}</instructions><available_resources>x</available_resources>"
    found = [(one.kind, one.resource) for one in events_of(skill(text))]
    assert found == [("activate", "SKILL.md"), ("list", ".")]


def test_a_slash_command_is_an_activation_before_the_first_step():
    (event,) = events_of(messages=(body(step=0, skill="ledger", path=BUNDLE, command_line=3),))
    assert (event.kind, event.via, event.line, event.step) == ("activate", "slash", 4, 0)


def test_an_injected_file_is_an_activation_with_its_front_matter():
    message = body(text=SKILL, step=0, skill="ledger", path=f"{BUNDLE}/SKILL.md")
    (event,) = events_of(messages=(message,))
    assert (event.via, event.lines, event.content_exposed) == ("injected", ((1, 10),), "full")


def test_a_file_put_back_after_a_compaction_is_a_read():
    message = Message("main", "reinjected", TAXES, 9, 6, path=f"{BUNDLE}/references/taxes.md")
    (event,) = events_of(messages=(message,))
    assert (event.kind, event.via, event.lines) == ("read", "reinjected", ((1, 3),))


def test_a_file_that_the_user_attached_is_a_read():
    message = Message("main", "other", TAXES, 2, 0, path=f"{BUNDLE}/references/taxes.md")
    (event,) = events_of(messages=(message,))
    assert (event.kind, event.via, event.step, event.content_exposed) == (
        "read",
        "injected",
        0,
        "full",
    )


@pytest.mark.parametrize("kind", ["skill_listing", "summary", "prompt", "system", "other", "slash"])
def test_a_message_that_only_names_the_skill_is_no_event(kind):
    text = f"- ledger: Keep a ledger of sales. (file: {BUNDLE}/SKILL.md)\nuse references/format.md"
    assert events_of(messages=(Message("main", kind, text, 3, 0),)) == []


def test_a_prompt_that_holds_the_text_of_a_skill_activates_it():
    (event,) = events_of(
        messages=(Message("main", "system", f"Rules.\n\n{SKILL}\nBe kind.", 1, 0),)
    )
    assert (event.kind, event.via, event.witness) == ("activate", "injected", "content")


def test_a_workspace_tree_discloses_names():
    text = "work/\n├── .claude/\n│   └── skills/\n│       └── ledger/\n│           └── SKILL.md\n"
    (event,) = events_of(messages=(Message("main", "tree", text, 2, 0),))
    assert (event.kind, event.resource, event.via) == ("list", ".", "injected")


def test_a_loaded_body_of_blank_lines_is_read_soon():
    blank = "\n" * SIZE
    text = f"<skill_content name='x'>\nOne.{blank}Two.\nBase directory for this skill: /x"
    assert soon(body_text, text) == f"One.{blank}Two."


ASKED = """# Ledger
Close the books of $0 with care.
Today: !`date +%F`

```bash
awk '{ print $1, $2 }' $ARGUMENTS
```
All is written down once, in whole cents.
Run ${CLAUDE_SKILL_DIR}/scripts/total.py over the entries.
"""


def loaded(arguments: str, today: str):
    first, *others = words = arguments.split()
    text = ASKED.replace("$ARGUMENTS", arguments).replace("$0", first).replace("!`date +%F`", today)
    for number, word in enumerate(others, 1):
        text = text.replace(f"${number}", word)
    text = text.replace("${CLAUDE_SKILL_DIR}", BUNDLE)
    call = ToolCall(
        "c1", "Skill", "skill", 2, skill="ledger", result=ToolResult("Launching skill: ledger", 3),
        arguments={"skill": "ledger", "args": " ".join(words)},
    )  # fmt: skip
    message = body(
        text=f"Base directory for this skill: {BUNDLE}\n\n{text}", call_id="c1", path=BUNDLE
    )
    return call, message


def test_words_of_arguments_stay_where_the_loader_appended_them():
    call, message = loaded("march", "x")
    appended = replace(message, text=f"{BASE}\n\nARGUMENTS: whole cents")
    asked = replace(call, arguments={"args": "whole cents"})
    (event,) = events_of(asked, messages=(appended,), manifest=None)
    assert event.text_digest == text_digest(BODY.splitlines())
