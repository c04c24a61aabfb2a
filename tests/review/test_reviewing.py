"""The queue, the answers, and untrusted text in passages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skilljuror.base.review import blind_id
from skilljuror.review.reviewing import (
    Choice,
    Passage,
    choices,
    label_of,
    passages,
    queue_of,
    visible,
)
from tests.support.jsonl_desk import finding, item


def answered(items, *answers):
    return [replace(one, decided=answer) for one, answer in zip(items, answers, strict=True)]


def test_keys_of_answers():
    assert [(one.answer, one.key) for one in choices(item(1))] == [
        ("yes", "y"),
        ("no", "n"),
        ("unknown", "u"),
    ]
    assert choices(finding(1))[0] == Choice(
        "source_idiosyncrasy", "Source-inherited idiosyncrasy", "1", needs_reason=True
    )
    assert [one.key for one in choices(finding(1))] == ["1", "2", "3", "4"]
    mixed = choices(finding(1, answers=("yes", "reject", "no")))
    assert [(one.key, one.needs_reason) for one in mixed] == [
        ("y", False),
        ("1", True),
        ("n", False),
    ]
    assert label_of("not_a_word_of_ours") == "Not a word of ours"


def test_what_comes_next_is_open_and_what_was_put_off_comes_again():
    queue = queue_of(answered([item(n) for n in range(4)], None, "yes", None, None), "")
    assert queue.decided == 1
    asked = queue.next_open(-1)
    assert asked is not None
    assert asked.title == "event 0"
    after = [queue.next_open(place) for place in range(4)]
    assert [one and one.title for one in after] == ["event 2", "event 2", "event 3", "event 0"]
    last = queue_of(answered([item(0), item(1)], "yes", None), "")
    assert last.next_open(1) == last.items[1]
    done = queue_of(answered([item(0)], "yes"), "")
    assert done.next_open(0) is None
    assert queue_of([], "").next_open(-1) is None


def test_one_kind_at_a_time():
    items = [finding(1), item(1)]
    assert [len(queue_of(items, kind).items) for kind in ("", "finding", "rubric", "uptake")] == [
        2, 1, 0, 1,
    ]  # fmt: skip
    assert queue_of(items, "<script>").kind == ""


def test_an_item_is_found_by_one_that_says_the_same():
    queue = queue_of([item(0), finding(1, repeats=("finding:other/pd/1",))], "")
    assert queue.place("finding:other/pd/1") == queue.place("finding:build/pd/1") == 1
    assert queue.place("finding:other/pd/2") is None
    blind = queue_of([item(0), item(1, id=blind_id("uptake:run#1"))], "")
    assert blind.place("uptake:run#1") == blind.place(blind_id("uptake:run#1")) == 1


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
