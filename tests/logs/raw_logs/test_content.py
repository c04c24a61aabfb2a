"""The text of polymorphic content."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.logs.raw_logs.content import text_between_tags, text_of
from skilljuror.logs.raw_logs.jsonl import decode_glued


@settings(max_examples=400, deadline=None)
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


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, "b", {"type": "image"}], "a\nb\n[image]"),
        ({"content": "c"}, "c"),
        (None, ""),
        (7, ""),
    ],
    ids=["string", "parts", "object", "null", "number"],
)
def test_text_of_polymorphic_content(content, shown):
    assert text_of(content) == shown
