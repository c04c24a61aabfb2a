"""Values of a log changed into others of their type, and names that are data."""

import json
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.parsers.field_coverage.mutation import (
    EMPTY,
    changed_value,
    fields_of,
    folded_path,
    value_type,
)

VALUES = (
    st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(min_size=1)
    | st.datetimes().map(lambda moment: moment.isoformat())
    | st.dictionaries(st.text(max_size=3), st.integers(0, 9) | st.text(max_size=3)).map(json.dumps)
)


@settings(deadline=None)
@given(value=VALUES, number=st.integers(0, 50), ahead=st.booleans())
def test_another_value_is_another_one_of_the_same_type(value, number, ahead):
    changed = changed_value(value, number, ahead=ahead)
    assert changed != value or value_type(value) in EMPTY
    assert value_type(changed) == value_type(value)
    json.loads(msgspec.json.encode(changed))


def test_names_that_are_data_are_folded():
    assert (
        folded_path(Path("a/2026/03/01/log-2026-03-01T09-00-00-00ff-12.jsonl")) == "a/*/log-*.jsonl"
    )
    table = {"deep": {f"k{number}": 1 for number in range(100)}}
    assert {field.path for field, _, _ in fields_of(table)} == {"deep.*"}
