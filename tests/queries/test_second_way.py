"""SQL and the estimators, written apart, must agree on any study."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.queries.run import run
from skilljuror.stats.uptake import uptake_summary
from skilljuror.stats.yields import yield_view
from skilljuror.store import open_write
from tests.support import fabricated_records as fake

LABELS = st.lists(
    st.lists(st.sampled_from(["yes", "no", "unknown"]), max_size=7), min_size=1, max_size=5
)
TRIALS = st.lists(
    st.tuples(st.none() | st.floats(0.1, 90), st.booleans()), min_size=1, max_size=8
)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(LABELS)
def test_uptake(labels):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.duckdb"
        with open_write(path) as store:
            for number, found in enumerate(labels):
                events = [fake.event(f"t{number}", n) for n in range(len(found))]
                fake.put(store, [fake.run(f"t{number}", events=events)])
                store.put_verdicts([fake.verdict(*p) for p in zip(events, found, strict=True)])
        row = run(path, "uptake").records()[0]
    expected = uptake_summary(labels)
    judged = expected.events > 0
    assert (row["trajectories"], row["events"]) == (expected.trajectories, expected.events)
    assert row["eru_rate"] == (pytest.approx(expected.rate) if expected.rate is not None else None)
    assert row["mean_yes"] == (pytest.approx(expected.mean_yes) if judged else None)
    incidence = (row["ge1_yes"], row["ge2_yes"], row["ge5_yes"])
    assert incidence == (tuple(n for _, n in expected.incidence) if judged else (None, None, None))


@settings(max_examples=12, deadline=None)
@given(TRIALS)
def test_efficiency(trials):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.duckdb"
        with open_write(path) as store:
            store.put_plan(fake.plan(["a"], ("baseline",), len(trials)))
            for number, (minutes, passed) in enumerate(trials, start=1):
                trial = fake.trial("a", "baseline", number, reward=float(passed))
                store.put_trials([trial])
                value = "never_started" if minutes is None else minutes
                fake.put(store, [fake.unread(trial.trial, {"agent_minutes": value})])
        row = run(path, "efficiency").records()[0]
    expected = yield_view(trials)
    found = (row["attempt"], row["success"], row["yield"], row["yield_at_least"])
    bound = expected.lower_bound if expected.coverage else None
    for value, other in zip(
        found, (expected.attempt, expected.success, expected.per_pass, bound), strict=True
    ):
        assert value == (None if other is None else pytest.approx(other))
    assert row["coverage"] == pytest.approx(expected.coverage)
