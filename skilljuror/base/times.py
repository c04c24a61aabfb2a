"""Parse dates, times and durations such as 7d."""

import re
from datetime import UTC, datetime, timedelta

FORMS = "2026-01-31, 2026-01-31T12:00, or a duration back from now: 12h, 7d, 2w"

_AGO = re.compile(r"(\d{1,5})\s?([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """Return a time with its zone, UTC by default; "7d" is seven days before `now`.

    Raises ValueError, with the accepted forms.
    """
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return (now or datetime.now(UTC)) - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a date; use {FORMS}") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
