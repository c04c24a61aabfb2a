"""Events with known uptake: what every judge keeps, how the contract catches one that does not, and
what tracing finds and leaves open."""

from collections import Counter
from typing import ClassVar

import pytest

from skilljuror.base.errors import resolve
from skilljuror.base.results import UptakeCategory, Verdict
from skilljuror.judge import JUDGES
from skilljuror.judge.tracing import TracingJudge
from tests.support.judge_contract import answers, breaches, main, precision, report
from tests.support.planted_uptake import planted_events


class EverythingTakenUp:
    """Says yes to all, with words for quotes that stand nowhere."""

    name: ClassVar[str] = "everything/1"

    def judge(self, trial, trajectory, events, manifest):
        for event in events:
            if event.counts:
                yield Verdict(
                    event.event, trial, self.name, "yes", UptakeCategory.IMPLEMENTATION,
                    source_quote="as the resource says", action_quote="so the agent did",
                    action_step=event.step,
                )  # fmt: skip


def test_the_suite_is_large_and_has_many_kinds_of_both_truths():
    cases = planted_events()
    kinds = Counter(one.category for one in cases)
    truths = Counter(one.truth for one in cases)
    assert len(cases) == len({one.id for one in cases}) >= 80
    assert len(kinds) >= 18
    assert min(truths[True], truths[False]) >= 40


@pytest.mark.parametrize("judge", sorted(JUDGES))
def test_every_judge_keeps_the_contract(judge):
    given = answers(resolve(JUDGES, judge, "judge")())
    assert breaches(given) == [], report(given)


def test_quotes_that_stand_nowhere_break_it():
    broken = breaches(answers(EverythingTakenUp()))
    assert "threshold-copied: the source quote 'as the resource says' is not in the run" in broken
    assert "threshold-copied: the action at step 1 is no later one" in broken
    assert any("yes are true, too few; false:" in line for line in broken)


def test_tracing_finds_what_it_found():
    given = answers(TracingJudge())
    right, yes = precision(given)
    assert right == yes >= 25


def test_what_is_left_open_is_told(capsys):
    assert main(["tracing"]) == 0
    printed = capsys.readouterr().out
    assert "left open: " in printed
    assert "unit-converted" in printed
    assert "helper output consumed" in printed
    assert "precision of yes" in printed
