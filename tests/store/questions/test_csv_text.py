"""CSV that a spreadsheet shows and does not run."""

import csv
import io
from datetime import date, timedelta
from decimal import Decimal

import pytest

from skilljuror.store import QueryResult
from skilljuror.store.questions import csv_text


def cells(*values):
    text = csv_text(QueryResult(tuple(f"c{n}" for n in range(len(values))), [values]))
    return next(iter(list(csv.reader(io.StringIO(text, newline="")))[1:]))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(start):
    assert cells(f"{start}cmd|' /C calc'!A0", f"a{start}", "") == [
        f"'{start}cmd|' /C calc'!A0",
        f"a{start}",
        "",
    ]


def test_numbers_and_nulls_stay_what_they_are():
    assert cells(-1, -0.5, Decimal("-2.50"), None, True, date(2026, 1, 2)) == [
        "-1", "-0.5", "-2.50", "", "True", "2026-01-02",
    ]  # fmt: skip


def test_what_is_no_number_is_text_however_it_came():
    assert cells(timedelta(days=-1)) == ["'-1 day, 0:00:00"]


def test_names_of_columns_are_text_as_well():
    assert csv_text(QueryResult(("=1+1", "a"), [])) == "'=1+1,a\n"
