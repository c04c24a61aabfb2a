"""The door for notebooks: every estimator is reached through it, with inputs from the database."""

import sys

import duckdb
import pytest

import skilljuror
from skilljuror.base.errors import QueryError, StudyError
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import small_study


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    small_study(folder)
    return skilljuror.open_study(folder)


def measured(folder, metric, **arms):
    """A study with one measure: condition -> task -> value of its only trial, or the reason of a null."""
    tasks = list(next(iter(arms.values())))
    with open_write(folder / "study.duckdb") as store:
        store.put_plan(fake.plan(tasks, tuple(arms)))
        store.put("trials", [fake.trial(task, name) for name in arms for task in tasks])
        runs = [
            fake.run(f"log-{task}-{name}", trial=fake.name_of(task, name), values={metric: value})
            for name, arm in arms.items()
            for task, value in arm.items()
        ]
        fake.put(store, runs)
    return skilljuror.open_study(folder)


def of_tasks(*values):
    return {f"t{n}": float(value) for n, value in enumerate(values)}


def test_a_folder_without_a_database_says_how_to_make_one(tmp_path):
    with pytest.raises(StudyError, match="skilljuror ingest"):
        skilljuror.open_study(tmp_path)


def test_frames_have_a_row_for_every_planned_trial_and_event(small):
    assert len(small.trials()) == 12
    assert len(small.events()) == len(small.query("SELECT event FROM events"))


def test_a_flag_is_contrasted_in_points(small):
    """strict_pass of measured trials: pd 3 of 3; baseline alpha 1 of 2, beta 1 of 2."""
    delta = small.contrast("pd", "baseline", "strict_pass")
    assert (delta.delta, delta.unit, delta.by_task) == (
        50.0,
        "pp",
        (("alpha", 50.0), ("beta", 50.0)),
    )


def test_nulls_are_left_out_and_a_measure_without_values_is_refused(small):
    assert small.contrast("pd", "baseline", "agent_minutes").delta == pytest.approx(-0.25)
    with pytest.raises(QueryError, match="'cost_usd'"):
        small.contrast("pd", "baseline", "cost_usd")


def test_a_family_is_adjusted_for_its_size(tmp_path):
    """Six tasks of one sign: 2 of 64 patterns reach as far, twice that of two measures."""
    study = measured(tmp_path, "fanout", baseline=of_tasks(*[1] * 6), pd=of_tasks(2, 3, 4, 5, 6, 7))
    steps = {f"t{n}__pd__1": n % 2 for n in range(6)} | {
        f"t{n}__baseline__1": 0.5 for n in range(6)
    }
    with open_write(tmp_path / "study.duckdb") as store:
        fake.put(
            store,
            [
                fake.unread(name, {"agent_steps": found, "fanout": fanout})
                for name, found in steps.items()
                for fanout in [1.0 if "baseline" in name else 2.0 + int(name[1])]
            ],
        )
    answer = study.contrasts("pd", "baseline", ["fanout", "agent_steps"]).set_index("metric")
    fanout, agent_steps = answer.loc["fanout"], answer.loc["agent_steps"]
    single = study.contrast("pd", "baseline", "fanout")
    assert single.t is not None
    assert (fanout.difference, fanout.low, fanout.high) == (3.5, single.t.low, single.t.high)
    assert (fanout.p, fanout.p_holm) == (pytest.approx(2 / 64), pytest.approx(4 / 64))
    assert (agent_steps.difference, agent_steps.p, agent_steps.p_holm) == (0.0, 1.0, 1.0)


def test_a_contrast_reads_as_it_would_be_quoted(tmp_path):
    study = measured(tmp_path, "fanout", baseline=of_tasks(2, 2, 2), pd=of_tasks(1, 2, 3))
    assert str(study.contrast("pd", "baseline", "fanout")) == (
        "+0 resources (95 % interval -2.48 to +2.48, t(2), 3 tasks; 6 of 6 planned trials final)"
    )


def test_a_single_task_is_quoted_without_an_interval(tmp_path):
    study = measured(tmp_path, "fanout", baseline=of_tasks(2), pd=of_tasks(1))
    assert str(study.contrast("pd", "baseline", "fanout")) == (
        "-1 resources, undetermined: one task gives no interval (1 task; 2 of 2 planned trials final)"
    )


def test_what_a_study_holds_is_seen_at_once(small):
    assert "planned 12" in repr(small)
    assert "strict_rate" in small._repr_html_()


@pytest.mark.slow
def test_tables_and_views_are_listed_with_their_rows(small):
    listed = small.tables().set_index("table")
    assert listed.loc["planned_trials", "rows"] == 12
    assert listed.loc["uses", "kind"] == "view"
    assert listed["comment"].str.startswith("One row per").sum() >= len(listed) - 3


@pytest.mark.slow
def test_every_table_is_exported_as_parquet(small, tmp_path):
    files = small.export(tmp_path / "parquet")
    listed = small.tables().set_index("table")["rows"]
    counts = {path.stem: len(duckdb.read_parquet(str(path))) for path in files}
    assert counts == listed.to_dict()


@pytest.fixture
def no_pandas(monkeypatch):
    """As where it is not installed."""
    monkeypatch.setitem(sys.modules, "pandas", None)


@pytest.mark.slow
def test_without_pandas_tables_are_rows(small, no_pandas):
    assert small.query("SELECT 1 AS a, NULL AS b") == [{"a": 1, "b": None}]
    assert len(small.trials()) == 12
    assert {"table": "planned_trials", "kind": "table", "rows": 12} in [
        {name: row[name] for name in ("table", "kind", "rows")} for row in small.tables()
    ]
    assert small.questions()[0].keys() == {"name", "section", "question", "grain"}
    contrasts = small.contrasts("pd", "baseline", ["strict_pass"])
    assert [(row["metric"], row["difference"]) for row in contrasts] == [("strict_pass", 50.0)]
    assert small._repr_html_() is None


def test_rows_are_the_same_with_and_without_pandas(small, monkeypatch):
    sql = "SELECT trial, task FROM planned_trials ORDER BY trial"
    rows = small.rows(sql)
    assert rows == small.query(sql).to_dict("records")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert rows == small.rows(sql) == small.query(sql)


def test_measures_and_questions_are_listed(small):
    assert {"definition", "unit"} <= set(small.metrics().columns)
    assert "outcomes" in set(small.questions()["name"])


@pytest.mark.parametrize(
    ("margin", "verdict"), [(1.0, "equivalent"), (0.05, "inconclusive")], ids=["wide", "narrow"]
)
def test_equivalence_is_asked_with_a_margin(tmp_path, margin, verdict):
    study = measured(
        tmp_path, "fanout", baseline=of_tasks(1, 1, 1, 1, 1), pd=of_tasks(1.1, 0.9, 1, 1.1, 0.9)
    )
    found = study.equivalence("pd", "baseline", "fanout", margin=margin)
    assert (found.verdict, found.margin) == (verdict, margin)


def test_power_says_what_more_tasks_would_find(tmp_path):
    """Deltas -1, 0, 1: sd 1."""
    study = measured(tmp_path, "fanout", baseline=of_tasks(2, 2, 2), pd=of_tasks(1, 2, 3))
    own, more = (study.power("pd", "baseline", "fanout", tasks=n) for n in (None, 30))
    assert (own.sd, own.tasks, more.tasks) == (1.0, 3, 30)
    assert own.effect is not None
    assert more.effect is not None
    assert more.effect == pytest.approx((2.0452 + 0.8542) / 30**0.5, abs=1e-3)
    assert more.effect < own.effect


def test_one_task_has_no_power(tmp_path):
    study = measured(tmp_path, "fanout", baseline=of_tasks(1), pd=of_tasks(2))
    with pytest.raises(QueryError, match="one task"):
        study.power("pd", "baseline", "fanout")


def test_equal_tasks_have_no_power(tmp_path):
    study = measured(tmp_path, "fanout", baseline=of_tasks(1, 1), pd=of_tasks(2, 2))
    with pytest.raises(QueryError, match="undetermined: no variation between tasks"):
        study.power("pd", "baseline", "fanout")


def test_a_rate_is_a_mean_over_tasks_with_its_interval(tmp_path):
    study = measured(
        tmp_path, "strict_pass", baseline=of_tasks(*[0, 1] * 20), pd=of_tasks(*[1] * 40)
    )
    found = study.rate("baseline")
    assert found.interval is not None
    assert found.estimate == 0.5
    assert found.interval.low == pytest.approx(0.5 - 1.96 * 0.5 / 40**0.5, abs=0.03)
    assert study.rate("baseline") == found
    with pytest.raises(QueryError, match="'fanout'"):
        study.rate("baseline", "fanout")


def test_two_judges_agree_on_the_events_that_both_labelled(tmp_path):
    events = [fake.event("t1", n) for n in range(4)]
    with open_write(tmp_path / "study.duckdb") as store:
        fake.put(store, [fake.run("t1", events=events)])
        for judge, labels in (("one", ["yes", "yes", "no"]), ("two", ["yes", "no", "no", "yes"])):
            pairs = zip(events, labels, strict=False)
            fake.put_verdicts(store, [fake.verdict(*pair, judge=judge) for pair in pairs])
    study = skilljuror.open_study(tmp_path)
    found = study.agreement("one", "two")
    assert found.items == 3
    assert found.observed == pytest.approx(2 / 3)
    assert found.kappa == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    with pytest.raises(QueryError, match="'three'"):
        study.agreement("one", "three")
