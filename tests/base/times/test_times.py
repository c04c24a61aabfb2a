from datetime import UTC, datetime, timedelta, timezone

import pytest

from skilljuror.base.files import parse_time

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("7d", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("12h", datetime(2026, 3, 8, 0, tzinfo=UTC)),
        (" 2 w ", datetime(2026, 2, 22, 12, tzinfo=UTC)),
        ("0d", NOW),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T12:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00+02:00", datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_moment_is_a_date_a_time_or_how_long_ago(text, meant):
    assert parse_time(text, NOW) == meant


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "7m", "d", "-7d", "999999w", "2026-13-01", "7d ago"]
)
def test_anything_else_is_told_the_forms(text):
    with pytest.raises(ValueError, match=r"is not a date; use 2026-01-31.*7d"):
        parse_time(text, NOW)
