"""Paging rules of one service: from request counts and log classes to pages."""

ERROR_BUDGET_BURN = None  # number: burn rate at which the service is paged
BURN_WINDOW = None  # number: minutes over which the burn rate is taken
REPEAT_PAUSE = None  # number: minutes before the same group is paged again
ESCALATE_AFTER = None  # number: unanswered pages before the second line is told
QUIET_START = None  # number: full hour, local time
QUIET_END = None  # number: full hour, local time
OBJECTIVE = None  # number: per cent of requests that must not fail
FEWEST_REQUESTS = None  # number: requests below which a window is not judged
UNKNOWN_CLASS_SEVERITY = None  # one of: critical, major, minor, noise


def burn_rate(failed, requests):
    """How many times faster than allowed the error budget is used up; None for too few requests."""
    if requests < FEWEST_REQUESTS:
        return None
    return failed / requests / (1 - OBJECTIVE / 100)


def quiet(hour):
    """Whether an hour of the day lies in the quiet hours."""
    if QUIET_START <= QUIET_END:
        return QUIET_START <= hour < QUIET_END
    return hour >= QUIET_START or hour < QUIET_END


def pages(minutes, severity, hour):
    """Whether a list of (failed, requests) per minute, newest last, sends a page."""
    window = minutes[-BURN_WINDOW:]
    if len(window) < BURN_WINDOW or (quiet(hour) and severity != "critical"):
        return False
    rate = burn_rate(sum(one[0] for one in window), sum(one[1] for one in window))
    return rate is not None and rate > ERROR_BUDGET_BURN


def repeats(minutes_since_first):
    """Whether the same group may be paged again."""
    return minutes_since_first >= REPEAT_PAUSE


def second_line(unanswered):
    """Whether the second line is told."""
    return unanswered >= ESCALATE_AFTER


def severity_of(name, known):
    """Severity of an error class."""
    return known.get(name, UNKNOWN_CLASS_SEVERITY)
