"""The judge card: who judged, who checked, and what is left of the rates."""

import duckdb
import pytest

from skilljuror.report.computed import Answers
from skilljuror.report.headline import remarks
from skilljuror.report.page import build_report
from skilljuror.store.connect import open_read
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import small_study
from tests.support.judged_studies import JUDGE, judged_study, label


def asked(path, *tables):
    with open_read(path) as reader:
        answers = Answers(reader)
        found = [answers(name).records() for name in tables]
        return [*found, [words for words, _ in remarks("judge_trust", answers)]]


@pytest.mark.slow
def test_a_judge_that_overlooks_more_in_one_arm_is_corrected(tmp_path):
    """Both arms take up as much, and the judge alone would be sure that pd takes up less."""
    path, truths = judged_study(tmp_path)
    label(tmp_path, truths)
    (row,), said = asked(path, "uptake_differences")
    assert row["delta_judge_high"] < 0
    assert row["delta_corrected_low"] < 0 < row["delta_corrected_high"]
    true = {
        condition: run(
            path, "SELECT list(event) FROM uses JOIN runs USING (run) WHERE condition = $c", c=condition
        ).rows[0][0]
        for condition in ("baseline", "pd")
    }  # fmt: skip
    rates = {c: sum(truths[e] == "yes" for e in events) / 120 for c, events in true.items()}
    assert (
        row["delta_corrected_low"] < rates["pd"] - rates["baseline"] < row["delta_corrected_high"]
    )
    assert f"{JUDGE}: 100.0 %" in said[1]
    assert "the difference pd minus baseline is" in said[1]
    assert "uncorrected −" in said[1]


def test_without_labels_it_says_that_nobody_looked(tmp_path):
    path, _ = judged_study(tmp_path)
    rates, differences, accuracy, said = asked(
        path, "uptake_rates", "uptake_differences", "judge_accuracy"
    )
    assert {row["corrected_rate"] for row in rates} == {None}
    assert {row["corrected_rate_reason"] for row in rates} == {"no_labels"}
    assert differences[0]["delta_corrected_reason"] == "no_labels"
    assert accuracy == [], "no share of nothing"
    assert said[0].startswith("No person has checked these verdicts (240 uses)")
    (card,) = run(path, "judge_card").records()
    assert (card["labelled"], card["labelled_share"], card["reviewers"]) == (0, None, None)


@pytest.mark.slow
def test_labels_of_one_arm_alone_correct_no_difference(tmp_path):
    path, truths = judged_study(tmp_path)
    label(tmp_path, truths, arms=("pd",))
    rates, (row,), said = asked(path, "uptake_rates", "uptake_differences")
    assert row["delta_corrected"] is None
    assert row["delta_corrected_reason"] == "labels_of_one_arm_only"
    assert "People labelled uses of one condition only" in said[1]
    assert {r["condition"]: r["corrected_rate"] is None for r in rates} == {
        "baseline": True, "pd": False,
    }  # fmt: skip


@pytest.mark.slow
def test_labels_that_miss_an_answer_of_the_judge_correct_nothing(tmp_path):
    """Nobody has answered about the uses of pd that the judge called no: what it overlooks is not known."""
    path, truths = judged_study(tmp_path)
    seen = run(path, "SELECT event FROM verdicts WHERE label = 'yes'").rows
    kept = {event for (event,) in seen}
    drawn = label(tmp_path, {event: truths[event] for event in truths})
    gone = [use.event for use in drawn if use.condition == "pd" and use.event not in kept]
    with duckdb.connect(str(path)) as database:
        database.execute("DELETE FROM labels WHERE list_contains($gone, event)", {"gone": gone})
    rates, (row,), said = asked(path, "uptake_rates", "uptake_differences")
    reasons = {r["condition"]: r["corrected_rate_reason"] for r in rates}
    assert reasons == {"baseline": None, "pd": "labels_do_not_reach_all"}
    assert row["delta_corrected_reason"] == "labels_do_not_reach_all"
    assert "no rate is corrected" in said[1]


@pytest.mark.slow
def test_what_people_leave_open_leaves_corrected_rates_two_ends(tmp_path):
    """One open label of forty: no estimate, but an interval that holds both answers."""
    path, truths = judged_study(tmp_path)
    drawn = label(tmp_path, truths)
    (whole, *_), (known,), _ = asked(path, "uptake_rates", "uptake_differences")
    opened = next(use.event for use in drawn if use.condition == whole["condition"])
    label(tmp_path, truths | {opened: "unknown"})
    (rate, *_), (row,), said = asked(path, "uptake_rates", "uptake_differences")
    assert (rate["corrected_rate"], rate["corrected_rate_reason"]) == (None, "between_two_ends")
    assert rate["corrected_rate_low"] < rate["corrected_rate_high"]
    assert rate["corrected_rate_low"] <= whole["corrected_rate_low"]
    assert (row["delta_corrected"], row["delta_corrected_reason"]) == (None, "between_two_ends")
    assert row["delta_corrected_low"] <= known["delta_corrected_low"]
    assert row["delta_corrected_high"] >= known["delta_corrected_high"]
    assert row["delta_detectable"] is None
    assert "people could not decide some uses" in said[1]


@pytest.mark.slow
def test_two_people_and_how_far_they_agree(tmp_path):
    path, truths = judged_study(tmp_path)
    label(tmp_path, truths, ("ann", "bob"), blind=False)
    pairs, said = asked(path, "rater_agreement")
    together, people, *judged = pairs
    assert (together["first"], together["events"]) == ("all people", 120)
    assert together["alpha_low"] < together["alpha"] < together["alpha_high"] < 1
    assert (people["first"], people["second"]) == ("ann", "bob")
    assert 0.7 < people["agreed_share_low"] < people["agreed_share"] < 0.95
    assert {row["second"] for row in judged} == {"ann", "bob"}
    assert all(row["kappa_low"] < row["kappa"] < row["kappa_high"] for row in (people, *judged))
    assert said[0].startswith("ann, bob labelled 120 uses, sampled at random")
    assert "the influence of the judge's answer on people" in said[-1]
    assert "the one person" not in said[-1]


@pytest.mark.slow
@pytest.mark.parametrize("category", ["not_seen_again", "unparsed"])
def test_a_judge_with_two_ends_has_no_rate_of_its_own(tmp_path, category):
    path, truths = judged_study(
        tmp_path, judge=lambda arm, truth, chance: "yes" if chance < 0.5 else "unknown"
    )
    with duckdb.connect(str(path)) as database:
        database.execute("UPDATE verdicts SET category = $1 WHERE label = 'unknown'", [category])
    fake.count_verdicts(path)
    label(tmp_path, truths)
    rates, _ = asked(path, "uptake_rates")
    assert {row["judge_rate_reason"] for row in rates} == {"between_two_ends"}
    assert all(0.3 < row["corrected_rate"] < 0.9 for row in rates), (
        "people decide what it left open"
    )


@pytest.mark.slow
def test_the_card_stands_in_the_report(tmp_path):
    path, truths = judged_study(tmp_path)
    label(tmp_path, truths)
    html = build_report(path, tmp_path / "report").path.read_text()
    assert '<section id="judge">' in html
    assert "This check cannot detect:" in html
    assert (tmp_path / "report" / "tables" / "uptake_differences.csv").is_file()


def test_a_study_without_a_judge_has_no_card_to_show(tmp_path):
    path = small_study(tmp_path)
    with duckdb.connect(str(path)) as database:
        database.execute("DELETE FROM verdicts")
    fake.count_verdicts(path)
    rates, pairs, said = asked(path, "uptake_rates", "rater_agreement")
    assert (rates, pairs, said) == ([], [], [])


@pytest.mark.slow
def test_a_difference_is_over_the_tasks_planned_in_both_arms(tmp_path):
    """Without the trials of pd in one task, those of the baseline there compare with nothing."""
    path, truths = judged_study(tmp_path)
    label(tmp_path, truths)
    found = []
    for arms in ("('pd')", "('baseline')"):
        with duckdb.connect(str(path)) as database:
            database.execute(f"""DELETE FROM planned_trials WHERE condition IN {arms}
                AND task = (SELECT min(task) FROM tasks)""")
        found.append(asked(path, "uptake_differences")[0][0])
    one_arm, neither = found
    assert one_arm == neither
    assert one_arm["delta_judge"] is not None
    assert one_arm["delta_corrected"] is not None
