"""Moments as people write them: a date, a time, or how long ago."""

import re
from datetime import UTC, datetime, timedelta

FORMS = "2026-01-31, 2026-01-31T12:00, or how long ago: 12h, 7d, 2w"
"""What a moment may look like."""

_AGO = re.compile(r"(\d{1,5})\s?([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


def moment(text: str, now: datetime | None = None) -> datetime:
    """The moment meant, with its zone; a time without one is UTC. "7d" is seven days before `now`.

    Raises ValueError with the forms that there are.
    """
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return (now or datetime.now(UTC)) - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is no date; write it as {FORMS}") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
