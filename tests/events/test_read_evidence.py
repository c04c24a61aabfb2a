"""What an output proves of a read or a run: exposure, real lines, success."""

import pytest

from skilljuror.base.trajectory import (
    ToolCall,
    ToolResult,
)
from skilljuror.events.evidence import text_digest
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    REFERENCES,
    SKILL,
    TAXES,
    events_of,
    file_tool,
    observed_events,
    ran,
    ran_each,
)


def test_a_read_with_the_tools_own_line_numbers():
    result = ToolResult(
        "7\tx", 3, True, clean="\n".join(FORMAT.split("\n")[6:9]), first_line=7, total_lines=31
    )
    (event,) = events_of(
        file_tool("read", result, path=f"{BUNDLE}/references/format.md", start=7, count=3)
    )
    assert (event.content_exposed, event.lines, event.via) == ("partial", ((7, 9),), "read-tool")


def test_a_whole_read_is_full_and_both_witnesses_agree():
    result = ToolResult(TAXES, 3, True, clean=TAXES, first_line=1, total_lines=3)
    (event,) = events_of(file_tool("read", result, path=f"{BUNDLE}/references/taxes.md"))
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
    (event,) = events_of(file_tool("read", result, path=f"{BUNDLE}/references/taxes.md"))
    assert (event.kind, event.ok, event.content_exposed) == ("read", False, "none")


def test_a_read_without_an_answer_is_neither():
    (event,) = events_of(file_tool("read", path=f"{BUNDLE}/SKILL.md"))
    assert (event.ok, event.content_exposed) == (None, "none")


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
    (event,) = observed_events(ran(f"cat {BUNDLE}/SKILL.md", f"{SKILL}{note}\n"))
    assert event.content_exposed == exposed


def test_a_run_without_an_exit_status_is_judged_by_its_output():
    good = ToolResult("total 7", 3)
    bad = ToolResult("Traceback (most recent call last):\n  x\nKeyError: 1", 3)
    command = f"python3 {BUNDLE}/scripts/total.py"
    assert [observed_events(ran(command, result=one))[0].ok for one in (good, bad)] == [True, False]


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


@pytest.mark.parametrize(
    "message",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "Permission to use Bash with command cat has been denied.",
        "Sibling tool call errored",
        "aborted by user after 3.2s",
    ],
)
def test_a_refused_command_shows_and_teaches_nothing(message):
    refused = ran(f"cat {REFERENCES}/taxes.md", message, exit_code=None)
    refused = ToolCall(**{**_fields(refused), "result": ToolResult(message, 3, ok=False)})
    shown = ran(f"cat {REFERENCES}/taxes.md", TAXES, call_id="c2", line=9)
    first, second = events_of(refused, shown, manifest=None)
    assert (first.content_exposed, first.ok, first.note) == ("none", False, message)
    assert (second.content_exposed, second.lines) == ("full", ((1, 3),))


def _fields(call):
    return {name: getattr(call, name) for name in call.__struct_fields__}


def test_a_skill_that_was_changed_between_two_reads_has_two_digests():
    longer = SKILL + "Never forget the last line of a ledger.\n"
    first, second = observed_events(
        *ran_each((f"cat {BUNDLE}/SKILL.md", SKILL), (f"cat {BUNDLE}/SKILL.md", longer))
    )
    assert first.text_digest == text_digest(SKILL.splitlines())
    assert second.text_digest == text_digest(longer.splitlines())
