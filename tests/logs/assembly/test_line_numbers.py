"""File text as agents show it, with a number before every line."""

from itertools import takewhile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilljuror.logs.assembly.line_numbers import _LINE, strip_line_numbers

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


@pytest.mark.parametrize(
    ("shown", "clean", "first"),
    [
        ("     1→a\n     2→b", "a\nb", 1),
        ("7\ta\n8\t\n9\tc\n10\t", "a\n\nc\n", 7),
        ("00003| a\n00004| b", "a\nb", 3),
        ("1. # T\n2. ", "# T\n", 1),
        ("1\ta\n2\tb\n\n<system-reminder>x</system-reminder>", "a\nb", 1),
        ("1\ta\n3\tc", "a", 1),
    ],
)
def test_numbers_are_taken_off(shown, clean, first):
    assert strip_line_numbers(shown) == (clean, first)


@pytest.mark.parametrize("shown", ["", "plain", "a\n1\tb", "(empty)"])
def test_text_without_numbers(shown):
    assert strip_line_numbers(shown) is None


@settings(deadline=None)
@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1),
    first=st.integers(0, 10**6),
)
def test_numbering_can_be_undone(lines, first):
    shown = "\n".join(f"{first + index:6}→{line}" for index, line in enumerate(lines))
    assert strip_line_numbers(shown) == ("\n".join(lines), first)
