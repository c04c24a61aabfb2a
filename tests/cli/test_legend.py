"""The legend: a line for every word that a table or verdict needs explained."""

from skilljuror.base.results import UptakeCategory
from skilljuror.cli.output import LEGEND, legend


def test_every_category_of_uptake_has_a_line():
    assert len(legend(one.value for one in UptakeCategory)) == len(UptakeCategory)


def test_a_word_is_explained_once_and_only_if_it_occurs():
    assert legend(["a", "phantom", "phantom", "eru_rate"]) == [
        f"ERU rate = {LEGEND['ERU rate']}",
        f"phantom = {LEGEND['phantom']}",
    ]
    assert legend(["1", "task"]) == []
