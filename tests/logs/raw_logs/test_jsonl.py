"""Raw lines in every state that real logs have been seen in."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.raw_logs.jsonl import JsonLines, decode_glued, file_key


def read(tmp_path, data: bytes):
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    lines = JsonLines(path)
    return list(lines), lines


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a":1}\n{"b":2}\n', [(1, {"a": 1}), (2, {"b": 2})]),
        (b'{"a":1}{"b":2}\n', [(1, {"a": 1}), (1, {"b": 2})]),
        (b'{"a":1}\n\n  \n{"b":2}', [(1, {"a": 1}), (4, {"b": 2})]),
        (b'\xef\xbb\xbf{"a":1}\r\n', [(1, {"a": 1})]),
        (b'{"a":1}\n\x00\x00\x00', [(1, {"a": 1})]),
        (b'{"a":"\xff"}\n', [(1, {"a": "\ufffd"})]),
        (b'{"a":"\\ud83d"}\n', [(1, {"a": "?"})]),
        (b'{"a":"x\x01y"}\n', [(1, {"a": "x\x01y"})]),
        (b'[1]\n"text"\n{"a":1}\n', [(3, {"a": 1})]),
        (b"", []),
    ],
    ids=[
        "plain",
        "glued",
        "blank lines, no end",
        "byte order mark",
        "padding",
        "invalid UTF-8",
        "half a character",
        "control character",
        "no objects",
        "empty",
    ],
)
def test_odd_files(tmp_path, data, found):
    values, lines = read(tmp_path, data)
    assert values == found
    assert lines.complete
    assert not lines.warnings


def test_cut_last_line(tmp_path):
    values, lines = read(tmp_path, b'{"a":1}\n{"b":')
    assert values == [(1, {"a": 1})]
    assert not lines.complete


def test_a_line_that_is_no_json(tmp_path):
    values, lines = read(tmp_path, b'{"a":1}\nwarning: x\n{"b":2}\n')
    assert [line for line, _ in values] == [1, 3]
    assert lines.warnings == ["line 2 is not valid JSON; skipped"]


def test_deep_nesting_is_no_crash(tmp_path):
    deep = b"[" * 100_000
    values, lines = read(tmp_path, b'{"a":1}\n' + deep + b"\n")
    assert values == [(1, {"a": 1})]
    assert len(lines.warnings) == 1


def test_megabyte_line(tmp_path):
    values, _ = read(tmp_path, json.dumps({"image": "x" * 2_000_000}).encode() + b"\n")
    assert len(values[0][1]["image"]) == 2_000_000


def test_missing_file_names_itself(tmp_path):
    with pytest.raises(TrajectoryError, match=r"gone\.jsonl.*No such file"):
        list(JsonLines(tmp_path / "gone.jsonl"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(deadline=None)
@given(values=st.lists(st.dictionaries(st.text(max_size=4), VALUES), min_size=1, max_size=4))
def test_glued_values_come_apart(values):
    line = "".join(json.dumps(value) for value in values).encode()
    assert decode_glued(line) == (values, True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_read(tmp_path, data):
    values, _ = read(tmp_path, data)
    json.dumps(values).encode()


def test_file_key_is_of_the_bytes(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(b"same")
    assert file_key(tmp_path / "a.json") == file_key(tmp_path / "b.json")
    assert file_key(tmp_path / "a.json").startswith("file-")
