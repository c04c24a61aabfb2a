"""Documents of JSON: their elements know their lines, and cut ones keep what is whole."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.errors import TrajectoryError
from skilljuror.parsers.raw_logs.json_document import JsonDocument


@pytest.mark.parametrize("depth", [10, 199, 500, 990, 5000])
def test_a_document_in_lists_without_end_is_read(tmp_path, depth):
    given = tmp_path / "one.json"
    given.write_text('{"a": "\\ud800", "b": ' + "[" * depth + "]" * depth + ', "steps": []}')
    assert JsonDocument(given).value["a"] == "?"


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
