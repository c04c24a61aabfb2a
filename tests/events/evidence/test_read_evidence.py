"""What an output proves of a read or a run: exposure, real lines, success."""

import pytest

from skilljuror.base.trajectory import ToolCall, ToolResult
from skilljuror.events.evidence.line_index import text_digest
from tests.support.attribution_runs import (
    BODY,
    BUNDLE,
    FORMAT,
    REFERENCES,
    SKILL,
    TAXES,
    events_of,
    file_tool,
    observed,
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
    ("name", "arguments", "exposed"),
    [
        ("map.png", {}, "full"),
        ("manual.pdf", {}, "full"),
        ("manual.pdf", {"pages": "1-3"}, "partial"),
    ],
)
def test_a_picture_has_no_lines(name, arguments, exposed):
    result = ToolResult("[image]", 3, ok=True)
    (event,) = observed_events(
        file_tool("read", result, path=f"{BUNDLE}/assets/{name}", arguments=arguments)
    )
    assert (event.content_exposed, event.lines) == (exposed, None)


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


@pytest.mark.parametrize(("start", "exposed"), [(None, "full"), (20, "partial")])
def test_a_log_without_texts_says_by_its_status_that_a_tool_read(start, exposed):
    call = file_tool("read", ToolResult("", 3, ok=True), path=f"{BUNDLE}/SKILL.md", start=start)
    (event,) = events_of(call)
    assert (event.ok, event.content_exposed, event.lines) == (True, exposed, None)


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
    (event,) = [one for one in observed_events(ran(command, output)) if one.kind == "read"]
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
    (event,) = observed_events(ran(f"cat {BUNDLE}/SKILL.md", f"{SKILL}{note}\n"))
    assert event.content_exposed == exposed


def test_a_run_without_an_exit_status_is_judged_by_its_output():
    good = ToolResult("total 7", 3)
    bad = ToolResult("Traceback (most recent call last):\n  x\nKeyError: 1", 3)
    command = f"python3 {BUNDLE}/scripts/total.py"
    assert [observed_events(ran(command, result=one))[0].ok for one in (good, bad)] == [True, False]


def test_a_log_without_texts_says_by_its_status_that_a_file_was_read():
    (event,) = observed_events(ran(f"cat {BUNDLE}/SKILL.md", ""))
    assert (event.ok, event.content_exposed, event.note) == (
        True,
        "full",
        "the log has no text of the result",
    )


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


@pytest.mark.parametrize(
    ("command", "exposed"),
    [
        ("cat @ 2>/dev/null || true", "none"),
        ("cat @ 2> err.txt; true", "none"),
        ("cat @ &>/dev/null; true", "none"),
        ("cat @ 2>&1", "full"),
        ("cat @", "full"),
    ],
)
def test_nothing_printed_is_a_read_only_where_a_complaint_would_show(command, exposed):
    (found,) = observed(command.replace("@", f"{REFERENCES}/nope.md"), "")
    assert found[2] == exposed


def test_the_text_of_a_skill_shown_whole_has_a_digest_and_a_part_has_none():
    """By one command of several, by a tool and by a part, in a log of its own."""
    other = f"{BUNDLE}/references/taxes.md"
    read = ToolResult(SKILL, 3, True, clean=SKILL, first_line=1, total_lines=10)
    digests = [
        [event.text_digest for event in events if event.resource == "SKILL.md"]
        for events in (
            observed_events(ran(f"cat {BUNDLE}/SKILL.md", SKILL)),
            observed_events(
                ran(f"cat {BUNDLE}/SKILL.md; echo ==; cat {other}", f"{SKILL}==\n{TAXES}")
            ),
            observed_events(file_tool("read", read, path=f"{BUNDLE}/SKILL.md")),
            events_of(ran(f"cat {BUNDLE}/SKILL.md", SKILL)),
            observed_events(ran(f"head -n 5 {BUNDLE}/SKILL.md", "\n".join(SKILL.split("\n")[:5]))),
        )
    ]
    whole = text_digest(SKILL.splitlines())
    assert digests == [[whole], [whole], [whole], [whole], [None]]
    (support,) = observed_events(ran(f"cat {other}", TAXES))
    assert (support.content_exposed, support.text_digest) == ("full", None)


def test_a_skill_that_was_changed_between_two_reads_has_two_digests():
    longer = SKILL + "Never forget the last line of a ledger.\n"
    first, second = observed_events(
        *ran_each((f"cat {BUNDLE}/SKILL.md", SKILL), (f"cat {BUNDLE}/SKILL.md", longer))
    )
    assert first.text_digest == text_digest(SKILL.splitlines())
    assert second.text_digest == text_digest(longer.splitlines())
