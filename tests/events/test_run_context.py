"""The first look at a run: polls, shared screens, and what a log teaches of names and texts."""

from skilljuror.base.trajectory import (
    ToolCall,
    ToolResult,
)
from skilljuror.events.attribute import attribute
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    SKILL,
    TAXES,
    events_on_screen,
    keystrokes_call,
    observed_events,
    ran,
    ran_each,
    run_of,
)


def test_two_halves_teach_the_whole_text():
    lines = FORMAT.split("\n")
    pairs = [
        (f"sed -n '1,20p' {BUNDLE}/references/format.md", "\n".join(lines[:20]) + "\n"),
        (f"sed -n '21,60p' {BUNDLE}/references/format.md", "\n".join(lines[20:])),
        (f"grep -n 'number 7' {BUNDLE}/references/format.md", lines[7] + "\n"),
    ]
    first, second, third = observed_events(*ran_each(*pairs))
    assert [first.lines, second.lines, third.lines] == [((1, 20),), ((21, 31),), ((8, 8),)]
    assert {one.content_exposed for one in (first, second, third)} == {"partial"}


def test_the_learned_text_is_part_of_the_discovered_manifest():
    run = run_of(ran(f"cat {BUNDLE}/references/taxes.md", TAXES))
    manifest = attribute(run, None).manifest
    assert (manifest.known, manifest.skills) == (False, ("ledger",))
    assert [(one.path, one.text) for one in manifest.resources] == [("references/taxes.md", TAXES)]


def test_an_output_is_no_second_witness_for_the_text_it_taught():
    first, second = observed_events(
        *ran_each((f"cat {BUNDLE}/SKILL.md", SKILL), (f"head -50 {BUNDLE}/SKILL.md", SKILL))
    )
    assert (first.witness, second.witness) == ("command", "both")


def test_what_a_poll_brings_belongs_to_the_command():
    command = f"cat {BUNDLE}/SKILL.md"
    start = ran(command, "", exit_code=0)
    poll = ToolCall("c2", "write_stdin", "poll", 5, command=command, result=ToolResult(SKILL, 6))
    events = observed_events(start, poll)
    assert [(one.line, one.content_exposed, one.lines) for one in events] == [
        (2, "full", ((1, 10),))
    ]


def test_keystrokes_sent_together_share_one_screen():
    screen = f"New Terminal Output:\nroot@x:/app# cat {BUNDLE}/SKILL.md\n{SKILL}root@x:/app#"
    first = keystrokes_call("cd /app\n", call_id="k1", line=1)
    second = keystrokes_call(f"cat {BUNDLE}/SKILL.md\n", call_id="k2", line=2)
    third = keystrokes_call("q", screen, call_id="k3", line=3)
    assert events_on_screen((first, second, third)) == [(2, "read", "SKILL.md")]
