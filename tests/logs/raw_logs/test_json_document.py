"""Documents of JSON: their elements have numbers, and cut ones keep what is whole."""

import json
from typing import Any

import pytest

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.raw_logs.json_document import JsonDocument


@pytest.mark.parametrize("depth", [10, 199, 500, 990, 5000])
def test_a_document_in_lists_without_end_is_read(tmp_path, depth):
    given = tmp_path / "one.json"
    given.write_text('{"a": "\\ud800", "b": ' + "[" * depth + "]" * depth + ', "steps": []}')
    assert JsonDocument(given).value["a"] == "?"


def test_elements_are_numbered_however_the_document_is_written(tmp_path):
    path = tmp_path / "doc.json"
    given: dict[str, Any] = {
        "steps": [{"b": 1, "a": {"d": 2, "c": 3}}, "x"],
        "inner": {"steps": [[4]]},
    }
    for indent in (None, 0, 2):
        path.write_text(json.dumps(given, indent=indent), encoding="utf-8")
        document = JsonDocument(path)
        assert document.elements(document.value["steps"]) == [(1, given["steps"][0]), (2, "x")]
        assert document.elements(document.value["inner"]["steps"]) == [(3, [4])]
        assert list(document.value["steps"][0]["a"]) == ["c", "d"]
    assert document.elements({"no": "list"}) == []


def test_a_cut_document_keeps_whole_elements(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text('{"steps": [\n {"a": 1},\n {"a": 2, "b": "c')
    document = JsonDocument(path)
    assert not document.complete
    assert document.elements(document.value["steps"]) == [(1, {"a": 1}), (2, {"a": 2})]


def test_no_document_at_all(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text("plain words")
    with pytest.raises(TrajectoryError, match="is not valid JSON"):
        JsonDocument(path)
