import numpy as np
import pytest

from skilljuror.measures.stats.judge_noise import (
    RepeatedItem,
    modal_label,
    repeated_difference,
    repeated_rate,
)
from skilljuror.measures.stats.prediction_powered import JudgedItem, judged_rate
from tests.support.judged_worlds import there


def test_the_mode_of_several_answers():
    assert modal_label(["yes"]) == modal_label(["yes", "no", "yes"]) == "yes"


def test_a_tie_is_no_answer():
    assert modal_label(["yes", "no"]) == modal_label(["no", "yes"]) == "unknown"
    assert modal_label(["yes", "no", "unknown"]) == "unknown"


def items_of(rng, wavering):
    """30 tasks of 8 items; on a share of them every answer is drawn anew."""
    made = []
    for task in range(30):
        for _ in range(8):
            steady = "yes" if rng.random() < 0.6 else "no"
            wavers = rng.random() < wavering
            labels = rng.choice(["yes", "no"], 3).tolist() if wavers else [steady] * 3
            made.append(RepeatedItem(f"t{task}", tuple(labels)))
    return made


def test_without_wavering_it_is_the_clustered_interval():
    items = items_of(np.random.default_rng(5), wavering=0.0)
    made = repeated_rate(items)
    plain = judged_rate([JudgedItem(item.cluster, item.labels[0]) for item in items])
    assert made.value == pytest.approx(plain.value)
    assert made.se == pytest.approx(plain.se, rel=0.06)
    assert repeated_rate(items) == made
    assert repeated_rate(items, seed=1).se != made.se


@pytest.mark.slow
def test_a_judge_that_wavers_widens_the_interval_by_its_own_noise():
    """The spread over fresh runs of tasks and judge is what the interval says it is."""
    rng = np.random.default_rng(6)
    told, rates = [], []
    for _ in range(60):
        items = items_of(rng, wavering=0.6)
        told.append(there(repeated_rate(items).se))
        rates.append(np.mean([item.labels[0] == "yes" for item in items]))  # one run of the judge
    assert np.mean(told) == pytest.approx(np.std(rates), rel=0.25)
    steady = items_of(rng, wavering=0.0)
    wavering = [RepeatedItem(item.cluster, ("yes", "no", "no")) for item in steady]
    assert there(repeated_rate(wavering).se) > 0.02, (
        "equal tasks, and the judge alone moves the rate"
    )


def test_the_difference_is_paired_by_task():
    rng = np.random.default_rng(7)
    control, treatment = [], []
    for task in range(40):
        answer = "yes" if rng.random() < 0.5 else "no"  # whole tasks go one way
        for n in range(6):
            control.append(RepeatedItem(f"t{task}", (answer,)))
            treatment.append(RepeatedItem(f"t{task}", (answer if n else "yes",)))
    made = repeated_difference(control, treatment)
    assert there(made.se) < there(repeated_rate(control).se) / 3


def test_the_interval_of_a_rate_stays_within_0_and_1_and_that_of_a_difference_within_1():
    judge = [RepeatedItem(f"t{n}", ("yes", "yes") if n else ("no", "yes")) for n in range(3)]
    made = there(repeated_rate(judge).interval)
    assert (made.low >= 0, made.high) == (True, 1.0)
    nothing = [item._replace(labels=("no",)) for item in judge]
    ends = there(repeated_difference(nothing, judge).interval)
    assert -1 <= ends.low < 0 < ends.high == 1


def test_nothing_decided_and_one_task():
    assert repeated_rate([RepeatedItem("a", ("unknown",))]).value is None
    one = repeated_rate([RepeatedItem("a", ("yes", "no"))])
    assert (one.value, one.interval) == (0.5, None)
