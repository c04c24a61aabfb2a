"""The comparison with uptake labels: on labels of our own, and where the corpus is at hand."""

from functools import lru_cache

import pytest

from benchmarks.uptake import LABELS, compare, foreign, main, rate_ends, rows_by_run
from skilljuror.measures.agreement import agreement

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


@pytest.mark.slow
def test_most_labelled_events_are_found():
    assert len(compared()) >= 0.9 * sum(map(len, rows_by_run().values()))


@pytest.mark.slow
def test_a_yes_is_worth_its_name():
    yes = [label for label, judged in compared() if judged == "yes"]
    assert yes.count("yes") / len(yes) >= 0.9


def test_most_uptake_is_found_and_a_false_yes_is_rare():
    pairs = [(label, judged) for label, judged in compared() if judged == "yes"]
    assert sum(label == "yes" for label, _ in pairs) >= 29
    assert sum(label != "yes" for label, _ in pairs) <= 0.02 * len(pairs)


def test_what_is_decided_is_decided_as_the_readings_do():
    labels, judged = zip(*(pair for pair in compared() if pair[1] != "unknown"), strict=True)
    made = agreement(labels, judged)
    assert made.observed is not None
    assert made.observed >= 0.9
    assert len(labels) >= len(compared()) / 2


@pytest.mark.slow
def test_the_rate_of_the_readings_lies_between_the_two_ends_of_the_judges():
    found = [one for one in compare() if one.verdict]
    yes = sum(one.row["label"] == "yes" for one in found)
    no = sum(one.row["label"] == "no" for one in found)
    low, high = rate_ends(one.verdict for one in found if one.verdict)
    assert low < yes / (yes + no) < high


@pytest.mark.slow
def test_a_use_not_seen_again_is_never_called_a_no():
    again = [one.verdict.label for one in compare() if one.verdict and
             one.verdict.category == "not_seen_again"]  # fmt: skip
    assert again
    assert set(again) == {"unknown"}


def test_no_and_unknown_rows_hardly_ever_become_yes():
    others = [judged for label, judged in compared() if label != "yes"]
    assert others.count("yes") <= 1 < len(others)


@pytest.mark.slow
def test_foreign_content_is_hardly_ever_taken_up():
    paths = [LABELS.parents[2] / path for path in rows_by_run()]
    found = [verdict.label for _, verdict in foreign(paths, times=1)]
    assert len(found) >= 20
    assert found.count("yes") / len(found) <= 0.05


@pytest.mark.slow
def test_the_comparison_is_printed(capsys):
    assert main(["--verbose"]) == 0
    printed = capsys.readouterr().out
    assert "kappa" in printed
    assert "not_seen_again" in printed
