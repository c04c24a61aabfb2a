"""The question `cascade`, from rows made by hand."""

import pytest

from skilljuror.base.results import JudgeCalls
from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake

CASCADE, CHECKER = "cascade/1 (proof/1, lab/m)", "model/1 (lab/m)"
SAID = (
    ("yes", "implementation", None), ("no", "failed_probe", None), ("unknown", "not_shown", None),
    ("yes", "validation", "lab/m"), ("unknown", "unparsed", "lab/m"),
    ("unknown", "unverified_quote", "lab/m"), ("unknown", "insufficient_context", "lab/m"),
    ("no", "background", "lab/m"),
)  # fmt: skip


def answered(tmp_path, *calls, checked="yes", why="implementation"):
    path = tmp_path / "study.duckdb"
    events = [fake.event("run", number) for number in range(len(SAID))]
    with open_write(path) as store:
        fake.put(store, [fake.run("run", events=events)])
        rows = [
            fake.verdict(event, label, category=category, model=model, judge=CASCADE)
            for event, (label, category, model) in zip(events, SAID, strict=True)
        ]
        fake.put_verdicts(store, rows)
        check = fake.verdict(events[0], checked, category=why, model="lab/m", judge=CHECKER)
        fake.put_verdicts(
            store, [check, fake.verdict(events[1], model="other", judge="model/1 (other)")]
        )
        for one in calls:
            store.put_judge_calls(one.judge, [one.trial], [one])
    (row,) = run(path, "cascade").records()
    return row


def calls(judge, cost, asked=5):
    return JudgeCalls("run", judge, "lab/m", asked, 2, 100, 10, cost)


def test_every_event_is_counted_once_by_who_settled_it(tmp_path):
    row = answered(tmp_path, calls(CASCADE, 0.10), calls(CHECKER, 0.03, 1))
    assert (row["judge"], row["events"]) == (CASCADE, 8)
    assert (row["decided_free"], row["decided_by_model"], row["unknown"]) == (2, 2, 4)
    assert row["share_free"] + row["share_by_model"] + row["share_unknown"] == 1
    assert (row["asked"], row["not_asked"], row["calls"]) == (6, 1, 4)
    reasons = ("unparsed", "unverified_quote", "insufficient_context")
    assert [row[reason] for reason in reasons] == [1, 1, 1]
    assert row["unparsed_share"] == pytest.approx(1 / 6)


def test_money_is_that_of_all_calls_and_a_saving_that_of_the_asked_alone(tmp_path):
    row = answered(tmp_path, calls(CASCADE, 0.10), calls(CHECKER, 0.03, 1))
    assert row["usd_spent"] == pytest.approx(0.13)
    assert row["usd_per_asked"] == pytest.approx(0.02)
    assert row["usd_saved_estimate"] == pytest.approx(0.04)


def test_one_price_that_is_not_known_leaves_the_sums_open(tmp_path):
    row = answered(tmp_path, calls(CASCADE, None), calls(CHECKER, 0.03, 1))
    assert row["usd_spent"] is row["usd_per_asked"] is row["usd_saved_estimate"] is None


@pytest.mark.parametrize(
    ("checked", "why", "agreement", "unparsed"),
    [("yes", "validation", 1.0, 1), ("no", "background", 0.0, 1), ("unknown", "unparsed", None, 2)],
)
def test_what_the_same_model_says_of_the_sample_counts(tmp_path, checked, why, agreement, unparsed):
    row = answered(tmp_path, calls(CASCADE, 0.10), checked=checked, why=why)
    assert (row["rechecked"], row["agreement"]) == (1, agreement)
    assert (row["asked"], row["unparsed"]) == (6, unparsed)
    assert row["unparsed_share"] == pytest.approx(unparsed / 6)
