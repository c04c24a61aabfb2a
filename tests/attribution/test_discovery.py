"""Anybody's logs: no manifest, everything is learned from the log."""

import pytest

from skilljuror.attribution.attribute import attribute
from skilljuror.models.events import Resource, SkillManifest
from skilljuror.models.trajectory import Message, OfferedSkill, ToolCall, ToolResult
from tests.support.attribution_runs import (
    BODY,
    BUNDLE,
    FORMAT,
    MANIFEST,
    ROOT,
    SCRIPT,
    SKILL,
    TAXES,
    events_of,
    ran,
    run_of,
)


def found(*calls, **more):
    return events_of(*calls, manifest=None, **more)


def calls(*pairs):
    return [
        ran(command, output, call_id=f"c{number}", line=number * 10)
        for number, (command, output) in enumerate(pairs, 1)
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "~/.claude/skills/ledger",
        "/srv/app/.agents/skills/ledger",
        ".codex/skills/ledger",
        "/x/.gemini/skills/ledger",
        "/root/.claude/plugins/cache/market/books/1.2.0/skills/ledger",
        "/harbor/skills/ledger",
        "/logs/agent/sessions/skills/ledger",
        "/mnt/skills/public/ledger",
    ],
)
def test_roots_known_from_real_logs(folder):
    (event,) = found(ran(f"cat {folder}/SKILL.md", SKILL))
    assert (event.skill, event.resource, event.content_exposed) == ("ledger", "SKILL.md", "full")


@pytest.mark.parametrize(
    "path",
    [
        "/srv/app/plugins/books/skills/ledger/SKILL.md",
        "/srv/app/docs/SKILL.md",
        "/srv/app/.agents/workflow.md",
        "/srv/app/src/skills/ledger.ts",
        "/srv/app/.claude/settings.json",
    ],
)
def test_what_merely_looks_like_a_root(path):
    assert found(ran(f"cat {path}", SKILL)) == []


def test_only_listed_roots_count_where_the_log_lists_them():
    offered = (OfferedSkill("books:ledger", f"{BUNDLE}/SKILL.md"),)
    listed, other = calls(
        (f"cat {BUNDLE}/SKILL.md", SKILL), ("cat .claude/skills/draft/SKILL.md", TAXES)
    )
    events = found(listed, other, offered=offered)
    assert [(one.skill, one.line) for one in events] == [("books:ledger", 10)]


def test_a_prompt_that_names_a_skill_file_makes_its_folder_a_skill():
    prompt = Message("main", "prompt", "Follow /opt/kit/ledger/SKILL.md to the letter.", 1, 0)
    call = ran("cat /opt/kit/ledger/references/format.md", FORMAT)
    (event,) = found(call, messages=(prompt,), format="mini-swe-agent")
    assert (event.skill, event.resource) == ("ledger", "references/format.md")
    assert found(call, messages=(prompt,)) == []


def test_a_prompt_that_names_a_root_makes_its_folders_skills():
    prompt = Message("main", "prompt", "Skills are in /srv/kit/skills, use them.", 1, 0)
    call = ran("cat /srv/kit/skills/ledger/SKILL.md", SKILL)
    assert [one.skill for one in found(call, messages=(prompt,), format="openhands")] == ["ledger"]


def test_a_location_in_a_skill_list_makes_its_folder_a_skill():
    listing = Message(
        "main", "skill_listing", "<location>/srv/kit/ledger/SKILL.md</location>", 1, 0
    )
    call = ran("cat /srv/kit/ledger/SKILL.md", SKILL)
    (event,) = found(call, messages=(listing,), format="openhands")
    assert event.skill == "ledger"


def test_a_base_directory_makes_its_folder_a_skill():
    text = f"Base directory for this skill: /srv/kit/ledger\n\n{BODY}"
    body = Message("main", "skill_body", text, 2, 0, skill="books:ledger", path="/srv/kit/ledger")
    events = found(ran("python3 /srv/kit/ledger/scripts/total.py"), messages=(body,))
    assert [(one.kind, one.skill) for one in events] == [
        ("activate", "books:ledger"),
        ("exec", "books:ledger"),
    ]


def test_two_halves_teach_the_whole_text():
    lines = FORMAT.split("\n")
    pairs = [
        (f"sed -n '1,20p' {BUNDLE}/references/format.md", "\n".join(lines[:20]) + "\n"),
        (f"sed -n '21,60p' {BUNDLE}/references/format.md", "\n".join(lines[20:])),
        (f"grep -n 'number 7' {BUNDLE}/references/format.md", lines[7] + "\n"),
    ]
    first, second, third = found(*calls(*pairs))
    assert [first.lines, second.lines, third.lines] == [((1, 20),), ((21, 31),), ((8, 8),)]
    assert {one.content_exposed for one in (first, second, third)} == {"partial"}


def test_the_learned_text_is_part_of_the_discovered_manifest():
    run = run_of(ran(f"cat {BUNDLE}/references/taxes.md", TAXES))
    manifest = attribute(run, None).manifest
    assert (manifest.known, manifest.skills) == (False, ("ledger",))
    assert [(one.path, one.text) for one in manifest.resources] == [("references/taxes.md", TAXES)]


def test_an_output_is_no_second_witness_for_the_text_it_taught():
    first, second = found(
        *calls((f"cat {BUNDLE}/SKILL.md", SKILL), (f"head -50 {BUNDLE}/SKILL.md", SKILL))
    )
    assert (first.witness, second.witness) == ("command", "both")


@pytest.mark.parametrize(
    ("command", "output", "exposed", "lines"),
    [
        (f"sed -n '1,240p' {BUNDLE}/SKILL.md", SKILL, "full", ((1, 10),)),
        (f"sed -n '1,10p' {BUNDLE}/SKILL.md", SKILL, "partial", ((1, 10),)),
        (f"sed -n '5,10p' {BUNDLE}/SKILL.md", BODY, "partial", ((5, 10),)),
        (f"tail -n 30 {BUNDLE}/SKILL.md", SKILL, "full", ((1, 10),)),
        (f"tail -n 6 {BUNDLE}/SKILL.md", BODY, "partial", None),
        (f"cat {BUNDLE}/SKILL.md", SKILL + "…1234 tokens truncated…", "partial", None),
        (f"pwd && sed -n '1,240p' {BUNDLE}/SKILL.md", "/srv/app\n" + SKILL, "full", ((1, 10),)),
        (f"pwd && cat {BUNDLE}/notes.md", "/srv/app\nx\n", "full", None),
        (f"ls {BUNDLE} && cat {BUNDLE}/SKILL.md", "SKILL.md\n" + SKILL, "full", ((1, 10),)),
        (f"echo A; cat {BUNDLE}/SKILL.md; echo B", f"A\n{SKILL}B\n", "full", ((1, 10),)),
        (f"awk '/sale/' {BUNDLE}/SKILL.md", BODY[:60], "partial", None),
        (f"cat {BUNDLE}/SKILL.md > /tmp/x", "", "none", None),
    ],
)
def test_lines_are_counted_where_no_text_is_known(command, output, exposed, lines):
    (event,) = [one for one in found(ran(command, output)) if one.kind == "read"]
    assert (event.content_exposed, event.lines) == (exposed, lines)


@pytest.mark.parametrize(
    ("note", "exposed"),
    [
        ("…1234 tokens truncated…", "partial"),
        ("[12 lines truncated]", "partial"),
        ("... [300 characters truncated] ...", "partial"),
        ("[... Observation truncated due to length ...]", "partial"),
        ("Output too large (40KB). Full output saved to: /x", "partial"),
        ("<response clipped>", "partial"),
        ("Say so where the output is truncated.", "full"),
        ("Lines may be omitted from the ledger.", "full"),
    ],
)
def test_what_a_harness_left_out(note, exposed):
    (event,) = found(ran(f"cat {BUNDLE}/SKILL.md", f"{SKILL}{note}\n"))
    assert event.content_exposed == exposed


def test_two_skill_files_in_one_output_part_at_their_front_matter():
    other = "---\nname: other\n---\n# Other\nThat is all.\n"
    command = f"sed -n '1,220p' {BUNDLE}/SKILL.md && sed -n '1,180p' {ROOT}/other/SKILL.md"
    first, second = found(ran(command, SKILL + other))
    assert (first.lines, second.lines) == (((1, 10),), ((1, 5),))


def test_headers_part_the_output_of_one_command():
    output = f"==> {BUNDLE}/SKILL.md <==\n---\nname: ledger\n\n==> {BUNDLE}/references/taxes.md <==\n{TAXES}"
    first, second = found(ran(f"head -n 2 {BUNDLE}/SKILL.md {BUNDLE}/references/taxes.md", output))
    assert (first.lines, second.resource) == (((1, 2),), "references/taxes.md")


def test_a_glob_means_the_files_that_a_listing_named():
    pairs = [
        (f"ls {BUNDLE}/references", "format.md\ntaxes.md\n"),
        (f"cd {BUNDLE} && cat references/*.md", FORMAT + TAXES),
    ]
    resources = [one.resource for one in found(*calls(*pairs)) if one.kind == "read"]
    assert resources == ["references/format.md", "references/taxes.md"]


def test_a_glob_means_the_files_that_the_skill_names():
    body = Message("main", "skill_body", f"Base directory for this skill: {BUNDLE}\n\n{BODY}", 3, 1,
                   skill="ledger", path=BUNDLE, call_id="c0")  # fmt: skip
    skill = ToolCall(
        "c0", "Skill", "skill", 2, skill="ledger", result=ToolResult("Launching skill", 3, True)
    )
    events = found(skill, *calls((f"cat {BUNDLE}/references/*", FORMAT)), messages=(body,))
    assert [(one.kind, one.resource) for one in events] == [
        ("activate", "SKILL.md"), ("read", "references/format.md"),
    ]  # fmt: skip


def test_a_path_without_the_skills_folder_belongs_to_the_skill_touched_last():
    missing = f"sed: can't read {ROOT}/references/format.md: No such file or directory"
    good, bad = calls(
        (f"cat {BUNDLE}/SKILL.md", SKILL), (f"sed -n 1,9p {ROOT}/references/format.md", missing)
    )
    last = found(good, bad)[-1]
    assert (last.skill, last.resource, last.ok, last.phantom) == (
        "ledger",
        "references/format.md",
        False,
        True,
    )


MOVED = (f"cd {BUNDLE} && cat SKILL.md", SKILL), ("python3 scripts/total.py > notes.txt", "")


@pytest.mark.parametrize("agent", ["claude-code", "openhands", "terminus-2"])
def test_a_folder_is_kept_between_calls_where_they_share_a_shell(agent):
    events = found(*calls(*MOVED), format="atif", agent=agent)
    assert [(one.kind, one.resource) for one in events] == [
        ("read", "SKILL.md"), ("exec", "scripts/total.py"), ("write", "notes.txt"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "agent", ["codex", "gemini-cli", "mini-swe-agent", "opencode", "copilot-cli", "scripted", None]
)
def test_a_folder_is_not_kept_where_every_call_has_a_new_shell(agent):
    events = found(*calls(*MOVED), format="atif", agent=agent)
    assert [(one.kind, one.resource) for one in events] == [("read", "SKILL.md")]


def test_a_shell_that_is_typed_into_stays_where_it_was_moved():
    def typed(chars, line):
        return ToolCall(
            f"c{line}", "write_stdin", "poll", line, arguments={"chars": chars}, command="bash",
            result=ToolResult("$ ", line + 1),
        )  # fmt: skip

    started = ran("bash", "$ ")
    moved = [typed(f"cd {BUNDLE}\n", 5), typed("python3 scripts/total.py\n", 7)]
    events = found(started, *moved, ran("ls scripts", "", line=9), agent="codex")
    assert [(one.kind, one.resource, one.line) for one in events] == [
        ("exec", "scripts/total.py", 7)
    ]


def test_a_folder_that_the_harness_reset_is_forgotten():
    first, second = calls((f"cd {BUNDLE}", "Shell cwd was reset to /srv/app"), ("ls", "x"))
    third = ran("python3 scripts/total.py", "7", call_id="c9", line=50)
    assert found(first, second, third) == []


def test_what_a_poll_brings_belongs_to_the_command():
    command = f"cat {BUNDLE}/SKILL.md"
    start = ran(command, "", exit_code=0)
    poll = ToolCall("c2", "write_stdin", "poll", 5, command=command, result=ToolResult(SKILL, 6))
    events = found(start, poll)
    assert [(one.line, one.content_exposed, one.lines) for one in events] == [
        (2, "full", ((1, 10),))
    ]


def test_another_agents_screen_is_not_this_agents_read():
    read, screen = calls((f"cat {BUNDLE}/SKILL.md", SKILL), ("tmux capture-pane -p", SKILL))
    assert [one.line for one in found(read, screen)] == [10]


def test_a_sub_agents_answer_is_not_a_read():
    answer = ToolCall("c2", "Agent", "agent", 20, result=ToolResult(SKILL, 21, True))
    assert [one.line for one in found(*calls((f"cat {BUNDLE}/SKILL.md", SKILL)), answer)] == [10]


def test_keystrokes_of_one_reply_share_a_screen():
    screen = (
        f"New Terminal Output:\nroot@vm:/# cat {BUNDLE}/SKILL.md\n{SKILL}root@vm:/# ls\nx\n\n\n"
    )
    first = ran(
        f"cat {BUNDLE}/SKILL.md\n", result=None, call_id=None, arguments={"keystrokes": "x"}
    )
    second = ran("ls\n", result=ToolResult(screen, 3), call_id=None, arguments={"keystrokes": "ls"})
    run = run_of(first, second)
    step = type(run.steps[0])("main", 1, 2, calls=(first, second))
    (event,) = attribute(type(run)("t", "terminus-2", ("f",), (step,)), None).events
    assert (event.content_exposed, event.lines) == ("full", ((1, 10),))


def test_a_run_without_an_exit_status_is_judged_by_its_output():
    good = ToolResult("total 7", 3)
    bad = ToolResult("Traceback (most recent call last):\n  x\nKeyError: 1", 3)
    command = f"python3 {BUNDLE}/scripts/total.py"
    assert [found(ran(command, result=one))[0].ok for one in (good, bad)] == [True, False]


def test_a_log_without_texts_says_by_its_status_that_a_file_was_read():
    (event,) = found(ran(f"cat {BUNDLE}/SKILL.md", ""))
    assert (event.ok, event.content_exposed, event.note) == (
        True,
        "full",
        "the log holds no text of the result",
    )


def test_an_output_that_shows_a_known_text_is_a_read_without_a_command():
    (event,) = events_of(ran("make show-ledger", f"building\n{SKILL}done\n"))
    assert (event.kind, event.resource, event.witness) == ("read", "SKILL.md", "content")
    assert (event.content_exposed, event.lines) == ("full", ((1, 10),))


@pytest.mark.parametrize(
    "output", ["Column 2 holds the value of rule number 2.\n", "---\n\nx\n", SCRIPT[:20]]
)
def test_a_line_or_two_are_no_proof(output):
    assert events_of(ran("make", output)) == []


@pytest.mark.parametrize(
    ("first", "last", "events"), [(5, 9, 0), (5, 13, 0), (5, 16, 1), (3, 20, 1), (1, 31, 1)]
)
def test_a_quoted_example_is_no_read_and_a_long_piece_is(first, last, events):
    text = "\n".join(["manual", *FORMAT.split("\n")[first - 1 : last], "end"])
    assert len(events_of(ran("cat docs/manual.md", text))) == events


TEMPLATE = (
    "# Report of the ledger\n\nPrepared for the board of the company.\n\n## Summary of sales\n\n"
    "## Open questions\n\nSigned by the keeper of the ledger.\n"
)
WITH_TEMPLATE = SkillManifest(
    resources=(*MANIFEST.resources, Resource("ledger", "assets/report.md", "support", TEMPLATE)),
    roots=MANIFEST.roots, skills=MANIFEST.skills,
)  # fmt: skip
REPORT = TEMPLATE.replace("\n\n## Open", "\n\nSales rose.\nCosts fell.\nNothing is due.\n\n## Open")
FOREIGN = "\n".join(TEMPLATE.split("\n")[:5]) + "\n\n" + "Another harbour, another year.\n" * 9


@pytest.mark.parametrize("text", [REPORT, FOREIGN], ids=["filled-in", "another-report"])
@pytest.mark.parametrize("tool", ["cat", "read"])
def test_a_file_with_lines_of_a_template_is_not_the_template(tool, text):
    read = ToolCall(
        "c1", "Read", "read", 2, path="/srv/app/out/report.md", result=ToolResult(text, 3, True)
    )
    call = ran("cat out/report.md", text) if tool == "cat" else read
    assert events_of(call, manifest=WITH_TEMPLATE) == []


@pytest.mark.parametrize(
    ("text", "resource"),
    [(TEMPLATE, "assets/report.md"), (TAXES, "references/taxes.md"), (FORMAT, "references/format.md")],
    ids=["template", "short", "long"],
)  # fmt: skip
@pytest.mark.parametrize("around", ["", "{}", "== old.md\n{}"], ids=["empty", "alone", "headed"])
def test_a_copy_that_no_command_names_is_found(text, resource, around):
    shown = around.format(text)
    events = events_of(ran("cat backup/old.md", shown), manifest=WITH_TEMPLATE)
    expected = [(resource, "full", "content")] if shown else []
    assert [(one.resource, one.content_exposed, one.witness) for one in events] == expected


def test_code_that_prints_several_files_shows_each():
    shown = f"SKILL.md\n{SKILL}\nreport\n{TEMPLATE}"
    events = events_of(ran("python3 print_all.py", shown), manifest=WITH_TEMPLATE)
    assert [(one.resource, one.content_exposed) for one in events] == [
        ("SKILL.md", "full"), ("assets/report.md", "full"),
    ]  # fmt: skip


def test_witnesses_that_disagree_say_so():
    (event,) = events_of(
        ran(f"cat {BUNDLE}/SKILL.md", "something else altogether\nwith two lines\n")
    )
    assert event.note.startswith("witnesses disagree")
    (part,) = events_of(
        ran(f"cat {BUNDLE}/references/format.md", "\n".join(FORMAT.split("\n")[4:9]))
    )
    assert (part.content_exposed, part.lines) == ("partial", ((5, 9),))
    assert part.note.startswith("witnesses disagree")


def test_the_events_are_numbered_in_order_and_name_their_file():
    run = run_of(
        *calls((f"cat {BUNDLE}/SKILL.md", SKILL), (f"cat {BUNDLE}/references/taxes.md", TAXES))
    )
    sub = type(run.steps[0])("a1", 1, 4, calls=(ran(f"cat {BUNDLE}/SKILL.md", SKILL),), file=1)
    run = type(run)("t", "claude-session", ("a", "b"), (*run.steps, sub), cwd="/srv/app")
    events = attribute(run, None).events
    assert [(one.ordinal, one.agent, one.file) for one in events] == [
        (0, "main", None), (1, "main", None), (2, "a1", "b"),
    ]  # fmt: skip
