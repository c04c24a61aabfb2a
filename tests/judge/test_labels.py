"""The comparison with uptake labels: on labels of our own, and where the corpus is at hand."""

from functools import lru_cache

import pytest

from benchmarks.uptake import LABELS, compare, foreign, rate_ends, rows_by_run

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not LABELS.is_file(), reason=f"no uptake labels: {LABELS.name} is not there"
    ),
]


@lru_cache(maxsize=1)
def compared():
    """(label of the readings, label of the judge) of every event found."""
    return [(one.row["label"], one.verdict.label) for one in compare() if one.verdict]


def test_most_labelled_events_are_found():
    assert len(compared()) >= 0.9 * sum(map(len, rows_by_run().values()))


def test_a_yes_is_worth_its_name():
    yes = [label for label, judged in compared() if judged == "yes"]
    assert yes.count("yes") / len(yes) >= 0.9


def test_most_uptake_is_found_and_a_false_yes_is_rare():
    pairs = [(label, judged) for label, judged in compared() if judged == "yes"]
    assert sum(label == "yes" for label, _ in pairs) >= 28
    assert sum(label != "yes" for label, _ in pairs) <= 0.02 * len(pairs)


def test_the_rate_of_the_readings_lies_between_the_two_ends_of_the_judges():
    found = [one for one in compare() if one.verdict]
    yes = sum(one.row["label"] == "yes" for one in found)
    no = sum(one.row["label"] == "no" for one in found)
    low, high = rate_ends(one.verdict for one in found if one.verdict)
    assert low < yes / (yes + no) < high


def test_foreign_content_is_hardly_ever_taken_up():
    paths = [LABELS.parents[2] / path for path in rows_by_run()]
    found = [verdict.label for _, verdict in foreign(paths, times=1)]
    assert len(found) >= 20
    assert found.count("yes") / len(found) <= 0.05
