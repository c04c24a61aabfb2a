"""A foreign text in pieces: marks that lie in any way, and characters that show nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.review.reviewing import Passage, passages, visible


def marked(text, marks):
    return [piece.text for piece in passages(text, marks) if piece.marked]


@pytest.mark.parametrize(
    ("marks", "found"),
    [
        ((), []),
        (((0, 3),), ["abc"]),
        (((2, 4), (6, 8)), ["cd", "gh"]),
        (((6, 8), (2, 4)), ["cd", "gh"]),
        (((2, 6), (4, 8)), ["cdefgh"]),
        (((2, 4), (4, 6)), ["cdef"]),
        (((0, 8), (2, 4)), ["abcdefgh"]),
        (((-5, 2), (6, 99)), ["ab", "gh"]),
        (((5, 3), (4, 4), (90, 99)), []),
    ],
)
def test_marks(marks, found):
    assert marked("abcdefgh", marks) == found
    assert "".join(piece.text for piece in passages("abcdefgh", marks)) == "abcdefgh"


def test_hidden_characters_are_spelled_out_where_they_stand():
    assert passages("ab\u202ecd\U000e0041", ((1, 4),)) == [
        Passage("a", False, False),
        Passage("b", True, False),
        Passage("\\u202e", True, True),
        Passage("c", True, False),
        Passage("d", False, False),
        Passage("\\U000e0041", False, True),
    ]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\r\nb\n\tc", "a\r\nb\n\tc"),
        ("a\rb", "a\\rb"),
        ("\x1b[2J\x00", "\\x1b[2J\\x00"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("half \ud83d", "half \\ud83d"),
        ("naïve 漢字 🙂", "naïve 漢字 🙂"),
    ],
)
def test_what_is_spelled_out(text, seen):
    assert visible(text) == seen


@settings(max_examples=30)
@given(st.text(max_size=40), st.lists(st.tuples(st.integers(-3, 45), st.integers(-3, 45))))
def test_nothing_of_a_text_is_lost(text, marks):
    pieces = passages(text, marks)
    assert "".join(piece.text for piece in pieces) == visible(text)
    assert all(piece.text for piece in pieces)
    kept = {n for begin, end in marks for n in range(max(begin, 0), min(end, len(text)))}
    assert sum(len(visible(text[n])) for n in kept) >= sum(
        len(piece.text) for piece in pieces if piece.marked and not piece.hidden
    )
