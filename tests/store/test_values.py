"""Values of records as those of columns."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.store.values import epoch_microseconds


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, 0),
        (-0.000001, -1),
        (1e300, None),
        (float("nan"), None),
        (float("-inf"), None),
        (253402300799.0, 253402300799_000_000),
        (253402300800.0, None),
        (None, None),
    ],
)
def test_a_moment_is_microseconds_or_what_no_calendar_holds(seconds, expected):
    assert epoch_microseconds(seconds) == expected


@given(st.floats(-6e10, 2e11))
def test_a_moment_is_what_the_calendar_says(seconds):
    epoch = datetime(1970, 1, 1)
    assert epoch + timedelta(microseconds=epoch_microseconds(seconds) or 0) == epoch + timedelta(
        seconds=seconds
    )
