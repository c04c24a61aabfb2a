"""What goes in comes out, once, whatever is put again."""

from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.base.errors import StoreError
from skilljuror.base.results import Ingested, Measure, SourceRow, UnitUse
from skilljuror.base.review import Decision, DecisionState
from skilljuror.store import Store, open_read, open_write
from tests.support import fabricated_records as fake

TABLES = [
    "study", "tasks", "task_attributes", "conditions", "planned_trials", "trials", "builds",
    "variants", "variant_files", "gate_results", "findings", "waivers", "sources",
    "trajectories", "steps", "offered", "events", "exposure", "exposure_totals", "measures",
    "verdicts", "decisions", "labels",
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.duckdb"


def dump(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with open_read(path) as reader:
        return {name: sorted(reader.rows(f"FROM {name}").rows, key=repr) for name in TABLES}


def fill(store: Store) -> None:
    plan = fake.plan({"alpha": {"validation_type": "tests"}})
    name = fake.name_of("alpha", "pd")
    events = [fake.event("t1", 0), fake.event("t1", 1, resource="a.md", resource_class="support")]
    store.put_plan(plan)
    said = Decision(item="uptake:t1#0", answer="yes", by="Ann", at="2026-01-02", seen="0")
    state = DecisionState(said, "finding", "pd", "size.shrunk:0", stale=True, counts=False)
    store.put_builds([fake.build("alpha", "fail")._replace(decisions=(state,))])
    store.put("labels", [said])
    store.put("trials", [fake.trial("alpha", "pd", rewards={"reward": 1.0, "style": 0.5})])
    store.put("sources", [SourceRow("logs/t1.jsonl", "parsed", "codex-rollout", size=9)])
    fake.put(store, [fake.run("t1", trial=name, events=events, values={"fanout": 2})])
    fake.put_verdicts(store, [fake.verdict(events[0])])


def test_every_table_is_filled_and_nothing_changes_the_second_time(path):
    with open_write(path) as store:
        fill(store)
    first = dump(path)
    with open_write(path) as store:
        fill(store)
    assert dump(path) == first
    empty = {"waivers", "exposure_totals"}
    assert {name for name, rows in first.items() if not rows} == empty


def test_a_run_that_became_shorter_leaves_no_old_rows(path):
    long = fake.run("t1", steps=9, events=[fake.event("t1", n) for n in range(5)])
    with open_write(path) as store:
        fake.put(store, [long, fake.run("t2", steps=3)])
        fake.put(store, [fake.run("t1", steps=2)])
    rows = dump(path)
    assert len(rows["steps"]) == 5
    assert rows["events"] == []


def test_a_trial_without_a_log_still_leaves_measures(path):
    nulls = (Measure("a__pd__1", "fanout", None, reason="no_trajectory"),)
    with open_write(path) as store:
        fake.put(store, [Ingested(trajectory=None, measures=nulls)])
    assert dump(path)["measures"] == [("a__pd__1", "fanout", "", None, "no_trajectory")]


def test_what_is_forgotten_is_gone_from_every_table(path):
    name = fake.name_of("alpha", "pd")
    with open_write(path) as store:
        fill(store)
        store.put_judged("j/1", {"t1": None}, [], [UnitUse("t1", "j/1", "t1#0", "u1", 1)])
        store.forget_trials([name])
        store.forget(["t1"], ["logs/t1.jsonl"])
    with open_read(path) as reader:
        assert reader.rows("FROM unit_uses").rows == []
    found = dump(path)
    gone = {"trials", "trajectories", "steps", "events", "offered", "exposure", "sources"}
    assert not any(found[table] for table in gone)
    assert found["builds"]


def test_two_builds_of_one_name_are_refused(path):
    with open_write(path) as store, pytest.raises(StoreError, match="'alpha'"):
        store.put_builds([fake.build("alpha"), fake.build("alpha")])


def test_a_failing_batch_leaves_no_half(path):
    broken = fake.run("t2", trial=None, format=None)
    with open_write(path) as store:
        fake.put(store, [fake.run("t1")])
        with pytest.raises(duckdb.ConstraintException):
            fake.put(store, [fake.run("t1", steps=9), broken])
    assert len(dump(path)["steps"]) == 4


def stored(path, column, value):
    """What the database gives back for one field of a run, beside one that has none."""
    fields: list[dict[str, Any]] = [{column: value}, {column: None}]
    with open_write(path) as store:
        fake.put(store, [fake.run(f"t{n}", **field) for n, field in enumerate(fields)])
    with open_read(path) as reader:
        ((found,), (nothing,)) = reader.rows(
            f"SELECT {column} FROM trajectories ORDER BY trajectory"
        ).rows
    assert nothing is None
    return found


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        pytest.param("session", "lone \ud800 surrogate", "lone ? surrogate", id="lone surrogate"),
        pytest.param("session", "nul \0 inside", "nul \0 inside", id="nul"),
        pytest.param("input", 2**63 - 1, 2**63 - 1, id="largest integer"),
        pytest.param("input", -(2**63), -(2**63), id="smallest integer"),
        pytest.param("input", 2**63, None, id="integer beyond its column"),
        pytest.param("input", 10**40, None, id="integer beyond any column"),
        pytest.param("cost_usd", 3, 3.0, id="whole number of dollars"),
        pytest.param("started_at", 1e300, None, id="moment beyond the calendar"),
        pytest.param("started_at", float("nan"), None, id="no moment"),
        pytest.param(
            "started_at", 1_767_323_045.25, datetime(2026, 1, 2, 3, 4, 5, 250_000), id="moment"
        ),
    ],
)
def test_a_hostile_value_is_mended_or_null(path, column, value, expected):
    assert stored(path, column, value) == expected


@pytest.mark.slow
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(range(4)), cut=st.integers(0, 4))
def test_order_and_batches_do_not_matter(tmp_path, order, cut):
    runs = [fake.run(f"t{n}", steps=n + 1, values={"fanout": n}) for n in range(4)]
    shuffled = [runs[n] for n in order]
    path = tmp_path / f"{'-'.join(map(str, order))}-{cut}.duckdb"
    with open_write(path) as store:
        fake.put(store, shuffled[:cut])
        fake.put(store, shuffled)
    plain = tmp_path / "plain.duckdb"
    with open_write(plain) as store:
        fake.put(store, runs)
    assert dump(path) == dump(plain)
