"""Many cases in one test: all that break the rule are listed, with what to do about it."""

import pytest

from tests.support.every import every


@every("given, expected", [(1, 1), (2, 4), ("x", 3)], "Add it to the table.")
def squares(given, expected, table):
    assert table.get(given) == expected


def test_all_offenders_and_the_hint_are_listed():
    with pytest.raises(pytest.fail.Exception) as failed:
        squares(table={1: 1, 2: 5})
    said = str(failed.value)
    assert said.startswith(
        "2 of 3 cases break the rule\n2, 4: AssertionError (line 10 of test_every.py)"
    )
    assert "\nx, 3: AssertionError" in said
    assert said.endswith("\nAdd it to the table.")


def test_a_rule_that_holds_everywhere_passes():
    squares(table={1: 1, 2: 4, "x": 3})


def test_a_rule_without_any_case_fails():
    with pytest.raises(pytest.fail.Exception, match="0 of 0"):
        every("case", list)(lambda case: None)()
