"""Events with known uptake: what every judge keeps, how the contract catches one that does not, and
what tracing finds and leaves open."""

import json
from collections import Counter
from typing import ClassVar

import pytest
from msgspec.structs import replace

from benchmarks.uptake import compare
from benchmarks.uptake import main as compare_labels
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


class HalfBlind(EverythingTakenUp):
    """Tracing that knows a few events only and forgets the rest."""

    def judge(self, trial, trajectory, events, manifest):
        return list(TracingJudge().judge(trial, trajectory, events, manifest))[1:]


class Hasty(EverythingTakenUp):
    """Says yes wherever the agent did anything later, with true quotes of any line."""

    def judge(self, trial, trajectory, events, manifest):
        for one in TracingJudge().judge(trial, trajectory, events, manifest):
            event = next(event for event in events if event.event == one.event)
            later = [step for step in trajectory.steps if step.index > event.step and step.text]
            if not later:
                yield one
                continue
            said = later[0].text.splitlines()[0]
            yield replace(
                one, label="yes", category="diagnosis", source_quote=said, action_quote=said,
                action_step=later[0].index,
            )  # fmt: skip


def test_the_suite_is_large_and_has_many_kinds_of_both_truths():
    cases = planted_events()
    kinds = Counter(one.category for one in cases)
    truths = Counter(one.truth for one in cases)
    assert len(cases) == len({one.id for one in cases}) >= 80
    assert len(kinds) >= 18
    assert min(truths[True], truths[False]) >= 40


def test_no_two_cases_show_and_do_the_same():
    texts = [
        (tuple(step.text for step in one.trajectory.steps), str(one.trajectory.steps))
        for one in planted_events()
    ]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("judge", sorted(JUDGES))
def test_every_judge_keeps_the_contract(judge):
    given = answers(resolve(JUDGES, judge, "judge")())
    assert breaches(given) == [], report(given)


def test_quotes_that_stand_nowhere_break_it():
    broken = breaches(answers(EverythingTakenUp()))
    assert "threshold-copied: the source quote 'as the resource says' is not in the run" in broken
    assert "threshold-copied: the action at step 1 is no later one" in broken
    assert any("yes are true, too few; false:" in line for line in broken)


def test_a_verdict_that_is_missing_breaks_it():
    assert "log-ends: not one verdict per counted event in order" in breaches(answers(HalfBlind()))


def test_true_quotes_are_not_enough():
    (why,) = breaches(answers(Hasty()))
    assert "too few; false:" in why
    assert "listing-only" in why


def test_tracing_finds_what_it_found():
    given = answers(TracingJudge())
    right, yes = precision(given)
    assert right == yes >= 28


def test_what_is_left_open_is_told(capsys):
    assert main(["tracing"]) == 0
    printed = capsys.readouterr().out
    assert "left open: " in printed
    assert "unit-converted" in printed
    assert "helper output consumed" in printed
    assert "precision of yes" in printed


def test_a_judge_of_another_package_is_held_to_it(capsys):
    assert main(["tests.judge.test_planted_uptake:EverythingTakenUp"]) == 1
    assert "broken: " in capsys.readouterr().out


def test_absent_labels_are_said_and_no_failure(tmp_path, capsys):
    assert compare_labels(["--labels", str(tmp_path / "none.jsonl")]) == 0
    assert capsys.readouterr().out == "skipped: no uptake labels at 'none.jsonl'\n"


def test_a_disputed_label_counts_for_nothing(tmp_path):
    labels = tmp_path / "labels" / "uptake" / "events.jsonl"
    labels.parent.mkdir(parents=True)
    labels.write_text(json.dumps({"trajectory": "gone.jsonl", "label": "disputed"}) + "\n")
    assert compare(labels) == []
