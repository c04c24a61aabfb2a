"""Skills by week: offered, opened and put to work, over the runs whose logs tell what they offered."""

from datetime import UTC, datetime, timedelta

import pytest

from skilljuror.base.errors import QueryError
from skilljuror.base.results import OfferedRow
from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import rows

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
LISTED = (OfferedRow("", "plug:csv-report", False), OfferedRow("", "unused", False))


def logged(key, days, events=(), offered=LISTED):
    """A foreign run that began `days` after a Monday; `offered` None is a log that lists nothing."""
    found = [fake.event(key, n, **fields) for n, fields in enumerate(events)]
    began = None if days is None else (MONDAY + timedelta(days=days)).timestamp()
    listed = (
        None
        if offered is None
        else tuple(OfferedRow(key, *one[1:]) for one in map(tuple_of, offered))
    )
    return fake.replaced(fake.run(key, events=found, started_at=began), offered=listed)


def tuple_of(row):
    return row.trajectory, row.skill, row.bundled


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Five runs of two weeks, and one of an unknown time."""
    path = tmp_path_factory.mktemp("weeks") / "study.duckdb"
    read = {"shown_bytes": 400}
    failed = {"ok": False, "content_exposed": "none", "shown_bytes": 0}
    runs = [
        logged("a", 0, [read, read]),
        logged("b", 6, [failed]),
        logged("c", 3),
        logged("d", 2, [read], offered=None),
        logged("e", 7, [read]),
        logged("f", None, [read], offered=None),
    ]
    with open_write(path) as store:
        fake.put(store, runs)
        labels = {("a", 0): ("yes", "implementation"), ("a", 1): ("unknown", "not_seen_again"),
                  ("b", 0): ("no", "failed_probe")}  # fmt: skip
        fake.put_verdicts(
            store,
            [
                fake.verdict(fake.event(key, n), label, category=category)
                for (key, n), (label, category) in labels.items()
            ],
        )
    return path


def test_a_rate_is_of_the_runs_that_were_offered_it(path):
    """Of a, b and c two touched it and one opened it; d lists nothing and opened it, f has no time and no list."""
    columns = ("week", "offered", "opened", "opened_offered", "open_rate", "unlisted")
    found = rows(path, "by_skill", *columns, skill="csv-report")
    told = [(week and week.isoformat(), *rest) for week, *rest in found]
    assert told == [
        ("2026-03-09", 1, 1, 1, 1.0, 0),
        ("2026-03-02", 3, 2, 1, pytest.approx(1 / 3), 1),
        (None, None, 1, None, None, 1),
    ]


def test_uptake_failures_and_text_shown_stand_beside_it(path):
    """yes, no and not seen again: 1/3 to 2/3. 400 bytes three times: 1200, some 300 tokens."""
    columns = ("eru_low", "eru_high", "uses", "failed", "bytes_shown", "tokens_shown")
    found = rows(path, "by_skill", *columns, skill="csv-report", since="2026-03-02")
    ends = (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert found == [(None, None, 1, 0, 400, 100), (*ends, 4, 1, 1200, 300)]


def test_runs_that_took_it_up_have_two_ends_where_uses_are_open(tmp_path):
    """One run with a yes, two with an open use alone, one with a no; then one that was not judged."""
    path = tmp_path / "study.duckdb"
    labels = {"a": "yes", "b": "unknown", "c": "unknown", "d": "no"}
    reasons = {"yes": "implementation", "unknown": "insufficient_context", "no": "background"}
    ends = ("uptake_low", "uptake_high")
    with open_write(path) as store:
        fake.put(store, [logged(key, 0, [{}]) for key in labels])
        fake.put_verdicts(
            store,
            [
                fake.verdict(fake.event(key, 0), label, category=reasons[label])
                for key, label in labels.items()
            ],
        )
    assert rows(path, "by_skill", *ends, skill="csv-report") == [(1, 3)]
    with open_write(path) as store:
        fake.put(store, [logged("e", 0, [{}])])
    assert rows(path, "by_skill", *ends, skill="csv-report") == [(None, None)]


def test_a_skill_may_be_named_with_or_without_its_plugin(path):
    assert run(path, "by_skill", skill="plug:csv-report") == run(
        path, "by_skill", skill="csv-report"
    )


def test_since_is_a_date_or_how_long_ago(path):
    weeks = rows(path, "by_skill", "week", skill="csv-report", since="2026-03-09")
    assert len(weeks) == 1
    assert rows(path, "by_skill", "week", since="1d") == []
    with pytest.raises(QueryError, match=r"since 'soon' is not a date; use .*7d"):
        run(path, "by_skill", since="soon")


def test_usage_compares_a_period_with_the_one_before(path):
    """The last 6 days have b, c and e, which list the skill, and d, which does not; the 6 before have a."""
    found = {row["skill"]: row for row in run(path, "usage", days="6").records()}
    plug, unused = found["plug:csv-report"], found["unused"]
    assert (plug["offered"], plug["opened"], plug["opened_offered"]) == (3, 2, 1)
    assert (plug["offered_before"], plug["opened_before"], plug["opened_offered_before"]) == (
        1,
        1,
        1,
    )
    assert plug["change"] == pytest.approx(-2 / 3)
    assert (plug["tokens_shown"], plug["tokens_shown_before"]) == (200, 200)
    assert (unused["offered"], unused["opened"], unused["change"]) == (3, 0, 0)
    earlier = run(path, "usage", days="6", until="2026-03-05", skill="csv-report").records()
    assert [(row["offered"], row["offered_before"], row["change"]) for row in earlier] == [
        (2, None, None)
    ]


def test_the_change_has_newcombes_interval(tmp_path):
    """Newcombe 1998, table II, method 10: 56 of 70 against 48 of 80."""
    path = tmp_path / "study.duckdb"
    read = [{"shown_bytes": 4}]
    runs = [
        logged(f"{days}-{n}", days, read if n < opened else [])
        for days, opened, offered in ((0, 48, 80), (1, 56, 70))
        for n in range(offered)
    ]
    with open_write(path) as store:
        fake.put(store, runs)
    (row,) = run(path, "usage", days="1", skill="csv-report").records()
    assert row["change"] == pytest.approx(0.2)
    assert (row["change_low"], row["change_high"]) == (
        pytest.approx(0.0524, abs=5e-5),
        pytest.approx(0.3339, abs=5e-5),
    )
