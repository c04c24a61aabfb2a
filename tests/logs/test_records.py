"""Raw lines, documents and first bytes in every state that real logs have been seen in."""

import gzip
import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.captures import capture_of, deduplicate
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from skilljuror.logs.records import (
    JsonDocument,
    JsonLines,
    as_count,
    as_epoch,
    parse_head,
    parse_partial,
    text_of,
)
from tests.support import goldens
from tests.support.claude_logs import assistant, user, write_lines
from tests.support.places import GOLDENS


def lines_of(tmp_path, data: bytes):
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
    values, lines = lines_of(tmp_path, data)
    assert values == found
    assert lines.complete
    assert not lines.warnings


def test_cut_last_line(tmp_path):
    values, lines = lines_of(tmp_path, b'{"a":1}\n{"b":')
    assert values == [(1, {"a": 1})]
    assert not lines.complete


def test_a_line_that_is_no_json(tmp_path):
    values, lines = lines_of(tmp_path, b'{"a":1}\nwarning: x\n{"b":2}\n')
    assert [line for line, _ in values] == [1, 3]
    assert lines.warnings == ["line 2 is not valid JSON; skipped"]


def test_missing_file_names_itself(tmp_path):
    with pytest.raises(TrajectoryError, match=r"gone\.jsonl.*No such file"):
        list(JsonLines(tmp_path / "gone.jsonl"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_read(tmp_path, data):
    values, _ = lines_of(tmp_path, data)
    json.dumps(values).encode()


def test_elements_are_numbered_however_the_document_is_written(tmp_path):
    path = tmp_path / "doc.json"
    given: dict[str, Any] = {
        "steps": [{"b": 1, "a": {"d": 2, "c": 3}}, "x"],
        "inner": {"steps": [[4]]},
    }
    for indent in (None, 0, 2):
        path.write_text(json.dumps(given, indent=indent), encoding="utf-8")
        document = JsonDocument(path)
        assert list(document.elements(document.value["steps"])) == [
            (1, given["steps"][0]),
            (2, "x"),
        ]
        assert list(document.elements(document.value["inner"]["steps"])) == [(3, [4])]
    assert list(document.elements({"no": "list"})) == []


def test_a_cut_document_keeps_whole_elements(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text('{"steps": [\n {"a": 1},\n {"a": 2, "b": "c')
    document = JsonDocument(path)
    assert not document.complete
    assert list(document.elements(document.value["steps"])) == [(1, {"a": 1}), (2, {"a": 2})]


def test_no_document_at_all(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text("plain words")
    with pytest.raises(TrajectoryError, match="is not valid JSON"):
        JsonDocument(path)


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


@pytest.mark.parametrize(
    ("value", "plain"),
    [(3, 3), (3.0, 3), (0, 0), (-1, None), (2.5, None), (True, None), ("3", None), (2**60, None)],
)
def test_count(value, plain):
    assert as_count(value) == plain


COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd.compress}
CASES = [case for case in goldens.cases() if list((GOLDENS / case).rglob("*.jsonl"))]


def runs(folder):
    """What is read of a folder, without the names of files."""
    return [
        replace(run, files=())
        for one in discover([folder])
        if one.format is not None
        for run in read(one.source, one.format)
    ]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("case", CASES)
def test_compressed_lines_are_read_like_plain_ones(case, suffix, tmp_path):
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    shutil.copytree(GOLDENS / case, plain)
    shutil.copytree(GOLDENS / case, packed)
    for path in sorted(packed.rglob("*.jsonl")):
        path.with_name(path.name + suffix).write_bytes(COMPRESS[suffix](path.read_bytes()))
        path.unlink()
    assert runs(packed) == runs(plain) != []


@pytest.fixture
def session(tmp_path):
    """A session of Claude Code."""
    text = {"type": "text", "text": "Done."}
    return write_lines(tmp_path / "plain.jsonl", user(1, "Read."), assistant(2, text))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_plain_log_beside_its_compressed_copy_counts(session, suffix):
    packed = session.with_name(session.name + suffix)
    packed.write_bytes(COMPRESS[suffix](session.read_bytes()))
    logs = [one.source for one in discover([session.parent])]
    captures = [
        capture_of(str(log.path), run) for log in logs for run in read(log, "claude-session")
    ]
    kept = {one.capture.source: one.kept for one in deduplicate(captures)}
    assert kept == {str(session): True, str(packed): False}
