"""What the first bytes of a file say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.logs.raw_logs.file_head import parse_head, parse_partial


def test_whole_lines_are_objects():
    shape = parse_head(b'noise\n{"a":1}\n{"b":2}\n{"c":')
    assert [list(entry) for entry in shape.records] == [["a"], ["b"]]
    assert shape.first == {"a": 1}


def test_an_unfinished_document_gives_its_whole_members():
    shape = parse_head(b'{\n "v": "ATIF-v1.7",\n "agent": {"name": "x", "more": "cut')
    assert shape.first == {"v": "ATIF-v1.7", "agent": {"name": "x"}}


@pytest.mark.parametrize("head", [b"", b"PK\x03\x04", b"[section]\nkey=1", b"\xff\xfe", b"{"])
def test_a_head_without_json_gives_nothing(head):
    assert parse_head(head).first == {}


@settings(deadline=None)
@given(value=st.dictionaries(st.text(max_size=3), st.lists(st.integers() | st.text(max_size=3))))
def test_partial_text_gives_what_is_whole(value):
    plain = json.dumps(value)
    assert parse_partial(plain) == value
    for end in range(len(plain)):
        part = parse_partial(plain[:end])
        assert part is None or set(part) <= set(value)
