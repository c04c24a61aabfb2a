"""Points of rubrics by group: what is paired, what is dropped, and what has no number."""

from typing import Any

import pytest

from skilljuror.base.results import CheckOutcome, CheckResult
from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake

ARMS = ("baseline", "pd")
AWARDS: dict[tuple[str, str], list[Any]] = {
    ("tea", "baseline"): [(0, 1), (1, 1), (0, 0)],
    ("tea", "pd"): [(3, 1), (1, None), (3, 0)],
    ("jam", "baseline"): [(1, 1), (1, 1), None],
    ("jam", "pd"): [(4, 1), (4, 1), (4, 1)],
}
"""Cell -> awards of following (of 4 points, in two items) and goal (of 1 point) of trials 1 to 3; None for an
unjudged item, and for a trial without a rubric's rows."""


def items(cell, number, awards):
    trial = fake.name_of(cell[0], cell[1], number)
    following, goal = awards
    for name, group, points, award in (
        ("units", "following", 3.0, float(min(following, 3))),
        ("signed", "following", 1.0, float(following > 3)),
        ("total", "goal", 1.0, None if goal is None else float(goal)),
    ):
        outcome: CheckOutcome = "unjudged" if award is None else "passed" if award else "failed"
        yield CheckResult(
            trial, "tea", name, outcome, points, award, item_group=group, judge="code"
        )


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "study.duckdb"
    plan = fake.plan(("tea", "jam"), ARMS, trials=3)
    rows = [
        one
        for cell, trials in AWARDS.items()
        for number, awards in enumerate(trials, 1)
        if awards
        for one in items(cell, number, awards)
    ]
    with open_write(path) as store:
        store.put_plan(plan)
        store.put("trials", [fake.trial(*cell, n) for cell in AWARDS for n in (1, 2, 3)])
        store.put_checks(["tea__pd__1"], [CheckResult("tea__pd__1", "ctrf.json", "t", "failed")])
        store.put("items", rows)
    return path


def answers(study, **params):
    return {
        (row["item_group"], row["task"]): row
        for row in run(study, "rubric_scores", **params).records()
    }


def test_scores_are_paired_by_trial_and_averaged_over_tasks(study):
    found = answers(study)
    row = found["following", None]
    # tea: pairs 1 to 3: (0 + 1 + 0) / 12 and (3 + 1 + 3) / 12; jam: pairs 1 and 2: 1 / 4 and 1
    assert row["control_score"] == pytest.approx((1 / 12 + 1 / 4) / 2)
    assert row["treatment_score"] == pytest.approx((7 / 12 + 1) / 2)
    assert (row["tasks"], row["pairs"], row["dropped"]) == (2, 5, "jam__pd__3")
    # deltas 1/2 and 3/4: mean 5/8, sd sqrt(2)/8, half width 12.7062 / 8, cut at 1
    assert row["delta"] == pytest.approx(5 / 8)
    assert (row["low"], row["high"]) == (pytest.approx(5 / 8 - 12.7062 / 8), 1)
    assert found["following", "jam"]["interval_reason"] == "one task"


def test_an_unjudged_item_makes_the_groups_score_null_and_names_its_partner(study):
    row = answers(study)["goal", "tea"]
    assert (row["treatment_scored"], row["treatment_unjudged"], row["pairs"]) == (2, 1, 2)
    assert (row["dropped"], row["treatment_score"], row["delta"]) == ("tea__baseline__2", 0.5, 0.0)


def test_overall_weighs_following_and_goal(study):
    even = answers(study)["overall", "jam"]
    assert even["treatment_score"] == 1
    assert even["control_score"] == pytest.approx((1 / 4 + 1) / 2)
    assert answers(study, weight=0.2)["overall", "jam"]["control_score"] == pytest.approx(
        0.2 / 4 + 0.8
    )


def test_other_rubrics_and_the_verifiers_tests_are_not_points(study):
    assert answers(study, rubric="jam") == {}
    assert answers(study)["goal", None]["interval_reason"] == "all tasks have the same difference"
