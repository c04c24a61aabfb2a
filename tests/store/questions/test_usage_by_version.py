"""Versions of a skill by the text that was seen: how often each was opened and used, and its cost."""

from datetime import UTC, datetime, timedelta

import pytest

from skilljuror.base.results import OfferedRow
from skilljuror.store import open_write
from skilljuror.store.questions import remarks_on, run
from tests.support import fabricated_records as fake

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
PRICED = {"total_tokens": 1000, "cost_usd": 0.5, "price_date": 20261120}


def logged(key, days, digest=None, *, exposed="full", offered=True, values=PRICED, **fields):
    """A foreign run that began `days` after a Monday and was shown a text; digest None opens nothing."""
    began = None if days is None else (MONDAY + timedelta(days=days)).timestamp()
    shown = {
        "text_digest": digest or None,
        "content_exposed": exposed,
        "shown_bytes": 400,
        **fields,
    }
    events = [] if digest is None else [fake.event(key, **shown)]
    made = fake.run(key, events=events, started_at=began, values=values)
    return fake.replaced(made, offered=(OfferedRow(key, "csv-report", False),) if offered else ())


def stored(tmp_path, runs, labels=None):
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        fake.put(store, runs)
        fake.put_verdicts(
            store, [fake.verdict(fake.event(key), label) for key, label in (labels or {}).items()]
        )
    return path


def answer(path, *columns, **params):
    found = run(path, "usage_by_version", **params).records()
    return [tuple(row[name] for name in columns) for row in found]


@pytest.fixture
def two(tmp_path):
    """Ten runs of v1 with four of eight inner ones opened, then ten of v2 with six of eight."""
    runs = []
    for version, start, inner in (("v1", 0, 4), ("v2", 20, 6)):
        for n in range(10):
            opens = n in {0, 9} or n <= inner
            runs.append(logged(f"{version}-{n}", start + n, version if opens else None))
    return stored(tmp_path, runs)


def test_an_open_rate_is_of_the_runs_between_the_first_and_last_sight(two):
    """The runs that tell when a version was there were opened by definition, and do not count; the last sight of
    the newest does, as no later version is known."""
    columns = ("version", "runs", "offered", "opened", "open_rate", "open_reason")
    assert answer(two, *columns) == [
        ("v2", 8, 9, 7, pytest.approx(7 / 9), None), ("v1", 6, 8, 4, 0.5, None),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_version_that_stopped_being_opened_loses_its_open_rate(tmp_path):
    """v1 is opened by three of four, then by none of four; as v2 comes, whose those were is unknown."""
    opened = [logged(f"a{n}", n, None if n == 2 else "v1") for n in range(4)]
    stopped = [logged(f"b{n}", 10 + n, None) for n in range(4)]
    path = stored(tmp_path, [*opened, *stopped])
    columns = ("version", "offered", "opened", "open_rate", "offered_after")
    assert answer(path, *columns) == [("v1", 7, 2, pytest.approx(2 / 7), 0)]
    assert answer(path, *columns, since="2026-03-11") == [("v1", 4, 0, 0.0, 0)]
    weeks = [(str(row[0]), *row[1:]) for row in answer(path, "week", *columns[1:], weekly="true")]
    assert weeks == [("2026-03-09", 4, 0, 0.0, 0), ("2026-03-02", 3, 2, pytest.approx(2 / 3), 0)]
    path.unlink()
    path = stored(tmp_path, [*opened, *stopped, logged("c", 20, "v2")])
    assert answer(path, *columns) == [("v2", 0, 0, None, 0), ("v1", 2, 1, 0.5, 4)]


def test_a_version_is_compared_with_the_one_before(two):
    columns = ("change", "change_low", "change_high", "change_reason")
    (change, low, high, reason), first = answer(two, *columns)
    assert (change, reason) == (pytest.approx(7 / 9 - 0.5), None)
    assert low < 0 < change < high
    assert first == (None, None, None, "first_version")


def test_versions_in_use_at_one_time_have_no_open_rate(tmp_path):
    """Nobody knows which of both a run was offered that opened none: not a rate of either."""
    days = (("a", 0, "v1"), ("b", 1, "v2"), ("c", 2, None), ("d", 3, "v1"), ("e", 4, "v2"))
    path = stored(tmp_path, [logged(*one) for one in days])
    found = answer(path, "runs", "offered", "open_rate", "open_reason", "change_reason")
    unknown = (2, None, None, "other_version_between")
    assert found == [(*unknown, "no_open_rate"), (*unknown, "first_version")]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"exposed": "partial"}, "shown_in_part"),
        ({}, "text_not_logged"),
        ({"resource": "references/a.md", "resource_class": "support"}, "root_not_shown"),
    ],
)
def test_a_text_that_was_not_shown_whole_is_no_version(tmp_path, fields, reason):
    path = stored(tmp_path, [logged("a", 1, "v1"), logged("b", 0, "", **fields)])
    columns = ("version", "version_reason", "runs", "open_reason")
    assert answer(path, *columns) == [
        ("v1", None, 1, "no_offer_between"), (None, reason, 1, "unknown_version"),
    ]  # fmt: skip


def test_a_run_that_saw_two_texts_is_of_neither_version(tmp_path):
    one = logged("a", 0, "v1")
    both = fake.replaced(one, events=(*one.events, fake.event("a", 1, text_digest="v2")))
    assert answer(stored(tmp_path, [both]), "version", "version_reason", "runs") == [
        (None, "several_texts", 1)
    ]


def test_the_cost_is_of_whole_runs_and_says_how_many_have_one(tmp_path):
    unpriced = {"total_tokens": 3000, "cost_usd": "no_price", "price_date": "no_price"}
    runs = [
        logged("a", 0, "v1"),
        logged("b", 1, "v1", values=unpriced),
        logged("c", 2, "v1", values={}),
    ]
    columns = (
        "run_tokens", "run_tokens_known", "whole_run_usd", "whole_run_usd_known", "run_reason", "price_dates",
        "tokens_shown",
    )  # fmt: skip
    path = stored(tmp_path, runs)
    assert answer(path, *columns) == [(2000, 2, 0.5, 1, "no_price", "2026-11-20", 300)]
    path.unlink()
    path = stored(tmp_path, [logged("b", 1, "v1", values=unpriced)])
    assert answer(path, *columns[2:6]) == [(None, 0, "no_price", None)]
    assert any("run_reason" in told for told in remarks_on("usage_by_version", run(path, "usage_by_version")))  # fmt: skip


def test_use_has_two_ends_and_needs_every_verdict(tmp_path):
    runs = [logged(key, n, "v1") for n, key in enumerate("abc")]
    path = stored(tmp_path, runs, {"a": "yes", "b": "no"})
    columns = ("judge", "uptake_low", "uptake_high", "uptake_reason")
    assert answer(path, *columns) == [("tracing-1", None, None, "judged_in_part")]
    path.unlink()
    path = stored(tmp_path, runs)
    assert answer(path, *columns) == [(None, None, None, "not_judged")]
    path.unlink()
    path = stored(tmp_path, runs, {"a": "yes", "b": "no", "c": "no"})
    assert answer(path, *columns) == [("tracing-1", 1, 1, None)]


def test_a_week_in_which_nobody_opened_it_is_a_row_too(tmp_path):
    days = (("a", 0, "v1"), ("b", 8, None), ("c", 9, None), ("d", 15, "v1"))
    path = stored(tmp_path, [logged(*one) for one in days])
    columns = ("week", "runs", "offered", "opened", "open_rate", "change_reason", "run_reason")
    found = [(str(week), *rest) for week, *rest in answer(path, *columns, weekly="true")]
    assert found == [
        ("2026-03-16", 1, 1, 1, 1.0, "by_week", None),
        ("2026-03-09", 0, 2, 0, 0.0, "by_week", "no_run"),
        ("2026-03-02", 1, 0, 0, None, "by_week", None),
    ]
