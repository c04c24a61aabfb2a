"""`query --alert`: what a weekly job is told, and its exit status."""

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.store.questions.alerts import alarms, read_alert

COLUMNS = ("skill", "week", "opened", "rate")
ROWS = (("csv", "2026-11-02", 0, None), ("pdf", "2026-11-02", 3, 0.5), ("tar", None, 9, 1.0))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("opened < 1", ["skill=csv, week=2026-11-02, opened=0"]),
        (
            "opened<=3",
            ["skill=csv, week=2026-11-02, opened=0", "skill=pdf, week=2026-11-02, opened=3"],
        ),
        ("opened = 9", ["skill=tar, opened=9"]),
        ("opened > 1e9", []),
        ("skill = 'tar'", ["skill=tar"]),
        ("skill != 'tar'", ["skill=csv, week=2026-11-02", "skill=pdf, week=2026-11-02"]),
        (
            "rate >= 0.9",
            [
                "unknown, rate is null (skill=csv, week=2026-11-02, rate=None)",
                "skill=tar, rate=1.0",
            ],
        ),
    ],
)
def test_rows_that_are_told(words, told):
    found = list(alarms(read_alert(words, COLUMNS), COLUMNS, ROWS))
    assert found == [f"{words}: {line}" for line in told]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("", "write COLUMN OPERATOR VALUE"),
        ("opened", "write COLUMN OPERATOR VALUE"),
        ("opened < many", "operators: <= >= != < > ="),
        ("opened ~ 1", "operators: <= >= != < > ="),
        ("closed < 1", "no column 'closed'; it has skill, week, opened, rate"),
        ("skill < 1", "skill is text, such as 'csv'; write the value in single quotes"),
    ],
)
def test_conditions_that_are_none(words, problem):
    with pytest.raises(UsageError, match=problem):
        list(alarms(read_alert(words, COLUMNS), COLUMNS, ROWS))
