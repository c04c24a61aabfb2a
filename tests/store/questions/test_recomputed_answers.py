"""Uptake and efficiency of any study, recomputed from its labels and minutes in plain Python."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake

LABELS = st.lists(
    st.lists(st.sampled_from(["yes", "no", "unknown", "again"]), max_size=7),
    min_size=1,
    max_size=5,
)
TRIALS = st.lists(
    st.tuples(st.none() | st.floats(0.1, 90), st.booleans()), min_size=1, max_size=8
)  # fmt: skip


def verdict(event, label):
    if label == "again":
        return fake.verdict(event, "unknown", category="not_seen_again")
    return fake.verdict(event, label)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(LABELS)
def test_uptake(labels):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.duckdb"
        with open_write(path) as store:
            for number, found in enumerate(labels):
                events = [fake.event(f"t{number}", n) for n in range(len(found))]
                fake.put(store, [fake.run(f"t{number}", events=events)])
                fake.put_verdicts(store, [verdict(*p) for p in zip(events, found, strict=True)])
        row = run(path, "uptake").records()[0]
        resources = run(path, "resources").records()
    every = [label for found in labels for label in found]
    yes, no = every.count("yes"), every.count("no")
    assert (row["trajectories"], row["events"]) == (len(labels), len(every))
    again = every.count("again")
    whole = yes + no + again
    ends = (yes / whole, (yes + again) / whole) if whole else (None, None)
    assert (row["eru_low"], row["eru_high"]) == ends
    assert row["eru_rate"] == (yes / (yes + no) if yes + no and not again else None)
    assert (row["eru_rate_reason"] is None) == (row["eru_rate"] is not None)
    if every:
        assert (row["open"], row["unknown"]) == (again, again + every.count("unknown"))
        assert sum(one["open"] for one in resources) == again
    for end, counted in (("low", {"yes"}), ("high", {"yes", "again"})):
        counts = [sum(label in counted for label in found) for found in labels]
        mean = pytest.approx(sum(counts) / len(labels)) if every else None
        assert row[f"mean_yes_{end}"] == mean
        for k in (1, 2, 5):
            expected = sum(count >= k for count in counts) if every else None
            assert row[f"ge{k}_yes_{end}"] == expected


@settings(max_examples=12, deadline=None)
@given(TRIALS)
@pytest.mark.slow
def test_efficiency(trials):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.duckdb"
        with open_write(path) as store:
            store.put_plan(fake.plan(["a"], ("baseline",), len(trials)))
            for number, (minutes, passed) in enumerate(trials, start=1):
                trial = fake.trial("a", "baseline", number, reward=float(passed))
                store.put("trials", [trial])
                value = "never_started" if minutes is None else minutes
                fake.put(store, [fake.unread(trial.trial, {"agent_minutes": value})])
        row = run(path, "efficiency").records()[0]
    measured = [minutes for minutes, _ in trials if minutes is not None]
    won = [minutes for minutes, passed in trials if passed]
    used = sum(measured) / len(won) if won and measured else None
    expected = {
        "attempt": sum(measured) / len(measured) if measured else None,
        "success": None if None in won or not won else sum(m for m in won if m) / len(won),
        "yield": used if len(measured) == len(trials) else None,
        "yield_at_least": used,
        "coverage": len(measured) / len(trials),
    }
    for name, value in expected.items():
        assert row[name] == (None if value is None else pytest.approx(value)), name
