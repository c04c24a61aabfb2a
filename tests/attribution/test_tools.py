"""File tools, skill tools and what the harness injects."""

import pytest

from skilljuror.models.events import SkillManifest
from skilljuror.models.trajectory import Message, OfferedSkill, ToolCall, ToolResult
from tests.support.attribution_runs import BODY, BUNDLE, FORMAT, ROOT, SKILL, TAXES, events_of, ran

BASE = f"Base directory for this skill: {BUNDLE}\n\n{BODY}"


def tool(action, result=None, **more):
    name = {"read": "Read", "edit": "Edit", "write": "Write", "search": "Grep", "list": "Glob"}[
        action
    ]
    return ToolCall("c1", name, action, 2, result=result, **more)


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


def test_a_read_with_the_tools_own_line_numbers():
    result = ToolResult(
        "7\tx", 3, True, clean="\n".join(FORMAT.split("\n")[6:9]), first_line=7, total_lines=31
    )
    (event,) = events_of(
        tool("read", result, path=f"{BUNDLE}/references/format.md", start=7, count=3)
    )
    assert (event.content_exposed, event.lines, event.via) == ("partial", ((7, 9),), "read-tool")


def test_a_whole_read_is_full_and_both_witnesses_agree():
    result = ToolResult(TAXES, 3, True, clean=TAXES, first_line=1, total_lines=3)
    (event,) = events_of(tool("read", result, path=f"{BUNDLE}/references/taxes.md"))
    assert (event.content_exposed, event.lines, event.witness) == ("full", ((1, 3),), "both")
    assert event.shown_bytes == len(TAXES)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("Wasted call", 3, ok=False, unchanged=True),
        ToolResult("File does not exist.", 3, ok=False),
        ToolResult("Path not in workspace", 3, ok=False),
    ],
)
def test_a_read_without_content_failed(result):
    (event,) = events_of(tool("read", result, path=f"{BUNDLE}/references/taxes.md"))
    assert (event.kind, event.ok, event.content_exposed) == ("read", False, "none")


def test_a_read_without_an_answer_is_neither():
    (event,) = events_of(tool("read", path=f"{BUNDLE}/SKILL.md"))
    assert (event.ok, event.content_exposed) == (None, "none")


def test_a_path_that_the_bundle_lacks_is_a_phantom():
    (event,) = events_of(
        tool("read", ToolResult("File does not exist.", 3, False), path=f"{BUNDLE}/nope.md")
    )
    assert (event.phantom, event.resource) == (True, "nope.md")


def test_an_edit_shows_a_snippet_and_is_no_use():
    result = ToolResult("The file was updated:\n1\ta\n2\tb\n3\tc", 3, True)
    (event,) = events_of(tool("edit", result, path=f"{BUNDLE}/SKILL.md", written="b"))
    assert (event.kind, event.counts, event.content_exposed) == ("edit", False, "partial")


def test_a_write_of_code_that_imports_is_a_mention_until_it_runs():
    code = f"import sys\nsys.path.append('{BUNDLE}/scripts')\nfrom total import x\n"
    written = tool("write", ToolResult("ok", 3, True), path="/srv/app/use.py", written=code)
    ran_ = ran("python3 use.py", "7", call_id="c2", line=5)
    kinds = [(one.kind, one.resource, one.line, one.via) for one in events_of(written, ran_)]
    assert kinds == [
        ("mention", "scripts/total.py", 2, "python"),
        ("import", "scripts/total.py", 5, "python"),
    ]


def test_a_search_tool_is_one_event_per_file_with_lines():
    text = f"{BUNDLE}/references/format.md:3:Column 2 holds\n{BUNDLE}/SKILL.md:7:Read references/format.md"
    call = tool(
        "search",
        ToolResult(text, 3, True),
        path=BUNDLE,
        pattern="x",
        arguments={"output_mode": "content"},
    )
    found = {(one.kind, one.resource, one.lines) for one in events_of(call)}
    assert found == {
        ("search", "references/format.md", ((3, 3),)),
        ("search", "SKILL.md", ((7, 7),)),
    }


@pytest.mark.parametrize(
    "text",
    [
        'Found 1 match in path "x":\n---\nFile: references/format.md\nL3: Column 2 holds\n---',
        f"Found 1 matches\n{BUNDLE}/references/format.md:\n  Line 3: Column 2 holds",
    ],
)
def test_searches_that_print_the_file_as_a_heading(text):
    call = ToolCall(
        "c1", "grep_search", "search", 2, path=BUNDLE, pattern="x", result=ToolResult(text, 3, True)
    )
    (event,) = events_of(call)
    assert (event.kind, event.resource, event.lines) == (
        "search",
        "references/format.md",
        ((3, 3),),
    )


def test_a_search_that_prints_names_only_is_a_listing():
    call = tool("search", ToolResult("Found 1 file\nSKILL.md", 3, True), path=BUNDLE, pattern="x")
    assert [(one.kind, one.resource) for one in events_of(call)] == [("list", ".")]


@pytest.mark.parametrize("pattern", [f"{BUNDLE}/**/*.md", f"{BUNDLE}/references/*"])
def test_a_glob_inside_one_bundle_is_a_listing(pattern):
    call = tool("list", ToolResult("SKILL.md", 3, True), pattern=pattern)
    assert [(one.kind, one.resource) for one in events_of(call)] == [("list", ".")]


@pytest.mark.parametrize(
    ("path", "pattern"), [(ROOT, "**/*.md"), ("/srv/app", "**/*ledger*"), (ROOT, None)]
)
def test_a_listing_over_more_than_one_bundle_is_no_event(path, pattern):
    call = tool("list", ToolResult(f"{BUNDLE}/SKILL.md", 3, True), path=path, pattern=pattern)
    assert events_of(call) == []


def test_a_skill_call_and_its_body_are_one_activation():
    (event,) = events_of(skill(), messages=(body(call_id="c1", path=BUNDLE, skill="ledger"),))
    assert (event.kind, event.line, event.via, event.content_exposed) == (
        "activate",
        2,
        "skill-tool",
        "full",
    )
    assert event.lines == ((5, 10),)


def test_a_skill_call_whose_log_drops_the_body_is_still_full():
    (event,) = events_of(skill())
    assert (event.ok, event.content_exposed, event.note) == (
        True,
        "full",
        "the log holds no text of the body",
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


@pytest.mark.parametrize(("start", "exposed"), [(None, "full"), (20, "partial")])
def test_a_log_without_texts_says_by_its_status_that_a_tool_read(start, exposed):
    call = tool("read", ToolResult("", 3, ok=True), path=f"{BUNDLE}/SKILL.md", start=start)
    (event,) = events_of(call)
    assert (event.ok, event.content_exposed, event.lines) == (True, exposed, None)


def test_an_unknown_tool_that_is_given_paths_reads_them():
    arguments = {"paths": [f"{BUNDLE}/SKILL.md", "/srv/app/notes.md"]}
    call = ToolCall(
        "c1", "mcp__files__read", "other", 2, arguments=arguments, result=ToolResult(SKILL, 3, True)
    )
    assert [(one.kind, one.resource, one.via) for one in events_of(call)] == [
        ("read", "SKILL.md", "read-tool")
    ]


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


def test_the_agents_own_skills_are_kept_apart():
    own = OfferedSkill("imagegen", "/root/.codex/skills/.system/imagegen/SKILL.md", bundled=True)
    call = ran("cat /root/.codex/skills/.system/imagegen/SKILL.md", "---\nname: imagegen\n---\nx\n")
    (event,) = events_of(call, offered=(own,))
    assert (event.skill, event.bundled, event.phantom) == ("imagegen", True, False)


def test_a_skill_keeps_the_name_under_which_it_was_offered():
    offered = (OfferedSkill("books:ledger"),)
    call = ran(f"cat {BUNDLE}/SKILL.md", SKILL)
    (event,) = events_of(call, offered=offered)
    assert (event.skill, event.witness, event.resource_class) == ("books:ledger", "both", "root")


def test_a_run_without_skills_shows_what_it_should_not_have_had():
    (event,) = events_of(ran(f"cat {BUNDLE}/SKILL.md", SKILL), manifest=SkillManifest())
    assert (event.skill, event.phantom, event.content_exposed) == ("ledger", True, "full")


def test_two_roots_of_one_skill_are_one_resource():
    first, second = f"cat {BUNDLE}/SKILL.md", "cat /logs/agent/sessions/skills/ledger/SKILL.md"
    found = events_of(ran(first, SKILL), ran(second, SKILL, call_id="c2", line=5))
    assert {(one.skill, one.resource, one.phantom) for one in found} == {
        ("ledger", "SKILL.md", False)
    }
