"""The legend: every word that a verdict or a build may say has its line."""

from typing import get_args

from skilljuror.cli.legend import LEGEND, legend
from skilljuror.models.measure import UptakeCategory


def test_every_reason_of_a_verdict_has_a_line():
    assert set(get_args(UptakeCategory)) <= set(LEGEND)


def test_a_word_is_told_once_and_only_where_it_stands():
    assert legend(["a", "phantom", "phantom", "eru_rate"]) == [
        f"ERU rate = {LEGEND['ERU rate']}",
        f"phantom = {LEGEND['phantom']}",
    ]
    assert legend(["1", "task"]) == []
