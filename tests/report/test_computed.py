"""Tables that need an estimator, on the small fabricated study."""

import math

import pytest

from skilljuror.report import computed
from skilljuror.report.computed import COMPUTED, Answers, documentation, measure_arms
from skilljuror.store import open_write
from skilljuror.store.connect import open_read
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import small_study


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    with open_read(small_study(tmp_path_factory.mktemp("small"))) as reader:
        yield Answers(reader)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same with every trial usable."""
    with open_read(small_study(tmp_path_factory.mktemp("whole"), whole=True)) as reader:
        yield Answers(reader)


def test_a_ratio_is_a_geometric_mean_over_tasks(whole):
    """alpha 1.5 / 1.5 minutes, beta 1.0 / 1.5; the trial without a log is left out."""
    row = whole("ratios").records()[0]
    assert (row["measure"], row["treatment_trials"], row["control_trials"]) == (
        "agent_minutes",
        3,
        4,
    )
    assert row["ratio"] == pytest.approx(math.sqrt(1.0 * 2 / 3))


def test_trials_of_a_task_that_one_arm_has_are_not_counted(tmp_path):
    plan = fake.plan(["a", "b", "c"], ("baseline", "pd"))
    left = tuple(one for one in plan.trials if one.trial != fake.name_of("c", "baseline"))
    with open_write(tmp_path / "study.duckdb") as store:
        store.put_plan(plan.model_copy(update={"trials": left}))
        store.put("trials", [fake.trial(one.task, one.condition) for one in left])
        values = {"agent_minutes": 2.0, "agent_steps": 4.0}
        fake.put(store, [fake.run(one.trial, trial=one.trial, values=values) for one in left])
    with open_read(tmp_path / "study.duckdb") as reader:
        for table in ("ratios", "contrasts"):
            (row,) = Answers(reader)(table).records()
            assert (row["treatment_trials"], row["control_trials"], row["tasks"]) == (2, 2, 2)


def test_a_measure_of_one_arm_only_has_no_ratio(answers):
    """Tokens are known in pd alone: trials are counted, no task is paired."""
    row = next(row for row in answers("ratios").records() if row["measure"] == "display_tokens")
    assert (row["treatment_trials"], row["control_trials"], row["tasks"]) == (3, 0, 0)
    assert row["ratio"] is None


def test_a_measure_that_nobody_took_is_left_out(answers):
    assert "cost_usd" not in [row["measure"] for row in answers("ratios").records()]


def test_a_long_list_of_uses_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(computed, "MOST_ROWS", 2)
    with open_read(small_study(tmp_path)) as reader:
        answers = Answers(reader)
        assert len(answers("evidence").rows) == 2
        assert answers.cut == {"evidence"}
        assert answers("uptake").rows


def test_a_difference_is_a_mean_over_tasks(answers):
    rows = {row["measure"]: row for row in answers("contrasts").records()}
    assert rows["fanout"]["difference"] == 1.0
    assert rows["skill_step_share"]["difference"] == pytest.approx(0.2)


def test_nulls_are_left_out_of_both_arms(answers):
    treatment, control = measure_arms(answers, ["agent_minutes"])["agent_minutes"]
    assert treatment == {"alpha": [1.0, 2.0], "beta": [1.0]}
    assert control == {"alpha": [1.0, 2.0], "beta": [1.0]}  # the other one is not scored


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_tables_are_documented_like_questions(answers, name):
    found = documentation(name)
    assert found.question.endswith("?")
    assert found.columns == answers(name).columns
    assert set(found.definitions) <= set(found.columns)


def test_a_yield_is_that_of_the_question(whole):
    """pd is measured in 3 of its 4 trials: no yield."""
    rows = {(row["condition"], row["measure"]): row for row in whole("yields").records()}
    yields = {
        (row["condition"], f"{row['resource']} per pass"): (row["yield"], row["yield_reason"])
        for row in whole("efficiency").records()
    }
    valued = {what for (_, what), (value, _) in yields.items() if value is not None}
    assert valued == {"time per pass"}  # nothing to say of tokens and dollars
    assert {what for _, what in rows} == {"strict pass rate", *valued}
    for key, (value, reason) in yields.items():
        if key[1] not in valued:
            continue
        assert rows[key]["value"] == (value and pytest.approx(value))
        assert rows[key]["value_reason"] == reason


def test_arms_with_other_tasks_are_compared_over_the_tasks_of_both(tmp_path):
    """pd has the task a alone: 3 minutes for one pass against 1 for one."""
    plan = fake.plan({name: {"domain": "tea"} for name in "ab"}, ("baseline", "pd"))
    trials = [one for one in plan.trials if (one.task, one.condition) != ("b", "pd")]
    with open_write(tmp_path / "study.duckdb") as store:
        store.put_plan(plan.model_copy(update={"trials": tuple(trials)}))
        store.put("trials", [fake.trial(one.task, one.condition) for one in trials])
        minutes = {("a", "baseline"): 1.0, ("b", "baseline"): 9.0, ("a", "pd"): 3.0}
        fake.put(store, [
            fake.run(one.trial, trial=one.trial, values={"agent_minutes": minutes[one.task, one.condition]})
            for one in trials
        ])  # fmt: skip
    with open_read(tmp_path / "study.duckdb") as reader:
        row = Answers(reader)("ratios").records()[0]
        yields = {
            one["condition"]: one
            for one in Answers(reader)("yields").records()
            if "time" in one["measure"]
        }
        (stratum,) = Answers(reader)("strata").records()
    assert (stratum["tasks"], stratum["control_trials"], stratum["sd_pass"]) == (1, 1, None)
    assert (stratum["treatment_minutes_per_pass"], stratum["control_minutes_per_pass"]) == (
        3.0,
        1.0,
    )
    assert (row["measure"], row["tasks"]) == ("agent_minutes", 1)
    assert (row["ratio"], row["per_pass_ratio"]) == pytest.approx((3.0, 3.0))
    assert (yields["baseline"]["value"], yields["baseline"]["tasks"]) == (pytest.approx(5.0), 2)
    assert (yields["pd"]["value"], yields["pd"]["tasks"]) == (pytest.approx(3.0), 1)


def test_while_trials_are_open_nothing_of_passes_has_an_interval(answers):
    """One trial of each arm has no outcome: an outage must not look like failures."""
    baseline = next(row for row in answers("yields").records() if row["condition"] == "baseline")
    assert (baseline["value"], baseline["low"], baseline["high"]) == (None, None, None)
    assert baseline["value_reason"] == "3 of 4 trials of baseline usable (1 unscored)"
    assert {row["per_pass_ratio"] for row in answers("ratios").records()} == {None}
    reasons = {row["pattern_reason"] for row in answers("patterns").records()}
    assert len(reasons) == 1
    assert "3 of 4 trials of pd usable (1 missing)" in reasons.pop()


def test_a_computed_table_is_made_once(answers):
    assert answers("contrasts") is answers("contrasts")
