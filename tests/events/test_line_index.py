"""Which lines of which resource a text shows."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.events.evidence import (
    LineIndex,
    TextLines,
    merged_ranges,
    text_digest,
)
from tests.support.attribution_runs import BODY, FORMAT, SKILL


def test_content_finds_real_lines_below_decoration():
    line_index = LineIndex.of([(("ledger", "f.md"), FORMAT)])
    shown = [f"{n:>6}\t{line}" for n, line in enumerate(FORMAT.splitlines(), 1)][4:9]
    match = line_index.matches(TextLines.of(["noise", *shown, "<system-reminder>", "x"]))[
        "ledger", "f.md"
    ]
    assert (match.ranges, match.full, match.longest) == (((5, 9),), False, 5)


def test_a_line_of_the_text_belongs_to_one_piece_only():
    line_index = LineIndex.of([(("s", "f"), "a long first line\n}\n}\n}\nthe long last line\n")])
    match = line_index.match(("s", "f"), TextLines.of(["}", "the long last line"]))
    assert match is not None
    assert match.ranges == ((4, 5),)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9))))
def test_joined_ranges_hold_the_same_numbers(pairs):
    ranges = [(start, start + more) for start, more in pairs]
    result = merged_ranges(ranges)
    assert {n for a, b in ranges for n in range(a, b + 1)} == {
        n for a, b in result for n in range(a, b + 1)
    }
    assert all(left[1] + 1 < right[0] for left, right in pairwise(result))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 31), st.integers(0, 31), st.booleans())
def test_a_window_of_a_file_is_found_where_it_stands(start, more, noisy):
    lines = FORMAT.splitlines()
    window = lines[start - 1 : start + more]
    output = "\n".join(["before", *window, "after"] if noisy else window) + "\n"
    line_index = LineIndex.of([(("ledger", "f.md"), FORMAT)])
    match = line_index.match(("ledger", "f.md"), TextLines.of(output.splitlines()))
    assert match is not None
    assert match.ranges == ((start, min(start + more, len(lines))),)


def test_a_text_has_one_digest_however_a_tool_shows_it():
    """With or without front matter, line numbers, blank lines, blanks and line ends."""
    shown = [
        SKILL.splitlines(),
        BODY.splitlines(),
        SKILL.replace("\n", "\r\n").split("\n"),
        [line + "  " for line in ["", *BODY.splitlines(), ""]],
        [f"{n:>6}\t{line}" for n, line in enumerate(SKILL.splitlines(), 1)],
        [f"{n:>5}→{line}" for n, line in enumerate(SKILL.splitlines(), 1)],
    ]
    assert len({text_digest(lines) for lines in shown}) == 1
    assert text_digest(BODY.replace("cents", "euros").splitlines()) != text_digest(shown[0])
    assert text_digest([*BODY.splitlines(), "One more."]) != text_digest(shown[0])
