"""Heads, documents, numbered text and fields."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.errors import TrajectoryError
from skilljuror.parsers.assembly.line_numbers import strip_line_numbers
from skilljuror.parsers.raw_logs.coercion import (
    as_count,
    as_epoch,
    as_number,
    remainder_or_zero,
    text_of,
)
from skilljuror.parsers.raw_logs.file_head import parse_head, parse_partial
from skilljuror.parsers.raw_logs.json_document import JsonDocument


def test_peek_at_lines():
    shape = parse_head(b'noise\n{"a":1}\n{"b":2}\n{"c":')
    assert [list(entry) for entry in shape.records] == [["a"], ["b"]]
    assert shape.first == {"a": 1}


def test_peek_into_an_unfinished_document():
    shape = parse_head(b'{\n "v": "ATIF-v1.7",\n "agent": {"name": "x", "more": "cut')
    assert shape.first == {"v": "ATIF-v1.7", "agent": {"name": "x"}}


@pytest.mark.parametrize("head", [b"", b"PK\x03\x04", b"[section]\nkey=1", b"\xff\xfe", b"{"])
def test_peek_at_nothing(head):
    assert parse_head(head).first == {}


@settings(deadline=None)
@given(value=st.dictionaries(st.text(max_size=3), st.lists(st.integers() | st.text(max_size=3))))
def test_unfinished_text_gives_what_is_whole(value):
    plain = json.dumps(value)
    assert parse_partial(plain) == value
    for end in range(len(plain)):
        part = parse_partial(plain[:end])
        assert part is None or set(part) <= set(value)


MESSAGES = st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=6)), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages=MESSAGES, indent=st.sampled_from([0, 1, 4]))
def test_elements_know_their_line(tmp_path, messages, indent):
    marked = [{"mark": f"#{index}#", **message} for index, message in enumerate(messages)]
    path = tmp_path / "doc.json"
    path.write_text(json.dumps({"x": [1], "messages": marked}, indent=indent), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    for index, element in enumerate(JsonDocument(path).elements("messages")):
        assert lines[element.line - 1].strip().startswith("{")
        assert f"#{index}#" in lines[element.line_of(f"#{index}#") - 1]
        assert element.value == marked[index]


def test_a_document_on_one_line(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text('[{"a": 1}, {"a": 2}]')
    assert [element.line for element in JsonDocument(path).elements()] == [1, 1]


def test_a_cut_document_keeps_whole_elements(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text('{"steps": [\n {"a": 1},\n {"a": 2, "b": "c')
    document = JsonDocument(path)
    assert not document.complete
    assert [(e.line, e.value) for e in document.elements("steps")] == [(2, {"a": 1}), (3, {"a": 2})]


def test_no_document_at_all(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text("plain words")
    with pytest.raises(TrajectoryError, match="holds no JSON document"):
        JsonDocument(path)


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


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-03-01T09:00:00Z", 1772355600.0),
        ("2026-03-01T09:00:00", 1772355600.0),
        ("2026-03-01T10:00:00+01:00", 1772355600.0),
        (1772355600.25, 1772355600.25),
        (1772355600250, 1772355600.25),
        ("yesterday", None),
        (None, None),
        (float("nan"), None),
        (True, None),
    ],
)
def test_epoch(value, moment):
    assert as_epoch(value) == moment


@settings(deadline=None)
@given(moment=st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)))
def test_epoch_of_iso_text(moment):
    assert as_epoch(moment.isoformat()) == moment.replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "plain"),
    [(3, 3), (3.0, 3), (0, 0), (-1, None), (2.5, None), (True, None), ("3", None), (2**60, None)],
)
def test_count(value, plain):
    assert as_count(value) == plain


def test_number_is_finite():
    assert as_number(10**400) is None
    assert as_number(float("inf")) is None


def test_minus_keeps_unknown_unknown():
    assert remainder_or_zero(None, 3) is None
    assert remainder_or_zero(10, None, 4) == 6
    assert remainder_or_zero(3, 9) == 0


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, "b", {"type": "image"}], "a\nb\n[image]"),
        ({"content": "c"}, "c"),
        (None, ""),
        (7, ""),
    ],
)
def test_text_of_polymorphic_content(content, shown):
    assert text_of(content) == shown
