"""Foreign values read as the type that is asked for, or as missing."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.logs.raw_logs.coercion import as_count, as_epoch, as_float


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
    assert as_float(10**400) is None
    assert as_float(float("inf")) is None
