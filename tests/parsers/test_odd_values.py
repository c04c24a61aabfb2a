"""Values that no agent writes on purpose: they cost a field, never the log, and no minutes."""

import json
import re
import time
from itertools import takewhile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilljuror.attribution.accesses.line_selection import awk_selection, sed_selection
from skilljuror.attribution.attribute import attribute
from skilljuror.attribution.commands.line_options import end_range
from skilljuror.attribution.shell.reader import read_shell
from skilljuror.models.trajectory import ToolCall, ToolResult
from skilljuror.parsers.assembly.line_numbers import _LINE, strip_line_numbers
from skilljuror.parsers.codex.tool_results import read_output
from skilljuror.parsers.raw_logs.content import text_between_tags, text_of
from skilljuror.parsers.raw_logs.json_document import JsonDocument
from skilljuror.parsers.raw_logs.jsonl import decode_glued
from tests.support.attribution_runs import BUNDLE, events_of, ran, run_of

MANY = settings(max_examples=400, deadline=None)
PIECES = st.sampled_from([
    "1",
    "2",
    "3",
    "09",
    "10",
    "→",
    "\t",
    "| ",
    "|",
    ": ",
    ". ",
    "L",
    " ",
    "\n",
    "x",
    "\u0661",
])
NUMBERED = st.lists(PIECES, max_size=16).map("".join) | st.builds(
    lambda first, lines, mark, end: "".join(f"{n}{mark}{line}\n" for n, line in enumerate(lines, first)) + end,
    st.integers(0, 12), st.lists(st.text("ab1 \t→", max_size=4), max_size=6), st.sampled_from(["→", "\t", ": ", "| ", ". ", ""]),
    st.sampled_from(["", "\n", "end", "9→x", "<note>\n1→y"]),
)  # fmt: skip


@MANY
@given(shown=NUMBERED)
@example(shown="1→a\n2→b\n")
@example(shown="9\n10\n11")
@example(shown="5→a\n6→b\n<system-reminder>\n7→c")
def test_numbers_are_taken_off_as_long_as_they_count_up(shown):
    lines = shown.split("\n")
    matches = [_LINE.match(line) for line in lines]
    numbers = [int(match[1]) if match else -1 for match in matches]
    counted = takewhile(lambda place: numbers[place] == numbers[0] + place, range(len(lines)))
    texts = [lines[place][match.end() :] for place in counted if (match := matches[place])]
    assert strip_line_numbers(shown) == (("\n".join(texts), numbers[0]) if texts else None)


@MANY
@given(
    shown=st.lists(
        st.sampled_from(["<output>", "</output>", "\n", "x", "<output", ">"]), max_size=9
    ).map("".join)
)
def test_what_stands_between_tags(shown):
    found = re.search(r"<output>\n?(.*?)\n?</output>", shown, re.DOTALL)
    assert text_between_tags(shown, "output") == (found[1] if found else None)


def test_tags_that_never_close_are_read_soon():
    before = time.process_time()
    assert text_between_tags("<output>" * 100_000, "output") is None
    assert time.process_time() - before < 5


@pytest.mark.parametrize("depth", [10, 400, 990, 5000])
def test_content_in_lists_without_end_has_no_text(depth):
    line = "[" * depth + '"\\ud800"' + "]" * depth
    values, _ = decode_glued(line.encode())
    shown = [text_of(value) for value in values]
    assert shown in (["?"], [""], [])


@pytest.mark.parametrize("depth", [10, 199, 500, 990, 5000])
def test_a_document_in_lists_without_end_is_read(tmp_path, depth):
    given = tmp_path / "one.json"
    given.write_text('{"a": "\\ud800", "b": ' + "[" * depth + "]" * depth + ', "steps": []}')
    assert JsonDocument(given).value["a"] == "?"


def test_numbers_that_are_too_long_are_none():
    long = "9" * 5000
    assert (
        read_output(f"Exit code: {long}\nWall time: 1 seconds\nOutput:\nx", 1)[0].exit_code is None
    )
    assert sed_selection(f"{long}p", silent=True) is not None
    assert awk_selection(f"NR=={long}") is not None
    for command in ("head -² a", "head -n ² a", "tail -c ٣ a", f"head -{long} a"):
        (one,) = read_shell(command)
        assert end_range(one)


@pytest.mark.parametrize("first", [2**40, 3_000_000_000, -4, 0])
def test_lines_that_no_file_has_are_not_told(first):
    result = ToolResult("a\nb", 3, ok=True, clean="a\nb", first_line=first, total_lines=2**41)
    call = ToolCall(
        "c1", "Read", "read", 2, path=f"{BUNDLE}/notes.md", start=first, count=2, result=result
    )
    (event,) = attribute(run_of(call), None).events
    assert event.lines is None or all(0 < a <= b < 2**31 for a, b in event.lines)
    json.dumps(event.lines)


def test_an_odd_count_in_a_command_loses_nothing_but_the_lines():
    (event,) = events_of(ran(f"head -n ² {BUNDLE}/SKILL.md", "# Ledger\n"))
    assert (event.kind, event.resource) == ("read", "SKILL.md")
