"""The question `judge_stability` and the answers in `judged_cells`, from rows made by hand."""

from typing import Literal

import pytest

from skilljuror.base.results import RepeatedVerdict, UptakeCategory
from skilljuror.store import open_write
from skilljuror.store.questions.run import run
from tests.support import fabricated_records as fake

JUDGE = "cascade/1 (proof/1, lab/m)"
Said = Literal["yes", "no", "unknown"]
SAID: tuple[tuple[Said, Said], ...] = (
    ("yes", "yes"), ("yes", "no"), ("yes", "unknown"), ("unknown", "unknown"),
)  # fmt: skip
"""What the model said of each event, first and again, where an unknown is an answer of no use; such was
every answer when it was asked at length."""


def answer(event, probe: Literal["repeat", "length"], number, label: Said):
    unusable, usable = UptakeCategory.UNPARSED, UptakeCategory.BACKGROUND
    category = unusable if label == "unknown" else usable
    return RepeatedVerdict(event.event, "run", JUDGE, probe, number, label, category, "lab/m")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("stability") / "study.duckdb"
    events = [fake.event("run", number) for number in range(len(SAID))]
    answers = []
    for event, (first, again) in zip(events, SAID, strict=True):
        answers += [
            answer(event, "repeat", 0, first), answer(event, "repeat", 1, again),
            answer(event, "length", 0, "unknown"),
        ]  # fmt: skip
    with open_write(path) as store:
        fake.put(store, [fake.run("run", events=events)])
        fake.put_verdicts(store, [
            fake.verdict(event, first, judge=JUDGE, model="lab/m")
            for event, (first, _) in zip(events, SAID, strict=True)
        ])  # fmt: skip
        store.put_repeated(JUDGE, ["run"], answers)
    return path


def test_an_answer_that_cannot_be_used_is_no_change_of_mind(path):
    repeat, length = run(path, "judge_stability").records()
    assert (repeat["probe"], repeat["events"], repeat["changed"], repeat["unparsed"]) == (
        "repeat", 2, 1, 3,
    )  # fmt: skip
    assert (repeat["changed_share"], repeat["entropy"], repeat["askings"]) == (0.5, 0.5, 2)
    assert (length["probe"], length["events"], length["changed"], length["unparsed"]) == (
        "length", 0, 0, 4,
    )  # fmt: skip
    assert length["changed_share"] is length["rate_low"] is length["rate_high"] is None


def test_an_answer_that_cannot_be_used_weighs_nothing_in_a_rate(path):
    cells = run(path, "judged_cells").records()
    assert {row["answers"]: row["events"] for row in cells} == {
        "yes yes": 1, "yes no": 1, "yes": 1, "unknown": 1,
    }  # fmt: skip
